"""The modules that PyTorch tests itself with, built and run in both frameworks.

Constructor arguments and inputs are those of ``common_modules.module_db`` and of the older lists in
``common_nn``. Functions of those lists that build modules are run again with our names in place of
PyTorch's.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from .compare import Difference, result_differences
from .frameworks import convert, dtype_name, facula, is_tensor, outcome_of, seed
from .known_differences import unexcused_of_module
from .ops import load_module

DTYPES = {"float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class Case:
    """One module with one input. ``make(lib)`` builds it in either framework."""

    name: str
    make: Callable[[Any], Any]
    dtype: torch.dtype
    training: bool
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


def twin(value: Any) -> Any:
    """``value``, an argument of a module, as Facula has it."""
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return _encoder_layer(value)
    if isinstance(value, (types.BuiltinFunctionType, types.FunctionType)):
        home = facula.nn.functional if hasattr(facula.nn.functional, value.__name__) else facula
        return getattr(home, value.__name__)
    if type(value).__module__.startswith("torch.nn") and not isinstance(value, torch.Tensor):
        # Not vars(): options are dataclasses with slots.
        given = dataclasses.asdict(value) if dataclasses.is_dataclass(value) else vars(value)
        return getattr(facula.nn, type(value).__name__)(**given)
    if isinstance(value, tuple) and not isinstance(value, torch.Size):
        return tuple(twin(v) for v in value)
    if isinstance(value, dict):
        return {key: twin(v) for key, v in value.items()}
    return convert(facula, value)


def _encoder_layer(layer: torch.nn.TransformerEncoderLayer) -> Any:
    ours = facula.nn.TransformerEncoderLayer(
        layer.self_attn.embed_dim,
        layer.self_attn.num_heads,
        layer.linear1.out_features,
        layer.dropout.p,
        twin(layer.activation),
        layer.norm1.eps,
        layer.self_attn.batch_first,
        layer.norm_first,
        layer.linear1.bias is not None,
        dtype=getattr(facula, dtype_name(layer.linear1.weight.dtype)),
    )
    ours.load_state_dict(twin(dict(layer.state_dict())))
    return ours


def _make(path: str, constructor: Any) -> Callable[[Any], Any]:
    def make(lib: Any) -> Any:
        cls = functools.reduce(getattr, path.split("."), lib)
        args, kwargs = constructor.args, constructor.kwargs
        if lib is not torch:
            args, kwargs = twin(args), twin(kwargs)
        return cls(*args, **kwargs)

    return make


@functools.cache
def database() -> dict[str, Any]:
    """The entries of ``module_db``, by the name of their module."""
    return {info.name: info for info in load_module("common_modules").module_db}


def cases(name: str, dtype: torch.dtype, training: bool) -> Iterator[Case]:
    """All that PyTorch's list has of one module."""
    info = database()[name]
    torch.manual_seed(0)
    inputs = info.module_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=True, training=training
    )
    for i, entry in enumerate(inputs):
        forward = entry.forward_input
        yield Case(
            f"{name}[{i}]",
            _make(name, entry.constructor_input),
            dtype,
            training,
            forward.args,
            forward.kwargs,
        )


def bad_cases(name: str) -> Iterator[Case]:
    """Constructor arguments or inputs that PyTorch refuses."""
    info = database()[name]
    for training in (True, False) if info.module_error_inputs_func else ():
        inputs = info.module_error_inputs_func(
            info, device="cpu", dtype=torch.float32, requires_grad=False, training=training
        )
        for i, entry in enumerate(inputs):
            constructor, forward = (
                entry.module_error_input.constructor_input,
                entry.module_error_input.forward_input,
            )
            args, kwargs = (forward.args, forward.kwargs) if forward else ((), {})
            make = _make(name, constructor)
            yield Case(f"{name}.bad[{i}]", make, torch.float32, training, args, kwargs)


def differences(case: Case) -> list[Difference]:
    """Where the two frameworks disagree: initial weights, repr, results, gradients, errors."""
    theirs, their_error = outcome_of(lambda: _build(torch, case))
    ours, our_error = outcome_of(lambda: _build(facula, case))
    if their_error or our_error:
        return _error_differences(their_error, our_error, "constructor")
    found = _describe(theirs, ours)
    theirs, ours = (
        module.to(getattr(lib, dtype_name(case.dtype)))
        for lib, module in ((torch, theirs), (facula, ours))
    )
    expected, their_error = outcome_of(lambda: _run(torch, theirs, case))
    actual, our_error = outcome_of(lambda: _run(facula, ours, case))
    if their_error or our_error:
        return found + _error_differences(their_error, our_error, "forward or backward")
    for key, value in expected.items():
        found += result_differences(value, actual.get(key), "special", key)
    return unexcused_of_module(case.name, dtype_name(case.dtype), found)


def _build(lib: Any, case: Case) -> Any:
    seed(lib)
    module = case.make(lib)
    module.train(case.training)
    return module


def _describe(theirs: Any, ours: Any) -> list[Difference]:
    found = []
    if repr(theirs) != repr(ours):
        found.append(Difference("repr", f"expected {theirs!r}, got {ours!r}"))
    expected, actual = theirs.state_dict(), ours.state_dict()
    if list(expected) != list(actual):
        text = f"expected {list(expected)}, got {list(actual)}"
        return [*found, Difference("state_dict", text)]
    for key in expected:
        if isinstance(expected[key], torch.nn.parameter.UninitializedTensorMixin):
            continue
        found += result_differences(expected[key], actual[key], "exact", f"initial {key}")
    return found


def _run(lib: Any, module: Any, case: Case) -> dict[str, Any]:
    """Results, gradients and buffers after one forward and one backward."""
    args, kwargs = case.args, case.kwargs
    if lib is facula:
        args, kwargs = twin(args), twin(kwargs)
    else:
        args, kwargs = _fresh(args), _fresh(kwargs)
    seed(lib)
    output = module(*args, **kwargs)
    results = [t for t in _tensors(output) if t.requires_grad]
    if results:
        lib.autograd.backward(results, [_weights(lib, t) for t in results])
    inputs = [t for t in _tensors([list(args), kwargs]) if t.is_leaf and t.requires_grad]
    return {
        "output": list(_tensors(output)),
        "input gradients": [t.grad for t in inputs],
        "parameter gradients": [p.grad for p in module.parameters()],
        "state": list(module.state_dict().values()),
    }


def _fresh(value: Any) -> Any:
    """Inputs without the gradients of an earlier run."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (tuple, list)):
        return type(value)(_fresh(v) for v in value)
    if isinstance(value, dict):
        return {key: _fresh(v) for key, v in value.items()}
    return value


def _weights(lib: Any, t: Any) -> Any:
    """A gradient that is different everywhere, so that no mistake in place cancels."""
    ramp = lib.arange(t.numel(), dtype=lib.float64) / max(1, t.numel()) + 0.5
    return ramp.reshape(tuple(t.shape)).to(t.dtype)


def _tensors(value: Any) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _error_differences(
    theirs: Exception | None, ours: Exception | None, where: str
) -> list[Difference]:
    if theirs is not None and ours is not None and isinstance(ours, _ours(type(theirs))):
        return []
    return [Difference("exception", f"{where}: expected {theirs!r:.200}, got {ours!r:.300}")]


def _ours(error: type[Exception]) -> type[Exception]:
    return error if error.__module__ == "builtins" else Exception


# ---- the older lists


class _Rebinder:
    """Copies functions of PyTorch's lists, with our names where their text says ``nn`` or ``F``."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._names: dict[str, Any] = dict(vars(module))
        self._names.update(torch=facula, nn=facula.nn, F=facula.nn.functional)
        self._names.update({n: self.copy(f) for n, f in self._names.items() if self._is_own(f)})

    def _is_own(self, value: Any) -> bool:
        return isinstance(value, types.FunctionType) and value.__module__ == self._module.__name__

    def copy(self, value: Any) -> Any:
        if isinstance(value, type) and value.__module__ == self._module.__name__:
            return self._functional_module(value)
        if not isinstance(value, types.FunctionType):
            return value
        if value.__module__ == "torch.nn.functional":
            return getattr(facula.nn.functional, value.__name__)
        cells = tuple(types.CellType(self._content(c)) for c in value.__closure__ or ())
        copy = types.FunctionType(
            value.__code__, self._names, value.__name__, value.__defaults__, cells
        )
        copy.__kwdefaults__ = value.__kwdefaults__
        return copy

    def _content(self, cell: Any) -> Any:
        value = cell.cell_contents
        return self.copy(value) if isinstance(value, types.FunctionType) else twin(value)

    def _functional_module(self, cls: Any) -> Any:
        """A class made by ``wrap_functional`` around a function that its forward knows."""
        names = cls.forward.__code__.co_freevars
        known = dict(zip(names, map(self._content, cls.forward.__closure__), strict=True))
        return self._names["wrap_functional"](known["fn"], **known["kwargs"])


@functools.cache
def older_cases() -> dict[str, Case]:
    """The modules and losses of ``common_nn``, by name."""
    lists = load_module("common_nn")
    rebinder = _Rebinder(lists)
    entries = [*lists.module_tests, *lists.get_new_module_tests(), *lists.criterion_tests]
    found: dict[str, Case] = {}
    for entry in entries:
        case = _older_case(entry, rebinder)
        name, n = case.name, 2
        while case.name in found:
            case = Case(f"{name}-{n}", *list(vars(case).values())[1:])
            n += 1
        found[case.name] = case
    return found


def _older_case(entry: dict[str, Any], rebinder: _Rebinder) -> Case:
    name = entry.get("fullname") or "_".join(
        [entry.get("module_name", "functional"), *([entry["desc"]] if "desc" in entry else [])]
    )
    arguments = entry.get("constructor_args", ())

    def make(lib: Any) -> Any:
        if "constructor" not in entry:
            path = getattr(lib.nn, entry["module_name"])
            return path(*(arguments if lib is torch else twin(tuple(arguments))))
        if lib is torch:
            return entry["constructor"](*arguments)
        return rebinder.copy(entry["constructor"])(*twin(tuple(arguments)))

    torch.manual_seed(0)
    dtype = entry.get("default_dtype", torch.float32)
    inputs = _older_inputs(entry, "input", dtype)
    inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    inputs = tuple(
        x.requires_grad_() if is_tensor(x) and x.is_floating_point() else x for x in inputs
    )
    if "target_size" in entry or "target_fn" in entry:
        targets = _older_inputs(entry, "target", dtype)
        inputs += tuple(targets) if isinstance(targets, (tuple, list)) else (targets,)
    return Case(name, make, dtype, True, inputs)


def _older_inputs(entry: dict[str, Any], kind: str, dtype: torch.dtype) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        if kind in entry:
            return entry[kind]
        if kind + "_fn" in entry:
            return entry[kind + "_fn"]()
        return _random(entry[kind + "_size"])
    finally:
        torch.set_default_dtype(before)


def _random(size: Any) -> Any:
    return [_random(s) for s in size] if isinstance(size, list) else torch.randn(size)
