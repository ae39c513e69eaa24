"""What distributions are made with."""

import pytest

import facula
from facula.distributions import utils


def test_broadcast_all_takes_dtype_from_the_first_tensor():
    a, b = utils.broadcast_all(1, facula.zeros(2, dtype=facula.float64))
    assert a.tolist() == [1, 1] and a.dtype == b.dtype == facula.float64
    assert utils.broadcast_all(1, 2.0)[0].dtype == facula.get_default_dtype()
    with pytest.raises(ValueError, match="got str"):
        utils.broadcast_all("1")


@pytest.mark.parametrize("is_binary", [True, False])
def test_probs_and_logits_are_inverses(is_binary):
    probs = facula.tensor([0.2, 0.8])
    logits = utils.probs_to_logits(probs, is_binary)
    facula.testing.assert_close(utils.logits_to_probs(logits, is_binary), probs)
    assert utils.probs_to_logits(facula.tensor([0.0, 1.0]), is_binary).isfinite().all()


@pytest.mark.parametrize("diag", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_triangles_and_vectors_are_inverses(n, diag):
    matrix = facula.arange(2.0 * n * n).reshape(2, n, n) + 1
    vector = utils.tril_matrix_to_vec(matrix, diag)
    assert facula.equal(utils.vec_to_tril_matrix(vector, diag), matrix.tril(diag))


def test_triangles_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="2 elements are no lower triangle"):
        utils.vec_to_tril_matrix(facula.zeros(2))
    with pytest.raises(ValueError, match=r"expected diag in \[-2, 2\)"):
        utils.tril_matrix_to_vec(facula.zeros(2, 2), 2)


class Owner:
    calls = 0

    @utils.lazy_property
    def value(self):
        """What is computed once."""
        self.calls += 1
        return facula.is_grad_enabled()


def test_lazy_properties_are_computed_once_with_gradients():
    owner = Owner()
    with facula.no_grad():
        assert owner.value is True and owner.value is True
    assert owner.calls == 1
    assert isinstance(Owner.value, utils.lazy_property)
    assert Owner.value.__doc__ == "What is computed once."
