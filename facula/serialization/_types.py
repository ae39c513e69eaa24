"""The closed list of types that a checkpoint may have, and how each is made from checked parts.

What a file names is looked up here and nowhere else. The functions below take arguments of the
file's choice, so each checks all of them before it does anything.
"""

from __future__ import annotations

import _compat_pickle
import functools
import math
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import facula
from facula import _core, _legacy, _utils
from facula._core import Size, Tensor, UntypedStorage
from facula.serialization import _arrays, _modules, _safe_globals
from facula.serialization._errors import CheckpointError, shown
from facula.serialization._source import Budget
from facula.serialization._torch_names import LAYOUTS, get_layout
from facula.storage import TypedStorage

_TENSOR_COST = 600  # bytes of memory
_MAX_KEY_PARTS = 1000

Make = Callable[[Any, Budget], Any]


def checked_key(key: Any) -> Any:
    """The key of a dict or the item of a set, if its hash takes bounded time and stack."""
    if type(key) is str:  # whose hash is seeded: collisions cannot be prepared
        return key
    parts, n = [key], 0  # a list, no recursion: tuples may be nested as deep as the file is long
    while parts:
        part = parts.pop()
        n += 1
        if n > _MAX_KEY_PARTS:
            raise CheckpointError(f"a key has more than {_MAX_KEY_PARTS} parts")
        if isinstance(part, tuple):
            parts.extend(part)
        elif type(part) is int and part.bit_length() > 64:
            # Such numbers can be chosen to have all the same hash, and time grows with the square.
            raise CheckpointError(f"a key is an integer of {part.bit_length()} bits")
    return key


def _expect(condition: bool, what: str, args: Any) -> None:
    if not condition:
        kinds = ", ".join(type(arg).__name__ for arg in args) if type(args) is tuple else "nothing"
        raise CheckpointError(f"{what}, got ({kinds})", found=args)


def _is_ints(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(type(v) is int for v in value)


def _pairs(kind: type[Any], args: Any, budget: Budget) -> Any:
    """An OrderedDict or a Counter of nothing, of a dict or of pairs."""
    _expect(len(args) <= 1, f"{kind.__name__}: expected at most one argument", args)
    # Item by item, not kind(items): a Counter of a list would count, and hash, what is in it.
    items: Any = args[0] if args else []
    if type(items) in (dict, OrderedDict):
        items = list(items.items())
    is_pairs = type(items) in (list, tuple) and all(
        type(item) in (list, tuple) and len(item) == 2 for item in items
    )
    _expect(is_pairs, f"{kind.__name__}: expected pairs", args)
    budget.spend(500 + 150 * len(items))
    made = kind()
    for key, value in items:
        made[checked_key(key)] = value
    return made


def _ordered_dict(args: Any, budget: Budget) -> Any:
    return _pairs(OrderedDict, args, budget)


def _counter(args: Any, budget: Budget) -> Any:
    return _pairs(Counter, args, budget)


def _items(args: Any, budget: Budget) -> Any:
    items = args[0] if args else ()
    is_items = len(args) <= 1 and type(items) in (list, tuple, set, frozenset)
    _expect(is_items, "set: expected a list", args)
    budget.spend(232 + 80 * len(items))
    return map(checked_key, items)


def _set(args: Any, budget: Budget) -> Any:
    return set(_items(args, budget))


def _frozenset(args: Any, budget: Budget) -> Any:
    return frozenset(_items(args, budget))


def _complex(args: Any, budget: Budget) -> Any:
    is_numbers = len(args) == 2 and all(type(v) in (int, float) for v in args)
    _expect(is_numbers, "complex: expected two numbers", args)
    return complex(*args)


def _encode(args: Any, budget: Budget) -> Any:
    is_text = len(args) == 2 and type(args[0]) is str and args[1] in ("latin1", "latin-1", "utf-8")
    _expect(is_text, "encode: expected a string and 'latin1'", args)
    budget.spend(4 * len(args[0]) if args[1] == "utf-8" else len(args[0]))
    return args[0].encode(args[1])


def _bytes(args: Any, budget: Budget) -> Any:
    _expect(args == (), "bytes: expected no arguments", args)
    return b""


def _bytearray(args: Any, budget: Budget) -> Any:
    data = _encode(args, budget) if len(args) == 2 else args[0] if args else b""
    _expect(type(data) is bytes and len(args) <= 2, "bytearray: expected bytes", args)
    budget.spend(len(data) + 64)
    return bytearray(data)


def _size(args: Any, budget: Budget) -> Any:
    _expect(len(args) == 1 and _is_ints(args[0]), "Size: expected a tuple of ints", args)
    budget.spend(56 + 8 * len(args[0]))
    return Size(args[0])


def _device(args: Any, budget: Budget) -> Any:
    is_named = [type(arg) for arg in args] in ([str], [str, int])
    _expect(is_named, "device: expected a name", args)
    return _core.device(*args)


def _layout(args: Any, budget: Budget) -> Any:
    is_name = len(args) == 1 and type(args[0]) is str and args[0] in LAYOUTS
    _expect(is_name, "layout: expected the name of a layout", args)
    return LAYOUTS[args[0]]


def rebuild_view(args: Any, budget: Budget, dtype: _core.dtype | None = None) -> Tensor:
    """A tensor over a storage: ``args`` are storage, offset, sizes and strides."""
    storage, offset, size, stride = args
    _expect(type(storage) in (TypedStorage, UntypedStorage), "expected a storage", args)
    is_whole = type(offset) is int and _is_ints(size) and _is_ints(stride)
    _expect(is_whole and len(size) == len(stride), "expected an offset, sizes and strides", args)
    if dtype is None:
        dtype = _core.uint8 if type(storage) is UntypedStorage else storage.dtype
    untyped = storage if type(storage) is UntypedStorage else storage.untyped()
    # Python's integers do not overflow, so no choice of sizes and strides slips through the sum.
    # Of no elements, the offset is free, as in PyTorch: slices at the very end have it.
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    reaches = min((*size, 1)) < 1 or (last + 1) * dtype.itemsize <= untyped.nbytes()
    if offset < 0 or min((*size, *stride, 0)) < 0 or not reaches:
        raise CheckpointError(
            f"a tensor of sizes {tuple(size)} and strides {tuple(stride)} at offset {offset} does "
            f"not lie in its storage of {untyped.nbytes()} bytes"
        )
    budget.spend(_TENSOR_COST + 16 * len(size))
    return _core._tensor_over(untyped, dtype, offset, tuple(size), tuple(stride))


def _tensor(args: Any, budget: Budget) -> Any:
    _expect(len(args) == 4, "_rebuild_tensor: expected 4 arguments", args)
    return rebuild_view(args, budget)


def _finish(tensor: Tensor, requires_grad: Any, metadata: Any, args: Any, budget: Budget) -> Tensor:
    _expect(type(requires_grad) is bool, "requires_grad: expected a bool", args)
    _expect(metadata is None or type(metadata) is dict, "metadata: expected a dict", args)
    for name, is_marked in (metadata or {}).items():
        _expect(name in ("conj", "neg"), "metadata: expected 'conj' or 'neg'", args)
        if is_marked:
            tensor = tensor._conj() if name == "conj" else tensor._neg_view()
    tensor.requires_grad = requires_grad
    return tensor


def _tensor_v2(args: Any, budget: Budget) -> Any:
    _expect(len(args) in (6, 7), "_rebuild_tensor_v2: expected 6 or 7 arguments", args)
    metadata = args[6] if len(args) == 7 else None
    return _finish(rebuild_view(args[:4], budget), args[4], metadata, args, budget)


def _tensor_v3(args: Any, budget: Budget) -> Any:
    is_typed = len(args) in (7, 8) and type(args[6]) is _core.dtype
    _expect(is_typed, "_rebuild_tensor_v3: expected 7 or 8 arguments with a dtype", args)
    metadata = args[7] if len(args) == 8 else None
    return _finish(rebuild_view(args[:4], budget, args[6]), args[4], metadata, args, budget)


def _meta_tensor(args: Any, budget: Budget) -> Any:
    what = "_rebuild_meta_tensor_no_storage: expected a dtype, a size, strides and a bool"
    is_typed = len(args) == 4 and type(args[0]) is _core.dtype and type(args[3]) is bool
    _expect(is_typed and _is_ints(args[1]) and _is_ints(args[2]), what, args)
    budget.spend(_TENSOR_COST + 16 * len(args[1]))
    return _utils._rebuild_meta_tensor_no_storage(*args)


def _sparse_tensor(args: Any, budget: Budget) -> Any:
    """A sparse tensor, whose indices are checked: all its operations rely on them."""
    what = "_rebuild_sparse_tensor: expected a sparse layout, index tensors, values and a size"
    is_pair = len(args) == 2 and type(args[0]) is _core.layout and type(args[1]) is tuple
    _expect(is_pair and args[0] is not _core.strided, what, args)
    layout, parts = args
    n_indices = 1 if layout is _core.sparse_coo else 2
    n_parts = (n_indices + 2, n_indices + 3) if n_indices == 1 else (n_indices + 2,)
    _expect(len(parts) in n_parts, what, parts)
    tensors, size = parts[: n_indices + 1], parts[n_indices + 1]
    _expect(all(type(t) is Tensor for t in tensors) and _is_ints(size), what, parts)
    is_flag = len(parts) == n_indices + 2 or parts[-1] is None or type(parts[-1]) is bool
    _expect(is_flag and all(not t.requires_grad for t in tensors), what, parts)
    integers = (_core.int64, _core.int32)
    _expect(all(t.dtype in integers for t in tensors[:-1]), what, parts)
    # Checking indices takes a few tensors of their size; the sizes of the result take no memory.
    budget.spend(4 * _TENSOR_COST + sum(8 * 8 * t.numel() for t in tensors[:-1]))
    if math.prod(max(n, 1) for n in size) >= 2**62:
        raise CheckpointError(f"a sparse tensor of shape {tuple(size)}")
    return _utils._rebuild_sparse_tensor(layout, parts)


def _is_tensor(value: Any) -> bool:
    """Whether it is a tensor that the functions here make, dense or sparse."""
    if type(value) is Tensor:
        return True
    sparse = sys.modules.get("facula.sparse._tensor")  # else there is none yet
    return sparse is not None and sparse.is_sparse(value)


def _variable(args: Any, budget: Budget) -> Any:
    """A Variable, or a Parameter, of PyTorch before 0.4: made of its tensor alone."""
    _expect(len(args) == 1 and _is_tensor(args[0]), "Variable: expected a tensor", args)
    budget.spend(_TENSOR_COST)
    return args[0].detach()


def _set_variable_state(made: Any, state: Any) -> None:
    """Whether a Variable requires grad and is volatile, and its hooks, of which there are none."""
    is_state = len(state) == 3 and type(state[0]) is type(state[1]) is bool and not state[2]
    _expect(is_state, "Variable: expected two bools and no hooks as its state", state)
    made.requires_grad_(state[0])
    if state[1]:
        made.volatile = True


def _no_backend(args: Any, budget: Budget) -> None:
    """What layers kept before 1.0: the functions behind them, which are not needed."""
    _expect(not args, "_get_thnn_function_backend: expected no arguments", args)


def _parameter(args: Any, budget: Budget) -> Any:
    if len(args) == 1:
        return facula.nn.Parameter(_variable(args, budget))
    is_parameter = len(args) in (2, 3) and _is_tensor(args[0]) and type(args[1]) is bool
    _expect(is_parameter, "Parameter: expected a tensor and a bool", args)
    budget.spend(_TENSOR_COST)
    return facula.nn.Parameter(args[0], args[1])


def _parameter_with_state(args: Any, budget: Budget) -> Any:
    _expect(len(args) == 4, "_rebuild_parameter_with_state: expected 4 arguments", args)
    made = _parameter(args[:3], budget)
    _set_attributes(made, args[3])
    return made


def _set_attributes(made: Any, state: Any) -> None:
    """Give an object attributes that hide nothing of its class."""
    # An attribute found before a method of the same name would be called in its place.
    _expect(type(state) is dict, "attributes: expected a dict", (state,))
    for name in state:
        is_free = type(name) is str and not callable(getattr(type(made), name, None))
        if not is_free or name.startswith("__"):
            raise CheckpointError(
                f"{type(made).__name__}: {shown(name)} is no attribute that a file may give it",
                found=name,
            )
    made.__dict__.update(state)


def _values() -> dict[str, Any]:
    """What is a value by itself: dtypes, and the names of storages and tensors by their dtype."""
    dtypes = {n: v for n, v in vars(_core).items() if isinstance(v, _core.dtype)}
    values: dict[str, Any] = {f"torch.{name}": dtype for name, dtype in dtypes.items()}
    for name in _legacy.__all__:
        if name.endswith(("Storage", "Tensor")):
            values[f"torch.{name}"] = values[f"torch.cuda.{name}"] = getattr(_legacy, name)
    for name in ("_VariableFunctions", "_VariableFunctionsClass"):  # of which files take functions
        values[f"torch._C.{name}"] = _modules.get_function
    values["torch.Tensor"] = values["torch._tensor.Tensor"] = Tensor
    for name in ("torch.storage.UntypedStorage", "torch.UntypedStorage"):
        values[name] = UntypedStorage
    return values


_REBUILDS: dict[str, tuple[Any, Make]] = {
    "torch._utils._rebuild_tensor": (_utils._rebuild_tensor, _tensor),
    "torch._utils._rebuild_tensor_v2": (_utils._rebuild_tensor_v2, _tensor_v2),
    "torch._utils._rebuild_tensor_v3": (_utils._rebuild_tensor_v3, _tensor_v3),
    "torch._utils._rebuild_meta_tensor_no_storage": (
        _utils._rebuild_meta_tensor_no_storage,
        _meta_tensor,
    ),
}
_CALLABLE: dict[str, tuple[Any, Make]] = {
    "builtins.bytearray": (bytearray, _bytearray),
    "builtins.bytes": (bytes, _bytes),
    "builtins.complex": (complex, _complex),
    "builtins.frozenset": (frozenset, _frozenset),
    "builtins.getattr": (_modules.get_function, _modules.get_function),
    "builtins.set": (set, _set),
    "_codecs.encode": (_encode, _encode),
    "collections.Counter": (Counter, _counter),
    "collections.OrderedDict": (OrderedDict, _ordered_dict),
    "functools.partial": (functools.partial, _modules.make_partial),
    "torch.autograd.variable.Variable": (facula.autograd.Variable, _variable),
    "torch.nn.backends.thnn._get_thnn_function_backend": (_no_backend, _no_backend),
    "torch.Size": (Size, _size),
    "torch.device": (_core.device, _device),
    "torch.serialization._get_layout": (get_layout, _layout),
    "torch._utils._rebuild_sparse_tensor": (_utils._rebuild_sparse_tensor, _sparse_tensor),
    "torch._utils._rebuild_parameter": (_utils._rebuild_parameter, _parameter),
    "torch._utils._rebuild_parameter_with_state": (
        _utils._rebuild_parameter_with_state,
        _parameter_with_state,
    ),
    **_REBUILDS,
    **_arrays.CALLABLE,
}
_VALUES = _values()
# By identity: an object of an allowed class could claim to be equal to one of these.
_MAKES = {id(value): make for value, make in _CALLABLE.values()}
_REBUILD_MAKES = {id(value): make for value, make in _REBUILDS.values()}
_NEWABLE = {id(cls) for cls in (OrderedDict, Counter, set, frozenset, bytearray, complex, Size)}


class Types:
    """The list as one load sees it: with what the user allows at that moment.

    Args:
        budget: the memory that objects may take.
        has_bytes: whether storages have their bytes already, so that they can be computed with.
    """

    def __init__(self, budget: Budget, has_bytes: bool) -> None:
        self._budget = budget
        self._has_bytes = has_bytes
        # Taken once, so that a function that the user allows cannot allow more while it runs.
        self._allowed = _safe_globals.allowed_by_name()
        self._allowed_ids = {id(value) for value in self._allowed.values()}
        self.objects = _modules.Objects(budget, self._is_allowed)

    def _is_allowed(self, value: Any) -> bool:
        return id(value) in self._allowed_ids or id(type(value)) in self._allowed_ids

    def find(self, module: str, name: str) -> Any:
        """The type or value of a name; an error for what is not on the list."""
        full = full_name(module, name)
        if full in self._allowed:  # first: the user may want another class for a known name
            return self._allowed[full]
        if full in _VALUES:
            return _VALUES[full]
        if full in _CALLABLE:
            return _CALLABLE[full][0]
        if full == "torch._tensor._rebuild_from_type_v2":
            return _utils._rebuild_from_type_v2
        if full == "torch.nn.parameter.Parameter":
            return facula.nn.Parameter
        if full in _arrays.VALUES:
            return _arrays.find(full)
        found = _modules.find(module, name)
        if found is not None:
            return found
        raise CheckpointError(_refused(full), found=full)

    def call(self, function: Any, args: Any) -> Any:
        """The object that a function of the list makes."""
        if type(args) is not tuple:
            raise CheckpointError(f"arguments that are a {type(args).__name__}, not a tuple")
        if id(function) in self._allowed_ids:
            return function(*args)
        if function is _utils._rebuild_from_type_v2:
            return self._from_type(args)
        if isinstance(function, type) and function is facula.nn.Parameter:
            return _parameter(args, self._budget)
        if _modules.is_enum(function):
            return _modules.make_member(function, args)
        if not self._has_bytes and function is _utils._rebuild_sparse_tensor:
            raise CheckpointError(
                "a sparse tensor in a file of PyTorch's older format, whose indices cannot be "
                "checked. Save it again in the newer format."
            )
        make = _MAKES.get(id(function)) or _arrays.make_of(function)
        if make is None:
            raise CheckpointError(f"{shown(function)} is called, which no checkpoint does")
        return make(args, self._budget)

    def new(self, cls: Any, args: Any, kwargs: Any) -> Any:
        """An object of a class, as ``cls.__new__`` makes it."""
        if id(cls) in self._allowed_ids and isinstance(cls, type):
            if type(args) is not tuple or type(kwargs) is not dict:
                raise CheckpointError("arguments that are no tuple and no dict")
            return cls.__new__(cls, *args, **kwargs)
        if _modules.is_class(cls) and type(args) is tuple and not args and kwargs == {}:
            return self.objects.new(cls)
        if id(cls) not in _NEWABLE or kwargs:
            raise CheckpointError(f"{shown(cls)} is made, which no checkpoint does")
        return self.call(cls, args)

    def build(self, made: Any, state: Any) -> None:
        """Give an object its state."""
        if type(made) in (facula.nn.Parameter, Tensor) and type(state) is tuple:
            _set_variable_state(made, state)
        elif type(made) in (OrderedDict, facula.nn.Parameter, Tensor):
            _set_attributes(made, state)
        elif id(type(made)) in self._allowed_ids:
            _set_state(made, state)
        elif made in self.objects:
            self.objects.give(made, state)
        elif type(made) is functools.partial:
            _modules.build_partial(made, state)
        elif not _arrays.build(made, state, self._budget):
            raise CheckpointError(
                f"a state is given to a {type(made).__name__}, which no checkpoint does", found=made
            )

    def _from_type(self, args: Any) -> Any:
        """A tensor of a subclass, or with attributes."""
        _expect(len(args) == 4, "_rebuild_from_type_v2: expected 4 arguments", args)
        function, cls, inner, state = args
        # Not any function of the list: what is made must be a tensor, for _make_subclass.
        make = _REBUILD_MAKES.get(id(function))
        is_tensor = cls is Tensor or id(cls) in self._allowed_ids
        _expect(
            make is not None and is_tensor and type(inner) is tuple,
            "_rebuild_from_type_v2: expected one of PyTorch's functions and an allowed type",
            args,
        )
        tensor = make(inner, self._budget)  # type: ignore[misc]
        if cls is not Tensor:
            tensor = _core._make_subclass(cls, tensor, tensor.requires_grad)
        if state:
            _set_attributes(tensor, state)
        return tensor


def _set_state(made: Any, state: Any) -> None:
    """As pickle does for an object of a class that the user allows."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    if state:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)


def full_name(module: str, name: str) -> str:
    """The name in Python 3 of what a file names, perhaps as in Python 2."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        module, name = _compat_pickle.NAME_MAPPING[module, name]
    elif module in _compat_pickle.IMPORT_MAPPING:
        module = _compat_pickle.IMPORT_MAPPING[module]
    elif module.startswith("numpy.core"):
        module = "numpy._core" + module.removeprefix("numpy.core")
    return f"{module}.{name}"


def _refused(full: str) -> str:
    short = full.rpartition(".")[2]
    return (
        f"the file names {full}, which is not on the list of types that loading makes. Nothing was "
        f"run. Allow it with facula.serialization.add_safe_globals([{short}]) if you know and want "
        "it; or, if you trust the file as a program of yours, use load(f, trusted=True), "
        "which is PyTorch's weights_only=False. (Weights only load failed. Unsupported global: "
        f"GLOBAL {full} was not an allowed global by default.)"
    )
