"""What operations written in Python do with arguments that are no tensors."""

import inspect

import numpy as np
import pytest

import facula
from facula import _ops

pytestmark = pytest.mark.promise("U3")

# They take shapes or numbers, or an equation first.
WITHOUT_TENSORS = {
    "bartlett_window",
    "blackman_window",
    "broadcast_shapes",
    "einsum",
    "empty_permuted",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "range",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "tril_indices",
    "triu_indices",
}


def call_with(function, value):
    """The function with ``value`` for every tensor and something plausible for the rest."""
    args = []
    for parameter in inspect.signature(function).parameters.values():
        hint = str(parameter.annotation)
        if parameter.kind is parameter.VAR_POSITIONAL:
            args.append(value)
        elif parameter.default is parameter.empty and "Sequence[Tensor]" in hint:
            args.append([value, value])
        elif parameter.default is parameter.empty and "Tensor" in hint:
            args.append(value)
        elif parameter.default is parameter.empty:
            args.append({"int": 1, "float": 1.0, "bool": True}.get(hint, (2,)))
    return function(*args)


@pytest.mark.parametrize("value", [1.5, "x", None], ids=repr)
@pytest.mark.parametrize("name", sorted(set(_ops.__all__) - WITHOUT_TENSORS))
def test_what_is_no_tensor_is_a_type_error(name, value):
    with pytest.raises(TypeError):
        call_with(getattr(facula, name), value)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: facula.inner(x, 1.5), r"^inner: expected a tensor as other, got float\.$"),
        (lambda x: facula.inner(x, other=1.5), r"^inner: expected a tensor as other, got float\.$"),
        (lambda x: x.inner(1.5), r"^inner: expected a tensor as other, got float\.$"),
        (lambda x: facula.dist(x, 1.5), r"^dist: expected a tensor as other, got float\.$"),
        (lambda x: facula.hstack([x, 1]), r"^hstack: expected a tensor as tensors, got int\.$"),
        (lambda x: facula.einsum("i,i", x, 1), r"^einsum: expected tensors as operands, got int"),
        (lambda x: facula.broadcast_tensors(x, None), "expected a tensor as tensors, got NoneType"),
    ],
)
def test_the_message_names_the_argument(call, message):
    with pytest.raises(TypeError, match=message):
        call(facula.ones(3))


def test_an_attribute_error_of_the_users_own_stays_one():
    def pack(x):
        raise AttributeError("mine")

    x = facula.ones(3, requires_grad=True)
    with (
        pytest.raises(AttributeError, match="mine"),
        facula.autograd.graph.saved_tensors_hooks(pack, lambda x: x),
    ):
        facula.inner(x, x)


def test_signatures_and_documentation_are_those_of_the_operations():
    assert list(inspect.signature(facula.inner).parameters) == ["input", "other", "out"]
    assert facula.inner.__doc__.startswith("Sum of products")


X = facula.ones(2, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: facula.rot90(X, 1.5),
        lambda: facula.rot90(X, True),
        lambda: facula.diff(X, "a"),
        lambda: facula.combinations(X[0], with_replacement=3),
        lambda: facula.tril_indices(2, X),
        lambda: facula.tril_indices(2, 2, dtype="float32"),
        lambda: facula.broadcast_tensors(X, [X]),
        lambda: facula.histogramdd(X, "a"),
        lambda: facula.nn.functional.poisson_nll_loss(X, X, reduction=1),
        lambda: facula.nn.functional.gaussian_nll_loss(X, X, X, reduction=None),
        lambda: X.to("cpu", X),
        lambda: X.to(facula.float64, "cpu"),
        lambda: X.to_sparse_bsr("a"),
        lambda: X.float_power_("a"),
        lambda: facula.nn.functional.grid_sample(X[None, None], X[None, None], align_corners=1),
        lambda: facula.renorm(X, 2, [1], 1.0),
        lambda: X.renorm_(2, [1], 1.0),
        lambda: facula.tensor_split(X, 1.5),
        lambda: facula.tensor_split(X, [1, "a"]),
        lambda: X.transpose(True, 0),
        lambda: X.select(0, facula.tensor(0.0)),
        lambda: facula.nn.functional.adaptive_avg_pool2d(X[None], [1.5, 2]),
    ],
)
def test_an_argument_of_another_type_than_the_hint_says_is_a_type_error(call):
    with pytest.raises(TypeError, match=r": expected .* as .*, got "):
        call()


def test_integers_of_other_libraries_and_0d_tensors_are_integers():
    for one in (np.int64(1), np.uint8(1), facula.tensor(1), facula.tensor(1, dtype=facula.uint8)):
        assert facula.rot90(X, one).shape == X.transpose(0, one).shape == (3, 2)
    with pytest.raises(TypeError):
        facula.rot90(X, facula.tensor([1]))


def test_an_int_of_more_than_64_bits_has_pytorchs_types_of_exceptions():
    for call in (
        lambda: X.transpose(2**70, 0),
        lambda: X.sum(2**70),
        lambda: facula.rot90(X, 2**70),
    ):
        with pytest.raises(ValueError, match="an int of more than 64 bits"):
            call()
    with pytest.raises(TypeError, match=r"list\[int\]"):
        X.sum([0, 2**70])
    with pytest.raises(OverflowError, match=r"^add: int too big to convert: 118"):
        X.add(2**70)


def test_flags_of_networks_may_be_any_object_as_in_pytorch():
    assert facula.nn.functional.relu(-X, inplace=1).sum() == 0
    assert len(facula.nn.functional.adaptive_max_pool1d(X, 1, return_indices=1)) == 2
    images = X.expand(1, 3, 2, 3)
    assert len(facula.nn.functional.fractional_max_pool2d(images, 1, 1, return_indices="a")) == 2
    assert len(facula.lu(X, get_infos=1)) == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda n: facula.eye(n, n),
        lambda n: facula.kthvalue(facula.arange(4), n),
        lambda n: facula.ones(4).multinomial(n, generator=facula.Generator().manual_seed(0)),
        lambda n: facula.ones(4).view(n, 2),
        lambda n: facula.ones(4, 4).select(0, n),
        lambda n: facula.ones(4, 4).tril(n),
        lambda n: facula.ones(4, 4).triu_(n),
        lambda n: facula.arange(4).topk(n).values,
        lambda n: facula.nn.functional.interpolate(facula.ones(1, 1, 4), size=n),
    ],
)
def test_a_tensor_of_one_integer_is_a_count_whatever_its_shape(function):
    expected = function(2)
    for n in (facula.tensor(2), facula.tensor([2]), facula.tensor([[2]], dtype=facula.int32)):
        facula.testing.assert_close(function(n), expected)


def test_a_dim_is_no_tensor_with_dimensions():
    for function in (facula.ones(2, 2).cumsum, facula.ones(2, 2).unbind):
        assert function(facula.tensor(1)) is not None
        with pytest.raises(TypeError):
            function(facula.tensor([1]))


def test_numbers_of_numpy_are_counts():
    x = facula.arange(4)
    assert x.repeat_interleave(np.int64(2)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [len(part) for part in x.tensor_split(np.int64(2))] == [2, 2]
    with pytest.raises(TypeError):
        x.repeat_interleave(2.0)


def test_indices_that_repeat_have_the_dtype_of_the_counts():
    for dtype in (facula.int32, facula.int64):
        for device in ("cpu", "meta"):
            counts = facula.tensor([1, 2], dtype=dtype, device=device)
            assert facula.repeat_interleave(counts, output_size=3).dtype == dtype


def test_methods_take_the_ints_of_their_only_argument_one_by_one():
    x = facula.arange(24).view(2, 1, 12)
    assert x[:1].squeeze(0, 1).shape == (12,)
    assert x[:1].clone().squeeze_(0, 1).shape == (12,)
    assert x.count_nonzero(0, 2).tolist() == [23]
    assert [part.shape[2] for part in x.dsplit(1, 4)] == [1, 3, 8]
    assert [part.shape[1] for part in x.view(2, 12).hsplit(1, 4)] == [1, 3, 8]
    assert [part.shape[0] for part in x.view(12, 2).vsplit(1, 4)] == [1, 3, 8]


def test_functions_do_not_take_the_ints_one_by_one():
    for function in (facula.squeeze, facula.count_nonzero, facula.hsplit):
        with pytest.raises(TypeError):
            function(facula.ones(1, 4), 0, 1)


def test_a_mapped_squeeze_takes_ints_one_by_one():
    y = facula.vmap(lambda x: x.squeeze(0, 1))(facula.ones(5, 1, 1, 3))
    assert y.shape == (5, 3)


def test_a_bool_of_numpy_is_a_float_among_operands_as_in_pytorch():
    x = facula.ones(3, dtype=facula.int32)
    assert (x + np.bool_(True)).dtype == facula.float32
    assert (np.bool_(True) * x).dtype == facula.float32
    assert (facula.ones(3, dtype=facula.bool) + np.bool_(True)).dtype == facula.float32
    assert facula.full((2,), np.bool_(True)).dtype == facula.float32
    assert (facula.ones(3) - np.bool_(True)).tolist() == [0, 0, 0]
    assert facula.tensor(np.bool_(True)).dtype == facula.bool
    assert x.masked_fill(x > 0, np.bool_(False)).tolist() == [0, 0, 0]
    with pytest.raises(NotImplementedError):
        facula.ones(3, dtype=facula.bool) & np.bool_(True)
