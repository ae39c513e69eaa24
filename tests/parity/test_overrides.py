"""What ``__torch_function__`` of subclasses, foreign objects and modes sees, and what it can do."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import warnings
from typing import Any

import pytest
import torch

from .frameworks import facula
from .transcript import Log, assert_same_transcript

# x is a tensor, i one of integers, one a tensor of one integer.
OPERATORS = """
    x + y; x + 1; 1 + x; x - 1; 1 - x; x * 2; 2 * x; x / 2; 2 / x; x // 2; 2 // x; x % 2; 2 % x
    x ** 2; 2 ** x; x @ y; -x; +x; abs(x); ~i; i & 1; 1 & i; i | 1; i ^ 1; i << 1; 1 << i; i >> 1
    x == y; x != 1; x < 1; x <= 1; x > 1; x >= 1; 1 < x; 1 == x
    bool(one); int(one); float(one); complex(one); len(x); repr(x); f"{one}"; 1 in one
    x[0]; x[0, 1]; x[:, 1]; x[i]; x[x > 0]; reversed(x); hash(x) and None
    put(x, 0, 1.0); put(y, 0, x[1]); x.__iadd__(1); x.__isub__(1); x.__imul__(1); x.__itruediv__(2)
    x.__ifloordiv__(1); x.__imod__(2); x.__ipow__(2); i.__iand__(1); i.__ior__(1); i.__ilshift__(1)
"""
METHODS = """
    x.add(y); x.sub(1); x.mul(y); x.sum(); x.sum(dim=0); x.sum(axis=0); x.view(4); x.view(2, 2)
    x.reshape(4); x.t(); x.transpose(0, 1); x.clone(); x.detach(); x.to(torch.float64); x.float()
    one.item(); x.tolist(); x.size(); x.size(0); x.dim(); x.numel(); x.stride()
    x.is_contiguous(); x.data_ptr() and None; x.new_zeros(2); x.unbind()
    x.max(0); x.sort(); x.add_(1)
    x.requires_grad_(); x.copy_(y); x.as_subclass(torch.Tensor); x.type(); x.numpy() is None
    x.unsqueeze(0); x.expand(2, 2, 2); x.permute(1, 0); x.flatten(); x.masked_fill(x > 0, 1)
    x.chunk(2); x.gather(0, i); x.contiguous(); x.cpu(); x.exp(); x.softmax(0)
"""
FUNCTIONS = """
    torch.add(x, y); torch.add(y, x, alpha=2); torch.add(y, y, out=x); torch.cat([y, x])
    torch.cat((x, y), 0); torch.stack([x, x]); torch.sum(x)
    torch.max(x, 0); torch.where(i > 0, x, y)
    torch.zeros_like(x); torch.matmul(x, y); torch.relu(x); torch.nn.functional.linear(x, y)
    torch.equal(x, y); torch.is_floating_point(x); torch.numel(x); torch.result_type(x, y)
    torch.unbind(x); torch.sort(x); torch.nonzero(x); torch.is_tensor(x); torch.topk(x, 1)
    torch.tensor(x.tolist()); torch.as_tensor(y); torch.conv1d(x, y[:, :, None])
    torch.clamp(x, 0, 1)
"""
PROPERTIES = """
    x.shape; x.ndim; x.dtype; x.device; x.is_cuda; x.is_leaf; x.requires_grad; x.grad; x.grad_fn
    x.T; x.mT; x.H; x.real; x.data; x._base is None; x._version; x.is_sparse; x.itemsize; x.nbytes
    setattr(x, "requires_grad", False); setattr(x, "grad", None); setattr(x, "data", y)
"""


def expressions(text: str) -> list[str]:
    return [part.strip() for line in text.strip().splitlines() for part in line.split(";")]


def _put(x: Any, key: Any, value: Any) -> None:
    x[key] = value


def kind(result: Any) -> str:
    """The type of a result, and of what is in it."""
    if isinstance(result, (tuple, list)):
        return f"{type(result).__name__}[{', '.join(kind(part) for part in result)}]"
    return type(result).__name__


def logging_subclass(lib: Any, log: Log) -> Any:
    class Logging(lib.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log(f"  {lib.overrides.resolve_name(func)} {[t.__name__ for t in types]} {len(args)}")
            return super().__torch_function__(func, types, args, kwargs)

    return Logging


def logging_mode(lib: Any, log: Log, name: str = "", with_types: bool = False) -> Any:
    class Mode(lib.overrides.TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            told = [t.__name__ for t in types] if with_types else ""
            log(f"  {name}{lib.overrides.resolve_name(func)} {told}")
            return func(*args, **(kwargs or {}))

    return Mode()


def foreign(lib: Any, log: Log) -> Any:
    class Foreign:
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            told = [t.__name__ for t in types if t is not lib.Tensor]
            log(f"  {lib.overrides.resolve_name(func)} {told} {len(args)} {sorted(kwargs or ())}")
            return "done"

    return Foreign()


def evaluate(lib: Any, log: Log, text: str, x: Any, y: Any, i: Any, one: Any) -> None:
    log(text)
    names = {"torch": lib, "put": _put, "x": x, "y": y, "i": i, "one": one}
    try:
        result = eval(text, names)
    except Exception as error:
        log(type(error).__name__)
    else:
        log(kind(result))


def plain(lib: Any) -> tuple[Any, ...]:
    x = lib.tensor([[1.0, 2.0], [3.0, 4.0]])
    return x, lib.ones(2, 2), lib.tensor([[0, 1], [1, 0]]), lib.tensor([1])


@pytest.mark.parametrize(
    "text", expressions(OPERATORS) + expressions(METHODS) + expressions(PROPERTIES)
)
def test_a_subclass_is_told_of_operators_methods_and_properties(text: str) -> None:
    def program(lib: Any, log: Log) -> None:
        cls = logging_subclass(lib, log)
        x, y, i, one = plain(lib)
        # PyTorch's functions in Python name plain tensors among the types, too; without them.
        if "//" in text or "**" in text:
            y = 1
        values = x.as_subclass(cls), y, i.as_subclass(cls), one.as_subclass(cls)
        evaluate(lib, log, text, *values)

    assert_same_transcript(program)


@pytest.mark.parametrize("text", expressions(FUNCTIONS))
def test_a_subclass_is_told_of_functions(text: str) -> None:
    def program(lib: Any, log: Log) -> None:
        x, y, i, one = plain(lib)
        evaluate(lib, log, text, x.as_subclass(logging_subclass(lib, log)), y, i, one)

    assert_same_transcript(program)


@pytest.mark.parametrize("text", expressions(OPERATORS + METHODS + FUNCTIONS + PROPERTIES))
def test_a_mode_is_told_of_everything(text: str) -> None:
    def program(lib: Any, log: Log) -> None:
        values = plain(lib)
        with logging_mode(lib, log):
            evaluate(lib, log, text, *values)

    assert_same_transcript(program)


@pytest.mark.parametrize(
    "text",
    expressions("""
    torch.zeros(2); torch.ones(2, 2); torch.empty(2); torch.arange(3)
    torch.rand(2); torch.full((2,), 1)
    torch.tensor([1.0]); torch.as_tensor([1.0]); torch.eye(2)
    torch.linspace(0, 1, 3); torch.randperm(3)
    torch.is_grad_enabled(); torch.get_default_dtype(); torch.Tensor([1.0])
    torch.FloatTensor([1.0])
    torch.manual_seed(0) and None; torch.get_num_threads() and None
    torch.promote_types(torch.int8, torch.int16)
    torch.nn.Parameter(x); torch.scalar_tensor(1.0); torch.finfo(torch.float32) and None
"""),
)
def test_a_mode_is_told_of_functions_without_tensors(text: str) -> None:
    def program(lib: Any, log: Log) -> None:
        values = plain(lib)
        with logging_mode(lib, log, with_types=True):
            evaluate(lib, log, text, *values)

    assert_same_transcript(program)


def test_modes_are_asked_from_the_innermost() -> None:
    def program(lib: Any, log: Log) -> None:
        x = lib.ones(2)
        sub = x.as_subclass(logging_subclass(lib, log))
        with logging_mode(lib, log, "outer ", True), logging_mode(lib, log, "inner ", True):
            log(kind(x + 1), kind(sub.sum()), kind(x.shape))
            with lib.overrides.BaseTorchFunctionMode():
                log(kind(x * 2))
        log(kind(x + 1))

    assert_same_transcript(program)


def test_a_mode_that_does_nothing_leaves_it_to_the_subclass() -> None:
    def program(lib: Any, log: Log) -> None:
        class Nothing(lib.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return NotImplemented

        x = lib.ones(2)
        with Nothing():
            log(lambda: lib.add(x, 1), lambda: x + 1)
            log(lambda: lib.add(x.as_subclass(logging_subclass(lib, log)), 1))

        with lib.overrides.TorchFunctionMode():
            log(lambda: x + 1)
        log(x + 1)

    assert_same_transcript(program)


def test_an_error_in_a_mode_leaves_it_active_until_its_end() -> None:
    def program(lib: Any, log: Log) -> None:
        class Failing(lib.overrides.TorchFunctionMode):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                raise KeyError("never")

        x = lib.ones(2)
        with Failing():
            log(lambda: x.sum(), lambda: x.sum(), lambda: x[0], lambda: x.shape)
        log(x.sum())

    assert_same_transcript(program)


@pytest.mark.parametrize(
    "text",
    expressions("""
    y + f; f + y; y - f; f - y; y * f; f * y; y @ f; y == f; y < f; y.add(f); y.add_(f); y.copy_(f)
    torch.add(y, f); torch.add(f, 1); torch.add(y, y, out=f); torch.add(y, y, alpha=f); torch.sum(f)
    torch.sum(f, dim=0); torch.sum(f, axis=0); torch.sum(y, dim=f)
    torch.cat([y, f]); torch.cat((f,))
    torch.stack([f]); torch.matmul(y, f); torch.where(i > 0, f, y); torch.zeros(f); y.view(f); y[f]
    put(y, 0, f); torch.nn.functional.linear(y, f); torch.relu(f)
    torch.max(f, 0); torch.equal(y, f)
    torch.exp(f); torch.softmax(f, 0); torch.conv2d(f, y); y.to(f)
    y.reshape(f); y.sum(f); y.__iadd__(f)
    torch.is_tensor(f); torch.tensor(f); setattr(y, "grad", f); torch.from_numpy(f); y.new_zeros(f)
    torch.full((2,), f); torch.clamp(y, f); y.index_put((f,), y); y.masked_fill(f, 1)
"""),
)
def test_foreign_objects_are_asked(text: str) -> None:
    def program(lib: Any, log: Log) -> None:
        f = foreign(lib, log)
        _, y, i, _ = plain(lib)
        log(text)
        try:
            log(kind(eval(text, {"torch": lib, "put": _put, "y": y, "i": i, "f": f})))
        except Exception as error:
            log(type(error).__name__)

    assert_same_transcript(program)


def test_foreign_objects_and_subclasses_are_asked_from_left_to_right() -> None:
    def program(lib: Any, log: Log) -> None:
        f, x = foreign(lib, log), lib.ones(2)
        sub = x.as_subclass(logging_subclass(lib, log))
        log(kind(lib.add(f, sub)), lambda: kind(lib.add(sub, f)), lambda: kind(sub + f))
        log(kind(lib.cat([x, f, sub])))

    assert_same_transcript(program)


def test_subclasses_are_asked_before_their_bases() -> None:
    def program(lib: Any, log: Log) -> None:
        base = logging_subclass(lib, log)
        derived = type("Derived", (base,), {})
        other = type("Other", (lib.Tensor,), {})
        x = lib.ones(2)
        tensors = {
            cls.__name__: x.as_subclass(cls) for cls in (lib.Tensor, base, derived, other)
        } | {"Parameter": lib.nn.Parameter(x)}
        for a in tensors.values():
            for b in tensors.values():
                log(f"{kind(a)} {kind(b)}")
                log(functools.partial(lambda a, b: kind(lib.add(a, b)), a, b))
                log(functools.partial(lambda a, b: kind(lib.cat([a, b])), a, b))

    assert_same_transcript(program)


def test_operators_know_the_subclass_of_the_other_operand() -> None:
    def program(lib: Any, log: Log) -> None:
        base = type("Base", (lib.Tensor,), {})
        derived = type("Derived", (base,), {})
        other = type("Other", (lib.Tensor,), {})
        x = lib.ones(2)
        tensors = [x.as_subclass(cls) for cls in (lib.Tensor, base, derived, other)]
        tensors.append(lib.nn.Parameter(x))
        for a in tensors:
            for b in tensors:
                log(f"{kind(a)} {kind(b)}", functools.partial(lambda a, b: kind(a + b), a, b))
                log(functools.partial(lambda a, b: kind(a == b), a, b))

    assert_same_transcript(program)


def test_nobody_who_does_it_is_a_type_error() -> None:
    def program(lib: Any, log: Log) -> None:
        class Nothing(lib.Tensor):
            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return NotImplemented

        x = lib.ones(2)
        n = lib.Tensor.as_subclass(x, Nothing)
        log(lambda: lib.add(n, 1), lambda: n + 1, lambda: n.sum(), lambda: n[0], lambda: n.shape)
        log(n == 1, lambda: n < 1, lambda: x + n, lambda: -n, lambda: len(n))
        for failing in (lambda: lib.add(n, 1), lambda: n.shape, lambda: n[0]):
            try:
                failing()
            except TypeError as error:
                log(str(error).partition(";")[0])
                log("handlers returned NotImplemented" in str(error), "Nothing" in str(error))

    assert_same_transcript(program)


def test_a_method_instead_of_a_classmethod_is_warned_of() -> None:
    def program(lib: Any, log: Log) -> None:
        class Old(lib.Tensor):
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return "done"

        x = lib.ones(2).as_subclass(Old)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            log(lib.add(x, 1))
        log(caught[0].category.__name__, str(caught[0].message).partition(" (Trig")[0])

    assert_same_transcript(program)


def test_a_class_with_metadata_hands_it_on() -> None:
    def program(lib: Any, log: Log) -> None:
        class Tagged:
            def __init__(self, data: Any, tags: tuple[str, ...] = ()) -> None:
                self.data, self.tags = lib.as_tensor(data), tags

            @classmethod
            def __torch_function__(
                cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                if not all(issubclass(t, (lib.Tensor, Tagged)) for t in types):
                    return NotImplemented
                tags = tuple(tag for a in args if isinstance(a, Tagged) for tag in a.tags)
                plain = [a.data if isinstance(a, Tagged) else a for a in args]
                return Tagged(func(*plain, **(kwargs or {})), tags)

        a, b = Tagged([1.0, 2.0], ("a",)), Tagged([3.0, 4.0], ("b",))
        for result in (
            lib.add(a, b),
            lib.mul(lib.ones(2), b),
            lib.sum(a, dim=0),
            lib.add(a, a.data),
        ):
            log(result.data, result.tags)
        result = lib.ones(2) + a
        log(result.data, result.tags)

    assert_same_transcript(program)


def test_results_keep_a_subclass_that_overrides_nothing() -> None:
    def program(lib: Any, log: Log) -> None:
        class Marked(lib.Tensor):
            pass

        x = lib.arange(4.0).reshape(2, 2).as_subclass(Marked)
        for result in (x + 1, 1 - x, x.sum(), x[0], x.T, x.unbind(), x.max(0), lib.cat([x, x])):
            log(kind(result))
        y = x.clone()
        y += 1
        log(kind(y), y, kind(y.add_(1)), kind(lib.add(lib.ones(2, 2), 1, out=y)), str(y))
        w = x.clone().requires_grad_()
        loss = (w * w).sum()
        log(kind(loss), kind(loss.backward()), kind(w.grad), w.grad, loss)
        log(kind(lib.nn.Parameter(x)), isinstance(lib.nn.Parameter(x), lib.nn.Parameter))
        log(kind(lib.nn.Parameter(lib.ones(2)) + lib.nn.Parameter(lib.ones(2))))
        log(kind(lib.nn.Linear(2, 2)(x)), kind(lib.nn.ReLU()(x)))

    assert_same_transcript(program)


def test_copies_and_pickles_are_of_the_subclass() -> None:
    def program(lib: Any, log: Log) -> None:
        name = f"Pickled_{lib.__name__}"
        cls = type(name, (lib.Tensor,), {"__module__": __name__})
        globals()[name] = cls
        x = lib.ones(2).as_subclass(cls)
        x.note = "kept"
        file = io.BytesIO()
        lib.save(x, file)
        file.seek(0)
        loaded = lib.load(file, weights_only=False)
        for other in (copy.copy(x), pickle.loads(pickle.dumps(x)), loaded):
            log(type(other) is cls, other.note, other.tolist())
        del globals()[name]

    assert_same_transcript(program)


def test_disabled_contexts_pass_by() -> None:
    def program(lib: Any, log: Log) -> None:
        disabled, all_disabled = (
            (torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction)
            if lib is torch
            else (facula._core._DisableTorchFunctionSubclass, facula._core._DisableTorchFunction)
        )
        x = lib.ones(2).as_subclass(logging_subclass(lib, log))
        f = foreign(lib, log)
        with disabled():
            log(kind(x + 1), kind(x.sum()), lambda: lib.add(x, f))
            with logging_mode(lib, log):
                log(kind(x * 2))
        with logging_mode(lib, log), all_disabled():
            log(kind(x - 1))
        log(kind(x / 2))

    assert_same_transcript(program)


def test_helpers_for_functions_of_ones_own() -> None:
    def program(lib: Any, log: Log) -> None:
        o = lib.overrides
        f, x = foreign(lib, log), lib.ones(2)
        sub = x.as_subclass(logging_subclass(lib, log))
        for value in (f, sub, x, lib.nn.Parameter(x), 3, None):
            log(o.has_torch_function((value,)), o.has_torch_function_unary(value))
            log(o.has_torch_function_variadic(1, value), o.is_tensor_like(value))
        with o.BaseTorchFunctionMode():
            log(o.has_torch_function((x,)), o.has_torch_function_unary(3))

        def double(x: Any, times: int = 2) -> Any:
            if o.has_torch_function_unary(x):
                return o.handle_torch_function(double, (x,), x, times=times)
            return x * times

        log(double(f), double(x), double(x, times=3))

        @o.wrap_torch_function(lambda a, b: (a, b))
        def both(a: Any, b: Any) -> Any:
            """Adds."""
            return a + b

        log(both(x, f), both(x, x), both.__name__, both.__doc__)
        for function in (lib.Tensor.add, lib.add, lib.Tensor.grad.__get__, lib.Tensor.__getitem__):
            log(o.is_tensor_method_or_property(function), o.resolve_name(function))
        log(o.resolve_name(len))
        for function in (lib.manual_seed, lib.Tensor.as_subclass, lib.get_default_dtype):
            log(function in o.get_testing_overrides())
        log(lib.add in o.get_overridable_functions()[lib])
        log(lib.Tensor.add in o.get_overridable_functions()[lib.Tensor])

    assert_same_transcript(program)
