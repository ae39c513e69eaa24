"""gradcheck and gradgradcheck."""

import pytest

import facula
from facula.autograd import Function, GradcheckError, gradcheck, gradgradcheck

pytestmark = pytest.mark.promise("A8")


def inputs(*shapes, dtype=facula.float64):
    return tuple(facula.rand(*s, dtype=dtype, requires_grad=True) for s in shapes)


class HalfGradient(Function):
    """Squares, and forgets the factor 2 of the derivative."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_gradients_pass(fast_mode):
    args = inputs((2, 3), (3,))
    options = {"fast_mode": fast_mode, "check_grad_dtypes": True, "check_batched_grad": True}
    assert gradcheck(lambda a, b: ((a * b).sin(), b.exp().sum()), args, **options)
    assert gradgradcheck(lambda a, b: ((a * b).sin(), b.exp().sum()), args, **options)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_complex_functions_pass(fast_mode):
    (z,) = inputs((2, 2), dtype=facula.complex128)
    (x,) = inputs((2,))
    assert gradcheck(lambda z, x: (z * z.conj() * x, z.abs()), (z, x), fast_mode=fast_mode)
    assert gradgradcheck(lambda z, x: z * z * x, (z, x), fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_tangents_pass(fast_mode):
    options = {"fast_mode": fast_mode, "check_forward_ad": True}
    args = inputs((2, 3), (3,))
    both = {**options, "check_batched_forward_grad": True}
    assert gradcheck(lambda a, b: ((a * b).sin(), b.exp().sum()), args, **both)
    assert gradcheck(lambda a, b: a @ b, args, **both, check_backward_ad=False)
    (z,) = inputs((2, 2), dtype=facula.complex128)
    assert gradcheck(lambda z: (z * z.conj(), z.abs()), (z,), **options)
    assert gradgradcheck(lambda a, b: (a * b).sin(), args, check_fwd_over_rev=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_tangent_is_found(fast_mode):
    class WrongTangent(HalfGradient):
        @staticmethod
        def jvp(ctx, t):
            return t * 5

    with pytest.raises(GradcheckError, match=r"input 0 \(forward mode\)"):
        gradcheck(WrongTangent.apply, inputs((3,)), check_forward_ad=True, fast_mode=fast_mode)


def test_something_must_be_checked():
    with pytest.raises(ValueError, match="check_forward_ad or check_backward_ad"):
        gradcheck(facula.sin, inputs((3,)), check_backward_ad=False)
    with pytest.raises(ValueError, match="needs check_forward_ad=True"):
        gradcheck(facula.sin, inputs((3,)), check_batched_forward_grad=True)
    with pytest.raises(ValueError, match="needs check_backward_ad=True"):
        gradcheck(
            facula.sin, inputs((3,)), check_forward_ad=True, check_backward_ad=False,
            check_batched_grad=True,
        )  # fmt: skip


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_gradient_is_found(fast_mode):
    args = inputs((3,))
    with pytest.raises(GradcheckError, match="mismatch for output 0 with respect to input 0"):
        gradcheck(HalfGradient.apply, args, fast_mode=fast_mode)
    assert not gradcheck(HalfGradient.apply, args, fast_mode=fast_mode, raise_exception=False)
    assert issubclass(GradcheckError, RuntimeError)


def test_a_missing_gradient_is_found():
    with pytest.raises(GradcheckError, match="no output requires grad"):
        gradcheck(lambda x: x.detach() * 2, inputs((3,)))


def test_a_backward_that_fails_for_missing_gradients_is_found():
    class NeedsGrad(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return facula.ones(3).double() if grad is None else grad * 2

    assert gradcheck(NeedsGrad.apply, inputs((3,)), check_undefined_grad=False)
    with pytest.raises(GradcheckError, match="missing output gradient"):
        gradcheck(NeedsGrad.apply, inputs((3,)))


def test_a_random_backward_is_found():
    class Random(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad + 1e-7 * facula.rand_like(grad)

    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(Random.apply, inputs((3,)))
    assert gradcheck(Random.apply, inputs((3,)), nondet_tol=1e-6, check_undefined_grad=False)


def test_inputs_are_checked_first():
    with pytest.raises(ValueError, match="at least one input that requires grad"):
        gradcheck(facula.sin, facula.ones(2))
    with pytest.raises(RuntimeError, match="input 0 is expanded"):
        gradcheck(facula.sin, facula.ones(1).double().expand(3).requires_grad_())
    with pytest.warns(UserWarning, match=r"input 0 is torch\.float32"):
        gradcheck(facula.sin, inputs((2,), dtype=facula.float32), atol=1, rtol=1, eps=1e-3)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_forward_ad": True}])
def test_a_check_leaves_the_random_numbers_of_the_program(options):
    (x,) = inputs((3,))
    before = facula.get_rng_state()
    assert gradcheck(facula.sin, x, **options)
    assert facula.equal(facula.get_rng_state(), before)
