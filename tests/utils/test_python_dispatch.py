"""Modes and classes with ``__torch_dispatch__``."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import facula
from facula import nn
from facula.nn import functional as F
from facula.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from facula.utils._pytree import tree_map

aten = facula.ops.aten


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func).removeprefix("aten."))
        return func(*args, **kwargs)


def seen_by_a_mode(function):
    with Log() as log:
        function()
    return log.seen


class Wrapped(facula.Tensor):
    """A tensor that has another one, and does everything with that."""

    __torch_function__ = facula._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        self = facula.Tensor._make_wrapper_subclass(
            cls,
            inner.size(),
            strides=inner.stride(),
            dtype=inner.dtype,
            device=inner.device,
            requires_grad=requires_grad,
        )
        self.inner = inner
        return self

    def __repr__(self):
        return f"Wrapped({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        seen.append((func, types))
        args, kwargs = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs))
        result = func(*args, **kwargs)
        return tree_map(lambda x: cls(x) if isinstance(x, facula.Tensor) else x, result)


seen = []


@pytest.fixture(autouse=True)
def _forget():
    seen.clear()


@pytest.fixture
def wrapped():
    return Wrapped(facula.arange(6.0).reshape(2, 3))


X = facula.arange(20.0).reshape(4, 5)
IMAGE = facula.arange(96.0).reshape(2, 3, 4, 4)


CROSS_ENTROPY = ["zeros.default", "_log_softmax.default", "nll_loss_forward.default"]
POOL = ["unsqueeze.default", "avg_pool2d.default", "squeeze.dim"]
ADAPTIVE = ["unsqueeze.default", "_adaptive_avg_pool2d.default", "squeeze.dim"]
LINE = ["select.int", "select.int", "t.default", "view.default", "addmm.default", "view.default"]
PRODUCT = ["expand.default", "view.default"] * 2 + ["bmm.default", "view.default"]


@pytest.mark.promise("U2")
@pytest.mark.parametrize(
    "function, names",
    [
        (lambda: X + 1, ["add.Tensor"]),
        (lambda: 1 - X, ["rsub.Scalar"]),
        (lambda: X == 1, ["eq.Scalar"]),
        (lambda: X**2, ["pow.Tensor_Scalar"]),
        (lambda: X.sum(1), ["sum.dim_IntList"]),
        (lambda: X.max(1), ["max.dim"]),
        (lambda: X.max(X), ["maximum.default"]),
        (lambda: X.std(unbiased=False), ["std.correction"]),
        (lambda: X[0, 1:], ["select.int", "slice.Tensor"]),
        (lambda: X[:, facula.tensor([1])], ["index.Tensor"]),
        (lambda: X.T.reshape(-1), ["permute.default", "clone.default", "_unsafe_view.default"]),
        (lambda: X.reshape(-1), ["view.default"]),
        (lambda: X.double(), ["_to_copy.default"]),
        (lambda: X.float(), []),
        (lambda: (X.shape, X.dim(), X.stride()), []),
        (lambda: F.linear(X, X, X[:, 0]), ["select.int", "t.default", "addmm.default"]),
        (lambda: facula.matmul(IMAGE, IMAGE), PRODUCT),
        (lambda: F.conv2d(IMAGE, IMAGE), ["convolution.default"]),
        (lambda: F.softmax(X, 1), ["_softmax.default"]),
        (lambda: F.cross_entropy(X, facula.zeros(4, dtype=int)), CROSS_ENTROPY),
        (lambda: F.batch_norm(IMAGE, None, None, training=True), ["native_batch_norm.default"]),
        (lambda: F.max_pool2d(IMAGE, 2), ["max_pool2d_with_indices.default"]),
        (lambda: F.mse_loss(X, X, reduction="none"), ["mse_loss.default"]),
        (lambda: F.interpolate(IMAGE, scale_factor=2), ["facula._resample.default"]),
        (lambda: facula.multiply(X, X).clip_(0), ["mul.Tensor", "clamp_.default"]),
        (lambda: X.narrow(1, 1, 2).square(), ["slice.Tensor", "pow.Tensor_Scalar"]),
        (lambda: facula.as_tensor(X, dtype=facula.float64), ["_to_copy.default"]),
        (lambda: F.linear(X[0], X, X[:, 0]), LINE),
        (lambda: F.l1_loss(X, X), ["sub.Tensor", "abs.default", "mean.default"]),
        (lambda: F.selu(X), ["elu.default"]),
        (lambda: F.avg_pool1d(X, 2), POOL),
        (lambda: F.adaptive_avg_pool1d(X, 2), ADAPTIVE),
        (lambda: X.broadcast_to((2, 4, 5)).tile(2), ["expand.default", "repeat.default"]),
        (lambda: X.conj().movedim(0, 1).resolve_conj().real, ["permute.default"]),
        (lambda: X.flatten(1).argwhere(), ["nonzero.default"]),
        (lambda: facula.outer(X[0], X[1]), ["select.int"] * 2 + ["view.default", "mul.Tensor"]),
        (lambda: X.msort(), ["sort.default"]),
        (lambda: facula.asarray(X, copy=True), ["clone.default"]),
        (lambda: facula.tensor([1.0]), []),
        (lambda: X.new_tensor([1.0]), []),
        (lambda: X.__dlpack__(), []),
        (lambda: X.sum().item(), ["sum.default", "_local_scalar_dense.default"]),
    ],
)
def test_modes_see_the_operations_of_aten(function, names):
    assert seen_by_a_mode(function) == names


@pytest.mark.parametrize(
    "function",
    [
        lambda: F.linear(IMAGE, IMAGE[0, 0], IMAGE[0, 0, 0]),
        lambda: F.conv_transpose2d(IMAGE, IMAGE.transpose(0, 1)[:, :1][[0, 1, 2]], stride=2),
        lambda: F.scaled_dot_product_attention(IMAGE, IMAGE, IMAGE, is_causal=True),
        lambda: F.layer_norm(X, (5,)),
        lambda: F.group_norm(IMAGE, 3),
        lambda: F.mse_loss(X, X + 1, reduction="none"),
        lambda: F.smooth_l1_loss(X, X + 2, reduction="sum", beta=0.5),
        lambda: F.huber_loss(X, X + 2, delta=0.5),
        lambda: F.binary_cross_entropy(X / 20, X / 20, reduction="sum"),
        lambda: F.nll_loss(X, facula.tensor([0, 1, 2, 3])),
        lambda: F.pad(X, (1, 0), value=3.0),
        lambda: F.adaptive_avg_pool2d(IMAGE, 2),
        lambda: F.max_pool2d(IMAGE, 2, stride=1, padding=1),
        lambda: F.unfold(IMAGE, 2),
        lambda: X.unfold(1, 2, 1),
        lambda: X.var(0, keepdim=True),
        lambda: X.norm(1, dim=0),
        lambda: X[None, ..., 1:3, facula.tensor([0, 0])[0]],
        lambda: X[X > 3],
        lambda: X.to(facula.float64, copy=True),
        lambda: 2 / (X + 1),
        lambda: 2 ** (X / 10),
        lambda: facula.einsum("ij,kj->ik", X, X),
        lambda: facula.stack(X.split([1, 3])[1].unbind()),
        lambda: X[[[0, 1], [1, 0]]],
        lambda: X[[0, slice(1, 3)]],
        lambda: X[[]],
        lambda: X[..., ..., 0],
        lambda: X[:, np.array([0, 2])],
        lambda: X.T.reshape_as(X),
        lambda: X.mT + X.H,
        lambda: F.conv2d(IMAGE[0], IMAGE[..., :3, :3], padding="same"),
        lambda: F.conv2d(IMAGE[0], IMAGE[..., :2, :2], padding="same"),
        lambda: facula.dropout(X, 0.5, train=False),
        lambda: facula.max_pool2d(IMAGE, 2, padding=1, ceil_mode=True),
        lambda: X.split(split_size=2),
        lambda: X.split(split_size=[1, 3]),
        lambda: facula.reshape(input=X, shape=(2, 10)),
        lambda: facula.flatten(input=IMAGE, start_dim=1),
        lambda: facula.ravel(input=X),
        lambda: facula.layer_norm(X, 5),
        lambda: facula.multiply(2, X),
        lambda: facula.multiply(input=X, other=X),
        lambda: X @ np.ones((5, 2), dtype=np.float32),
        lambda: F.relu(X, inplace=False),
    ],
)
def test_a_mode_that_passes_operations_on_changes_no_result(function):
    expected = function()
    with Log():
        result = function()
    facula.testing.assert_close(result, expected)


def test_a_number_of_numpy_selects_a_view_under_a_mode():
    x = facula.zeros(2, 3)
    with Log():
        x[np.int64(1)].add_(1)
    assert x.tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: float(x(3)),
        lambda x: int(x(3.5)),
        lambda x: int(x(True)),
        lambda x: bool(x(0.5)),
        lambda x: complex(x(2)),
        lambda x: [0, 1, 2][x(1)],
        lambda x: x(2.5).item(),
    ],
)
def test_conversions_to_numbers_have_their_kind_under_a_mode_and_for_a_class(function):
    expected = function(facula.tensor)
    with Log():
        in_mode = function(facula.tensor)
    in_class = function(lambda number: Wrapped(facula.tensor(number)))
    for result in (in_mode, in_class):
        assert type(result) is type(expected) and result == expected


@pytest.mark.parametrize(
    "function",
    [
        lambda: facula.tensor(1.0).__index__(),
        lambda: float(facula.tensor(1j)),
        lambda: F.conv2d(IMAGE, IMAGE[..., :3, :3], stride=2, padding="same"),
        lambda: F.conv2d(IMAGE[0], IMAGE[..., :3, :3], stride=2, padding="same"),
        lambda: F.conv2d(IMAGE, IMAGE, padding="some"),
        lambda: X.t().view_as(X.reshape(20)),
        lambda: IMAGE.H,
        lambda: X[0].mT,
        lambda: X[[1.5]],
        lambda: X[[0, "a"]],
        lambda: X @ 2,
        lambda: np.ones(4) / X,
        lambda: facula.multiply(),
        lambda: X.add(X, bogus=None),
        lambda: facula.relu(X, bogus=False),
        lambda: facula.softmax(X, 0, bogus=1),
        lambda: facula.max_pool2d(IMAGE, 2, bogus=1),
        lambda: X.clone().__setitem__(0, "a"),
        lambda: X.clone().__setitem__([0], 1j),
        lambda: X.clone().__setitem__(0, facula.ones(2, 5)),
    ],
)
def test_what_is_refused_without_a_mode_is_refused_under_one(function):
    with pytest.raises(Exception) as expected:
        function()
    with Log(), pytest.raises(expected.type):
        function()


@pytest.mark.parametrize(
    "index, value",
    [
        (0, facula.ones(1, 4)),
        (0, [1.0, 2.0, 3.0, 4.0]),
        (0, np.ones(4)),
        ((0, 0), [[1.0]]),
        ([0, 1], facula.ones(1, 2, 4)),
        ([0, 1], [1.0, 2.0, 3.0, 4.0]),
        ([[0, 1], [1, 0]], 7),
        ([], 1),
        (facula.tensor([True, False]), 5),
    ],
)
def test_values_of_every_form_are_written_under_a_mode_and_for_a_class(index, value):
    expected, in_mode = facula.zeros(2, 4), facula.zeros(2, 4)
    in_class = Wrapped(facula.zeros(2, 4))
    expected[index] = value
    with Log():
        in_mode[index] = value
    in_class[index] = value
    assert in_mode.tolist() == in_class.inner.tolist() == expected.tolist()


def test_writes_through_indices_reach_the_tensor_under_a_mode():
    x = facula.zeros(2, 3)
    with Log() as log:
        x[0] = 1
        x[:, facula.tensor([2])] = facula.ones(2, 1) * 5
    assert x.tolist() == [[1, 1, 5], [0, 0, 5]]
    assert "index_put_.default" in log.seen


def test_arguments_have_the_form_of_the_schema():
    calls = []

    class Calls(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append((args[1:], kwargs))
            return func(*args, **kwargs)

    with Calls():
        X.sum(dim=1, keepdim=True)
        X.sum(1, keepdim=False)
        X.view(2, 10)
        X.add(X, alpha=2)
        F.avg_pool2d(IMAGE, 2)
    assert calls[:3] == [(([1], True), {}), (([1],), {}), (([2, 10],), {})]
    assert calls[3][1] == {"alpha": 2}
    assert calls[4] == (([2, 2],), {})


def test_results_go_where_they_are_asked_for_under_a_mode():
    out = facula.empty(4, 4)
    with Log():
        assert facula.matmul(X, X.T, out=out) is out
        facula.testing.assert_close(facula.linalg.matmul(X, X.T, out=None), out)
    facula.testing.assert_close(X @ X.T, out)


def test_overloads_are_known_by_their_names():
    with Log() as log:
        log.__class__ = type("Keep", (Log,), {"__torch_dispatch__": _keep})
        X.add(1)
    (func,) = log.seen
    assert func is aten.add.Tensor and func.overloadpacket is aten.add
    assert func.name() == "aten::add.Tensor" and func.__name__ == "add.Tensor"
    assert str(func._schema) == (
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    )


def _keep(self, func, types, args=(), kwargs=None):
    self.seen.append(func)
    return func(*args, **kwargs)


def test_modes_nest_and_the_innermost_is_asked_first():
    with Log() as outer, Log() as inner:
        X.exp()
        with _disable_current_modes():
            X.sin()
    assert inner.seen == outer.seen == ["exp.default"]


def test_gradients_are_recorded_through_a_mode():
    model = nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 1))
    model(X).sum().backward()
    expected = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with Log():
        loss = model(X).sum()
    loss.backward()
    facula.testing.assert_close([p.grad for p in model.parameters()], expected)


def test_objects_without_elements_have_a_form(wrapped):
    assert wrapped.shape == (2, 3) and wrapped.stride() == (3, 1) and wrapped.is_contiguous()
    assert wrapped.t().stride() == (1, 3) and not wrapped.t().is_contiguous()
    assert wrapped.dtype == facula.float32 and wrapped.device.type == "cpu"
    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        facula.Tensor._make_wrapper_subclass(facula.Tensor, (2,))


def test_classes_do_the_operations_of_their_objects(wrapped):
    y = F.linear(wrapped, facula.ones(4, 3), facula.zeros(4))
    assert type(y) is Wrapped and y.inner.tolist() == [[3.0] * 4, [12.0] * 4]
    assert seen == [(aten.addmm.default, (Wrapped,))]
    wrapped.add_(1)
    assert wrapped.inner[0, 0] == 1
    assert wrapped.sum().item() == 21
    # Private functions of the core, too.
    assert F.interpolate(wrapped[None], scale_factor=2).inner.shape == (1, 2, 6)
    assert all(type(part) is Wrapped for part in wrapped.unbind())
    assert isinstance(wrapped.unbind(), tuple)
    assert wrapped.sort(1, descending=True).indices.inner.tolist() == [[2, 1, 0]] * 2
    assert facula.cat([facula.zeros(1, 3), wrapped]).inner.shape == (3, 3)


def test_objects_without_elements_are_parameters_copied_and_pickled(wrapped):
    model = nn.Linear(3, 2)
    model.weight = nn.Parameter(wrapped)
    assert isinstance(model.weight, nn.Parameter) and type(model.weight) is Wrapped
    assert type(model(facula.ones(1, 3))) is Wrapped
    copied = copy.deepcopy(model)
    assert copied.weight.inner.tolist() == wrapped.inner.tolist()
    assert copied.weight.inner is not wrapped.inner
    again = pickle.loads(pickle.dumps(wrapped))
    assert again.inner.tolist() == wrapped.inner.tolist() and again.stride() == (3, 1)


@pytest.mark.filterwarnings("ignore:.*clone:UserWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: facula.tensor(x),
        lambda x: facula.as_tensor(x, dtype=facula.float64),
        lambda x: facula.asarray(x, copy=True),
        lambda x: facula.ones(1).new_tensor(x),
    ],
)
def test_a_tensor_of_an_object_is_what_its_class_makes(wrapped, function):
    made = function(wrapped)
    assert type(made) is Wrapped and made.inner is not wrapped.inner
    assert made.inner.tolist() == wrapped.inner.tolist()


def test_no_memory_is_read_of_objects_without_elements(wrapped):
    with pytest.raises(RuntimeError, match="tensor: the elements of Wrapped are where its __torch"):
        facula.tensor([wrapped[0, 0], 1.0])
    for export in (facula.from_dlpack, facula.utils.dlpack.to_dlpack):
        with pytest.raises(BufferError, match="__dlpack__: the elements of Wrapped are where"):
            export(wrapped)


def test_a_gradient_that_no_class_computes_is_refused_not_missing(wrapped):
    wrapped.requires_grad_()
    y = wrapped * 2
    assert y.requires_grad
    with pytest.raises(NotImplementedError, match=r"aten::mul.Tensor: no derivative is recorded"):
        y.backward(facula.ones(2, 3))
    with facula.no_grad():
        assert not (wrapped * 2).requires_grad


@pytest.mark.parametrize(
    "function",
    [
        lambda y: y.max(0).values,
        lambda y: y.split([1, 1])[1],
        lambda y: y.unbind()[0],
        lambda y: Wrapped(facula.zeros(2, 3)).add_(y),
        lambda y: facula.zeros(2, 3).add_(y),
        lambda y: y.detach().index_put_((facula.tensor([0]),), y[0]),
        lambda y: _written(y.detach().clone(), 0, y[0]),
        lambda y: _written(facula.zeros(2, 3), 0, y[0]),
    ],
)
def test_every_result_has_a_history_that_ends_in_an_error(wrapped, function):
    result = function(wrapped.requires_grad_())
    assert result.requires_grad
    with pytest.raises(NotImplementedError, match="no derivative is recorded"):
        result.backward(facula.ones(result.shape))


def _written(x, index, value):
    x[index] = value
    return x


def test_indices_have_no_history(wrapped):
    assert not wrapped.requires_grad_().max(0).indices.requires_grad


def test_a_write_ends_the_gradient_of_what_it_changes(wrapped):
    class Twice(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return Wrapped(x.inner * 2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    y = Twice.apply(wrapped.requires_grad_())
    assert y.mul_(3) is y and y.inner[0].tolist() == [0, 6, 12]
    with pytest.raises(NotImplementedError, match=r"aten::mul_.Tensor: no derivative"):
        facula.autograd.grad(y, wrapped, facula.ones(2, 3))


def test_a_write_to_a_view_ends_the_gradient_of_its_base(wrapped):
    base, other = Wrapped(facula.ones(2, 3)), Wrapped(facula.arange(3.0)).requires_grad_()
    view = base[0][1:]
    assert view.add_(other[1:]) is view and base.inner[0].tolist() == [1, 2, 3]
    for x in (view, base):
        with pytest.raises(NotImplementedError, match=r"aten::add_.Tensor: no derivative"):
            facula.autograd.grad(x, other, facula.ones(x.shape))
    assert not hasattr(pickle.loads(pickle.dumps(wrapped[0])), "_wrapper_base")
    base = Wrapped(facula.ones(2, 3))
    base.detach()[0].add_(other)
    assert base.grad_fn is None


def test_operations_in_place_return_the_object_itself(wrapped):
    assert wrapped.add_(1) is wrapped and not wrapped.requires_grad
    wrapped.requires_grad_()
    with facula.no_grad():
        assert wrapped.add_(1) is wrapped and wrapped.grad_fn is None
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        wrapped.add_(1)
    assert wrapped.inner[0, 0] == 2


def test_an_object_is_detached_in_place():
    x = Wrapped(facula.ones(2), requires_grad=True)
    assert x.detach_() is x and not x.requires_grad


def test_a_write_that_a_class_passes_on_is_recorded_once():
    class Passed(facula.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = facula.ones(2).as_subclass(Passed).requires_grad_()
    y = facula.zeros(2).as_subclass(Passed)
    assert y.add_(x * 3) is y and y.mul_(2) is y
    y.sum().backward()
    assert facula.Tensor.tolist(x.grad) == [6, 6]


def test_classes_that_answer_nothing_make_an_error():
    class Silent(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(
        TypeError, match=r"Multiple dispatch failed for 'torch.ops.aten.exp.default'"
    ):
        Silent(facula.ones(2)).exp()


def test_a_class_over_memory_can_pass_operations_on():
    class Noted(facula.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append(func)
            return super().__torch_dispatch__(func, types, args, kwargs)

    x = facula.ones(2).as_subclass(Noted)
    y = x + 1
    assert type(y) is Noted and seen == [aten.add.Tensor]
    assert facula.Tensor.tolist(y) == [2, 2]


def test_a_mode_sees_the_classes_of_arguments(wrapped):
    types_seen = []

    class Types(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            types_seen.append(types)
            return func(*args, **kwargs)

    with Types():
        wrapped.exp()
        X.exp()
    assert types_seen == [(Wrapped,), ()]


def test_classes_cost_nothing_before_they_have_objects():
    program = (
        "import facula\n"
        "class A(facula.Tensor):\n"
        "    __torch_function__ = facula._C._disabled_torch_function_impl\n"
        "    def __torch_dispatch__(cls, func, types, args=(), kwargs=None): pass\n"
        "assert facula._core._seam_users() == 0\n"
        "facula.Tensor._make_wrapper_subclass(A, (2,))\n"
        "assert facula._core._seam_users() == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_block_without_modes_is_of_its_thread():
    class Count(TorchDispatchMode):
        n_seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.n_seen += 1
            return func(*args, **(kwargs or {}))

    is_inside, may_leave = threading.Event(), threading.Event()

    def wait_without_modes():
        with _disable_current_modes():
            is_inside.set()
            may_leave.wait(20)

    other = threading.Thread(target=wait_without_modes)
    with Count() as mode:
        other.start()
        assert is_inside.wait(20)
        facula.ones(2) + 1
        may_leave.set()
        other.join()
    assert mode.n_seen > 0


def test_elu_of_aten_has_three_factors_and_writes_to_nothing():
    x = facula.tensor([1.0, -1.0])
    facula.testing.assert_close(
        aten.elu(x, 2.0, 3.0), facula.tensor([3.0, -3.7927]), atol=1e-4, rtol=0
    )
    assert x.tolist() == [1, -1] and aten.elu(x, 1.0, 1.0, 2.0)[1].item() == pytest.approx(
        -0.8647, abs=1e-4
    )
    assert F.elu(x, 2.0, True) is x
