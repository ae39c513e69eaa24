import pytest

import facula
from facula.func import functionalize, rearrange


@pytest.mark.parametrize(
    "pattern, shape, lengths, expected",
    [
        ("a b -> b a", (2, 3), {}, lambda x: x.t()),
        ("a b -> (b a)", (2, 3), {}, lambda x: x.t().reshape(6)),
        ("(a b) c -> a (c b)", (6, 2), {"a": 2}, lambda x: x.view(2, 3, 2).mT.reshape(2, 6)),
        ("a ... -> ... a", (2, 3, 4), {}, lambda x: x.permute(1, 2, 0)),
        ("... -> ... 1", (2, 3), {}, lambda x: x[..., None]),
        ("a 1 b -> a b", (2, 1, 3), {}, lambda x: x[:, 0]),
        ("a b -> 1 (b a) 1", (2, 3), {}, lambda x: x.t().reshape(1, 6, 1)),
        ("a () -> a", (2, 1), {}, lambda x: x[:, 0]),
    ],
)
def test_patterns(pattern, shape, lengths, expected):
    x = facula.arange(facula.Size(shape).numel()).view(shape)
    assert facula.equal(rearrange(x, pattern, **lengths), expected(x))


def test_sequences_are_stacked():
    xs = [facula.ones(2), facula.zeros(2)]
    assert rearrange(xs, "n d -> d n").tolist() == [[1, 0], [1, 0]]


@pytest.mark.parametrize(
    "pattern, lengths, message",
    [
        ("a b", {}, "one '->'"),
        ("a b -> a", {}, "on one side"),
        ("a a -> a a", {}, "twice"),
        ("a -> a", {}, "names 1 dimensions"),
        ("(a b) c -> a b c", {}, "not known"),
        ("(a b) c -> a b c", {"a": 4}, "cannot be split"),
        ("(a b) c -> a b c", {"a": 2, "b": 7}, "has the size 14"),
        ("a b -> a b", {"c": 2}, "no names"),
        ("(a (b)) c -> a b c", {}, "inside of brackets"),
        ("(a b c -> a b c", {}, "not closed"),
        ("a) b -> a b", {}, "not opened"),
        ("a-b -> a b", {}, "no name"),
    ],
)
def test_what_is_refused(pattern, lengths, message):
    with pytest.raises(ValueError, match=message):
        rearrange(facula.ones(6, 2), pattern, **lengths)


def test_functionalize_is_the_function():
    assert functionalize(lambda x: x.clone().add_(1))(facula.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match="expected remove="):
        functionalize(len, remove="all")
