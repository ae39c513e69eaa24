"""Operations on each element."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula.onnx._capture import Form
from facula.onnx._rows import ROWS, row
from facula.onnx._writer import SizeValue, Value, Writer

# ---- of one value

# Operators of the same meaning.
UNARY = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "bitwise_not": "BitwiseNot",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "hardswish": "HardSwish",
    "isnan": "IsNaN",
    "isinf": "IsInf",
    "log": "Log",
    "logical_not": "Not",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "relu": "Relu",
    "round": "Round",
    "sigmoid": "Sigmoid",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "sqrt": "Sqrt",
    "tan": "Tan",
    "tanh": "Tanh",
}
_ALIASES = {"negative": "neg", "absolute": "abs", "arctan": "atan", "arcsin": "asin"}
_ALIASES |= {"arccos": "acos", "fix": "trunc"}
# What rounds does nothing to integers.
_ROUNDING = ("ceil", "floor", "round", "trunc")


def _unary(name: str, operator: str) -> Any:
    def translate(g: Writer, x: Value, **kwargs: Any) -> str:
        if name in ("isnan", "isinf") and not x.dtype.is_floating_point:
            x = Value(g.cast(x, facula.float32), Form(facula.float32, x.shape))
        if name == "relu" and not x.dtype.is_floating_point:
            return g.op("Max", x, g.constant(0, x.dtype))
        if name in _ROUNDING and not x.dtype.is_floating_point:
            return x
        if name == "bitwise_not" and x.dtype == facula.bool:
            return g.op("Not", x)
        if kwargs.get("decimals"):
            raise g.unsupported("round with decimals")
        if name == "logical_not":
            return g.op("Not", g.cast(x, facula.bool))
        keeps = name in ("isnan", "isinf")
        return g.op(operator, x if keeps else g.cast(x, g.result.dtype))

    return translate


for _name, _operator in UNARY.items():
    ROWS[_name] = _unary(_name, _operator)
for _name, _usual in _ALIASES.items():
    if _usual in ROWS:
        ROWS[_name] = ROWS[_usual]


def _formula(function: Any) -> Any:
    """A translation written for a value of the result's dtype."""

    def translate(g: Writer, x: Value, *args: Any, **kwargs: Any) -> str:
        return str(function(g, g.cast(x, g.result.dtype), *args, **kwargs))

    return translate


def _number(g: Writer, value: float) -> str:
    return g.constant(value, g.result.dtype)


@row("rsqrt")
@_formula
def rsqrt(g: Writer, x: str) -> str:
    return g.op("Reciprocal", g.op("Sqrt", x))


@row("square")
@_formula
def square(g: Writer, x: str) -> str:
    return g.op("Mul", x, x)


@row("expm1")
@_formula
def expm1(g: Writer, x: str) -> str:
    return g.op("Sub", g.op("Exp", x), _number(g, 1))


@row("log1p")
@_formula
def log1p(g: Writer, x: str) -> str:
    return g.op("Log", g.op("Add", x, _number(g, 1)))


@row("log2")
@_formula
def log2(g: Writer, x: str) -> str:
    return g.op("Mul", g.op("Log", x), _number(g, 1 / math.log(2)))


@row("log10")
@_formula
def log10(g: Writer, x: str) -> str:
    return g.op("Mul", g.op("Log", x), _number(g, 1 / math.log(10)))


@row("exp2")
@_formula
def exp2(g: Writer, x: str) -> str:
    return g.op("Pow", _number(g, 2), x)


@row("erfc")
@_formula
def erfc(g: Writer, x: str) -> str:
    return g.op("Sub", _number(g, 1), g.op("Erf", x))


@row("trunc", "fix")
def trunc(g: Writer, x: Value) -> str:
    if not x.dtype.is_floating_point:
        return x
    return g.op("Mul", g.op("Sign", x), g.op("Floor", g.op("Abs", x)))


@row("frac")
def frac(g: Writer, x: Value) -> str:
    return g.op("Sub", x, trunc(g, x))


@row("isfinite")
def isfinite(g: Writer, x: Value) -> str:
    x32 = g.cast(x, facula.float32)
    return g.op("Not", g.op("Or", g.op("IsNaN", x32), g.op("IsInf", x32)))


@row("nan_to_num")
def nan_to_num(g: Writer, x: Value, nan: Any = None, posinf: Any = None, neginf: Any = None) -> str:
    if not x.dtype.is_floating_point:
        return x
    limits = facula.finfo(x.dtype)
    infinite = g.op("IsInf", x)
    high = g.constant(limits.max if posinf is None else posinf, x.dtype)
    low = g.constant(limits.min if neginf is None else neginf, x.dtype)
    side = g.op("Where", g.op("Greater", x, g.constant(0.0, x.dtype)), high, low)
    finite = g.op("Where", infinite, side, x)
    return g.op("Where", g.op("IsNaN", x), g.constant(nan or 0.0, x.dtype), finite)


# ---- of two values


def _common(a: Any, b: Any) -> facula.dtype:
    """The dtype in which two operands meet."""

    def stand_in(value: Any) -> Any:
        if isinstance(value, SizeValue):
            return 1
        return (
            facula.empty([1] * value.rank, dtype=value.dtype) if isinstance(value, Value) else value
        )

    return facula.result_type(stand_in(a), stand_in(b))


def _pair(g: Writer, a: Any, b: Any, dtype: facula.dtype | None = None) -> tuple[str, str]:
    dtype = dtype or g.result.dtype
    return g.number(a, dtype), g.number(b, dtype)


@row("add")
def add(g: Writer, x: Any, other: Any, alpha: Any = 1) -> str:
    if g.result.dtype == facula.bool:
        return g.op("Or", x, other)
    a, b = _pair(g, x, other)
    return g.op("Add", a, b if alpha == 1 else g.op("Mul", b, g.number(alpha, g.result.dtype)))


@row("sub", "subtract")
def sub(g: Writer, x: Any, other: Any, alpha: Any = 1) -> str:
    a, b = _pair(g, x, other)
    return g.op("Sub", a, b if alpha == 1 else g.op("Mul", b, g.number(alpha, g.result.dtype)))


@row("rsub", "__rsub__")
def rsub(g: Writer, x: Any, other: Any, alpha: Any = 1) -> str:
    return sub(g, other, x, alpha)


@row("mul", "multiply")
def mul(g: Writer, x: Any, other: Any) -> str:
    if g.result.dtype == facula.bool:
        return g.op("And", *_pair(g, x, other))
    return g.op("Mul", *_pair(g, x, other))


@row("cross")
def cross(g: Writer, x: Value, other: Value, dim: int) -> str:
    a, b = (
        [g.op("Gather", v, g.constant(places), axis=dim) for places in ([1, 2, 0], [2, 0, 1])]
        for v in _pair(g, x, other)
    )
    return g.op("Sub", g.op("Mul", a[0], b[1]), g.op("Mul", a[1], b[0]))


@row("div", "divide", "true_divide")
def div(g: Writer, x: Any, other: Any, rounding_mode: str | None = None) -> str:
    if rounding_mode == "floor":
        return floor_divide(g, x, other)
    quotient = g.op("Div", *_pair(g, x, other))
    if rounding_mode == "trunc" and g.result.dtype.is_floating_point:
        return trunc(g, Value(quotient, g.result))
    return quotient


@row("__rtruediv__")
def rdiv(g: Writer, x: Any, other: Any) -> str:
    return div(g, other, x)


@row("floor_divide", "__floordiv__")
def floor_divide(g: Writer, x: Any, other: Any) -> str:
    a, b = _pair(g, x, other)
    if g.result.dtype.is_floating_point:
        return g.op("Floor", g.op("Div", a, b))
    # ONNX's division of integers rounds towards zero, its Mod has the sign of the divisor.
    return g.op("Div", g.op("Sub", a, g.op("Mod", a, b)), b)


@row("__rfloordiv__")
def rfloor_divide(g: Writer, x: Any, other: Any) -> str:
    return floor_divide(g, other, x)


@row("remainder")
def remainder(g: Writer, x: Any, other: Any) -> str:
    a, b = _pair(g, x, other)
    if g.result.dtype.is_floating_point:
        return g.op("Sub", a, g.op("Mul", b, g.op("Floor", g.op("Div", a, b))))
    return g.op("Mod", a, b)


@row("__rmod__")
def rmod(g: Writer, x: Any, other: Any) -> str:
    return remainder(g, other, x)


@row("fmod")
def fmod(g: Writer, x: Any, other: Any) -> str:
    return g.op("Mod", *_pair(g, x, other), fmod=1)


@row("pow", "__pow__", "__ipow__")
def pow(g: Writer, x: Any, exponent: Any) -> str:
    a, b = _pair(g, x, exponent)
    if exponent == 2 and not isinstance(exponent, str):
        return g.op("Mul", a, a)
    return g.op("Pow", a, b)


@row("__rpow__")
def rpow(g: Writer, x: Any, base: Any) -> str:
    return pow(g, base, x)


@row("maximum", "fmax")
def maximum(g: Writer, x: Any, other: Any) -> str:
    if g.result.dtype == facula.bool:
        return g.op("Or", x, other)
    return g.op("Max", *_pair(g, x, other))


@row("minimum", "fmin")
def minimum(g: Writer, x: Any, other: Any) -> str:
    if g.result.dtype == facula.bool:
        return g.op("And", x, other)
    return g.op("Min", *_pair(g, x, other))


@row("atan2", "arctan2")
def atan2(g: Writer, y: Any, x: Any) -> str:
    a, b = _pair(g, y, x)
    zero = _number(g, 0)
    angle = g.op("Atan", g.op("Div", a, b))
    half_turn = g.op("Where", g.op("Less", a, zero), _number(g, -math.pi), _number(g, math.pi))
    return g.op("Where", g.op("Less", b, zero), g.op("Add", angle, half_turn), angle)


@row("lerp")
def lerp(g: Writer, x: Value, end: Value, weight: Any) -> str:
    step = g.op("Mul", g.op("Sub", end, x), g.number(weight, x.dtype))
    return g.op("Add", x, step)


@row("addcmul")
def addcmul(g: Writer, x: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> str:
    product = g.op("Mul", *_pair(g, tensor1, tensor2))
    return g.op("Add", g.number(x, g.result.dtype), g.op("Mul", product, _number(g, value)))


@row("addcdiv")
def addcdiv(g: Writer, x: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> str:
    quotient = g.op("Div", *_pair(g, tensor1, tensor2))
    return g.op("Add", g.number(x, g.result.dtype), g.op("Mul", quotient, _number(g, value)))


# ---- comparisons and logic

_COMPARISONS = {
    "eq": "Equal",
    "lt": "Less",
    "le": "LessOrEqual",
    "gt": "Greater",
    "ge": "GreaterOrEqual",
}
_LONG_NAMES = {"less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _comparison(operator: str) -> Any:
    def translate(g: Writer, x: Any, other: Any) -> str:
        dtype = _common(x, other)
        # Equal alone compares truths.
        if dtype == facula.bool and operator != "Equal":
            dtype = facula.int32
        return g.op(operator, *_pair(g, x, other, dtype))

    return translate


for _name, _operator in _COMPARISONS.items():
    ROWS[_name] = _comparison(_operator)
for _long, _name in _LONG_NAMES.items():
    ROWS[_long] = ROWS[_name]


@row("ne", "not_equal")
def ne(g: Writer, x: Any, other: Any) -> str:
    return g.op("Not", ROWS["eq"](g, x, other))


def _logic(operator: str, bitwise: str | None) -> Any:
    def translate(g: Writer, x: Any, other: Any) -> str:
        if bitwise and g.result.dtype != facula.bool:
            return g.op(bitwise, *_pair(g, x, other))
        return g.op(operator, *_pair(g, x, other, facula.bool))

    return translate


for _name in ("and", "or", "xor"):
    _operator = _name.capitalize()
    ROWS[f"logical_{_name}"] = _logic(_operator, None)
    for _form in (f"bitwise_{_name}", f"__{_name}__", f"__i{_name}__"):
        ROWS[_form] = _logic(_operator, f"Bitwise{_operator}")
ROWS["__eq__"], ROWS["__invert__"] = ROWS["eq"], ROWS["bitwise_not"]


@row("where")
def where(g: Writer, condition: Value, x: Any = None, other: Any = None, **kwargs: Any) -> str:
    x = kwargs.get("input", x)
    if x is None:
        raise g.unsupported("where with one argument")
    # The method: x.where(condition, other).
    if condition.dtype != facula.bool and isinstance(x, Value) and x.dtype == facula.bool:
        condition, x = x, condition
    return g.op("Where", condition, *_pair(g, x, other))


@row("masked_fill")
def masked_fill(g: Writer, x: Value, mask: Value, value: Any) -> str:
    return g.op("Where", mask, g.number(value, x.dtype), x)


@row("clamp", "clip")
def clamp(g: Writer, x: Value, min: Any = None, max: Any = None) -> str:
    y = g.cast(x, g.result.dtype)
    if min is not None:
        y = g.op("Max", y, g.number(min, g.result.dtype))
    if max is not None:
        y = g.op("Min", y, g.number(max, g.result.dtype))
    return y


@row("clamp_min")
def clamp_min(g: Writer, x: Value, min: Any) -> str:
    return clamp(g, x, min)


@row("clamp_max")
def clamp_max(g: Writer, x: Value, max: Any) -> str:
    return clamp(g, x, None, max)


# ---- activations


@row("gelu")
def gelu(g: Writer, x: Value, approximate: str = "none") -> str:
    if g.opset >= 20:
        return g.op("Gelu", x, approximate=approximate)

    def number(value: float) -> str:
        return g.constant(value, x.dtype)

    if approximate == "tanh":
        cube = g.op("Mul", g.op("Mul", g.op("Mul", x, x), x), number(0.044715))
        inner = g.op("Mul", g.op("Add", x, cube), number(math.sqrt(2 / math.pi)))
        factor = g.op("Tanh", inner)
    else:
        factor = g.op("Erf", g.op("Mul", x, number(math.sqrt(0.5))))
    half = g.op("Mul", x, number(0.5))
    return g.op("Mul", half, g.op("Add", factor, number(1.0)))


@row("silu")
def silu(g: Writer, x: Value) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


@row("hardtanh")
def hardtanh(g: Writer, x: Value, min_val: Any = -1.0, max_val: Any = 1.0) -> str:
    return clamp(g, x, min_val, max_val)


@row("hardsigmoid")
def hardsigmoid(g: Writer, x: Value) -> str:
    return g.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@row("leaky_relu")
def leaky_relu(g: Writer, x: Value, negative_slope: float = 0.01) -> str:
    return g.op("LeakyRelu", x, alpha=float(negative_slope))


@row("elu")
def elu(g: Writer, x: Value, alpha: float = 1.0) -> str:
    return g.op("Elu", x, alpha=float(alpha))


@row("celu")
def celu(g: Writer, x: Value, alpha: float = 1.0) -> str:
    # Not ONNX's Celu, which knows float32 alone.
    scale = g.constant(alpha, x.dtype)
    return g.op("Mul", g.op("Elu", g.op("Div", x, scale)), scale)


@row("selu")
def selu(g: Writer, x: Value) -> str:
    return g.op("Selu", x)


@row("softplus")
def softplus(g: Writer, x: Value, beta: float = 1.0, threshold: float = 20.0) -> str:
    scale = g.constant(beta, x.dtype)
    scaled = g.op("Mul", x, scale)
    soft = g.op("Div", g.op("Softplus", scaled), scale)
    return g.op("Where", g.op("Greater", scaled, g.constant(threshold, x.dtype)), x, soft)


@row("logsigmoid", "log_sigmoid")
def logsigmoid(g: Writer, x: Value) -> str:
    return g.op("Neg", g.op("Softplus", g.op("Neg", x)))


@row("softshrink")
def softshrink(g: Writer, x: Value, lambd: float = 0.5) -> str:
    return g.op("Shrink", x, lambd=float(lambd), bias=float(lambd))


@row("hardshrink")
def hardshrink(g: Writer, x: Value, lambd: float = 0.5) -> str:
    return g.op("Shrink", x, lambd=float(lambd), bias=0.0)


@row("threshold")
def threshold(g: Writer, x: Value, threshold: float, value: float) -> str:
    is_above = g.op("Greater", x, g.constant(threshold, x.dtype))
    return g.op("Where", is_above, x, g.constant(value, x.dtype))


@row("prelu")
def prelu(g: Writer, x: Value, weight: Value) -> str:
    slope: str = weight
    if x.rank > 2 and weight.shape != (1,):
        slope = g.reshape(weight, [-1] + [1] * (x.rank - 2))
    return g.op("PRelu", x, slope)


@row("glu")
def glu(g: Writer, x: Value, dim: int = -1) -> str:
    value, gate = g.ops("Split", 2, x, axis=dim, num_outputs=2)
    return g.op("Mul", value, g.op("Sigmoid", gate))


@row("dropout")
def dropout(g: Writer, x: Value, p: float = 0.5, train: bool = False) -> str:
    if not train:
        return x
    return g.op("Dropout", x, g.constant(p, facula.float32), g.constant(True, facula.bool))


# ---- dtypes


@row(
    "to",
    "type",
    "type_as",
    "clone",
    "contiguous",
    "cpu",
    "cuda",
    "detach",
    "data.__get__",
    "requires_grad",
)
def to(g: Writer, x: Value, *args: Any, **kwargs: Any) -> str:
    cast = g.cast(x, g.result.dtype)
    return cast


for _name in ("float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte"):
    ROWS[_name] = to
for _name in ("bool", "alias", "lift_fresh", "resolve_conj", "resolve_neg", "positive"):
    ROWS[_name] = to
