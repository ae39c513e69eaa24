"""Conjugate and negated views: memory of another tensor with a mark, resolved where it is read."""

import copy
import io
import pickle
import threading

import numpy as np
import pytest

import facula
from facula import _core

Z = [[1 + 2j, 3 - 4j, 5 + 6j], [7 - 8j, 9 + 10j, -11 - 12j]]


def z():
    return facula.tensor(Z)


def conj(values):
    return np.conj(np.array(values)).tolist()


# ---- what they are


@pytest.mark.promise("T1")
def test_the_conjugate_is_a_view_of_the_same_memory():
    x = z()
    y = x.conj()
    assert y.is_conj()
    assert not x.is_conj()
    assert y.data_ptr() == x.data_ptr()
    assert y._base is x
    assert y.tolist() == conj(Z)
    x[0, 0] = 20 + 1j
    assert y[0, 0].item() == 20 - 1j


def test_the_conjugate_of_a_conjugate_is_a_view_without_mark():
    x = z()
    y = x.conj().conj()
    assert not y.is_conj()
    assert y is not x
    assert y.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("dtype", [facula.float32, facula.int64, facula.bool])
def test_real_tensors_are_their_own_conjugates(dtype):
    x = facula.ones(2, dtype=dtype)
    assert x.conj() is x
    assert not x.is_conj()
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x


@pytest.mark.parametrize(
    "adjoint", [lambda x: x.H, lambda x: x.mH, lambda x: x.adjoint(), facula.adjoint]
)
def test_the_adjoint_is_a_conjugate_view(adjoint):
    x = z()
    y = adjoint(x)
    assert y.is_conj()
    assert y.data_ptr() == x.data_ptr()
    assert y.tolist() == np.conj(np.array(Z)).T.tolist()


def test_parts_of_a_conjugate_are_views_and_the_imaginary_one_is_negated():
    x = z()
    real, imag = x.conj().real, x.conj().imag
    assert not real.is_neg()
    assert imag.is_neg()
    assert not imag.is_conj()
    assert imag.data_ptr() == x.data_ptr() + 4
    assert real.tolist() == np.array(Z).real.tolist()
    assert imag.tolist() == (-np.array(Z).imag).tolist()
    assert x.conj().conj().imag.is_neg() is False


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[0],
        lambda x: x[:, 1:],
        lambda x: x[..., None],
        lambda x: x.view(6),
        lambda x: x.reshape(3, 2),
        lambda x: x.expand(2, 2, 3),
        lambda x: x.unsqueeze(0).squeeze(),
        lambda x: x.permute(1, 0),
        lambda x: x.movedim(0, 1),
        lambda x: x.flatten(),
        lambda x: x.ravel(),
        lambda x: x.unflatten(1, (3, 1)),
        lambda x: x.diagonal(),
        lambda x: x.narrow(1, 0, 2),
        lambda x: x.select(1, 2),
        lambda x: x.chunk(2)[1],
        lambda x: x.split(1)[1],
        lambda x: x.tensor_split(2)[0],
        lambda x: x.unbind()[1],
        lambda x: next(iter(x)),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x.as_strided((2,), (1,), 1),
        lambda x: x.detach(),
        lambda x: x.data,
        lambda x: x.swapaxes(0, 1),
        lambda x: x.view_as(facula.zeros(3, 2)),
        lambda x: facula.broadcast_to(x, (2, 2, 3)),
        lambda x: facula.atleast_3d(x),
        lambda x: facula.nn.Parameter(x),
        lambda x: x.to(facula.complex64),
        lambda x: x.contiguous(),
        lambda x: x.cpu(),
        lambda x: +x,
        lambda x: facula.as_tensor(x),
    ],
)
def test_views_of_a_view_keep_its_mark(view):
    x = z()
    y, expected = view(x.conj()), view(x.conj().clone())
    assert y.is_conj()
    assert y.data_ptr() - y.storage_offset() * 8 == x.data_ptr()
    assert y.tolist() == expected.tolist()
    assert not expected.is_conj()


@pytest.mark.parametrize(
    "copied",
    [
        lambda x: x.clone(),
        lambda x: x.t().contiguous(),
        lambda x: x.t().reshape(6),
        lambda x: x.to(facula.complex128),
        lambda x: x.to(facula.complex64, copy=True),
        lambda x: x.resolve_conj(),
        lambda x: x.conj_physical(),
        lambda x: x[[0, 1]],
        lambda x: x[x.abs() > 3],
        lambda x: copy.deepcopy(x),
        lambda x: facula.stack([x, x]),
        lambda x: x * 2,
        lambda x: x @ x.T,
        lambda x: facula.einsum("ij,kj->ik", x, x),
        lambda x: facula.fft.fft(x),
        lambda x: facula.linalg.svdvals(x),
        lambda x: facula.zeros_like(x),
        lambda x: facula.tensor([x[0, 0], x[0, 1]]),
        lambda x: x.cdouble(),
    ],
)
def test_results_have_no_mark(copied):
    x = z()
    y, expected = copied(x.conj()), copied(x.conj().clone())
    assert not y.is_conj()
    assert y.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    assert facula.allclose(y, expected)


def test_complex_half_has_conjugates_too():
    x = z().chalf()
    y = x.conj()
    assert y.is_conj()
    assert y.cfloat().tolist() == conj(Z)
    assert y.clone().tolist() == conj(Z)


def test_negated_views_of_all_numbers():
    for dtype in (facula.float64, facula.bfloat16, facula.int32, facula.complex64):
        x = facula.tensor([1, 2, 3]).to(dtype)
        y = x._neg_view()
        assert y.is_neg()
        assert y.data_ptr() == x.data_ptr()
        assert y.tolist() == (-x).tolist()
        assert [v.item() for v in y] == (-x).tolist()
        assert (y + x).tolist() == [0, 0, 0]
    x = facula.tensor([1, 2], dtype=facula.uint8)._neg_view()
    assert [v.item() for v in x] == x.tolist() == [255, 254]


def test_both_marks_at_once():
    x = z()
    y = x.conj()._neg_view()
    assert y.is_conj()
    assert y.is_neg()
    assert y.tolist() == (-np.conj(np.array(Z))).tolist()
    assert y.imag.tolist() == np.array(Z).imag.tolist()
    assert y.real.tolist() == (-np.array(Z).real).tolist()
    assert y.resolve_conj().tolist() == y.resolve_neg().tolist() == y.tolist()


# ---- who refuses them


def test_memory_that_does_not_hold_the_elements_is_not_given_away():
    y = z().conj()
    with pytest.raises(RuntimeError, match=r"conjugate bit set.*resolve_conj\(\)\.numpy\(\)"):
        y.numpy()
    with pytest.raises(RuntimeError, match=r"negative bit set.*resolve_neg\(\)\.numpy\(\)"):
        y.imag.numpy()
    with pytest.raises(RuntimeError, match="conjugate bit set"):
        np.asarray(y)
    with pytest.raises(BufferError, match=r"resolve_conj\(\)"):
        memoryview(y)
    with pytest.raises(BufferError, match=r"resolve_neg\(\)"):
        y.imag.__dlpack__()
    with pytest.raises(RuntimeError, match=r"view_as_real doesn't work on unresolved conjugated"):
        facula.view_as_real(y)
    with pytest.raises(RuntimeError, match="not supported for conjugate view tensors"):
        y.view(facula.float32)
    with pytest.raises(RuntimeError, match="not supported for tensors with negative bit set"):
        y.imag.view(facula.int32)
    assert y.numpy(force=True).tolist() == conj(Z)
    assert y.imag.numpy(force=True).tolist() == y.imag.tolist()
    assert facula.view_as_real(y.resolve_conj())[0, 0].tolist() == [1, -2]


# ---- writes


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.mul_(2 + 1j),
        lambda x: x.add_(facula.tensor([1j, 2.0, 3.0])),
        lambda x: x.fill_(1 + 2j),
        lambda x: x.zero_(),
        lambda x: x.copy_(facula.tensor([1j, 2.0, 3.0])),
        lambda x: x.__setitem__((0, 1), 5 + 5j),
        lambda x: x.__setitem__([1, 0], facula.tensor([1j, 2.0, 3.0])),
        lambda x: x.__setitem__(x.real > 3, 1j),
        lambda x: x.conj_physical_(),
        lambda x: x.exp_(),
        lambda x: x.t().index_fill_(0, facula.tensor([1]), 3j),
        lambda x: x.masked_fill_(x.real > 2, 1 + 1j),
        lambda x: x.real.add_(1),
        lambda x: x.imag.add_(1),
        lambda x: x.imag.copy_(x.real),
        lambda x: setattr(x, "imag", facula.ones(2, 3)),
        lambda x: setattr(x, "real", 3.0),
        lambda x: facula.add(x, 1j, out=x),
        lambda x: facula.mul(x, 2, out=x[0:2]),
        lambda x: x[0].add_(x[1]),
        lambda x: facula.nn.init.constant_(x, 2.0),
        lambda x: x.__iadd__(1j),
        lambda x: x.index_put_((facula.tensor([0]), facula.tensor([1])), facula.tensor([4j])),
        lambda x: x.uniform_(generator=facula.Generator().manual_seed(3)).mul_(1),
    ],
)
@pytest.mark.parametrize("mark", ["_conj", "_neg_view"])
def test_writes_through_a_view_write_turned_numbers_into_the_memory(write, mark):
    x, plain = z(), getattr(z(), mark)().clone()
    write(getattr(x, mark)())
    write(plain)
    assert x.tolist() == getattr(plain, mark)().tolist()


def test_writes_return_the_view_itself():
    y = z().conj()
    assert y.mul_(2) is y
    assert facula.add(y, 1, out=y) is y
    assert y.copy_(y) is y
    before = y
    y += 1
    assert y is before
    out = (facula.zeros(0)._neg_view(), facula.zeros(0, dtype=facula.int64))
    result = facula.max(facula.tensor([[1.0, 2.0]]), 1, out=out)
    assert result[0] is out[0]
    assert result.values.tolist() == [2.0]


def test_a_view_given_as_out_is_resized():
    y = facula.zeros(0, dtype=facula.complex64).conj()
    facula.add(z(), 1j, out=y)
    assert y.is_conj()
    assert y.tolist() == (np.array(Z) + 1j).tolist()


def test_the_memory_and_its_view_in_one_operation():
    x = z()
    y = x.conj()
    y.mul_(x)
    size = np.abs(np.array(Z)) ** 2
    assert facula.allclose(x, facula.tensor(size.tolist()).to(facula.complex64))
    x = z()
    x.copy_(x.conj())
    assert x.tolist() == conj(Z)
    x.conj().copy_(x)
    assert x.tolist() == np.array(Z).tolist()
    x.sub_(x.conj())
    assert x.tolist() == (2j * np.array(Z).imag).tolist()


def test_a_write_counts_as_one_to_the_memory():
    x = z()
    before = x._version
    x.conj().mul_(2)
    assert x._version == before + 1


def test_an_operation_that_fails_writes_nothing():
    x = z()
    with pytest.raises(RuntimeError):
        x.conj().mul_(facula.ones(7))
    assert x.tolist() == Z


# ---- gradients


@pytest.mark.promise("A6")
def test_gradients_pass_views():
    def f(x):
        y = x.conj()
        return (y * y.imag + y.real * x + y.H.sum() * y[0].conj()).sum()

    def g(x):
        y = x.conj_physical()
        im, re = facula.view_as_real(y)[..., 1], facula.view_as_real(y)[..., 0]
        return (y * im + re * x + x.sum() * x[0]).sum()

    x = z().cdouble().requires_grad_()
    assert facula.allclose(f(x), g(x))
    (one,) = facula.autograd.grad(f(x).abs(), x)
    (other,) = facula.autograd.grad(g(x).abs(), x)
    assert facula.allclose(one, other)
    assert facula.autograd.gradcheck(f, x)
    assert facula.autograd.gradgradcheck(f, x)


def test_the_history_shows_the_view_and_nothing_of_the_copy():
    x = z().requires_grad_()
    y = x.conj()
    assert y.grad_fn.name() == "ConjBackward0"
    assert (y * 2).grad_fn.next_functions[0][0] is y.grad_fn
    assert y.imag.grad_fn.name() == "SelectBackward0"
    assert y.imag.grad_fn.next_functions[0][0].name() == "NegViewBackward0"
    assert y.resolve_conj().grad_fn.name() == "CloneBackward0"
    leaf = z().conj().requires_grad_()
    assert (leaf * 2).grad_fn.next_functions[0][0].variable is leaf
    (leaf * 2).sum().abs().backward()
    assert leaf.grad is not None
    assert not leaf.grad.is_conj()


def write_through_conj(x):
    base = x * 1
    view = base.conj()
    view.mul_(view * (2 + 1j))
    return base * view


def write_through_imag(x):
    base = x * 1
    view = base.conj().imag
    view.mul_(x.abs())
    return base * view + base.conj()


def write_through_piece(x):
    base = x * 1
    view = base.conj()[0, 1:]
    view.copy_(base[1, :2] * 1j)
    base.mul_(2)
    return base + view.sum() * base.conj()


def write_to_detached(x):
    base = z().cdouble().conj().detach()
    base.imag.mul_(x.real)
    base.real.copy_(x.imag)
    base[0].conj().mul_(x[1])
    return base * base.conj().imag


def write_to_complex_of_real(x):
    base = facula.view_as_real(x) * 1
    facula.view_as_complex(base).conj().mul_(x * 1j)
    return base * base


@pytest.mark.promise("A6")
@pytest.mark.parametrize(
    "program",
    [
        write_through_conj,
        write_through_imag,
        write_through_piece,
        write_to_detached,
        write_to_complex_of_real,
    ],
)
def test_writes_through_views_have_derivatives(program):
    x = z().cdouble().requires_grad_()
    assert facula.autograd.gradcheck(program, x)
    assert facula.autograd.gradgradcheck(program, x)


def test_a_view_of_a_leaf_refuses_writes_and_keeps_its_numbers():
    x = z().requires_grad_()
    with pytest.raises(RuntimeError, match="view of a leaf"):
        x.conj().mul_(2)
    assert x.tolist() == Z
    with facula.no_grad():
        x.conj().mul_(2j)
    assert x.tolist() == (np.array(Z) * -2j).tolist()


def test_a_view_made_without_recording_is_read_without_recording():
    x = z().requires_grad_() * 1
    with facula.no_grad():
        y = x.conj()
    x.mul_(2)
    with facula.no_grad():
        assert (y * 1).tolist() == (2 * np.conj(np.array(Z))).tolist()
    with pytest.raises(RuntimeError, match="in no_grad mode"):
        y * 1


def test_a_write_to_memory_that_backward_needs_is_found():
    x = z().requires_grad_()
    y = x * 1
    product = y * y
    y.conj().mul_(2)
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        product.sum().abs().backward()


def test_views_may_be_gradients():
    x = z().requires_grad_()
    gradient = z().conj()
    (x * 2).backward(gradient)
    assert x.grad.tolist() == (2 * np.conj(np.array(Z))).tolist()
    x.grad = z().conj()
    (x * 2).backward(gradient)
    assert x.grad.is_conj()
    assert x.grad.tolist() == (3 * np.conj(np.array(Z))).tolist()
    handle = x.register_hook(lambda g: g.conj())
    x.grad = None
    (x * 1).backward(gradient)
    assert x.grad.tolist() == Z
    handle.remove()


def test_functions_of_the_user_see_views():
    class Twice(facula.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x * 2).conj()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            seen.append(x.is_conj())
            return (grad * 2).conj()

    seen = []
    x = z().cdouble().requires_grad_()
    y = Twice.apply(x.conj())
    assert y.is_conj()
    assert facula.allclose(y, 2 * x)
    y.sum().abs().backward()
    assert seen == [True]
    assert facula.autograd.gradcheck(lambda x: Twice.apply(x.conj()), x)


def test_saved_tensors_pass_hooks_of_the_user():
    x = z().requires_grad_()
    with facula.autograd.graph.saved_tensors_hooks(lambda t: t.conj(), lambda t: t.conj()):
        y = x.conj() * x
    y.sum().abs().backward()
    expected = z().requires_grad_()
    (expected.conj_physical() * expected).sum().abs().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_optimisers_step_through_views():
    memory = z()
    p = memory.conj().requires_grad_()
    p.grad = facula.ones(2, 3, dtype=facula.complex64) * 1j
    facula.optim.SGD([p], lr=1.0).step()
    assert memory.tolist() == (np.array(Z) + 1j).tolist()
    assert p.tolist() == (np.conj(np.array(Z)) - 1j).tolist()


# ---- everywhere else


def test_printing_shows_the_elements():
    x = facula.tensor([1 + 2j, 3 - 4j])
    assert repr(x.conj()) == "tensor([1.-2.j, 3.+4.j])"
    assert repr(x.conj().imag) == "tensor([-2.,  4.])"


@pytest.mark.promise("P1")
@pytest.mark.parametrize("new_format", [True, False])
def test_files_keep_the_mark_and_the_sharing(new_format):
    x = z()
    y = x.conj()
    file = io.BytesIO()
    facula.save([x, y, z().real._neg_view()], file, _use_new_zipfile_serialization=new_format)
    file.seek(0)
    a, b, c = facula.load(file)
    assert b.is_conj()
    assert c.is_neg()
    assert b.tolist() == y.tolist()
    assert c.tolist() == (-x.real).tolist()
    assert a.data_ptr() == b.data_ptr()


def test_pickles_keep_the_mark():
    y = z().conj()
    again = pickle.loads(pickle.dumps(y))
    assert again.is_conj()
    assert again.tolist() == y.tolist()
    assert pickle.loads(pickle.dumps(y.imag)).tolist() == y.imag.tolist()


def test_safetensors_have_the_elements(tmp_path):
    from facula.serialization.safetensors import load_file, save_file

    x = z()
    path = tmp_path / "x.safetensors"
    save_file({"x": x.real, "y": x.conj().imag, "z": x.imag}, path)
    assert load_file(path)["y"].tolist() == x.conj().imag.tolist()
    assert load_file(path)["z"].tolist() == x.imag.tolist()


def test_data_may_be_a_view():
    x = z()
    p = facula.zeros(2, 3, dtype=facula.complex64)
    p.data = x.conj()
    assert p.is_conj()
    assert p.tolist() == conj(Z)
    p.data = x
    assert not p.is_conj()


def test_vmap_and_forward_mode():
    x = z()
    assert facula.vmap(lambda row: row.conj() * row)(x).tolist() == (x.conj() * x).tolist()
    assert facula.vmap(lambda row: row.conj().imag)(x).tolist() == x.conj().imag.tolist()
    value, tangent = facula.func.jvp(lambda x: x.conj() * x, (x,), (x * 1j,))
    assert value.tolist() == (x.conj() * x).tolist()
    assert facula.allclose(tangent, (x * 1j).conj() * x + x.conj() * x * 1j)


def test_nothing_is_left_of_views_that_are_gone():
    before = _core._seam_users()
    x = z()
    y = x.conj()
    w = y[0].imag
    assert _core._seam_users() == before + 2
    del y, w
    assert _core._seam_users() == before


def test_threads_make_and_use_views():
    failures = []

    def work():
        for _ in range(200):
            x = z()
            y = x.conj()
            y.mul_(2)
            if (y + x).tolist() != (4 * np.array(Z).real).tolist():
                failures.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_watchers_see_one_operation():
    x = z().conj()
    with _core._count_operations() as counts:
        x * 2
    assert counts == {"Tensor.mul": 1}
    with facula.profiler.profile() as profile:
        x.mul(2)
    assert [event.key for event in profile.key_averages() if "mul" in event.key] == ["aten::mul"]
    with facula.autocast("cpu"):
        assert (x * 2).tolist() == (2 * np.conj(np.array(Z))).tolist()


def test_subclasses_and_modes_get_views_as_they_are():
    class Mode(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(args[0].is_conj())
            return func(*args, **(kwargs or {}))

    class Marked(facula.Tensor):
        pass

    seen = []
    x = z().conj()
    with Mode():
        assert (x * 2).tolist() == (2 * np.conj(np.array(Z))).tolist()
    assert seen[0] is True
    marked = x.as_subclass(Marked)
    assert marked.is_conj()
    assert type(marked * 2) is Marked
    assert (marked * 2).tolist() == (x * 2).tolist()
