"""Tensors on the device meta: a shape, strides, a dtype and a history, but no elements."""

import copy
import io
import pickle

import pytest

import facula
from facula import nn
from facula.utils.checkpoint import checkpoint

pytestmark = pytest.mark.promise("T12")

HUGE = 10**12


def meta(*shape, **options):
    return facula.empty(*shape, device="meta", **options)


FACTORIES = {
    "empty": lambda device: facula.empty(3, 4, device=device),
    "zeros": lambda device: facula.zeros(3, 4, device=device),
    "ones": lambda device: facula.ones(3, 4, dtype=facula.int32, device=device),
    "full": lambda device: facula.full((3, 4), 2.5, device=device),
    "rand": lambda device: facula.rand(3, 4, device=device),
    "randn": lambda device: facula.randn(3, 4, dtype=facula.complex64, device=device),
    "randint": lambda device: facula.randint(0, 9, (3, 4), device=device),
    "randperm": lambda device: facula.randperm(12, device=device),
    "normal": lambda device: facula.normal(0.0, 1.0, (3, 4), device=device),
    "arange": lambda device: facula.arange(1, 9, 2, device=device),
    "linspace": lambda device: facula.linspace(0, 1, 5, device=device),
    "logspace": lambda device: facula.logspace(0, 1, 5, device=device),
    "eye": lambda device: facula.eye(3, 4, device=device),
    "tensor": lambda device: facula.tensor([[1, 2], [3, 4]], device=device),
    "as_tensor": lambda device: facula.as_tensor([1.0, 2.0], device=device),
    "asarray": lambda device: facula.asarray([1.0, 2.0], device=device),
    "scalar_tensor": lambda device: facula.scalar_tensor(2.0, device=device),
    "empty_strided": lambda device: facula.empty_strided((2, 3), (1, 2), device=device),
    "tril_indices": lambda device: facula.tril_indices(3, 4, device=device),
    "hann_window": lambda device: facula.hann_window(5, device=device),
    "complex": lambda device: facula.complex(
        facula.ones(3, device=device), facula.ones(3, device=device)
    ),
    "full_like": lambda device: facula.full_like(facula.ones(3, 4).t(), 2, device=device),
    "rand_like": lambda device: facula.rand_like(facula.ones(3, 4), device=device),
    "randint_like": lambda device: facula.randint_like(facula.ones(3, 4), 9, device=device),
    "new_zeros": lambda device: facula.ones(2, device=device).new_zeros(3, 4),
    "new_tensor": lambda device: facula.ones(2, device=device).new_tensor([1.0, 2.0]),
    "new_full": lambda device: facula.ones(2).new_full((3, 4), 1, device=device),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_make_tensors_of_the_form_that_they_have_on_the_cpu(name):
    x, expected = FACTORIES[name]("meta"), FACTORIES[name]("cpu")
    assert x.is_meta and x.device == facula.device("meta") and not x.is_cpu and not x.is_cuda
    assert (x.shape, x.stride(), x.dtype) == (expected.shape, expected.stride(), expected.dtype)


def test_random_factories_draw_no_number():
    state = facula.get_rng_state()
    facula.rand(3, device="meta")
    meta(3).normal_().uniform_().bernoulli_().random_().exponential_()
    facula.randperm(3, device="meta")
    facula.multinomial(meta(3), 2)
    facula.poisson(meta(3))
    nn.functional.dropout(meta(3))
    assert bool((facula.get_rng_state() == state).all())


def test_meta_is_a_device():
    assert repr(facula.device("meta")) == "device(type='meta')"
    assert facula.device("meta", 1).index == 1
    assert facula.empty(2, device="meta:1").device == facula.device("meta")
    assert meta(2).get_device() == -1
    assert pickle.loads(pickle.dumps(facula.device("meta"))) == facula.device("meta")
    assert {facula.device("meta"): 1}[facula.device("meta")] == 1


def test_meta_can_be_the_default_device():
    with facula.device("meta"):
        assert facula.ones(2).is_meta and facula.tensor([1.0]).is_meta
        assert facula.ones(2, device="cpu").is_cpu
    assert facula.ones(2).is_cpu
    facula.set_default_device("meta")
    try:
        assert facula.rand(2).is_meta and nn.Linear(2, 3).weight.is_meta
    finally:
        facula.set_default_device(None)


def test_printing_shows_the_form_and_no_numbers():
    assert repr(meta(3, 4)) == "tensor(..., device='meta', size=(3, 4))"
    assert repr(meta(0)) == "tensor(..., device='meta', size=(0,))"
    assert repr(meta(())) == "tensor(..., device='meta', size=())"
    assert repr(meta(2, dtype=facula.int64)) == (
        "tensor(..., device='meta', size=(2,), dtype=torch.int64)"
    )
    x = meta(2, requires_grad=True)
    assert repr(x) == "tensor(..., device='meta', size=(2,), requires_grad=True)"
    assert repr(x.exp()) == "tensor(..., device='meta', size=(2,), grad_fn=<ExpBackward0>)"
    assert repr(nn.Parameter(meta(2))) == f"Parameter containing:\n{x!r}"
    assert f"{meta(())}" == "tensor(..., device='meta', size=())"
    assert repr(meta(2).untyped_storage()) == (
        "...\n[torch.storage.UntypedStorage(device=meta) of size 8]"
    )


def test_there_is_no_memory():
    x = meta(3, 4)
    assert x.data_ptr() == 0 and x[1:].data_ptr() == 0 and x.untyped_storage().data_ptr() == 0
    assert x.nbytes == 48 and x.untyped_storage().nbytes() == 48
    assert x.resize_(100, 100).untyped_storage().nbytes() == 40_000


def test_huge_tensors_cost_nothing():
    x = meta(HUGE, requires_grad=True)
    (x * 2 + x.sin()).sum().backward()
    assert x.grad.shape == (HUGE,) and x.grad.is_meta
    side = 10**6
    product = meta(side, side) @ meta(side, side)
    assert product.shape == (side, side)
    assert facula.cat([x, x]).shape == (2 * HUGE,)
    assert x.sort().values.shape == x.cumsum(0).shape == x.softmax(0).shape == (HUGE,)
    assert facula.linspace(0, 1, HUGE, device="meta").shape == (HUGE,)
    assert facula.randperm(HUGE, device="meta").shape == (HUGE,)
    assert nn.Linear(side, side, device="meta")(meta(2, side)).shape == (2, side)


def test_more_bytes_than_can_be_counted_are_refused():
    for shape in [(2**62, 2**62), (2**62,)]:
        with pytest.raises(RuntimeError, match="needs more bytes than an int64 can count"):
            meta(shape)


def test_views_and_writes_in_place_behave_as_elsewhere():
    x = meta(3, 4)
    assert x.t().stride() == (1, 4) and x[1, ::2].storage_offset() == 4
    assert x.t().untyped_storage() is x.untyped_storage()
    assert x.add_(1) is x and x._version == 1
    x[0] = 5
    x[:, facula.tensor([0, 1])] = x[:, :2]
    assert x._version == 3
    with pytest.raises(RuntimeError, match="view"):
        x.t().view(12)
    out = meta(3, 4)
    assert facula.add(x, x, out=out) is out
    with pytest.raises(RuntimeError, match="leaf"):
        meta(2, requires_grad=True).add_(1)


def test_autograd_records_and_gives_gradients_on_meta():
    x = meta(2, 3, requires_grad=True)
    w = meta(4, 3, requires_grad=True)
    loss = nn.functional.cross_entropy(x @ w.t(), meta(2, dtype=facula.int64))
    assert "NllLossBackward0" in str(loss.grad_fn)
    loss.backward()
    assert x.grad.is_meta and x.grad.shape == x.shape and w.grad.stride() == w.stride()
    (first,) = facula.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    (second,) = facula.autograd.grad(first.sum(), x)
    assert second.is_meta and second.shape == (2, 3)
    seen = []
    y = x.exp()
    y.register_hook(lambda g: seen.append(g.is_meta))
    y.sum().backward()
    assert seen == [True]


def test_transforms_and_checkpoints_run():
    x = meta(3, requires_grad=True)
    checkpoint(lambda z: nn.functional.dropout(z.exp()), x, use_reentrant=False).sum().backward()
    assert x.grad.is_meta
    assert facula.func.jacrev(facula.sin)(meta(3)).shape == (3, 3)
    assert facula.func.vmap(lambda z: z.sum())(meta(3, 4)).shape == (3,)
    assert facula.func.jvp(facula.sin, (meta(3),), (meta(3),))[1].is_meta


def test_anomaly_mode_finds_nothing_to_complain_about():
    x = meta(2, requires_grad=True)
    with facula.autograd.set_detect_anomaly(True):
        x.sqrt().sum().backward()
    assert x.grad.is_meta


BAD = {
    "shapes": lambda device: facula.ones(2, 3, device=device) @ facula.ones(2, 3, device=device),
    "broadcast": lambda device: facula.ones(2, device=device) + facula.ones(3, device=device),
    "dim": lambda device: facula.ones(2, device=device).sum(1),
    "index": lambda device: facula.ones(2, device=device)[5],
    "dtype": lambda device: facula.ones(2, dtype=facula.int64, device=device).requires_grad_(),
    "in place": lambda device: facula.ones(2, device=device).add_(facula.ones(3, device=device)),
    "result": lambda device: facula.ones(2, dtype=facula.int32, device=device).div_(2),
    "square": lambda device: facula.linalg.inv(facula.ones(2, 3, device=device)),
    "conv": lambda device: nn.functional.conv2d(
        facula.ones(1, 3, 4, 4, device=device), facula.ones(1, 2, 1, 1, device=device)
    ),
    "out": lambda device: facula.exp(
        facula.ones(2, device=device), out=facula.ones(2, dtype=facula.int64, device=device)
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments_are_refused_as_on_the_cpu(name):
    with pytest.raises(Exception) as expected:
        BAD[name]("cpu")
    with pytest.raises(expected.type) as actual:
        BAD[name]("meta")
    assert type(actual.value) is expected.type
    assert str(actual.value).replace(" on meta", "") == str(expected.value)


@pytest.mark.parametrize(
    "mixed",
    [
        lambda x, y: x + y,
        lambda x, y: facula.cat([x, y]),
        lambda x, y: x @ y.t(),
        lambda x, y: facula.where(x > 0, x, y),
        lambda x, y: nn.functional.linear(x, y),
        lambda x, y: x.add_(y),
    ],
)
def test_devices_do_not_mix(mixed):
    for x, y in [(meta(3, 3), facula.ones(3, 3)), (facula.ones(3, 3), meta(3, 3))]:
        with pytest.raises(RuntimeError, match="expected tensors on one device, got "):
            mixed(x, y)


def test_numbers_of_the_cpu_go_with_tensors_of_meta():
    number = facula.tensor(2.0)
    assert (meta(3) * number).is_meta and (number - meta(3)).is_meta
    assert facula.where(meta(3) > 0, number, 0.0).is_meta
    assert meta(3).fill_(number).is_meta and meta(3).clamp(min=number).is_meta
    with pytest.raises(RuntimeError, match="expected tensors on one device"):
        facula.ones(3) + meta(())


def test_copies_to_meta_do_nothing_and_copies_from_it_are_refused():
    x = facula.ones(3, 4).t()
    assert x.to("meta").stride() == (1, 4) and x.to(meta(2)).is_meta
    assert meta(4, 3).copy_(x).is_meta
    y = facula.ones(2, requires_grad=True)
    assert y.to("meta").grad_fn is not None
    moved = [
        lambda: meta(2).cpu(),
        lambda: meta(0).cpu(),
        lambda: meta(2).to("cpu"),
        lambda: x.copy_(meta(4, 3)),
    ]
    for move in [*moved, lambda: meta(2).tolist(), lambda: meta(2).to(x)]:
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
            move()
    assert meta(2).to("meta", facula.float64).dtype == facula.float64


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.sum().item(),
        lambda x: float(x.sum()),
        lambda x: int(x.sum()),
        lambda x: bool(x.sum()),
        lambda x: facula.is_nonzero(x.sum()),
        lambda x: 1.0 in x,
        lambda x: facula.allclose(x, x),
        lambda x: x.long().bincount(),
    ],
)
def test_the_value_of_one_element_is_refused(read):
    with pytest.raises(RuntimeError, match=r"Tensor\.item\(\) cannot be called on meta tensors"):
        read(meta(3))


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.nonzero(),
        lambda x: facula.argwhere(x),
        lambda x: x.unique(),
        lambda x: x.unique(dim=0),
        lambda x: facula.unique_consecutive(x),
        lambda x: x[x > 0],
        lambda x: x.masked_select(x > 0),
        lambda x: facula.where(x > 0),
        lambda x: facula.equal(x, x.clone()),
        lambda x: x.untyped_storage()[0],
        lambda x: x.untyped_storage().tolist(),
        lambda x: x.to_sparse(),
        lambda x: x.share_memory_(),
    ],
)
def test_results_that_depend_on_elements_are_refused(read):
    with pytest.raises(NotImplementedError):
        read(meta(3))


def test_comparisons_look_at_the_form_alone():
    facula.testing.assert_close(meta(2), meta(2))
    with pytest.raises(AssertionError, match="shape"):
        facula.testing.assert_close(meta(2), meta(3))
    assert meta(2).type() == "torch.meta.FloatTensor"


def test_other_libraries_get_no_elements():
    with pytest.raises(TypeError, match="can't convert meta tensor to numpy"):
        meta(2).numpy()
    with pytest.raises(BufferError, match="no elements"):
        memoryview(meta(2))
    with pytest.raises(BufferError):
        meta(2).__dlpack__()


def test_tensors_are_copied_and_pickled():
    x = meta(4, 3).t().requires_grad_()
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.is_meta and y.requires_grad
        assert (y.shape, y.stride(), y.dtype) == (x.shape, x.stride(), x.dtype)
    p = nn.Parameter(meta(2))
    for q in (copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert isinstance(q, nn.Parameter) and q.is_meta


def test_files_hold_the_form_of_a_tensor():
    x = meta(4, 3, dtype=facula.bfloat16).t()
    file = io.BytesIO()
    facula.save({"x": x, "module": nn.Linear(HUGE, 2, device="meta").state_dict()}, file)
    assert len(file.getvalue()) < 5000
    loaded = facula.load(io.BytesIO(file.getvalue()))
    assert loaded["x"].is_meta and loaded["x"].stride() == (1, 3)
    assert loaded["x"].dtype == facula.bfloat16
    assert loaded["module"]["weight"].shape == (2, HUGE)


def test_files_load_to_meta():
    x = facula.arange(6.0)
    file = io.BytesIO()
    facula.save({"x": x, "view": x[2:]}, file)
    loaded = facula.load(io.BytesIO(file.getvalue()), map_location="meta")
    assert loaded["x"].is_meta and loaded["view"].storage_offset() == 2
    assert loaded["x"].untyped_storage() is loaded["view"].untyped_storage()
    file.seek(0)
    assert facula.load(file, map_location=facula.device("meta"))["x"].shape == (6,)
