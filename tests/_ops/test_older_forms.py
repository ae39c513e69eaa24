"""Arguments as PyTorch 0.1 to 0.4 took them."""

import pytest

import facula
from facula import Tensor, _notes

pytestmark = pytest.mark.promise("A9")


@pytest.fixture(autouse=True)
def _nothing_told(monkeypatch):
    monkeypatch.setattr(_notes, "_told", set())


M, A, B = (facula.arange(4.0).view(2, 2) + k for k in (1, 2, 3))
U, V = facula.tensor([1.0, 2.0]), facula.tensor([3.0, 5.0])
BATCH = facula.stack([A, B])
FORMS = {
    "add": (lambda: facula.add(M, 2, A), lambda: M + 2 * A),
    "add_": (lambda: M.clone().add_(2, A), lambda: M + 2 * A),
    "sub": (lambda: M.sub(2, A), lambda: M - 2 * A),
    "addmm": (lambda: facula.addmm(2, M, 3, A, B), lambda: 2 * M + 3 * A @ B),
    "addmm of one factor": (lambda: facula.addmm(2, M, A, B), lambda: 2 * M + A @ B),
    "addmm_": (lambda: M.clone().addmm_(2, 3, A, B), lambda: 2 * M + 3 * A @ B),
    "addmv": (lambda: facula.addmv(2, U, 3, A, V), lambda: 2 * U + 3 * A @ V),
    "addr": (lambda: facula.addr(2, M, 3, U, V), lambda: 2 * M + 3 * facula.outer(U, V)),
    "addr as a method": (lambda: M.addr(2, U, V), lambda: 2 * M + facula.outer(U, V)),
    "addbmm": (lambda: facula.addbmm(2, M, 3, BATCH, BATCH), lambda: 2 * M + 3 * (A @ A + B @ B)),
    "baddbmm": (lambda: BATCH.baddbmm(2, 3, BATCH, BATCH), lambda: 2 * BATCH + 3 * BATCH @ BATCH),
    "addcmul": (lambda: facula.addcmul(M, 2, A, B), lambda: M + 2 * A * B),
    "addcdiv_": (lambda: M.clone().addcdiv_(2, A, B), lambda: M + 2 * A / B),
    "cat": (lambda: facula.cat(inputs=[A, B], dimension=1), lambda: facula.cat([A, B], 1)),
    "stack": (lambda: facula.stack(seq=[A, B]), lambda: facula.stack([A, B])),
    "div": (lambda: A.div(value=2), lambda: A / 2),
    "copy_": (lambda: M.clone().copy_(A, **{"async": True}), lambda: A),
}


@pytest.mark.parametrize("name", FORMS)
def test_an_older_form_gives_what_todays_form_gives_with_a_note(name):
    older, today = FORMS[name]
    with pytest.warns(_notes.OlderFormWarning, match="older form") as notes:
        result = older()
    facula.testing.assert_close(result, today())
    assert notes[0].filename == __file__


def test_the_note_is_given_once():
    with pytest.warns(_notes.OlderFormWarning) as notes:
        for _ in range(3):
            M.add(2, A)
    assert len(notes) == 1


def test_factors_have_gradients_through_them():
    x = A.clone().requires_grad_()
    facula.add(M, 3, x).sum().backward()
    assert x.grad.tolist() == [[3, 3], [3, 3]]


def test_out_is_kept():
    out = facula.empty(2, 2)
    facula.addmm(2, M, 3, A, B, out=out)
    facula.testing.assert_close(out, 2 * M + 3 * A @ B)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: facula.add(M, 2, A, 3),
        lambda: facula.add(2, 3, 4, 5),
        lambda: facula.addmm(1, 2, M, 3, A, B),
        lambda: facula.addmm(M, A, 2),
        lambda: facula.cat(inputs=[A], tensors=[A]),
        lambda: facula.cat(wrong=[A]),
        lambda: facula.exp(2, M),
        lambda: Tensor.addr(M, "a", U, V),
    ],
)
def test_what_is_no_older_form_is_refused_as_ever(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_modes_see_the_form_that_was_written():
    class Names(facula.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    seen = []
    with Names():
        result = M.add(2, A)
    assert seen == ["add"]
    facula.testing.assert_close(result, M + 2 * A)
