"""Graphs divided among those who can run their nodes: the groups are PyTorch's."""

import operator
import random

import pytest
import torch
import torch.fx.passes.infra.partitioner
import torch.fx.passes.operator_support

import facula
import facula.fx.passes.infra.partitioner

UNARY = ["relu", "sin", "neg"]
BINARY = ["add", "mul"]


def module(package, seed):
    """A graph of random calls, the same for both packages."""
    rng = random.Random(seed)
    graph = package.fx.Graph()
    values = [graph.placeholder("a"), graph.placeholder("b")]
    for _ in range(rng.randint(4, 14)):
        name = rng.choice(UNARY + BINARY)
        args = [rng.choice(values) for _ in range(1 + (name in BINARY))]
        values.append(graph.call_function(getattr(package, name), tuple(args)))
    if rng.random() < 0.5:
        parts = graph.call_function(package.split, (values[-1], 1))
        values += [graph.call_function(operator.getitem, (parts, i)) for i in range(2)]
    graph.output(tuple(value for value in values if not value.users))
    return package.fx.GraphModule(package.nn.Module(), graph)


def divided(package, seed):
    """The groups, before and after what does not compute left their ends, and the results."""
    rng = random.Random(seed)
    names = [name for name in (*UNARY, *BINARY, "split", "getitem") if rng.random() < 0.65]
    passes = package.fx.passes
    support = passes.operator_support.create_op_support(
        lambda modules, node: node.op == "call_function" and node.name.split("_")[0] in names
    )
    partitioner = passes.infra.partitioner.CapabilityBasedPartitioner(
        module(package, seed),
        support,
        allows_single_node_partition=rng.random() < 0.5,
        non_compute_ops=[f"{package.__name__}.neg"] if rng.random() < 0.5 else None,
    )
    parts = partitioner.propose_partitions()
    before = [sorted(node.name for node in part.nodes) for part in parts]
    partitioner.remove_bookend_non_compute_ops(parts)
    after = [sorted(node.name for node in part.nodes) for part in parts]
    fused = partitioner.fuse_partitions([part for part in parts if part.size()])
    results = fused(package.linspace(-1, 1, 2), package.tensor([0.25, -0.75]))
    calls = [node.target for node in fused.graph.nodes if node.op == "call_module"]
    return before, after, calls, [result.tolist() for result in results]


@pytest.mark.parametrize("seed", range(40))
def test_groups_are_the_same(seed):
    *ours, our_results = divided(facula, seed)
    *theirs, their_results = divided(torch, seed)
    assert ours == theirs
    for got, expected in zip(our_results, their_results, strict=True):
        assert got == pytest.approx(expected, rel=1e-6)
