"""Modules as functions of their parameters, and states of optimisers by names."""

import copy

import facula
from facula import _functorch_package as functorch
from facula.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def test_a_functional_module_is_a_function_of_its_parameters():
    net = facula.nn.Linear(3, 2)
    f, params = functorch.make_functional(net)
    x = facula.randn(4, 3)
    assert facula.equal(f(params, x), net(x))
    by_weight, _ = functorch.grad(lambda p: f(p, x).sum())(params)
    assert facula.allclose(by_weight, x.sum(0).expand(2, 3))


def test_an_ensemble_runs_all_models_at_once():
    models = [facula.nn.BatchNorm1d(2).eval() for _ in range(3)]
    for i, model in enumerate(models):
        model.running_mean.fill_(i)
    f, params, buffers = functorch.combine_state_for_ensemble(models)
    x = facula.randn(5, 2)
    expected = facula.stack([model(x) for model in models])
    facula.testing.assert_close(functorch.vmap(f, (0, 0, None))(params, buffers, x), expected)


def test_states_by_name_bring_a_training_back():
    def step(net, adam):
        net(facula.ones(2, 3)).square().sum().backward()
        adam.step()
        adam.zero_grad()

    net = facula.nn.Linear(3, 1)
    adam = facula.optim.Adam(net.parameters(), lr=0.1)
    step(net, adam)
    weights, state = copy.deepcopy(get_state_dict(net, adam))
    assert sorted(state["state"]) == ["bias", "weight"]
    other = facula.nn.Linear(3, 1)
    adam_of_other = facula.optim.Adam(other.parameters(), lr=0.5)
    set_state_dict(other, adam_of_other, model_state_dict=weights, optim_state_dict=state)
    step(net, adam)
    step(other, adam_of_other)
    assert facula.equal(net.weight, other.weight)
