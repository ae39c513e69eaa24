"""Values and sizes that layers and losses must refuse rather than follow out of their memory."""

import pytest

import facula
import facula.nn.functional as F

FAR = 10**10


def leaf(*shape):
    return facula.randn(*shape).requires_grad_()


@pytest.mark.parametrize("loss", [F.nll_loss, F.cross_entropy])
@pytest.mark.parametrize("far", [FAR, -FAR])
def test_targets_changed_before_the_derivative_are_refused(loss, far):
    target = facula.randint(0, 10, (1000,))
    y = loss(leaf(1000, 10), target, weight=facula.ones(10))
    target.data.fill_(far)
    with pytest.raises(IndexError, match=f"{loss.__name__}: target has class {far} of 10 classes"):
        y.backward()


def test_labels_changed_before_the_derivative_are_refused():
    targets = facula.ones(2, 3, dtype=facula.int64)
    y = F.ctc_loss(leaf(8, 2, 5).log_softmax(2), targets, (8, 8), (3, 3))
    targets.numpy()[1, 2] = FAR
    with pytest.raises(IndexError, match="ctc_loss: target has label 10000000000 at index 2"):
        y.backward()


@pytest.mark.parametrize("scale", [False, True])
def test_indices_changed_before_the_derivative_are_refused(scale):
    index = facula.arange(4)
    y = F.embedding(index, leaf(4, 3), scale_grad_by_freq=scale)
    index.numpy()[3] = FAR
    with pytest.raises(IndexError, match="embedding: index 10000000000 at position"):
        y.sum().backward()


def test_indices_of_bags_changed_before_the_derivative_are_refused():
    index = facula.arange(4)
    bags = F.embedding_bag(
        index, leaf(4, 3), facula.tensor([0, 2]), mode="sum", per_sample_weights=leaf(4)
    )
    index.numpy()[3] = FAR
    with pytest.raises(RuntimeError, match="embedding_bag: index 10000000000 at position"):
        bags.sum().backward()


def test_bags_changed_before_the_derivative_are_refused():
    y, bag_of, _, _ = facula.embedding_bag(
        leaf(4, 3), facula.arange(4), facula.tensor([0, 2]), False, 1
    )
    bag_of.numpy()[3] = FAR
    with pytest.raises(RuntimeError, match="embedding_bag: the bag of index 3 was changed"):
        y.sum().backward()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: F.fold(facula.ones(1, 4, 4), (4, 4), (2**32, 2**32)), r"fold: .* of a window"),
        (
            lambda: F.fold(facula.ones(1, 1, 4), (2**32, 2**32), (1, 1)),
            r"fold: 4294967296 \* 4294967296 windows are more",
        ),
        (
            lambda: F.unfold(facula.ones(1, 1, 1, 1), (1, 1), padding=(2**31, 2**31)),
            r"unfold: .* windows are more",
        ),
        (
            lambda: F.unfold(facula.ones(1, 4, 1, 1), (2**31, 2**30), padding=(2**31, 2**31)),
            r"unfold: 4 \* 2305843009213693952 elements of a column",
        ),
        (
            lambda: F.adaptive_max_pool2d(facula.ones(1, 1, 4, 4), (2**62, 1)),
            "adaptive_max_pool2d: not implemented for more than 268435456 windows",
        ),
        (
            lambda: F.adaptive_max_pool1d(facula.ones(1, 1, 4), 10**9),
            "adaptive_max_pool1d: not implemented for more than 268435456 windows",
        ),
        (
            lambda: F.adaptive_max_pool2d(facula.ones(1, 1, 4, 4), (2**28, 2**28)),
            "alloc|memory|bytes",
        ),
    ],
)
def test_products_of_sizes_that_overflow_are_refused(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parametrize("sample", [0.1, 0.5, 0.999, 1.0, 7.0, -7.0, 1e4, float("nan")])
def test_fractional_windows_stay_in_the_input(sample):
    x = facula.arange(4000.0).reshape(1, 1, 4000, 1).half()
    samples = facula.full((1, 1, 2), sample).half()
    y, places = F.fractional_max_pool2d(
        x, 1, (3999, 1), _random_samples=samples, return_indices=True
    )
    assert places.min() >= 0
    assert places.max() == 3999
    assert y.flatten().equal(x.flatten()[places.flatten()])


@pytest.mark.parametrize("scale", [1e-30, 1e-300])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_places_of_tiny_scales_stay_in_the_input(mode, scale):
    x = facula.arange(16.0).reshape(1, 1, 4, 4)
    y = facula._core._resample(x, mode, False, [4, 4], False, [scale, scale])
    if mode.startswith("nearest"):
        assert y[0, 0, 1:, 1:].eq(15).all()
    assert y.shape == x.shape


@pytest.mark.cuda
@pytest.mark.parametrize(
    "call",
    [
        lambda x, index, there: F.embedding(index.to(there), x),
        lambda x, index, there: F.embedding_bag(index.to(there), x, index[:1]),
        lambda x, index, there: F.embedding_bag(index, x, index[:1].to(there)),
        lambda x, index, there: F.embedding_bag(
            index, x, index[:1], mode="sum", per_sample_weights=facula.ones(4, device=there)
        ),
        lambda x, index, there: F.rms_norm(x, (4,), facula.ones(4, device=there)),
        lambda x, index, there: F.fractional_max_pool2d(
            x[None], 2, 2, _random_samples=facula.zeros(1, 1, 2, device=there)
        ),
    ],
)
def test_operands_on_another_device_are_refused(call):
    with pytest.raises(RuntimeError, match="expected tensors on one device"):
        call(facula.ones(4, 4), facula.arange(4), "cuda")
