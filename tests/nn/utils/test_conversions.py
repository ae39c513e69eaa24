"""Parameters as vectors, old norms by hooks, fused layers, and modules without values."""

import pytest

import facula
from facula import nn
from facula.nn import utils

pytestmark = pytest.mark.promise("N2")


def test_parameters_go_to_a_vector_and_back():
    m, twin = nn.Linear(2, 3), nn.Linear(2, 3)
    utils.vector_to_parameters(utils.parameters_to_vector(m.parameters()), twin.parameters())
    assert facula.equal(m.weight, twin.weight)
    assert facula.equal(m.bias, twin.bias)


def test_a_short_vector_is_refused_and_changes_nothing():
    m = nn.Linear(2, 3)
    before = m.weight.data.clone()
    with pytest.raises(RuntimeError, match=r"expected a vector of 9 elements.*got \(8,\)"):
        utils.vector_to_parameters(facula.zeros(8), m.parameters())
    assert facula.equal(m.weight, before)


def test_the_old_spectral_norm_writes_its_vectors_only_in_training():
    m = utils.spectral_norm(nn.Linear(3, 3))
    m.eval()(facula.ones(1, 3))
    before = m.weight_u.clone()
    assert facula.equal(m.weight_u, before)
    m.train()(facula.ones(1, 3))
    assert not facula.equal(m.weight_u, before)


def test_two_old_norms_on_one_parameter_are_refused():
    m = utils.spectral_norm(nn.Linear(3, 3))
    with pytest.raises(RuntimeError, match="'weight' of Linear has a spectral norm already"):
        utils.spectral_norm(m)


def test_a_spectral_norm_from_before_version_1_is_refused():
    m = utils.spectral_norm(nn.Linear(3, 3))
    state = m.state_dict()
    del state["weight_v"]
    state["weight"] = facula.ones(3, 3)
    with pytest.raises(RuntimeError, match="the state_dict has no weight_v"):
        m.load_state_dict(state)


def test_a_removed_norm_leaves_the_weight():
    m = utils.spectral_norm(nn.Linear(3, 3))
    m(facula.ones(1, 3))
    expected = m.eval()(facula.ones(1, 3))
    utils.remove_spectral_norm(m)
    assert facula.allclose(m(facula.ones(1, 3)), expected)
    with pytest.raises(
        ValueError, match="expected a spectral norm on 'weight' of Linear, found none"
    ):
        utils.remove_spectral_norm(m)


def test_only_layers_in_evaluation_are_fused():
    with pytest.raises(AssertionError, match="only modules in evaluation mode can be fused"):
        utils.fuse_linear_bn_eval(nn.Linear(2, 2), nn.Linear(2, 2))


def test_a_module_without_initial_values_draws_nothing():
    state = facula.get_rng_state()
    utils.skip_init(nn.Linear, 3, 3)
    assert facula.equal(facula.get_rng_state(), state)
    with pytest.raises(RuntimeError, match="a class whose constructor takes device, got Flatten"):
        utils.skip_init(nn.Flatten)
