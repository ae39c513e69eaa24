"""The sparse tensor: index tensors and values, as an object of a subclass of ``Tensor``.

To the core such an object has a shape, a dtype, a device and a history, and memory that nothing
reads. The core calls the rule of every operation that it takes part in; one without a rule is
refused, or, if it is composed in Python, tried with the rules of its parts. See
``core/tensor/sparse.h`` and ``core/bind/sparse.h`` for the other side.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeGuard, TypeVar

import facula
from facula import _core
from facula._core import Size, Tensor

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

# What concerns shape, dtype and history alone has None: it is done as for every tensor.
RULES: dict[Callable[..., Any], Callable[..., Any] | None] = {}
# Those of operations that a tensor of blocks takes part in, see _blocks.py.
BLOCK_RULES: dict[Callable[..., Any], Callable[..., Any] | None] = {}


class SparseTensor(Tensor):
    """A tensor of layout ``sparse_coo``, ``sparse_csr``, ``_csc``, ``_bsr`` or ``_bsc``.

    ``_index`` holds the index tensors: the indices of a COO tensor, or the compressed and the plain
    indices of the others. ``_data`` holds the values, without history: the tensor itself has it.
    In the layouts of blocks each value is a block, and indices count blocks.
    """

    # Made faster, and found faster, than entries of a dict, which the object has for all else.
    __slots__ = ("_data", "_flag", "_index", "_kind", "_n_sparse", "_size")

    _kind: _core.layout
    _index: tuple[Tensor, ...]
    _data: Tensor
    _size: Size
    _flag: bool  # whether indices of a COO tensor are sorted, each once
    _n_sparse: int  # how many dimensions are indexed

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
        return _core._call_sparse_rule(func, args, kwargs or {})

    def as_subclass(self, cls: Any) -> Any:
        if cls is not SparseTensor:
            raise unsupported("as_subclass", self)
        return self.detach()


def _do_otherwise(
    func: Callable[..., Any],
    error: AttributeError | None,
    args: tuple[Any, ...],
    named: dict[str, Any],
) -> Any:
    """What comes of an operation without a rule, or of one whose rule raised the error."""
    if error is not None and error.name not in SparseTensor.__annotations__:
        raise error
    # A dense tensor where the rule has a sparse one: the sparse one is somewhere else.
    raise unsupported(_name_of(func), *args, *named.values())


_core._set_sparse_type(SparseTensor, RULES, BLOCK_RULES, (BSR, BSC), _USUAL_NAMES, _do_otherwise)


def make(
    layout: _core.layout,
    index: Sequence[Tensor],
    values: Tensor,
    size: Sequence[int],
    is_coalesced: bool = False,
) -> SparseTensor:
    """A sparse tensor without history, over these very tensors."""
    made = _core._make_sparse(layout, tuple(index), values, size, is_coalesced)
    return made  # type: ignore[return-value]


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
    x._size, x._flag, x._n_sparse = other._size, other._flag, other._n_sparse
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
    *names: str, rules: dict[Callable[..., Any], Callable[..., Any] | None] = RULES
) -> Callable[[_Rule], _Rule]:
    """Make the function the rule of the operations of these names."""

    def register(function: _Rule) -> _Rule:
        for name in names:
            for operation in functions_named(name):
                rules[operation] = function
        return function

    return register


def part(name: str) -> Callable[[_Rule], _Rule]:
    """Make the function the rule of a question about parts, for all layouts.

    It is a method of the class as well: there it costs no more than any method, as it does not
    enter as an operation.
    """

    def register(function: _Rule) -> _Rule:
        setattr(SparseTensor, name, function)
        return rule(name)(rule(name, rules=BLOCK_RULES)(function))

    return register


_ABOUT_NO_ELEMENTS = (
    "size shape ndim dim ndimension numel nelement storage_offset dtype device itemsize "
    "is_nested is_mkldnn is_mps is_xpu is_xla is_ipu is_mtia is_maia is_vulkan "
    "element_size is_cuda is_cpu is_quantized is_meta is_leaf requires_grad requires_grad_ "
    "retain_grad retains_grad grad grad_fn output_nr _version _n_writes _base is_floating_point "
    "is_complex is_signed is_inference is_same_size get_device __len__ detach_ register_hook "
    "_is_view register_post_accumulate_grad_hook volatile"
)
for _name in _ABOUT_NO_ELEMENTS.split():
    for _function in functions_named(_name):
        RULES[_function] = BLOCK_RULES[_function] = None
for _name in ("requires_grad", "grad", "volatile"):
    _property = inspect.getattr_static(Tensor, _name)
    for _function in (_property.__set__, _property.__delete__):
        RULES[_function] = BLOCK_RULES[_function] = None


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
