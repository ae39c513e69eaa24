import operator
import re

import pytest

import facula
import facula.nn.functional as F
from facula import nn


@pytest.mark.parametrize(
    "numpys, ours",
    [
        (lambda x: x.sum(axis=1), lambda x: x.sum(dim=1)),
        (lambda x: x.mean(axis=0, keepdims=True), lambda x: x.mean(dim=0, keepdim=True)),
        (lambda x: facula.cat([x, x], axis=1), lambda x: facula.cat([x, x], dim=1)),
        (lambda x: facula.amax(x, axis=(0, 1)), lambda x: facula.amax(x, dim=(0, 1))),
        (lambda x: facula.stack((x, x), axis=-1), lambda x: facula.stack((x, x), dim=-1)),
    ],
)
def test_axis_and_keepdims_mean_dim_and_keepdim(numpys, ours):
    x = facula.rand(2, 3)
    assert facula.equal(numpys(x), ours(x))


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError):
        facula.ones(2, 3).sum(axis=1, dim=0)


def test_a_function_without_dim_has_no_axis():
    with pytest.raises(TypeError):
        facula.relu(facula.ones(2), axis=0)


class TestArgumentsThatDoNotFit:
    pytestmark = pytest.mark.promise("U3")

    @pytest.mark.parametrize(
        "call, expected, got",
        [
            (lambda x: facula.Tensor.relu("a"), "relu: expected a tensor as self", "str"),
            (lambda x: x.add("a"), "add: expected a tensor or a number as other", "str"),
            (lambda x: facula.full((2,), x), "full: expected a number as fill_value", "Tensor"),
            (
                lambda x: x.amax(dim="a"),
                "amax: expected an int, a sequence of ints or None as dim",
                "str",
            ),
            (lambda x: x.amax(axis=(0, "a")), "amax: .* as dim", "tuple[int | str]"),
            (
                lambda x: facula.conv2d(x, x, padding=0.5),
                "conv2d: .* ints or a str as padding",
                "float",
            ),
            (
                lambda x: facula.sort(x, out=x),
                "sort: expected a sequence of tensors or None as out",
                "Tensor",
            ),
            (lambda x: x.uniform_("a"), "uniform_: expected a float as from", "str"),
            (lambda x: facula.max(x, "a"), "max: expected a tensor as other", "str"),
            (
                lambda x: facula.relu(2**80),
                "relu: expected a tensor as input",
                "an int of more than 64 bits",
            ),
        ],
    )
    def test_are_named_with_what_would_fit(self, call, expected, got):
        with pytest.raises(TypeError, match=f"^{expected}, got {re.escape(got)}\\.$"):
            call(facula.ones(2, 2))

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda x: facula.relu(), "relu: expected (input: Tensor), got ()."),
            (lambda x: facula.relu(x, 3), "relu: expected (input: Tensor), got (Tensor, int)."),
            (lambda x: x.relu(x=3), "relu: expected (), got (x=int)."),
        ],
    )
    def test_that_no_kind_explains_are_listed_beside_the_signature(self, call, message):
        with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
            call(facula.ones(2, 2))

    def test_that_are_lists_say_how_they_become_tensors(self):
        x = facula.ones(2, 2)
        with pytest.raises(TypeError, match=r"got list\[int\]\. Convert it with facula\.tensor"):
            F.linear([1, 2], x)
        with pytest.raises(TypeError, match=r"got tuple\[Tensor\]\. .* with facula\.stack"):
            F.linear((x, x), x)

    def test_that_are_arrays_or_images_say_how_they_become_tensors(self):
        array = pytest.importorskip("numpy").ones((4, 4, 3), "float32")
        image = pytest.importorskip("PIL.Image").new("RGB", (4, 4))
        with pytest.raises(
            TypeError, match=r"^exp: .* got numpy.ndarray\. .*facula\.from_numpy\(\)"
        ):
            facula.exp(array)
        with pytest.raises(
            TypeError, match=r"^conv2d: .* as input, got PIL.Image.Image\. .*ToTensor"
        ):
            nn.Conv2d(3, 8, 3)(image)

    def test_leave_other_type_errors_alone(self):
        with pytest.raises(TypeError, match=r"^reshape: expected ints or one tuple of ints, got"):
            facula.ones(2).reshape("a")


def test_sizes_take_only_tuples_to_their_end():
    size = facula.Size([2, 3])
    assert type(operator.add(size, (4,))) is type(operator.add((1,), size)) is facula.Size
    for other in ([1], 5):
        for join in (operator.add, operator.concat):
            with pytest.raises(TypeError):
                join(size, other)


def test_a_device_by_its_parts():
    assert facula.device(type="cpu") == facula.device("cpu")
    assert (
        facula.device(type="cuda", index=1) == facula.device("cuda", 1) == facula.device("cuda:1")
    )
    with pytest.raises(RuntimeError, match="the index is given twice"):
        facula.device("cuda:0", 1)


def test_named_results_are_made_like_named_tuples_too():
    result = facula.tensor([2.0, 1.0]).sort()
    for other in (type(result)(tuple(result)), type(result)(*result)):
        assert type(other) is type(result) and other.indices is result.indices
    with pytest.raises(TypeError, match="expected 2 items, got 3"):
        type(result)(1, 2, 3)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_an_integer_of_more_than_64_bits_overflows(number):
    x = facula.tensor([1, 2])
    for call in (
        lambda: x + number,
        lambda: number - x,
        lambda: x == number,
        lambda: x != number,
        lambda: number < x,
        lambda: x.add(number),
        lambda: x.float().mul_(number),
        lambda: facula.full((2,), number),
        lambda: x.clamp(max=number),
    ):
        with pytest.raises(OverflowError, match="int too big to convert"):
            call()
    assert (x == 2**64 - 1).tolist() == [False, False]


def test_one_of_several_ints_may_be_a_tensor_of_one_integer():
    one, x = facula.tensor([6]), facula.ones(1, 1, 4, 4)
    assert facula.zeros(one, facula.tensor([[2]])).shape == (6, 2)
    assert facula.ones(1).expand([one, facula.tensor(2)]).shape == (6, 2)
    assert facula.nn.functional.interpolate(x, size=[one, one]).shape == (1, 1, 6, 6)
    assert facula.nn.functional.pad(x, (one, 0)).shape == (1, 1, 4, 10)
    for wrong in (facula.tensor([1.5]), facula.tensor([True]), facula.tensor([1, 2])):
        with pytest.raises(TypeError, match="expected ints"):
            facula.zeros(wrong, 2)
        with pytest.raises(TypeError, match="pad: expected a sequence of ints"):
            facula.nn.functional.pad(x, (wrong, 0))
    with pytest.raises(TypeError, match="dim"):
        x.transpose(facula.tensor([0]), 1)  # one that stands alone has no dimensions


@pytest.mark.parametrize("wrong", [3.5, None, True, [1]])
def test_what_is_no_device_is_told(wrong):
    with pytest.raises(
        TypeError, match=rf"expected a string such as .* got {type(wrong).__name__}"
    ):
        facula.device(wrong)
