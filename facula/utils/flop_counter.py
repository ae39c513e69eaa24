"""Counting floating-point operations of products, convolutions and attention.

An addition and a multiplication are two. Formulas get the arguments of an operation with shapes in
the place of tensors, and the shape of its result.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from facula import _core
from facula._core import Tensor
from facula._warnings import warn_user

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

Formula = Callable[..., int]
_Shape = Sequence[int]


class _Registry(dict[Any, Formula]):
    """Formulas by the name that an operation has in traces, without "aten::".

    An operation, such as ``ops.aten.mm``, stands for its name.
    """

    def __getitem__(self, key: Any) -> Formula:
        return super().__getitem__(_name(key))

    def __setitem__(self, key: Any, formula: Formula) -> None:
        super().__setitem__(_name(key), formula)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(_name(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """The formula of an operation, or the default."""
        return super().get(_name(key), default)


flop_registry = _Registry()


def _name(target: Any) -> str:
    """Of an operation, given as itself or by its name."""
    if not isinstance(target, str) and not callable(target):
        raise ValueError(
            "register_flop_formula: expected each target to be an operation or its name, got "
            f"{type(target).__name__}."
        )
    name: str = target if isinstance(target, str) else target.__name__
    return name.removeprefix("aten::").removeprefix("aten.").lstrip("_")


def register_flop_formula(
    targets: Any, get_raw: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate the formula of an operation that is not known yet.

    Args:
        targets: the operation, its name, or a list of those.
        get_raw: whether the formula gets tensors, and the result as ``out_val``, in place of
            shapes and ``out_shape``.

    Example:
        >>> from facula.utils.flop_counter import FlopCounterMode, register_flop_formula
        >>> @register_flop_formula(facula.sinc)
        ... def sinc_flop(x_shape, out_shape=None, **kwargs):
        ...     return 3 * x_shape.numel()
        >>> with FlopCounterMode(display=False) as counter:
        ...     y = facula.ones(10).sinc()
        >>> counter.get_total_flops()
        30
    """

    def register(formula: Formula) -> Formula:
        wrapped = formula if get_raw else _with_shapes(formula)
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if _name(target) in flop_registry:
                raise RuntimeError(f"register_flop_formula: {_name(target)} has a formula already.")
            flop_registry[_name(target)] = wrapped
        return wrapped

    return register


def _shape_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.shape
    if isinstance(value, (list, tuple)) and not isinstance(value, _core.Size):
        return type(value)(map(_shape_of, value))
    return value


def _with_shapes(formula: Formula) -> Formula:
    def wrapped(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        shapes = {name: _shape_of(value) for name, value in kwargs.items()}
        return formula(*map(_shape_of, args), out_shape=_shape_of(out_val), **shapes)

    return wrapped


# ---- formulas of the forward pass, in shapes


def _product(inner: int, out_shape: Iterable[int]) -> int:
    return 2 * inner * math.prod(out_shape)


@register_flop_formula(["mm", "bmm"])
def _mm_flop(a: _Shape, b: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any) -> int:
    return _product(a[-1], out_shape)


@register_flop_formula(["matmul", "__rmatmul__"])
def _matmul_flop(a: _Shape, b: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any) -> int:
    # Products with a vector on the right are not counted: PyTorch's lists have matrices only.
    return _product(a[-1], out_shape) if len(b) > 1 else 0


@register_flop_formula(["addmm", "baddbmm"])
def _addmm_flop(
    c: _Shape, a: _Shape, b: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any
) -> int:
    return _product(a[-1], out_shape)


@register_flop_formula("addbmm")
def _addbmm_flop(
    c: _Shape, a: _Shape, b: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any
) -> int:
    return _product(a[0] * a[-1], out_shape)


@register_flop_formula("linear")
def _linear_flop(x: _Shape, weight: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any) -> int:
    return _product(weight[-1], out_shape) if len(weight) > 1 else 0


@register_flop_formula(["conv1d", "conv2d", "conv3d"])
def _conv_flop(x: _Shape, weight: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any) -> int:
    return 2 * _pixels(out_shape, weight) * math.prod(weight)


@register_flop_formula(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"])
def _conv_transpose_flop(
    x: _Shape, weight: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any
) -> int:
    return 2 * _pixels(x, weight) * math.prod(weight)


def _pixels(image: _Shape, weight: _Shape) -> int:
    """Places in all images of a batch, without the channels; there may be no batch."""
    n_dims = len(weight) - 2
    return math.prod(image[len(image) - n_dims :]) * math.prod(image[: len(image) - n_dims - 1])


@register_flop_formula("scaled_dot_product_attention")
def _attention_flop(
    query: _Shape, key: _Shape, value: _Shape, *args: Any, out_shape: _Shape, **kwargs: Any
) -> int:
    n_scores = math.prod(query[:-1]) * key[-2]
    return 2 * n_scores * (query[-1] + value[-1])


# ---- the backward pass

# Where the factors are among the arguments: each gradient of one costs what the product costs.
_FACTORS = {
    "addmm": (1, 2),
    "baddbmm": (1, 2),
    "addbmm": (1, 2),
    "scaled_dot_product_attention": (0, 1, 2),
}


def _backward_flops(name: str, args: tuple[Any, ...], flops: int) -> int:
    factors = [args[i] for i in _FACTORS.get(name, (0, 1)) if i < len(args)]
    n_wanted = sum(isinstance(x, Tensor) and x.requires_grad for x in factors)
    if name != "scaled_dot_product_attention":
        return n_wanted * flops
    # The scores again, and four products; as PyTorch's fused kernels, which make all gradients.
    q, k, v = (x.shape for x in factors)
    n_scores = math.prod(q[:-1]) * k[-2]
    return 2 * n_scores * (3 * q[-1] + 2 * v[-1]) if n_wanted else 0


def flops_of_event(name: str, args: list[Any], kwargs: dict[str, Any], out: Any) -> int | None:
    """The operations of a profiler's event, in which (shape, dtype) stands for a tensor."""

    def shape(value: Any) -> Any:
        return value[0] if isinstance(value, tuple) else value

    if name in ("add", "mul") and isinstance(out, tuple):
        return math.prod(out[0])
    formula: Formula | None = flop_registry.get(name)
    if formula is None or out is None:
        return None
    shapes = {key: shape(value) for key, value in kwargs.items()}
    try:
        return formula(*map(shape, args), out_val=shape(out), **shapes)
    except (TypeError, IndexError):  # arguments by name: a formula takes them in order
        return None


# ---- the mode


class FlopCounterMode:
    """Counts the floating-point operations inside of the block, of backward too.

    Modules are told apart: ``get_flop_counts()["Net.layer"]`` are those of ``net.layer``.

    Args:
        mods: not needed; kept for older programs.
        depth: how many levels of modules the table shows.
        display: whether the table is printed at the end of the block.
        custom_mapping: further formulas, by operation or name.

    Example:
        >>> model = facula.nn.Linear(3, 4)
        >>> with facula.utils.flop_counter.FlopCounterMode(display=False) as counter:
        ...     model(facula.ones(2, 3)).sum().backward()
        >>> counter.get_flop_counts()["Linear"]
        {'aten.linear': 48, 'aten.linear_backward': 48}
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Formula] | None = None,
    ) -> None:
        if mods is not None:
            warn_user(
                "FlopCounterMode: mods argument is not needed anymore, you can stop passing it",
            )
        self.depth = depth
        self.display = display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.flop_registry = _Registry(flop_registry)
        for target, formula in (custom_mapping or {}).items():
            self.flop_registry[target] = _with_shapes(formula)
        self._observer: _core._Observer | None = None
        self._hooks: list[Any] = []
        self._modules: list[str] = []  # the names of those that run, the innermost last

    def __enter__(self) -> FlopCounterMode:
        from facula.nn.modules import module

        self.flop_counts.clear()
        self._modules = []
        self._known: dict[int, str] = {}
        self._hooks = [
            module.register_module_forward_pre_hook(self._begin_module),
            module.register_module_forward_hook(self._end_module, always_call=True),
        ]
        self._observer = _core._Observer(self._count)
        self._observer.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer = None
        for hook in self._hooks:
            hook.remove()
        if self.display and exc_info[:1] in ((), (None,)):
            print(self.get_table(self.depth))

    def _begin_module(self, called: Any, args: Any) -> None:
        if id(called) not in self._known:
            # A module that is not inside of a known one is a root, and names all below it.
            root = type(called).__name__
            for name, part in called.named_modules():
                self._known[id(part)] = f"{root}.{name}" if name else root
        self._modules.append(self._known[id(called)])

    def _end_module(self, called: Any, args: Any, output: Any) -> None:
        if self._modules:
            self._modules.pop()

    def _count(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
        formula = self.flop_registry.get(name)
        if formula is None:
            return
        args = (*args, *kwargs.values()) if name in _FACTORS else args
        flops = formula(*args, **({} if name in _FACTORS else kwargs), out_val=out)
        modules = {"Global", *self._modules}
        self._add(modules, f"aten.{name}", flops)
        backward = _backward_flops(name, args, flops) if flops else 0
        if backward and isinstance(out, Tensor) and out.requires_grad:
            # When the gradient of the result is there, its derivative is computed next.
            out.register_hook(lambda _: self._add(modules, f"aten.{name}_backward", backward))

    def _add(self, modules: set[str], name: str, flops: int) -> None:
        if self._observer is None:
            return
        for module in modules:
            self.flop_counts[module][name] += flops

    def get_total_flops(self) -> int:
        """The number of all operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """The numbers by module, ``"Global"`` for all, and by operation."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The numbers as a text of columns.

        Args:
            depth: how many levels of modules it shows; None for that of the constructor.
        """
        most = depth or self.depth or 10**6
        total = self.get_total_flops()
        names = sorted(n for n in self.flop_counts if n != "Global" and n.count(".") < most)
        # All together is worth a line only if no module has it.
        sums = {name: sum(self.flop_counts[name].values()) for name in self.flop_counts}
        is_told = any(sums[name] >= total for name in names)
        rows = [] if is_told or not total else self._rows("Global", 0, total)
        indent = 0 if is_told else 1
        for name in names:
            rows += self._rows(name, name.count(".") + indent, total)
        rows = rows or [("Global", "0", "0%")]
        cells = [("Module", "FLOP", "% Total"), *rows]
        widths = [max(len(row[i]) for row in cells) for i in range(3)]
        lines = [
            f"{a.ljust(widths[0])}  {b.rjust(widths[1])}  {c.rjust(widths[2])}" for a, b, c in cells
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        return "\n".join(lines)

    def _rows(self, module: str, indent: int, total: int) -> list[tuple[str, str, str]]:
        counts = self.flop_counts[module]
        parts = [(module, sum(counts.values())), *((f" - {k}", n) for k, n in counts.items())]
        unit, size = next(
            ((u, s) for u, s in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("K", 1e3)) if total >= s),
            ("", 1),
        )
        return [
            (
                " " * indent + name,
                f"{n / size:.3f}{unit}" if unit else str(n),
                f"{n / total:.2%}" if total else "0%",
            )
            for name, n in parts
        ]
