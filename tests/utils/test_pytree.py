"""Nested containers taken apart and put together."""

from collections import OrderedDict, namedtuple

import pytest

from facula.utils._pytree import broadcast_prefix, tree_flatten, tree_map, tree_unflatten

Point = namedtuple("Point", "x y")

TREES = [
    1,
    (),
    (1, 2),
    [1, (2, [3])],
    {"b": 1, "a": {"c": 2}},
    OrderedDict([("z", 1), ("a", (2, 3))]),
    Point(1, Point([2], 3)),
    None,
]


@pytest.mark.parametrize("tree", TREES)
def test_a_tree_is_the_same_after_taking_it_apart(tree):
    leaves, spec = tree_flatten(tree)
    rebuilt = tree_unflatten(leaves, spec)
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)
    assert spec.num_leaves == len(leaves)


def test_leaves_come_in_order():
    assert tree_flatten({"b": 1, "a": [2, Point(3, (4,))]})[0] == [1, 2, 3, 4]


def test_tree_map_works_on_several_trees():
    assert tree_map(lambda a, b: a + b, (1, [2]), (10, [20])) == (11, [22])
    with pytest.raises(ValueError, match="Node type mismatch"):
        tree_map(lambda a, b: a, (1, 2), [1, 2])


def test_unflatten_refuses_a_wrong_number_of_leaves():
    with pytest.raises(
        ValueError, match="has length 3 but the spec refers to a pytree that holds 2"
    ):
        tree_unflatten([1, 2, 3], tree_flatten((1, 2))[1])


def test_a_prefix_is_spread_over_the_leaves_below():
    spec = tree_flatten((1, {"a": 2, "b": [3, 4]}))[1]
    assert broadcast_prefix(0, spec) == [0, 0, 0, 0]
    assert broadcast_prefix((0, {"a": 1, "b": 2}), spec) == [0, 1, 2, 2]
    assert broadcast_prefix((0, 1, 2), spec) is None
    assert broadcast_prefix((0, {"a": 1}), spec) is None
