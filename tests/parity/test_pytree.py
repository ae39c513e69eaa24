"""Trees taken apart: structures, prints, paths, JSON and errors as PyTorch's."""

import enum
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest
import torch
import torch.utils._pytree as theirs

import facula
import facula.utils._pytree as ours

Point = namedtuple("Point", "x y")


class Color(enum.Enum):
    RED = 1


TREES = [
    1,
    None,
    [],
    {},
    (1, [2, (3,)], {"a": {"b": 4}}),
    {"b": 1, "a": [None, ()]},
    Point(1, Point([2], 3)),
    OrderedDict(z=1, a=(2, 3)),
    defaultdict(list, q=1, p=[2]),
    deque([1, [2]], maxlen=3),
]
BOTH = [theirs, ours]


def _results(action):
    """What both do: the text of the result, or the type of the error and its text."""
    found = []
    for lib in BOTH:
        try:
            found.append(("result", str(action(lib))))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_structures_are_the_same(tree):
    specs = [lib.tree_structure(tree) for lib in BOTH]
    for attribute in ("type", "context", "num_leaves", "num_nodes", "num_children"):
        assert getattr(specs[0], attribute) == getattr(specs[1], attribute)
    assert specs[0].is_leaf() == specs[1].is_leaf()
    for action in (
        lambda lib: lib.tree_flatten(tree),
        lambda lib: lib.tree_leaves(tree),
        lambda lib: list(lib.tree_iter(tree)),
        lambda lib: lib.tree_map(lambda x: (x, x), tree),
        lambda lib: lib.tree_map_only(int, lambda x: x + 1, tree),
        lambda lib: [(lib.keystr(k), v) for k, v in lib.tree_leaves_with_path(tree)],
        lambda lib: lib.tree_map_with_path(lambda k, x: lib.keystr(k), tree),
        lambda lib: lib.treespec_pprint(lib.tree_structure(tree)),
        lambda lib: lib.treespec_dumps(lib.tree_structure(tree)),
        lambda lib: lib.tree_all(lambda x: x is not None, tree),
        lambda lib: lib.tree_any_only(int, lambda x: x > 3, tree),
        lambda lib: lib.tree_flatten(tree, is_leaf=lambda x: isinstance(x, list)),
    ):
        expected, found = _results(action)
        assert found == expected


@pytest.mark.parametrize("other", TREES, ids=str)
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees_that_do_not_fit_are_refused_in_the_same_way(tree, other):
    expected, found = _results(lambda lib: lib.tree_map(lambda a, b: (a, b), tree, other))
    assert found == expected
    specs = [(lib.tree_structure(tree), lib.tree_structure(other)) for lib in BOTH]
    assert (specs[0][0] == specs[0][1]) == (specs[1][0] == specs[1][1])
    expected, found = _results(
        lambda lib: lib._broadcast_to_and_flatten(tree, lib.tree_structure(other))
    )
    assert found == expected


@pytest.mark.parametrize(
    "action",
    [
        lambda lib: lib.tree_unflatten([1, 2], lib.treespec_leaf()),
        lambda lib: lib.tree_unflatten([1], 3),
        lambda lib: lib.register_pytree_node(list, None, None),
        lambda lib: lib.treespec_dumps(3),
        lambda lib: lib.treespec_dumps(lib.treespec_leaf(), 7),
        lambda lib: lib.treespec_loads("[3, null]"),
        lambda lib: lib.tree_map_only(3, str, [1]),
        lambda lib: lib.treespec_tuple([lib.treespec_leaf()]),
        lambda lib: lib.treespec_dict(a=lib.treespec_leaf()),
        lambda lib: lib.key_get([1, {"a": Point(2, 3)}], (lib.SequenceKey(1), lib.MappingKey("a"))),
        lambda lib: lib.GetAttrKey("x").get(Point(1, 2)),
        lambda lib: lib.arg_tree_leaves(1, [2], a=3),
        lambda lib: lib.treespec_loads(lib.treespec_dumps(lib.tree_structure({"a": [1, (2,)]}))),
        lambda lib: lib.treespec_dumps(lib.tree_structure({Color.RED: 1})),
    ],
)
def test_other_calls_are_the_same(action):
    expected, found = _results(action)
    assert found == expected


def test_classes_are_registered_in_the_same_way():
    texts = []
    for lib in BOTH:

        class Box:
            def __init__(self, inside):
                self.inside = inside

        @dataclass
        class Pair:
            a: object
            b: object = None

        @dataclass(frozen=True)
        class Fixed:
            a: int

        lib.register_pytree_node(
            Box, lambda b: ([b.inside], "box"), lambda c, _: Box(*c), serialized_type_name="Box"
        )
        lib.register_dataclass(Pair)
        lib.register_constant(Fixed)
        tree = [Box((1, 2)), Pair(3), Pair(4, 5), Fixed(6)]
        text = str(lib.tree_flatten(tree)).replace("test_pytree", "")
        again = lib.tree_map(lambda x: -x, tree)
        dumped = lib.treespec_dumps(lib.tree_structure(tree[0]))
        texts.append((text, again[0].inside, again[1].a, again[2].b, again[3], dumped))
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            lib.tree_flatten_with_path(tree[0])
    assert str(texts[0]) == str(texts[1])


def test_tuples_of_the_frameworks_are_containers():
    for lib, pytree in ((torch, theirs), (facula, ours)):
        result = lib.max(lib.ones(2, 2), 0)
        leaves, spec = pytree.tree_flatten([result, lib.Size([1, 2])])
        assert len(leaves) == 4 and isinstance(leaves[0], lib.Tensor)
        again = pytree.tree_unflatten(leaves, spec)
        assert type(again[0]) is type(result) and again[1] == lib.Size([1, 2])
