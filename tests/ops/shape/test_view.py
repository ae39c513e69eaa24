"""Views, and tensors that become a view of themselves."""

import numpy as np
import pytest

import facula
from check_op import COMPLEX, check_op

SOME = ["float32", "float64"]
# What the tensor becomes in place, and the shape of the tensor.
IN_PLACE = {
    "as_strided_": (((3, 2), (1, 3)), (2, 3)),
    "squeeze_": ((), (1, 3, 1)),
    "squeeze_ of one": ((0,), (1, 3, 1)),
    "squeeze_ of two": (((0, 2),), (1, 3, 1)),
    "swapaxes_": ((0, -1), (2, 3, 4)),
    "swapdims_": ((0, -1), (2, 3, 4)),
    "t_": ((), (2, 3)),
    "t_ of a vector": ((), (3,)),
    "transpose_": ((1, 2), (2, 3, 4)),
    "transpose_ of nothing": ((0, 1), (0, 3)),
    "unsqueeze_": ((-1,), (2, 3)),
    "unsqueeze_ of a number": ((0,), ()),
}


@pytest.mark.promise("T5")
@pytest.mark.parametrize("case", IN_PLACE)
def test_a_tensor_becomes_the_view_of_itself(case):
    more, shape = IN_PLACE[case]
    name = case.split()[0]
    x = facula.arange(np.prod(shape)).reshape(shape)
    place, view = x.data_ptr(), getattr(x, name[:-1])(*more)
    assert getattr(x, name)(*more) is x
    assert (x.data_ptr(), x.shape, x.stride()) == (place, view.shape, view.stride())
    assert x.is_set_to(view)
    x.fill_(7)
    assert (view == 7).all()


@pytest.mark.parametrize("case", IN_PLACE)
def test_a_tensor_that_becomes_a_view_keeps_its_history(case):
    more, shape = IN_PLACE[case]
    name = case.split()[0]
    x = facula.arange(float(np.prod(shape))).reshape(shape).requires_grad_()
    y = x * 2
    getattr(y, name)(*more)
    weight = facula.arange(1.0, y.numel() + 1).reshape(y.shape)
    y.backward(weight)
    expected = facula.autograd.grad(getattr(x * 2, name[:-1])(*more), x, weight)[0]
    assert facula.equal(x.grad, expected)
    with pytest.raises(RuntimeError, match="leaf"):
        getattr(facula.ones(shape, requires_grad=True), name)(*more)


def test_as_strided_in_place_takes_the_place_of_the_first_element():
    x = facula.arange(6)
    assert x.as_strided_((2,), (2,), 1).tolist() == [1, 3]
    assert x.storage_offset() == 1
    with pytest.raises(RuntimeError, match="as_strided"):
        x.as_strided_((9,), (1,))


def test_a_dimension_that_is_not_there_is_refused_in_place():
    x = facula.ones(2, 3)
    for name, more in (("squeeze_", (2,)), ("unsqueeze_", (4,)), ("transpose_", (0, 2))):
        with pytest.raises(IndexError, match=name[:-1]):
            getattr(x, name)(*more)
    with pytest.raises(RuntimeError, match="t: expected a tensor of at most 2 dimensions"):
        facula.ones(1, 2, 2).t_()


@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (0, 3)])
def test_adjoint_is_the_conjugate_transpose(shape):
    def reference(a):
        return np.conj(a).swapaxes(-1, -2)

    check_op(facula.adjoint, reference, [shape], dtypes=SOME)
    check_op(facula.adjoint, reference, [shape], dtypes=COMPLEX, differentiable=False)


def test_adjoint_is_a_view_that_is_differentiated_through():
    z = facula.randn(2, 3, dtype=facula.complex128, requires_grad=True)
    assert facula.equal(z.adjoint(), z.mH)
    assert facula.autograd.gradcheck(lambda z: z.adjoint() * z.adjoint(), (z,))
    x = facula.ones(2, 3)
    assert x.adjoint().data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match=r"adjoint: expected a matrix or a batch of them, got"):
        facula.ones(3).adjoint()


@pytest.mark.parametrize("shape, size", [((3,), (2, 3)), ((2, 1), (4, 2, 3)), ((), (2,))])
def test_broadcast_to_agrees_with_numpy(shape, size):
    check_op(
        lambda x: facula.broadcast_to(x, size),
        lambda a: np.broadcast_to(a, size),
        [shape],
        dtypes=SOME,
    )
    x = facula.ones(shape)
    assert x.broadcast_to(size).is_set_to(x.expand(size))
    assert x.broadcast_to(*size).is_set_to(x.expand(size))
    with pytest.raises(RuntimeError, match=r"\(2,\)"):
        facula.ones(2).broadcast_to((2, 3))


def test_expand_as_takes_the_shape_of_another_tensor():
    like = facula.empty(4, 2, 3, dtype=facula.int64)
    check_op(
        lambda x: x.expand_as(like), lambda a: np.broadcast_to(a, (4, 2, 3)), [(2, 1)], dtypes=SOME
    )
    x = facula.ones(3)
    assert x.expand_as(like).is_set_to(x.expand(4, 2, 3))


def test_reshape_as_takes_the_shape_of_another_tensor():
    like = facula.empty(3, 2, dtype=facula.int64)
    check_op(lambda x: x.reshape_as(like), lambda a: a.reshape(3, 2), [(2, 3)], dtypes=SOME)
    x = facula.ones(6)
    assert x.reshape_as(like).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="reshape"):
        facula.ones(5).reshape_as(like)


def test_moveaxis_agrees_with_numpy():
    for source, destination in [(0, 2), (-1, 0), ((0, 1), (2, 0))]:
        check_op(
            lambda x, s=source, d=destination: facula.moveaxis(x, s, d),
            lambda a, s=source, d=destination: np.moveaxis(a, s, d),
            [(2, 3, 4)],
            dtypes=SOME,
        )


def test_detach_in_place_forgets_the_history():
    x = facula.ones(2, requires_grad=True)
    y = x * 2
    assert y.detach_() is y
    assert (y.requires_grad, y.grad_fn, y.is_leaf) == (False, None, True)
    assert x.detach_() is x and not x.requires_grad
    with pytest.raises(RuntimeError, match="detach_: a view cannot be detached in place"):
        (facula.ones(2, requires_grad=True) * 2)[:1].detach_()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: facula.permute(x, 0),
        lambda x: facula.reshape(x, 6),
        lambda x: facula.flip(x, 0),
        lambda x: facula.tile(x, 2),
        lambda x: facula.broadcast_to(x, 3),
        lambda x: facula.as_strided(x, 2, (1,)),
        lambda x: facula.as_strided_scatter(x, x, (2, 3), 1),
        lambda x: x.as_strided_((2,), 1),
        lambda x: x.flip(dims=0),
        lambda x: facula.movedim(x, 0, (1,)),
        lambda x: facula.empty_strided(2, (1,)),
    ],
)
def test_one_int_is_no_list_of_ints(call):
    with pytest.raises(TypeError, match="expected"):
        call(facula.ones(2, 3))


@pytest.mark.parametrize("name", ["permute", "reshape", "expand", "repeat", "tile", "flip"])
def test_methods_of_several_ints_are_not_called_without(name):
    with pytest.raises(TypeError, match=f"{name}: expected ints or one tuple of ints, got nothing"):
        getattr(facula.ones(2, 3), name)()
    assert getattr(facula.tensor(1.0), name)(()).shape == ()
