"""Operations of one's own: schemas, kernels, derivatives, rules for transforms."""

import copy
import gc
import pickle
import warnings

import numpy as np
import pytest

import facula
from facula import Tensor, library, nn


@pytest.fixture
def lib():
    with library._scoped_library("testlib", "FRAGMENT") as made:
        yield made


def make(name, function, **options):
    return library.custom_op(f"testlib::{name}", function, mutates_args=(), **options)


def cube(x: Tensor) -> Tensor:
    return facula.from_numpy(x.numpy() ** 3)


def with_derivative():
    op = make("cube", cube)
    op.register_autograd(
        lambda ctx, grad: grad * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return op


@pytest.mark.promise("U2")
def test_a_function_becomes_an_operation_with_its_derivative():
    op = with_derivative()
    x = facula.tensor([2.0, 3.0], dtype=facula.float64, requires_grad=True)
    assert facula.autograd.gradcheck(op, (x,))
    assert facula.equal(facula.ops.testlib.cube(x), op(x))
    assert facula.ops.testlib.cube.default(x).grad_fn is not None
    (first,) = facula.autograd.grad(op(x).sum(), x, create_graph=True)
    (second,) = facula.autograd.grad(first.sum(), x)
    assert second.tolist() == [12, 18]


def test_without_a_formula_backward_says_how_to_add_one():
    y = make("cube", cube)(facula.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        y.sum().backward()


def test_lists_of_tensors_and_keywords_have_gradients():
    def weighted(xs: list[Tensor], by: float, *, plus: float = 0.0) -> Tensor:
        return facula.from_numpy(sum(x.numpy() for x in xs) * by + plus)

    op = make("weighted", weighted)
    seen = {}

    def setup_context(ctx, inputs, output, keyword_only_inputs):
        seen.update(keyword_only_inputs)
        ctx.n, ctx.by = len(inputs[0]), inputs[1]

    op.register_autograd(
        lambda ctx, grad: ([grad * ctx.by] * ctx.n, None), setup_context=setup_context
    )
    xs = [facula.ones(2, requires_grad=True) for _ in range(3)]
    op(xs, 2.0, plus=1.0).sum().backward()
    assert [x.grad.tolist() for x in xs] == [[2, 2]] * 3
    assert seen == {"plus": 1.0}


def test_transforms_see_the_operation():
    op = with_derivative()
    x = facula.tensor([1.0, 2.0])
    assert facula.func.grad(lambda x: op(x).sum())(x).tolist() == [3, 12]
    with pytest.warns(UserWarning, match="one example at a time"):
        each = facula.vmap(op)(x.reshape(2, 1))
    assert each.tolist() == [[1], [8]]


def test_a_rule_for_vmap_is_used():
    op, calls = with_derivative(), []

    @op.register_vmap
    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        return op(x), in_dims[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = facula.vmap(op, in_dims=1)(facula.tensor([[1.0, 2.0, 3.0]]))
    assert result.tolist() == [[1], [8], [27]]
    assert calls == [(3, (1,))] or calls == [(3, (0,))]


def test_modes_are_asked():
    op = with_derivative()

    class Log(facula.overrides.TorchFunctionMode):
        names = ()

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.names += (func.__name__,)
            return func(*args, **(kwargs or {}))

    with Log() as log:
        op(facula.ones(1))
    assert "cube.default" in log.names


def test_kernels_are_chosen_by_device():
    def plus(x: Tensor, n: int = 1) -> Tensor:
        return x + n

    op = make("plus", plus, device_types="cuda")
    with pytest.raises(NotImplementedError, match=r"'testlib::plus' with .*'CPU'.*\['cuda'\]"):
        op(facula.ones(1))
    op.register_kernel("cpu")(lambda x, n=1: x + 10 * n)
    op.register_kernel(None)(lambda x, n=1: x + 100 * n)
    assert op(facula.ones(1), n=2).item() == 21
    with op.set_kernel_enabled("cpu", False):
        assert op(facula.ones(1)).item() == 101


def test_the_device_meta_needs_a_fake():
    op = make("cube", cube)
    with pytest.raises(RuntimeError, match="no fake impl registered for testlib::cube"):
        op(facula.ones(2, device="meta"))
    library.register_fake("testlib::cube", lambda x: facula.empty_like(x))
    assert op(facula.ones(2, 3, device="meta")).shape == (2, 3)


def test_autocast_casts_the_arguments():
    op = make("product", product)
    library.register_autocast(op, "cpu", facula.bfloat16)
    x = facula.ones(2, 2)
    with facula.autocast("cpu"):
        assert op(x, x).dtype == facula.bfloat16
    assert op(x, x).dtype == facula.float32


def product(x: Tensor, y: Tensor) -> Tensor:
    return x @ y


def test_arguments_that_are_changed_get_a_new_version():
    @library.custom_op("testlib::zero_", mutates_args={"x"})
    def zero_(x: Tensor) -> None:
        x.numpy()[...] = 0

    x = facula.ones(2)
    zero_(x)
    assert x.tolist() == [0, 0] and x._version == 1
    assert str(zero_._opoverload._schema) == "testlib::zero_(Tensor(a0!) x) -> ()"
    with pytest.raises(RuntimeError, match="changes its arguments"):
        zero_.register_autograd(lambda ctx: None)


def test_results_may_not_be_arguments():
    op = make("same", product, schema="(Tensor x, Tensor y) -> Tensor")
    op.register_kernel("cpu")(lambda x, y: x[:1])
    with pytest.raises(RuntimeError, match="must not also be an input"):
        op(facula.ones(2), facula.ones(2))


@pytest.mark.promise("U2")
def test_operations_are_made_in_steps(lib):
    lib.define("scale(Tensor x, float by=2.0) -> Tensor")
    with pytest.raises(NotImplementedError, match="no device"):
        facula.ops.testlib.scale(facula.ones(1))
    lib.impl("scale", lambda x, by=2.0: x * by, "CPU")
    x = facula.ones(2, requires_grad=True)
    facula.ops.testlib.scale(x, by=3.0).sum().backward()
    assert x.grad.tolist() == [3, 3]

    @library.impl(lib, "scale", "Meta")
    def fake(x, by=2.0):
        return facula.empty_like(x)

    assert facula.ops.testlib.scale(facula.ones(2, device="meta")).device.type == "meta"
    lib._destroy()
    assert not hasattr(facula.ops.testlib, "scale")


def test_overloads_are_chosen_by_their_arguments(lib):
    lib.define("pick.tensor(Tensor x) -> Tensor")
    lib.define("pick.text(str x) -> str")
    lib.impl("pick.tensor", lambda x: x + 1, "CPU")
    lib.impl("pick.text", lambda x: x + "!", "CompositeExplicitAutograd")
    assert facula.ops.testlib.pick(facula.ones(1)).item() == 2
    assert facula.ops.testlib.pick("hi") == "hi!"
    assert facula.ops.testlib.pick.overloads() == ["tensor", "text"]


def test_composite_kernels_are_differentiated_through(lib):
    library.define("testlib::twice", "(Tensor x) -> Tensor", lib=lib)
    library.impl("testlib::twice", "CompositeImplicitAutograd", lambda x: x + x, lib=lib)
    x = facula.ones(1, requires_grad=True)
    facula.ops.testlib.twice(x).backward()
    assert x.grad.item() == 2


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda op: op("a"), RuntimeError, "Expected a value of type 'Tensor' for argument 'x'"),
        (lambda op: op(), RuntimeError, "missing value for argument 'x'"),
        (lambda op: op(facula.ones(1), 2), RuntimeError, "at most 1 argument"),
        (lambda op: op(facula.ones(1), y=2), RuntimeError, "Unknown keyword argument 'y'"),
        (lambda op: op._opoverload.overloadpacket.other, AttributeError, "no overload name"),
        (lambda op: facula.ops.testlib.missing, AttributeError, "no attribute 'missing'"),
        (lambda op: library.register_fake("testlib::missing"), RuntimeError, "no operator"),
        (lambda op: library.register_fake(3), ValueError, "operator or its name"),
        (lambda op: library.custom_op("cube", cube, mutates_args=()), ValueError, "mylib::scale"),
        (lambda op: library.define("testlib::f", "nonsense"), RuntimeError, "a schema such as"),
        (lambda op: library.impl("testlib::cube", "fpga", cube), RuntimeError, "kind of device"),
        (lambda op: library.Library("testlib", "OTHER"), ValueError, "'DEF', 'IMPL'"),
        (lambda op: library.wrap_triton(cube), RuntimeError, "no Triton"),
        (lambda op: library.fallthrough_kernel(), NotImplementedError, "never"),
        (lambda op: facula.ops.load_library("lib.so"), RuntimeError, "custom_op"),
    ],
)
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(make("cube", cube))


def test_a_namespace_is_defined_once():
    with library._scoped_library("testlib_once", "DEF") as first:
        with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY"):
            library.Library("testlib_once", "DEF")
        first.define("f(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="multiple times"):
            first.define("f(Tensor x) -> Tensor")
        with pytest.raises(RuntimeError, match="cannot be replaced"):
            first.impl("aten::add", lambda x, y: x, "CPU")


def test_a_library_takes_away_all_that_was_registered_for_it(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    op, x = facula.ops.testlib.f, facula.ones(1, requires_grad=True)
    other = library.Library("testlib", "IMPL")
    library.register_fake("testlib::f", facula.empty_like, lib=other)
    library.register_kernel("testlib::f", "cpu", lambda x: x + 2, lib=other)
    library.register_autograd("testlib::f", lambda ctx, grad: grad * 7, lib=other)
    library.register_vmap("testlib::f", lambda info, dims, x: (x * 0, 0), lib=other)
    library.register_autocast("testlib::f", "cpu", facula.bfloat16, lib=other)
    assert op(facula.ones(2, device="meta")).shape == (2,)
    assert op(x).item() == 3 and facula.autograd.grad(op(x), x)[0].item() == 7
    assert facula.vmap(op)(facula.ones(2)).tolist() == [0, 0]
    with facula.autocast("cpu"):
        assert op(x).dtype == facula.bfloat16
    other._destroy()
    with pytest.raises(NotImplementedError, match="'META' backend"):
        op(facula.ones(2, device="meta"))
    assert op(x).item() == 2 and facula.autograd.grad(op(x), x)[0].item() == 1
    with pytest.warns(UserWarning, match="one example at a time"):
        assert facula.vmap(op)(facula.ones(2)).tolist() == [2, 2]
    with facula.autocast("cpu"):
        assert op(x).dtype == facula.float32
    with pytest.raises(AssertionError, match="has been destroyed"):
        other.impl("f", lambda x: x, "CPU")
    assert op(x).item() == 2


def test_a_library_takes_away_only_its_own(lib):
    lib.define("f(Tensor x) -> Tensor")
    first, second = (library.Library("testlib", "IMPL") for _ in range(2))
    first.impl("f", lambda x: x + 1, "CPU")
    second.impl("f", lambda x: x + 2, "CPU")
    second.impl("f", lambda x: facula.empty_like(x), "Meta")
    first._destroy()
    assert facula.ops.testlib.f(facula.ones(1)).item() == 3
    assert facula.ops.testlib.f(facula.ones(1, device="meta")).is_meta
    second._destroy()
    with pytest.raises(NotImplementedError):
        facula.ops.testlib.f(facula.ones(1))


def test_a_library_goes_with_its_last_reference():
    made = library.Library("testlib_gone", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.impl("f", lambda x: x, "CPU")
    del made
    gc.collect()
    assert not hasattr(facula.ops.testlib_gone, "f")
    library.Library("testlib_gone", "DEF")._destroy()


def test_overloads_and_namespaces_of_definitions(lib):
    assert library.define("testlib::g.ov", "(Tensor x) -> Tensor", lib=lib) is None
    assert facula.ops.testlib.g.overloads() == ["ov"]
    assert lib.define("h.ov(Tensor x) -> Tensor") == "h"
    with pytest.raises(RuntimeError, match="of the namespace testlib, got other"):
        lib.define("other::f(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="kernels only"):
        library.Library("testlib", "IMPL").define("f(Tensor x) -> Tensor")


def test_a_kernel_is_replaced_where_that_is_allowed(lib):
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f", lambda x: x + 2, "CPU")
    lib.impl("f", lambda x: x, "CUDA", allow_override=False)
    with pytest.raises(RuntimeError, match="has a kernel for 'CPU' already"):
        lib.impl("f", lambda x: x + 3, "CPU", allow_override=False)
    assert facula.ops.testlib.f(facula.ones(1)).item() == 3


X = facula.ones(2)
# A type of schemas, values that PyTorch takes for it, and values that it refuses.
VALUES = {
    "Tensor": ([X, None], [1, "abc", [X]]),
    "Tensor?": ([X, None], [1.5]),
    "Tensor[]": ([[X], (X,), []], [X, None, [X, None], [1]]),
    "Tensor?[]": ([[X, None], []], [None, [1]]),
    "int": ([1, True, facula.tensor([3]), np.int64(3)], ["abc", 2.5, None, X, [1]]),
    "int?": ([1, None], ["abc", 2.5]),
    "int[]": ([[1], (1,), facula.Size([1]), range(2)], [1, [1.5], ["a"], None]),
    "int[2]": ([1, [1, 2]], [1.5, "ab"]),
    "SymInt": ([1, True], ["abc", 2.5, None]),
    "float": ([1, 2.5, facula.tensor(3), np.float32(1)], ["abc", 1j, None, X]),
    "float[]": ([[1, 2.5], np.ones(2)], [1.5, ["a"]]),
    "bool": ([True, 1, None], ["abc", [], X]),
    "str": (["abc"], [1, None]),
    "str[]": ([["a"]], [["a", 1], 3]),
    "Scalar": ([1, 2.5, True, 1j], ["abc", None, facula.tensor(3)]),
    "complex": ([1, 1j], ["abc", None]),
    "Device": ([facula.device("cpu"), "cpu"], [1, None]),
    "Device?": ([None], [1]),
    "ScalarType": ([facula.float32, 1], ["abc", float, None]),
    "Layout": ([facula.strided], ["abc", None]),
    "MemoryFormat": ([facula.contiguous_format], ["abc", None]),
    "Generator?": ([facula.Generator(), None], [1]),
    "Storage": ([X.untyped_storage()], [1, X, None]),
    "Any": ([1, "abc", None, X], []),
}


@pytest.mark.parametrize("kind", VALUES)
def test_arguments_are_of_the_types_of_the_schema(lib, kind):
    lib.define(f"f({kind} v) -> ()")
    lib.impl("f", lambda v: None, "CompositeExplicitAutograd")
    right, wrong = VALUES[kind]
    for value in right:
        assert facula.ops.testlib.f.default(value) is None
    for value in wrong:
        with pytest.raises(RuntimeError, match="Expected a value of type"):
            facula.ops.testlib.f.default(value)


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("Tensor", facula.zeros(1), 5),
        ("Tensor[]", [facula.zeros(1)], facula.zeros(1)),
        ("(Tensor, int)", (facula.zeros(1), 1), (facula.zeros(1), "a")),
        ("(Tensor, Tensor)", (facula.zeros(1), facula.zeros(1)), facula.zeros(1)),
        ("()", None, 1),
        ("str", "abc", None),
    ],
)
@pytest.mark.parametrize("key", ["CPU", "CompositeImplicitAutograd"])
def test_results_are_of_the_types_of_the_schema(lib, key, kind, right, wrong):
    results = iter([right, wrong])
    lib.define(f"f(Tensor x) -> {kind}")
    lib.impl("f", lambda x: next(results), key)
    assert facula.ops.testlib.f(X) is right
    with pytest.raises(RuntimeError, match="Expected its kernel to return a value of type"):
        facula.ops.testlib.f(X)


@pytest.mark.parametrize("schema", ["(Foo x) -> Tensor", "(Tensor x) -> Foo", "(Foo[] x) -> ()"])
def test_unknown_types_are_refused(schema):
    with pytest.raises(RuntimeError, match="unknown type specifier 'Foo"):
        library.define("testlib::unknown", schema)
    assert not hasattr(facula.ops.testlib, "unknown")


@pytest.mark.parametrize("names", ["xy", "x"])
def test_names_of_changed_arguments_are_no_string(names):
    def function(x: Tensor, y: Tensor) -> Tensor: ...

    with pytest.raises(ValueError, match="expected mutates_args as the names"):
        library.infer_schema(function, mutates_args=names)


def test_schemas_are_read_from_annotations():
    def function(
        x: Tensor,
        xs: list[Tensor | None],
        n: int,
        y: Tensor | None = None,
        text: str = "a",
        *,
        sizes: list[int],
        dtype: facula.dtype | None = None,
        number: int | float | bool = 2,
    ) -> tuple[Tensor, int]: ...

    assert library.infer_schema(function, mutates_args={"x"}, op_name="f") == (
        'f(Tensor(a0!) x, Tensor?[] xs, SymInt n, Tensor? y=None, str text="a", *, SymInt[] sizes, '
        "ScalarType? dtype=None, Scalar number=2) -> (Tensor, SymInt)"
    )
    with pytest.raises(ValueError, match="must have a type annotation"):
        library.infer_schema(lambda x: x, mutates_args=())


def test_opcheck_finds_broken_promises():
    op = with_derivative()
    op.register_fake(lambda x: facula.empty_like(x))
    args = (facula.ones(2, requires_grad=True),)
    assert set(library.opcheck(op, args).values()) == {"SUCCESS"}
    op.register_fake(lambda x: x.new_empty(7))
    with pytest.raises(library.OpCheckError, match=r"test_faketensor failed.*\(7,\)"):
        library.opcheck(op, args)

    def hidden(x: Tensor) -> Tensor:
        x.numpy()[...] = 5
        return facula.ones(1)

    report = library.opcheck(
        make("hidden", hidden), (facula.ones(2),), test_utils="test_schema", raise_exception=False
    )
    assert "does not name" in str(report["test_schema"])


def test_operations_of_the_package_have_names_too():
    x = facula.tensor([1.0, -2.0])
    assert facula.ops.aten.add.Tensor(x, x).tolist() == [2, -4]
    assert facula.ops.aten.relu.default(x).tolist() == [1, 0]
    assert facula.ops.aten.linalg_vector_norm(x, 1).item() == 3
    assert str(facula.ops.aten.mm) == "aten.mm" and facula.ops.aten.mm is facula.ops.aten.mm
    assert facula.ops.aten.mm.default is facula.ops.aten.mm.default
    x_ = facula.ops.aten.mul_.Tensor(x, 2)
    assert x_ is x
    boxes = facula.tensor([[0.0, 0.0, 1.0, 1.0]])
    assert facula.ops.torchvision.nms(boxes, facula.ones(1), 0.5).tolist() == [0]
    assert facula.ops.aten.hash_tensor(x).item() == facula.hash_tensor(x).item()
    assert not hasattr(facula.ops.aten, "no_such_operation")


def test_operations_that_are_indexing_or_methods_elsewhere_have_names_too():
    aten = facula.ops.aten
    x = facula.arange(6.0).view(2, 3)
    view = aten.slice.Tensor(x, -1, 1, None, 2)
    assert view.tolist() == [[1], [4]] and view.data_ptr() == x[0, 1].data_ptr()
    assert aten.index.Tensor(x, [None, facula.tensor([2, 0])]).tolist() == [[2, 0], [5, 3]]
    same = aten.alias.default(x)
    assert same is not x and same.data_ptr() == x.data_ptr()
    copied = aten._to_copy.default(x, dtype=facula.float64)
    assert copied.dtype == facula.float64 and copied.tolist() == x.tolist()
    assert aten._to_copy.default(x).data_ptr() != x.data_ptr()
    assert aten._unsafe_view.default(x, [3, 2]).shape == (3, 2)
    assert aten._local_scalar_dense.default(x[1, 2]) == 5
    assert aten.sym_size.int(x, 1) == 3
    total = aten._sparse_addmm.default(facula.ones(2, 2), x.to_sparse(), x.mT, alpha=2)
    assert total.tolist() == (1 + 2 * x @ x.mT).tolist()


def test_operations_of_the_package_have_the_overloads_of_pytorch():
    aten, x = facula.ops.aten, facula.tensor([1.0, -2.0])
    assert {"Tensor", "Scalar", "out"} <= set(aten.add.overloads())
    assert aten.relu.overloads() == ["default", "out"]
    for packet in (aten.add, aten.relu, facula.ops.torchvision.nms):
        with pytest.raises(AttributeError, match="has no overload name 'Foo'"):
            packet.Foo(x, x)
    assert aten.threshold_backward.default(facula.ones(2), x, 0).tolist() == [1, 0]
    assert str(aten.relu.default._schema) == "aten::relu(Tensor self) -> Tensor"
    assert [a.name for a in aten.atan2.default._schema.arguments] == ["self", "other"]
    half = x.to(facula.bfloat16)
    assert aten._softmax.default(half, 0, True).dtype == facula.float32
    assert facula.equal(aten._softmax(x, 0, False), x.softmax(0))
    assert facula.equal(aten._log_softmax(x, 0, False), x.log_softmax(0))


def test_operations_are_copied_and_pickled_by_name():
    op = facula.ops.aten.add.Tensor
    assert copy.deepcopy(op) is op
    assert pickle.loads(pickle.dumps(op)) is op


def test_a_module_may_use_one():
    op = with_derivative()

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return op(self.layer(x))

    net = Net()
    net(facula.ones(3, 2)).sum().backward()
    assert net.layer.weight.grad is not None


def test_numpy_inside_sees_no_graph():
    op = with_derivative()
    x = facula.ones(2, requires_grad=True)
    assert isinstance(op(x).detach().numpy(), np.ndarray)


def test_an_operation_for_triton_is_made_and_runs_its_function():
    @library.triton_op("testlib_triton::fifth", mutates_args=())
    def fifth(x: Tensor) -> Tensor:
        return x / 5

    assert (
        fifth(facula.ones(1)).tolist() == facula.ops.testlib_triton.fifth(facula.ones(1)).tolist()
    )


def test_types_of_operations_are_where_pytorch_has_them():
    add = facula.ops.aten.add
    assert isinstance(add, facula._ops.OpOverloadPacket)
    assert isinstance(add.Tensor, facula._ops.OpOverload)
    with pytest.raises(AttributeError, match="has no attribute 'Overload'"):
        _ = facula._ops.Overload
