import copy
import pickle

import pytest

import facula
from facula import nn
from facula.nn.utils import parametrizations, parametrize

pytestmark = pytest.mark.promise("N2")


class Double(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, y):
        return y / 2


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).t()


def test_the_tensor_is_computed_whenever_it_is_read():
    m = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Symmetric())
    assert facula.equal(m.weight, m.weight.t())
    with facula.no_grad():
        m.parametrizations.weight.original.fill_(2.0)
    assert m.weight.tolist() == [[2.0] * 3] * 3


def test_the_original_stays_the_parameter_that_an_optimiser_has():
    m = nn.Linear(2, 2)
    weight = m.weight
    parametrize.register_parametrization(m, "weight", Double())
    assert m.parametrizations.weight.original is weight
    parametrize.remove_parametrizations(m, "weight")
    assert m.weight is weight


def test_an_assignment_goes_through_the_right_inverse():
    m = parametrize.register_parametrization(nn.Linear(2, 2), "bias", Double())
    m.bias = facula.ones(2)
    assert m.bias.tolist() == [1.0, 1.0]
    assert m.parametrizations.bias.original.tolist() == [0.5, 0.5]


def test_an_assignment_without_right_inverse_is_refused():
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())
    with pytest.raises(RuntimeError, match="Symmetric: assigning to a parametrized tensor needs"):
        m.weight = facula.ones(2, 2)


def test_a_change_of_shape_is_refused_and_changes_nothing():
    class First(nn.Module):
        def forward(self, x):
            return x[0]

    m = nn.Linear(2, 2)
    with pytest.raises(ValueError, match=r"expected forward to keep the shape .* Pass unsafe=True"):
        parametrize.register_parametrization(m, "weight", First())
    assert type(m) is nn.Linear
    assert list(m.state_dict()) == ["weight", "bias"]


def test_a_deep_copy_is_parametrized_and_a_pickle_is_refused():
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    twin = copy.deepcopy(m)
    assert facula.equal(twin.weight, m.weight)
    assert twin.parametrizations.weight.original is not m.parametrizations.weight.original
    with pytest.raises(RuntimeError, match=r"cannot be pickled.* Save its state_dict\(\) instead"):
        pickle.dumps(m)


def test_cached_values_are_computed_once():
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Double())
    with parametrize.cached():
        first = m.weight
        assert m.weight is first
    assert m.weight is not first


def test_gradients_reach_the_original():
    m = parametrizations.weight_norm(nn.Linear(2, 1, bias=False))
    m(facula.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in m.parameters())


def test_weight_norm_splits_into_length_and_direction():
    m = parametrizations.weight_norm(nn.Linear(2, 3))
    with facula.no_grad():
        m.parametrizations.weight.original0.fill_(2.0)
    assert facula.allclose(m.weight.norm(dim=1), facula.full((3,), 2.0))


def test_weight_norm_loads_what_the_older_one_saved():
    with pytest.warns(FutureWarning, match="weight_norm: this is the old form"):
        old = nn.utils.weight_norm(nn.Linear(2, 3))
    new = parametrizations.weight_norm(nn.Linear(2, 3))
    new.load_state_dict(old.state_dict())
    x = facula.ones(1, 2)
    assert facula.allclose(new(x), old(x))


def test_spectral_norm_makes_the_largest_singular_value_one():
    import numpy as np

    m = parametrizations.spectral_norm(nn.Linear(4, 6), n_power_iterations=50)
    values = np.linalg.svd(m.weight.detach().numpy(), compute_uv=False)
    assert abs(values[0] - 1) < 1e-4


@pytest.mark.parametrize("use_trivialization", [True, False])
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2)])
def test_orthogonal_weights_stay_orthogonal(shape, orthogonal_map, use_trivialization):
    m = nn.Linear(*shape).double()
    parametrizations.orthogonal(m, "weight", orthogonal_map, use_trivialization=use_trivialization)
    m(facula.ones(1, shape[0], dtype=facula.float64)).pow(2).sum().backward()
    with facula.no_grad():
        original = m.parametrizations.weight.original
        original -= 0.1 * original.grad
    w = m.weight if shape[0] >= shape[1] else m.weight.t()
    assert facula.allclose(w @ w.t(), facula.eye(min(shape), dtype=facula.float64))


def test_orthogonal_begins_at_an_orthogonal_matrix_that_is_assigned():
    m = parametrizations.orthogonal(nn.Linear(3, 3))
    target = nn.init.orthogonal_(facula.empty(3, 3))
    m.weight = target
    assert facula.allclose(m.weight, target, atol=1e-6)
