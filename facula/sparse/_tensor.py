"""The sparse tensor: index tensors and values, as an object of a subclass of ``Tensor``.

To the core such an object has a shape, a dtype, a device and a history, and memory that nothing
reads. Every operation on it arrives at ``__torch_function__``, which looks up the rule of the
operation; one without a rule is refused, or, if it is composed in Python, tried with the rules of
its parts. See ``core/tensor/sparse.h`` for the other side.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard, TypeVar

import facula
from facula import _core
from facula._core import Size, Tensor
from facula.autograd.grad_mode import no_grad

_Rule = TypeVar("_Rule", bound=Callable[..., Any])

COO, CSR, CSC = _core.sparse_coo, _core.sparse_csr, _core.sparse_csc
BSR, BSC = _core.sparse_bsr, _core.sparse_bsc
LAYOUT_NAMES = {
    _core.strided: "Strided",
    COO: "Sparse",
    CSR: "SparseCsr",
    CSC: "SparseCsc",
    BSR: "SparseBsr",
    BSC: "SparseBsc",
}
# NumPy's names of arguments.
_USUAL_NAMES = {"axis": "dim", "keepdims": "keepdim", "self": "input"}

RULES: dict[Callable[..., Any], Callable[..., Any]] = {}
# Those of operations that a tensor of blocks takes part in, see _blocks.py.
BLOCK_RULES: dict[Callable[..., Any], Callable[..., Any]] = {}


class SparseTensor(Tensor):
    """A tensor of layout ``sparse_coo``, ``sparse_csr``, ``_csc``, ``_bsr`` or ``_bsc``.

    ``_index`` holds the index tensors: the indices of a COO tensor, or the compressed and the plain
    indices of the others. ``_data`` holds the values, without history: the tensor itself has it.
    In the layouts of blocks each value is a block, and indices count blocks.
    """

    _kind: _core.layout
    _index: tuple[Tensor, ...]
    _data: Tensor
    _size: Size
    _flag: bool  # whether indices of a COO tensor are sorted, each once

    # Looked up on the class, these do not enter as operations.
    layout = property(lambda self: self._kind)
    shape = property(lambda self: self._size)
    dtype = property(lambda self: self._data.dtype)
    device = property(lambda self: self._data.device)
    is_sparse = property(lambda self: self._kind is COO)
    is_sparse_csr = property(lambda self: self._kind is CSR)

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if not all(issubclass(kind, Tensor) for kind in types):
            return NotImplemented
        named = {_USUAL_NAMES.get(name, name): value for name, value in (kwargs or {}).items()}
        has_blocks = any(is_blocked(x) for x in _tensors((args, tuple(named.values()))))
        rule = (BLOCK_RULES if has_blocks else RULES).get(func)
        if rule is None:
            if isinstance(func, _core._Operation):
                return func.__wrapped__(*args, **named)
            raise unsupported(_name_of(func), *args, *named.values())
        try:
            return rule(*args, **named)
        except AttributeError as error:
            if error.name not in SparseTensor.__annotations__:
                raise
            # A dense tensor where the rule has a sparse one: the sparse one is somewhere else.
            raise unsupported(_name_of(func), *args, *named.values()) from None

    def as_subclass(self, cls: Any) -> Any:
        if cls is not SparseTensor:
            raise unsupported("as_subclass", self)
        return self.detach()


_core._set_sparse_type(SparseTensor)


def make(
    layout: _core.layout,
    index: Sequence[Tensor],
    values: Tensor,
    size: Sequence[int],
    is_coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor without history, over these very tensors."""
    is_number = values.is_floating_point() or values.is_complex()
    with no_grad():
        # Nothing reads it; if something ever did, NaN would tell.
        element = _core.full(
            (), float("nan") if is_number else 0, dtype=values.dtype, device=values.device
        )
        memory = element.expand(tuple(size))
    made: SparseTensor = _core._make_subclass(SparseTensor, memory)  # type: ignore[assignment]
    made._kind, made._index, made._data = layout, tuple(index), values.detach()
    made._size = Size(size)
    made._flag = is_coalesced or (layout is COO and values.size(0) < 2)
    return made


def is_sparse(x: Any) -> TypeGuard[SparseTensor]:
    """Whether the object is a sparse tensor of any layout."""
    return type(x) is SparseTensor


def is_blocked(x: Any) -> bool:
    """Whether the object is a sparse tensor whose values are blocks."""
    return type(x) is SparseTensor and x._kind in (BSR, BSC)


def become(x: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Give ``x`` the contents of ``other``, as operations in place do."""
    if _core.is_grad_enabled() and x.requires_grad:
        raise NotImplementedError(
            "operations in place on a sparse tensor that requires grad are not implemented. Use "
            "the form that returns a new tensor, or no_grad()."
        )
    with _core._DisableTorchFunction():
        if x._size != other._size or x.dtype != other.dtype:
            Tensor.data.__set__(x, Tensor.detach(other))  # type: ignore[attr-defined]
        Tensor._bump_version(x)
    x._kind, x._index, x._data = other._kind, other._index, other._data
    x._size, x._flag = other._size, other._flag
    return x


def unsupported(name: str, *given: Any) -> NotImplementedError:
    """The error of an operation that sparse tensors do not have."""
    layouts = sorted({str(x.layout) for x in _tensors(given) if is_sparse(x)})
    return NotImplementedError(
        f"{name} is not implemented for tensors of layout {' and '.join(layouts)}. Convert with "
        "to_dense() first."
    )


def _tensors(given: Any) -> Iterator[Tensor]:
    for item in given:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (tuple, list)):
            yield from _tensors(item)


def _name_of(func: Callable[..., Any]) -> str:
    name: str = getattr(func, "__name__", repr(func))
    if name in ("__get__", "__set__", "__delete__"):
        return str(func.__self__.__name__)  # type: ignore[attr-defined]
    return name


def functions_named(name: str) -> Iterator[Callable[..., Any]]:
    """The operations of this name: the function, the method, the accessor of a property."""
    for module, text in ((facula, name), (_core, f"_{name}")):  # those of nn.functional are private
        function = getattr(module, text, None)
        if callable(function):
            yield function
    attribute = inspect.getattr_static(Tensor, name, None)
    if inspect.isgetsetdescriptor(attribute):
        yield attribute.__get__
    elif callable(attribute):
        yield attribute


def rule(
    *names: str, rules: dict[Callable[..., Any], Callable[..., Any]] = RULES
) -> Callable[[_Rule], _Rule]:
    """Make the function the rule of the operations of these names."""

    def register(function: _Rule) -> _Rule:
        for name in names:
            for operation in functions_named(name):
                rules[operation] = function
        return function

    return register


def _pass(func: Callable[..., Any]) -> Callable[..., Any]:
    def as_dense(*args: Any, **kwargs: Any) -> Any:
        with _core._DisableTorchFunction():
            return func(*args, **kwargs)

    return as_dense


# What concerns shape, dtype and history alone is done as for every tensor.
_ABOUT_NO_ELEMENTS = (
    "size shape ndim dim ndimension numel nelement storage_offset dtype device itemsize "
    "is_nested is_mkldnn is_mps is_xpu is_xla is_ipu is_mtia is_maia is_vulkan "
    "element_size is_cuda is_cpu is_quantized is_meta is_leaf requires_grad requires_grad_ "
    "retain_grad retains_grad grad grad_fn output_nr _version _base is_floating_point is_complex "
    "is_signed is_inference is_same_size get_device __len__ detach_ register_hook _is_view "
    "register_post_accumulate_grad_hook volatile"
)
for _name in _ABOUT_NO_ELEMENTS.split():
    for _function in functions_named(_name):
        RULES[_function] = BLOCK_RULES[_function] = _pass(_function)
for _name in ("requires_grad", "grad", "volatile"):
    _property = inspect.getattr_static(Tensor, _name)
    for _function in (_property.__set__, _property.__delete__):
        RULES[_function] = BLOCK_RULES[_function] = _pass(_function)


def requires_grad(x: Any) -> bool:
    """Whether an operation on ``x`` is to be recorded."""
    return isinstance(x, Tensor) and x.requires_grad and _core.is_grad_enabled()


def check_layout(name: str, x: Tensor, *layouts: _core.layout) -> None:
    """Raise unless the tensor is sparse and of one of the layouts."""
    if x.layout in layouts:
        return
    is_rows = CSR in layouts or BSR in layouts
    what = "coordinate" if layouts == (COO,) else f"{'row' if is_rows else 'column'} compressed"
    given = LAYOUT_NAMES.get(x.layout, str(x.layout))
    raise RuntimeError(
        f"{name} expected sparse {what} tensor layout but got {given}. Convert with to_sparse(), "
        "to_sparse_csr() or to_sparse_csc()."
    )
