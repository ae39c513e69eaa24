"""Lists of tensors: every ``_foreach_`` function against PyTorch's, by its own schemas."""

import pytest
import torch

import facula

SCHEMAS = [
    schema
    for schema in torch._C._jit_get_all_schemas()
    if schema.name.startswith("aten::_foreach_")
    and not schema.overload_name.endswith("out")
    and hasattr(torch, schema.name.partition("::")[2])
]
SHAPES = [(2, 3), (), (4,)]


def value(argument, seed):
    """An argument of PyTorch's, as plain data: lists stand for tensors."""
    generator = torch.Generator().manual_seed(seed)
    kind = str(argument.type)
    if kind == "List[Tensor]":
        shapes = [(3, 3)] * 2 if argument.name in ("self", "mat2") and seed >= 100 else SHAPES
        return [torch.rand(shape, generator=generator) + 0.1 for shape in shapes]
    if kind == "Tensor":
        n = 3 if argument.name == "scalars" else None
        return torch.rand((n,) if n else (), generator=generator) + 0.5
    if kind.startswith("List"):
        return [0.5, 2, 1.5]
    if argument.has_default_value():
        return argument.default_value
    return 0.75


def ours(data):
    if isinstance(data, torch.Tensor):
        return facula.from_numpy(data.clone().numpy())
    return [ours(item) for item in data] if isinstance(data, list) else data


def theirs(data):
    if isinstance(data, list):
        return [theirs(item) for item in data]
    return data.clone() if isinstance(data, torch.Tensor) else data


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: f"{s.name[6:]}.{s.overload_name}")
def test_each_form_gives_pytorchs_numbers(schema):
    name = schema.name.partition("::")[2]
    base = 100 if name == "_foreach_mm" else 0
    arguments = [a for a in schema.arguments if not a.kwarg_only and a.name != "dtype"]
    data = [value(a, base + i) for i, a in enumerate(arguments)]
    expected_inputs, inputs = [theirs(d) for d in data], [ours(d) for d in data]
    expected = getattr(torch, name)(*expected_inputs)
    result = getattr(facula, name)(*inputs)
    if name.endswith("_"):
        expected, result = expected_inputs[0], inputs[0]
    for a, b in zip(result, expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(a.numpy().copy()), b, equal_nan=True)
