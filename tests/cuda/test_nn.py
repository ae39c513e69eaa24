"""The layers of networks on a GPU give what they give on the CPU, and so do their gradients."""

import copy

import numpy as np
import pytest

import facula
import facula.nn.functional as F
from check_op import TOLERANCES, to_numpy

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]
FLOATING = [facula.float32, facula.float64, facula.bfloat16, facula.float16]


@pytest.fixture(params=[True, False], ids=["cudnn", "own kernels"])
def cudnn(request):
    if request.param and not facula.backends.cudnn.is_available():
        pytest.skip("cuDNN is not installed")
    before = facula.backends.cudnn.enabled, facula.backends.cudnn.allow_tf32
    facula.backends.cudnn.enabled, facula.backends.cudnn.allow_tf32 = request.param, False
    yield
    facula.backends.cudnn.enabled, facula.backends.cudnn.allow_tf32 = before


def random(*shape, dtype=facula.float64, seed=0):
    values = np.random.default_rng(seed + len(shape)).standard_normal(shape)
    return facula.tensor(values).to(dtype)


def results(f, inputs, device, dtype):
    """The results of f, and the gradients of its floating inputs, on the device."""
    tensors = []
    for x in inputs:
        if x is not None and x.is_floating_point():
            # to() keeps the memory format, which counts here
            x = x.detach().to(device=device, dtype=dtype).requires_grad_()
        elif x is not None:
            x = x.to(device)
        tensors.append(x)
    outputs = f(*tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    differentiable = [y for y in outputs if y.requires_grad]
    wanted = [x for x in tensors if x is not None and x.requires_grad]
    total = 0
    for i, y in enumerate(differentiable):
        weight = random(*y.shape, seed=100 + i).to(device=device, dtype=y.dtype)
        total = total + (y * weight).sum()
    grads = facula.autograd.grad(total, wanted) if differentiable else ()
    return [*outputs, *grads]


def check(f, *inputs, dtypes=FLOATING, scale=1.0):
    for dtype in dtypes:
        actual = results(f, inputs, "cuda", dtype)
        # The reference computes with what the dtype holds, in double.
        rounded = [
            x.to(dtype).double() if x is not None and x.is_floating_point() else x for x in inputs
        ]
        expected = results(f, rounded, "cpu", facula.float64)
        rtol, atol = TOLERANCES[str(dtype).partition(".")[2]]
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            assert a.device.type == "cuda"
            np.testing.assert_allclose(
                to_numpy(a),
                to_numpy(e),
                rtol * 4 * scale,
                atol * 8 * scale * max(1.0, float(np.abs(to_numpy(e)).max(initial=0))),
                err_msg=f"{dtype}: result or gradient {i}",
            )


CONVOLUTIONS = {
    "plain": (F.conv2d, (2, 3, 9, 8), (5, 3, 3, 3), {}),
    "strided": (F.conv2d, (2, 4, 9, 11), (6, 4, 3, 2), {"stride": (2, 3), "padding": (1, 0)}),
    "dilated": (F.conv2d, (1, 2, 12, 12), (3, 2, 3, 3), {"dilation": 2, "padding": 2}),
    "grouped": (F.conv2d, (2, 6, 7, 7), (9, 2, 3, 3), {"groups": 3, "padding": 1}),
    "depthwise": (F.conv2d, (2, 8, 7, 7), (8, 1, 3, 3), {"groups": 8, "padding": 1}),
    "same size, even kernel": (F.conv2d, (1, 2, 6, 6), (2, 2, 4, 4), {"padding": "same"}),
    "pointwise": (F.conv2d, (3, 8, 5, 5), (16, 8, 1, 1), {}),
    "one dimension": (F.conv1d, (2, 3, 17), (4, 3, 5), {"stride": 2, "padding": 2}),
    "three dimensions": (F.conv3d, (2, 2, 5, 6, 7), (3, 2, 2, 3, 3), {"padding": 1}),
    "of grey images": (F.conv2d, (9, 1, 13, 17), (6, 1, 3, 3), {}),
    "of grey images, padded": (
        F.conv2d,
        (3, 1, 28, 28),
        (5, 1, 5, 5),
        {"stride": (2, 1), "padding": (2, 3), "dilation": (1, 2)},
    ),
    "of grey volumes": (F.conv3d, (2, 1, 5, 6, 7), (3, 1, 2, 3, 3), {"padding": (0, 1, 2)}),
    "of one sequence": (F.conv1d, (4, 1, 40), (6, 1, 7), {"stride": 3, "padding": 1}),
    "transposed": (F.conv_transpose2d, (2, 4, 5, 5), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
    "transposed with output_padding": (
        F.conv_transpose2d,
        (2, 4, 5, 5),
        (4, 2, 3, 3),
        {"stride": 2, "output_padding": 1, "groups": 2},
    ),
    "transposed along sequences": (F.conv_transpose1d, (2, 4, 9), (4, 3, 4), {"stride": 3}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name, cudnn):
    f, x, w, options = CONVOLUTIONS[name]
    x, w = random(*x), random(*w)
    n_out = w.shape[1] * options.get("groups", 1) if "transposed" in name else w.shape[0]
    check(lambda x, w, b: f(x, w, b, **options), x, w, random(n_out))


def test_convolution_keeps_channels_last(cudnn):
    x = random(2, 8, 6, 6).contiguous(memory_format=facula.channels_last)
    w = random(16, 8, 3, 3).contiguous(memory_format=facula.channels_last)
    y = F.conv2d(x.cuda().bfloat16(), w.cuda().bfloat16(), padding=1)
    assert y.is_contiguous(memory_format=facula.channels_last)
    check(lambda x, w: F.conv2d(x, w, padding=1, stride=2), x, w)


def test_convolution_has_second_derivatives(cudnn):
    def f(x, w):
        y = F.conv2d(x, w, padding=1)
        (g,) = facula.autograd.grad(y.square().sum(), x, create_graph=True)
        return g

    check(f, random(1, 2, 5, 5), random(3, 2, 3, 3), dtypes=[facula.float64])


@pytest.mark.parametrize("dtype", [facula.int64, facula.complex64], ids=str)
def test_convolution_of_integers_and_of_complex_numbers(dtype):
    x = (facula.arange(2 * 3 * 25).reshape(2, 3, 5, 5) % 7).to(dtype)
    w = (facula.arange(4 * 3 * 9).reshape(4, 3, 3, 3) % 5).to(dtype)
    if dtype.is_complex:
        x, w = x * (1 + 2j), w * (2 - 1j)
    assert facula.equal(F.conv2d(x.cuda(), w.cuda()).cpu(), F.conv2d(x, w))


def test_convolution_of_nothing(cudnn):
    y = F.conv2d(facula.ones(0, 3, 8, 8, device="cuda"), facula.ones(4, 3, 3, 3, device="cuda"))
    assert y.shape == (0, 4, 6, 6)


@pytest.mark.parametrize("shape, dim", [((7,), 0), ((3, 40), 1), ((3, 40, 5), 1), ((2, 3000), -1)])
def test_softmax(shape, dim):
    x = random(*shape) * 3
    check(lambda x: F.softmax(x, dim), x)
    check(lambda x: F.log_softmax(x, dim), x)


def test_softmax_of_unaligned_rows():
    x = random(5, 257)
    check(lambda x: F.softmax(x[:, 1:], 1), x)


def test_softmax_of_extremes():
    inf = float("inf")
    x = facula.tensor([[1e4, 1e4], [-inf, 0.0], [-inf, -inf], [inf, 0.0], [float("nan"), 0.0]])
    for f in (F.softmax, F.log_softmax):
        np.testing.assert_array_equal(to_numpy(f(x.cuda(), 1)), to_numpy(f(x, 1)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [{}, {"ignore_index": 2}, {"label_smoothing": 0.1}])
def test_cross_entropy(reduction, options):
    target = facula.tensor([0, 2, 9, 4])
    weight = random(10).abs().detach()
    check(lambda x, t: F.cross_entropy(x, t, reduction=reduction, **options), random(4, 10), target)
    check(
        lambda x, t: F.cross_entropy(
            x, t, weight.to(x.device, x.dtype), reduction=reduction, **options
        ),
        random(4, 10),
        target,
    )


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", [name for table, name in facula._core._rows() if table == "loss"])
def test_losses_by_element(name, reduction):
    loss = getattr(F, name)
    x, target = random(5, 12).sigmoid(), random(5, 12, seed=1).sigmoid().detach()
    for to in (target, target[:, ::2].repeat(1, 2), target.t().contiguous().t()):
        check(lambda x, to: loss(x, to.detach(), reduction=reduction) + 0 * to.sum(), x, to)
    y = loss(x.cuda().requires_grad_(), target.cuda(), reduction=reduction)
    (to_input,) = [node for node, _ in y.grad_fn.next_functions if node]
    assert to_input.name().endswith("AccumulateGrad")  # nothing between the loss and its input


def test_cross_entropy_of_images():
    target = facula.tensor(np.random.default_rng(0).integers(0, 5, (2, 3, 4)))
    check(lambda x, t: F.cross_entropy(x, t), random(2, 5, 3, 4), target)
    check(lambda x, t: F.nll_loss(F.log_softmax(x, 1), t), random(2, 5, 3, 4), target)


def test_cross_entropy_of_one_sample():
    check(lambda x, t: F.cross_entropy(x, t), random(7), facula.tensor(3))


def test_a_target_that_is_no_class_makes_the_loss_nan():
    x = random(2, 3).float().cuda()
    assert F.cross_entropy(x, facula.tensor([0, 3], device="cuda")).isnan()


@pytest.mark.parametrize("wrong", [-1, 3])
def test_classes_and_places_that_are_none_are_raised_when_the_gpu_is_waited_for(wrong):
    x, bad = random(2, 3).cuda(), facula.tensor([0, wrong], device="cuda")
    with pytest.raises(RuntimeError, match=f"index {wrong} at position 1 .*waited for here"):
        F.multi_margin_loss(x, bad).item()
    with pytest.raises(RuntimeError, match=f"index {wrong} at position 1 .*waited for here"):
        F.max_unpool1d(x[:, :2], bad.expand(2, 2), 2, output_size=(3,)).cpu()


@pytest.mark.parametrize("wrong", [-0.5, 1.5, float("nan")])
@pytest.mark.parametrize("name", ["input", "target"])
def test_probabilities_that_are_none_are_raised_when_the_gpu_is_waited_for(name, wrong):
    good = facula.full((2, 300), 0.5, device="cuda")
    bad = good.clone()
    bad[1, 299] = wrong
    message = f"all elements of {name} should be between 0 and 1.*waited for here"
    with pytest.raises(RuntimeError, match=f"expected {name} with .*, got {wrong}.*{message}"):
        F.binary_cross_entropy(*((bad.t(), good.t()) if name == "input" else (good, bad))).item()
    assert F.binary_cross_entropy(good, good.round()).item() > 0


@pytest.mark.parametrize("size", [3, 64, 1000])
def test_layer_norm(size):
    x, w, b = random(6, 5, size) + 3, random(size), random(size)
    check(lambda x, w, b: F.layer_norm(x, (size,), w, b), x, w, b, scale=4)
    check(lambda x: F.layer_norm(x, (5, size)), x, scale=4)
    check(lambda x, w: F.rms_norm(x, (size,), w), x, w, scale=4)


@pytest.mark.parametrize("shape", [(4, 6), (3, 6, 5), (2, 6, 4, 4), (2, 6, 3, 3, 3)])
def test_group_norm(shape):
    check(lambda x, w, b: F.group_norm(x, 3, w, b), random(*shape), random(6), random(6), scale=4)


def batch_norm(training, channels_last=False):
    def f(x, w, b):
        if channels_last:
            x = x.contiguous(memory_format=facula.channels_last)
        mean = facula.full((x.shape[1],), 0.5, dtype=x.dtype, device=x.device)
        var = facula.full((x.shape[1],), 2.0, dtype=x.dtype, device=x.device)
        y = F.batch_norm(x, mean, var, w, b, training=training)
        return y, mean, var

    return f


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(
    "shape", [(40, 6), (300, 64), (3, 6, 9), (4, 16, 5, 5), (2, 6, 7, 5), (2, 3, 2, 3, 4)]
)
def test_batch_norm(shape, training):
    x, w, b = random(*shape) * 2 + 5, random(shape[1]), random(shape[1])
    check(batch_norm(training), x, w, b, scale=8)
    if len(shape) == 4:
        check(batch_norm(training, channels_last=True), x, w, b, scale=8)


def test_batch_norm_of_a_far_mean_keeps_its_digits():
    x = (random(64, 4, 8, 8) + 1000).float()
    actual = F.batch_norm(x.cuda(), None, None, training=True)
    expected = F.batch_norm(x.double(), None, None, training=True)
    np.testing.assert_allclose(to_numpy(actual), to_numpy(expected), atol=2e-3)


def test_batch_norm_of_mixed_dtypes():
    x, w = random(8, 16, 4, 4).bfloat16().cuda(), random(16).float().cuda().requires_grad_()
    x.requires_grad_()
    mean, var = facula.zeros(16, device="cuda"), facula.ones(16, device="cuda")
    y = F.batch_norm(x, mean, var, w, None, training=True)
    y.sum().backward()
    assert (y.dtype, w.grad.dtype, x.grad.dtype) == (
        facula.bfloat16,
        facula.float32,
        facula.bfloat16,
    )
    assert mean.abs().sum().item() > 0


POOLS = {
    "max": (F.max_pool2d, (2, 3, 9, 8), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "max, dilated": (F.max_pool2d, (2, 3, 12, 11), {"kernel_size": 3, "stride": 1, "dilation": 2}),
    "max, channels in packs": (F.max_pool2d, (2, 8, 9, 8), {"kernel_size": 3, "padding": 1}),
    "max, lines in packs": (F.max_pool2d, (2, 3, 6, 24), {"kernel_size": 2}),
    "max, overlapping along packs": (
        F.max_pool2d,
        (2, 3, 7, 12),
        {"kernel_size": 3, "stride": 1, "padding": 1},
    ),
    "max, gaps along packs": (F.max_pool2d, (2, 3, 7, 12), {"kernel_size": 2, "stride": 3}),
    "max, ceil": (F.max_pool2d, (1, 2, 7, 7), {"kernel_size": 2, "ceil_mode": True}),
    "max of sequences": (F.max_pool1d, (2, 3, 11), {"kernel_size": 3}),
    "max of volumes": (F.max_pool3d, (2, 2, 6, 5, 7), {"kernel_size": 2, "stride": 2}),
    "average": (F.avg_pool2d, (2, 3, 9, 8), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "average without padding": (
        F.avg_pool2d,
        (2, 3, 9, 8),
        {"kernel_size": 3, "stride": 2, "padding": 1, "count_include_pad": False},
    ),
    "average, ceil": (
        F.avg_pool2d,
        (1, 2, 8, 8),
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
    ),
    "average by a divisor": (F.avg_pool2d, (1, 2, 6, 6), {"kernel_size": 2, "divisor_override": 3}),
    "average of volumes": (F.avg_pool3d, (2, 2, 6, 5, 7), {"kernel_size": 2}),
    "adaptive average": (F.adaptive_avg_pool2d, (2, 3, 7, 9), {"output_size": (3, 4)}),
    "adaptive average, even": (F.adaptive_avg_pool2d, (2, 3, 8, 8), {"output_size": 2}),
    "adaptive maximum": (F.adaptive_max_pool2d, (2, 3, 7, 9), {"output_size": (3, 4)}),
}


@pytest.mark.parametrize("name", POOLS)
def test_pooling(name):
    f, shape, options = POOLS[name]
    check(lambda x: f(x, **options), random(*shape))
    if len(shape) == 4:
        x = random(*shape).contiguous(memory_format=facula.channels_last)
        check(lambda x: f(x, **options), x)
        assert f(x.cuda(), **options).is_contiguous(memory_format=facula.channels_last)


def test_the_layout_of_pooled_sequences_does_not_depend_on_a_gradient():
    x = random(1, 8, 3).cuda().transpose(1, 2)
    for requires_grad in (False, True):
        assert F.max_pool1d(x.requires_grad_(requires_grad), 2).stride() == (12, 1, 3)


def test_max_pooling_gives_indices():
    x = random(2, 3, 8, 8)
    expected = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    actual = F.max_pool2d(x.cuda(), 3, 2, 1, return_indices=True)
    for a, e in zip(actual, expected, strict=True):
        assert a.cpu().tolist() == e.tolist()


MODES = [
    ("nearest", {}),
    ("nearest-exact", {}),
    ("bilinear", {}),
    ("bilinear", {"align_corners": True}),
    ("bilinear", {"antialias": True}),
    ("bicubic", {}),
    ("area", {}),
]


@pytest.mark.parametrize("mode, options", MODES)
@pytest.mark.parametrize("size", [(11, 5), (3, 4)])
def test_interpolate(mode, options, size):
    check(lambda x: F.interpolate(x, size, mode=mode, **options), random(2, 3, 7, 6), scale=2)


def test_interpolate_keeps_channels_last():
    x = random(2, 3, 4, 4).contiguous(memory_format=facula.channels_last)
    check(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), x)
    y = F.interpolate(x.cuda(), scale_factor=2)
    assert y.is_contiguous(memory_format=facula.channels_last)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("lengths", [(128, 128), (100, 75), (1, 33)])
def test_attention(lengths, is_causal, cudnn):
    n_queries, n_keys = lengths
    q, k, v = random(2, 3, n_queries, 64), random(2, 3, n_keys, 64), random(2, 3, n_keys, 64)
    check(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=is_causal),
        q,
        k,
        v,
        dtypes=[facula.bfloat16, facula.float16, facula.float32],
        scale=4,
    )


def test_attention_of_slices_of_one_tensor(cudnn):
    def f(x):
        q, k, v = (x[:, :, i].transpose(1, 2) for i in range(3))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    check(f, random(2, 40, 3, 4, 32), dtypes=[facula.bfloat16], scale=4)


def test_attention_with_a_mask_and_shared_heads():
    mask = facula.tensor(np.random.default_rng(0).integers(0, 2, (20, 24))).bool()
    q, k, v = random(2, 4, 20, 16), random(2, 2, 24, 16), random(2, 2, 24, 16)
    check(
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True),
        q,
        k,
        v,
        mask,
        dtypes=[facula.float32, facula.bfloat16],
        scale=4,
    )


NETWORKS = {
    "LSTM": (facula.nn.LSTM, {}),
    "LSTM of two layers": (facula.nn.LSTM, {"num_layers": 2}),
    "LSTM both ways": (facula.nn.LSTM, {"num_layers": 2, "bidirectional": True}),
    "LSTM with a projection": (facula.nn.LSTM, {"proj_size": 3}),
    "LSTM, batch first": (facula.nn.LSTM, {"batch_first": True, "bias": False}),
    "GRU": (facula.nn.GRU, {"num_layers": 2, "bidirectional": True}),
    "RNN": (facula.nn.RNN, {}),
    "RNN with ReLU": (facula.nn.RNN, {"nonlinearity": "relu"}),
}


def run_network(network, x, device, dtype):
    """Outputs, last states, and the gradients of the input and of all parameters."""
    network = copy.deepcopy(network).to(device, dtype)
    x = x.detach().to(device, dtype).requires_grad_()
    y, states = network(x)
    states = states if isinstance(states, tuple) else (states,)
    (y.sum() + sum((s * s).sum() for s in states)).backward()
    return [y, *states, x.grad, *(p.grad for p in network.parameters())]


def check_network(network, x, dtypes):
    for dtype in dtypes:
        actual = run_network(network, x, "cuda", dtype)
        # The reference computes with what the dtype holds, in double.
        rounded = copy.deepcopy(network).to(dtype)
        expected = run_network(rounded, x.to(dtype), "cpu", facula.float64)
        rtol, atol = TOLERANCES[str(dtype).partition(".")[2]]
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            scale = max(1.0, float(np.abs(to_numpy(e)).max()))
            np.testing.assert_allclose(
                to_numpy(a), to_numpy(e), rtol * 10, atol * 10 * scale, err_msg=f"{dtype} {i}"
            )


@pytest.mark.parametrize("name", NETWORKS)
def test_recurrent_networks(name, cudnn):
    make, options = NETWORKS[name]
    facula.manual_seed(0)
    network = make(5, 8, **options)
    check_network(network, random(6, 3, 5), [facula.float32, facula.float64, facula.float16])


def test_packed_sequences(cudnn):
    facula.manual_seed(0)
    network = facula.nn.LSTM(5, 8, num_layers=2, bidirectional=True).double()
    x = random(6, 3, 5)
    pack = facula.nn.utils.rnn.pack_padded_sequence

    def run(device):
        y, (h, c) = network.to(device)(pack(x.to(device), [6, 4, 1]))
        return [to_numpy(t) for t in (y.data, h, c)]

    for actual, expected in zip(run("cuda"), run("cpu"), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


def test_a_recurrent_network_may_be_differentiated_twice_over(cudnn):
    facula.manual_seed(0)
    network = facula.nn.LSTM(3, 4).cuda().double()
    x = random(5, 2, 3).cuda().requires_grad_()
    y, _ = network(x)
    first = facula.autograd.grad(y.sum(), x, retain_graph=True)[0]
    again = facula.autograd.grad(y.sum(), x, create_graph=True)[0]
    np.testing.assert_allclose(to_numpy(first), to_numpy(again), rtol=1e-10)
    assert facula.autograd.grad(again.square().sum(), x)[0].isfinite().all()


def test_nms_keeps_the_boxes_that_the_cpu_keeps():
    from facula.vision.ops import nms

    corners = random(40, 2).abs()
    boxes = facula.cat([corners, corners + random(40, 2, seed=1).abs() + 0.1], 1).float()
    scores = random(40).float()
    kept = nms(boxes.cuda(), scores.cuda(), 0.3)
    assert kept.device.type == "cuda"
    assert kept.tolist() == nms(boxes, scores, 0.3).tolist()


@pytest.mark.parametrize("dtype", [facula.float16, facula.bfloat16, facula.float32], ids=str)
def test_dropout_is_drawn_on_the_gpu(dtype):
    x = random(300, 70).cuda().to(dtype).requires_grad_()
    facula.cuda.manual_seed(4)
    y = F.dropout(x, 0.25)
    y.sum().backward()
    kept = y != 0
    assert 0.7 < kept.float().mean().item() < 0.8
    scale = facula.tensor(1 / 0.75, dtype=dtype).item()
    assert (y == facula.where(kept, x * scale, 0)).all()
    assert (x.grad == kept.to(dtype) * scale).all()
    facula.cuda.manual_seed(4)
    assert (F.dropout(x.t(), 0.25).t() == y).all()  # in the order of memory
    facula.cuda.manual_seed(4)
    state = facula.get_rng_state()
    assert F.dropout(x[:, ::2], 0.25).shape == (300, 35)
    assert (facula.get_rng_state() == state).all()  # the CPU's generator is left alone


def test_attention_in_tiles_takes_no_memory_for_scores():
    before = facula.backends.cudnn.enabled
    facula.backends.cudnn.enabled = False
    try:
        q = random(1, 2, 512, 16).cuda().bfloat16().requires_grad_()
        facula.cuda.reset_peak_memory_stats()
        held = facula.cuda.memory_allocated()
        y = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        assert y.grad_fn.name() == "ScaledDotProductEfficientAttentionBackward0"
        y.sum().backward()
        assert facula.cuda.max_memory_allocated() - held < 512 * 512 * 2
        first = q.grad.clone()
        q.grad = None
        F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
        assert (q.grad == first).all()  # the same bits every time
    finally:
        facula.backends.cudnn.enabled = before


@pytest.mark.parametrize("width, value_width", [(128, 128), (20, 7), (1, 96)])
def test_attention_of_other_widths(width, value_width, cudnn):
    q, k, v = random(1, 2, 37, width), random(1, 2, 45, width), random(1, 2, 45, value_width)
    dtypes = [facula.bfloat16, facula.float16]
    check(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), q, k, v, dtypes=dtypes, scale=4)


def test_the_nearest_element_has_a_gradient_of_zeros():
    x, grid = random(1, 2, 4, 5), random(1, 3, 3, 2).tanh()
    check(lambda x, grid: F.grid_sample(x, grid, mode="nearest", align_corners=False), x, grid)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_a_grid_for_no_images(mode):
    y = F.grid_sample(
        facula.zeros(0, 2, 4, 5, device="cuda"),
        facula.zeros(0, 3, 3, 2, device="cuda"),
        mode=mode,
        align_corners=False,
    )
    assert y.shape == (0, 2, 3, 3)


def test_places_of_a_grid_are_found_in_full_precision():
    x, grid = random(1, 2, 40, 50), random(1, 6, 7, 2).tanh()
    check(lambda x, grid: F.grid_sample(x, grid, align_corners=False), x, grid, scale=4)
