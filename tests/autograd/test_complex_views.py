"""In-place writes where a view is real and its base complex, or the other way round."""

import pytest

import facula

pytestmark = pytest.mark.promise("A6")


def complex_base():
    leaf = facula.ones(4, dtype=facula.complex64, requires_grad=True)
    return leaf, leaf * (1 + 2j)


def test_a_real_view_sees_the_history_of_a_write_to_its_complex_base():
    # Every element is 2j(1 + 2j)z, whose imaginary part is 2 Re z - 4 Im z = 2.
    leaf, base = complex_base()
    view = base[1:3].imag
    base.mul_(2j)
    (view * view).sum().backward()
    assert leaf.grad.tolist() == [0, 8 - 16j, 8 - 16j, 0]


@pytest.mark.parametrize(
    "view_of, factor, grad_of_view",
    [
        (lambda z: z.imag, 3, 6 + 3j),
        (lambda z: z.real, 3, 3 - 6j),
        (facula.view_as_real, 9, 9 - 3j),
    ],
    ids=["imag", "real", "view_as_real"],
)
def test_a_write_through_a_real_view_rebases_its_complex_base(view_of, factor, grad_of_view):
    # The parts of (1 + 2j)z are Re z - 2 Im z and 2 Re z + Im z. At z = 1 the gradient of their
    # product is 4 - 3j.
    leaf, base = complex_base()
    view = view_of(base[1:3])
    view.mul_(3)
    (grad,) = facula.autograd.grad((base.real * base.imag).sum(), leaf, retain_graph=True)
    assert grad.tolist() == [4 - 3j, factor * (4 - 3j), factor * (4 - 3j), 4 - 3j]
    (grad,) = facula.autograd.grad(view.sum(), leaf)
    assert grad.tolist() == [0, grad_of_view, grad_of_view, 0]


def test_a_filled_imaginary_part_has_no_gradient():
    leaf = facula.ones(4, dtype=facula.complex64, requires_grad=True)
    base = leaf * 1
    base.imag.fill_(3.0)
    assert base.tolist() == [1 + 3j] * 4
    (base.real * base.imag).sum().backward()
    assert leaf.grad.tolist() == [3] * 4


def test_parts_written_to_a_complex_tensor_pass_gradients_to_their_sources():
    source = facula.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = facula.zeros(8, dtype=facula.complex64)[3:].detach()  # starts inside its storage
    base[1:4].imag.copy_(source * source)
    base.real.add_(2)
    (base.real * base.imag).sum().backward()
    assert source.grad.tolist() == [4, 8, 12]


def test_a_complex_view_sees_the_history_of_a_write_to_its_real_base():
    leaf = facula.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], requires_grad=True)
    base = leaf * 1
    view = facula.view_as_complex(base.view(3, 2)[1:])
    base.mul_(2)
    (view.real * view.imag).sum().backward()
    assert leaf.grad.tolist() == [0, 0, 16, 12, 24, 20]


def test_a_write_through_a_complex_view_rebases_its_real_base():
    # (a, b) becomes 2j(a + bj) = (-2b, 2a).
    leaf = facula.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], requires_grad=True)
    base = leaf * 1
    view = facula.view_as_complex(base.view(3, 2)[1:])
    view.mul_(2j)
    weights = facula.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    (base * weights).sum().backward(retain_graph=True)
    assert leaf.grad.tolist() == [1, 2, 8, -6, 12, -10]
    (grad,) = facula.autograd.grad(view.imag.sum(), leaf)
    assert grad.tolist() == [0, 0, 2, 0, 2, 0]


def test_a_complex_view_may_start_at_an_odd_place_of_its_base():
    source = facula.tensor([1.0, 2.0], requires_grad=True)
    base = facula.zeros(5)[1:].detach()  # the view starts one element after the base
    view = facula.view_as_complex(base[1:3])
    view.copy_(facula.view_as_complex(source * source))
    (base * facula.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert source.grad.tolist() == [4, 12]


def test_a_write_through_a_real_view_is_differentiable_twice():
    def f(z):
        base = z * (1 + 2j)
        base[1:].imag.mul_(base[:2].real.clone())
        return facula.view_as_real(base * base)

    z = facula.tensor([1 + 2j, 2 - 1j, -1 + 1j], dtype=facula.complex128, requires_grad=True)
    assert facula.autograd.gradcheck(f, (z,))
    assert facula.autograd.gradgradcheck(f, (z,))
