"""What all optimisers have in common: groups, hooks, states, copies."""

import copy
import importlib
import inspect
import pickle
import pkgutil

import pytest

import facula
from facula import nn, optim
from facula.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

pytestmark = pytest.mark.promise("N6")


def parameter(*values):
    return facula.tensor(values, requires_grad=True)


def stepped(cls=optim.Adam, **options):
    p = parameter(1.0, 2.0)
    p.grad = facula.ones(2)
    optimizer = cls([p], **options)
    optimizer.step()
    return optimizer, p


@pytest.mark.parametrize(
    "params, error, message",
    [
        (
            lambda p, q: [],
            ValueError,
            "SGD: params is empty: optimizer got an empty parameter list",
        ),
        (lambda p, q: p, TypeError, "an iterable of tensors or dicts, got one tensor"),
        (lambda p, q: 5, TypeError, "'int' object is not iterable"),
        (lambda p, q: [1], TypeError, "SGD: parameter 0 is not a tensor but int"),
        (lambda p, q: [p * 2], ValueError, "SGD: parameter 0 is the result of an operation"),
        (lambda p, q: [{"params": {p}}], TypeError, "params must have an order"),
        (lambda p, q: [{"lr": 1}], KeyError, "params"),
        (lambda p, q: [{"params": [p]}, {"params": [p]}], ValueError, "in more than one group"),
        (lambda p, q: [("p", p), q], ValueError, "either all parameters of a group have names"),
        (
            lambda p, q: [{"params": [("p", p)]}, {"params": [q]}],
            ValueError,
            "either all parameter groups have names",
        ),
        (lambda p, q: [{"params": [p]}, 3], TypeError, "a parameter group must be a dict, got int"),
    ],
)
def test_parameters_that_cannot_be_optimised_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        optim.SGD(params(parameter(1.0), parameter(2.0)), lr=0.1)


def test_a_module_that_lists_its_parameters_is_taken_for_a_list():
    x = nn.Parameter(facula.ones(2))
    optimizer = optim.SGD(nn.ParameterList([x]), lr=0.5)
    assert optimizer.param_groups[0]["params"][0] is x


@pytest.mark.parametrize(
    "cls, options, message",
    [
        (optim.SGD, {"lr": -1}, "SGD: lr must be at least 0, got -1"),
        (optim.SGD, {"lr": float("nan")}, "SGD: lr must be at least 0, got nan"),
        (optim.SGD, {"lr": facula.ones(2)}, "lr must be a number or a tensor of one element"),
        (optim.SGD, {"nesterov": True}, "nesterov needs a momentum above 0"),
        (optim.AdamW, {"betas": (0.9, 1.0)}, "AdamW: betas must be .* got 1.0 at index 1"),
        (optim.Adam, {"betas": (0.9, facula.tensor(0.9))}, "two numbers or two tensors"),
        (optim.Adam, {"lr": facula.tensor(0.1), "foreach": True}, "lr as a tensor needs"),
        (optim.Rprop, {"etas": (1.0, 2.0)}, "Rprop: etas must be a factor between 0 and 1"),
        (optim.Adadelta, {"rho": 2}, "Adadelta: rho must be between 0 and 1, got 2"),
        (optim.Adafactor, {"d": 0.5}, "Adafactor: d must be at least 1"),
        (optim.Adafactor, {"eps": (-1.0, 0.0)}, "Adafactor: eps must be at least 0"),
        (optim.Adafactor, {"beta2_decay": 1.0}, "beta2_decay must be at most 0"),
        (optim.Muon, {}, r"Muon: parameters must have two dimensions, got one of shape \(1,\)"),
        (optim.Muon, {"adjust_lr_fn": "x"}, "adjust_lr_fn must be 'original' or"),
    ],
)
def test_options_out_of_range_are_refused(cls, options, message):
    with pytest.raises(ValueError, match=message):
        cls([parameter(1.0)], **options)


def test_every_file_of_an_optimiser_is_in_the_package():
    for file in pkgutil.iter_modules(optim.__path__, "facula.optim."):
        for name, cls in vars(importlib.import_module(file.name)).items():
            is_here = isinstance(cls, type) and cls.__module__ == file.name
            if is_here and issubclass(cls, optim.Optimizer):
                assert name in optim.__all__ or file.name == "facula.optim._declared"


@pytest.mark.parametrize("cls", [optim.Adam, optim.Adafactor, optim.Muon, optim.LBFGS])
def test_the_options_of_an_optimiser_are_the_arguments_of_its_constructor(cls):
    arguments = list(inspect.signature(cls).parameters)
    assert sorted(cls._options) == sorted(arguments[1:])
    assert list(cls([facula.ones(2, 2, requires_grad=True)]).defaults) == list(cls._options)


def test_an_old_pickle_gets_the_options_that_were_added_later():
    optimizer, _ = stepped(optim.SGD, momentum=0.9)
    state = copy.deepcopy(optimizer.__getstate__())
    for options in (state["defaults"], state["param_groups"][0]):
        del options["maximize"], options["fused"]
    old = optim.SGD.__new__(optim.SGD)
    old.__setstate__(state)
    old.step()
    assert old.param_groups[0]["maximize"] is False and old.param_groups[0]["fused"] is None


def test_a_subclass_may_leave_out_the_constructor_of_its_optimiser():
    class Warm(optim.Adam):
        def __init__(self, params, warm_up):
            defaults = optim.Adam([parameter(0.0)], lr=0.5).defaults
            super(optim.Adam, self).__init__(params, {**defaults, "warm_up": warm_up})

    optimizer, p = stepped(Warm, warm_up=3)
    assert optimizer.param_groups[0]["warm_up"] == 3
    assert p.tolist() == pytest.approx([0.5, 1.5])


def test_flags_that_contradict_each_other_are_refused():
    with pytest.raises(RuntimeError, match="fused and foreach exclude each other"):
        optim.SGD([parameter(1.0)], fused=True, foreach=True)
    with pytest.raises(RuntimeError, match="fused and differentiable exclude"):
        optim.Adam([parameter(1.0)], fused=True, differentiable=True)


def test_a_group_that_is_refused_is_left_as_it_was():
    optimizer = optim.SGD([parameter(1.0)], lr=0.1)
    group = {"params": (parameter(1.0), 3)}
    with pytest.raises(TypeError, match="parameter 1 is not a tensor"):
        optimizer.add_param_group(group)
    assert len(optimizer.param_groups) == 1 and list(group) == ["params"]


def test_an_added_group_takes_the_defaults_it_does_not_have():
    optimizer = optim.SGD([parameter(1.0)], lr=0.1, momentum=0.5)
    optimizer.add_param_group({"params": parameter(2.0), "lr": 0.2})
    group = optimizer.param_groups[1]
    assert (group["lr"], group["momentum"], len(group["params"])) == (0.2, 0.5, 1)


def test_names_of_parameters_are_kept_with_their_group():
    optimizer = optim.SGD([("a", parameter(1.0)), ("b", parameter(2.0))])
    assert optimizer.param_groups[0]["param_names"] == ["a", "b"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["a", "b"]


def test_zero_grad_drops_gradients_or_fills_them_with_zeros():
    optimizer, p = stepped()
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad and grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_zero_grad_cuts_gradients_from_their_history():
    p = parameter(2.0)
    (p * p * p).sum().backward(create_graph=True)
    assert p.grad.requires_grad
    optim.SGD([p]).zero_grad(set_to_none=False)
    assert not p.grad.requires_grad and p.grad.item() == 0.0


def test_hooks_run_around_a_step_the_global_ones_outside():
    optimizer, _ = stepped()
    calls = []
    handles = [
        optimizer.register_step_pre_hook(lambda *a: calls.append("before")),
        optimizer.register_step_post_hook(lambda *a: calls.append("after")),
        register_optimizer_step_pre_hook(lambda *a: calls.append("first")),
        register_optimizer_step_post_hook(lambda *a: calls.append("last")),
    ]
    optimizer.step()
    assert calls == ["first", "before", "after", "last"]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(calls) == 4


def test_a_hook_before_a_step_may_replace_its_arguments():
    optimizer, _ = stepped()
    seen = []

    def closure():
        seen.append("closure")
        return 3.0

    optimizer.register_step_pre_hook(lambda self, args, kwargs: ((self, closure), kwargs))
    assert optimizer.step() == 3.0 and seen == ["closure"]
    optimizer.register_step_pre_hook(lambda *a: 5)
    with pytest.raises(RuntimeError, match=r"must return None or \(args, kwargs\), got 5"):
        optimizer.step()


def test_the_hooks_of_a_subclass_run_once():
    class Louder(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    calls = []
    optimizer = Louder([parameter(1.0)])
    optimizer.register_step_pre_hook(lambda *a: calls.append(1))
    optimizer.step()
    assert calls == [1]


def test_hooks_of_states_run_in_their_order_and_may_replace_them():
    optimizer, _ = stepped()
    calls = []
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("second"))
    optimizer.register_state_dict_pre_hook(lambda o: calls.append("first"), prepend=True)
    optimizer.register_state_dict_post_hook(lambda o, state: {**state, "more": 1})
    state = optimizer.state_dict()
    assert state["more"] == 1 and calls == ["first", "second"]

    optimizer.register_load_state_dict_pre_hook(lambda o, s: calls.append("before"))
    optimizer.register_load_state_dict_post_hook(lambda o: calls.append("after"))
    optimizer.load_state_dict(state)
    assert calls[2:] == ["before", "after"]


def test_a_state_goes_on_in_another_optimiser():
    one, p = stepped(optim.AdamW, amsgrad=True)
    other = optim.AdamW([q := p.detach().clone().requires_grad_()], lr=0.5)
    other.load_state_dict(copy.deepcopy(one.state_dict()))
    assert other.param_groups[0]["lr"] == 0.001
    for optimizer, x in ((one, p), (other, q)):
        x.grad = facula.tensor([0.5, -0.5])
        optimizer.step()
    assert p.tolist() == q.tolist()


def test_a_loaded_state_takes_the_dtype_of_its_parameter_but_not_its_count():
    state = stepped()[0].state_dict()
    q = facula.ones(2, dtype=facula.bfloat16, requires_grad=True)
    other = optim.Adam([q])
    other.load_state_dict(state)
    assert other.state[q]["exp_avg"].dtype == facula.bfloat16
    assert other.state[q]["step"].dtype == facula.float32


def test_counts_that_are_numbers_become_tensors_and_missing_options_their_defaults():
    optimizer, p = stepped()
    state = optimizer.state_dict()
    state["state"][0]["step"] = 7
    del state["param_groups"][0]["maximize"]
    optimizer.load_state_dict(state)
    assert optimizer.state[p]["step"].item() == 7.0
    assert optimizer.param_groups[0]["maximize"] is False


@pytest.mark.parametrize(
    "groups, message",
    [
        ([], "the loaded state has 0 parameter groups, the optimiser has 1"),
        ([{"params": [0, 1]}], r"the groups of the loaded state have \[2\] parameters"),
    ],
)
def test_a_state_that_does_not_fit_changes_nothing(groups, message):
    optimizer, _ = stepped()
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict({"state": {}, "param_groups": groups})
    assert str(optimizer.state_dict()) == str(before)


GROUPS = [{"params": [0]}]


@pytest.mark.parametrize(
    "state, error, message",
    [
        ([], TypeError, "Adam.load_state_dict: expected the state as a dict, got list"),
        ({}, KeyError, "the state has no 'state', 'param_groups', which state_dict"),
        ({"weight": 1}, KeyError, r"its keys are \['weight'\]"),
        ({"state": {}}, KeyError, "the state has no 'param_groups'"),
        ({"param_groups": GROUPS}, KeyError, "the state has no 'state'"),
        ({"state": {}, "param_groups": 3}, TypeError, "expected param_groups as a list, got int"),
        (
            {"state": {}, "param_groups": [{"lr": 1}]},
            KeyError,
            r"param_groups\[0\] has no 'params'",
        ),
        ({"state": {}, "param_groups": [3]}, TypeError, r"param_groups\[0\] as a dict, got int"),
        (
            {"state": {}, "param_groups": [{"params": 0}]},
            TypeError,
            "params of .* as a list, got int",
        ),
        ({"state": [1], "param_groups": GROUPS}, TypeError, r"state_dict\['state'\] as a dict"),
        ({"state": {0: 3}, "param_groups": GROUPS}, TypeError, None),  # found by the rule itself
    ],
)
def test_what_is_no_state_is_refused_and_changes_nothing(state, error, message):
    optimizer, _ = stepped()
    before = copy.deepcopy(optimizer.state_dict())
    with pytest.raises(error, match=message):
        optimizer.load_state_dict(state)
    assert str(optimizer.state_dict()) == str(before)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_have_parameters_and_state_of_their_own(duplicate):
    optimizer, p = stepped()
    other = duplicate(optimizer)
    q = other.param_groups[0]["params"][0]
    assert (
        q is not p and other.state[q]["exp_avg"].tolist() == optimizer.state[p]["exp_avg"].tolist()
    )
    q.grad = facula.ones(2)
    other.step()
    assert q.tolist() != p.tolist() and optimizer.state[p]["step"].item() == 1.0


def test_repr_lists_the_options_of_each_group_in_order():
    optimizer = optim.Rprop([{"params": [parameter(1.0)]}, {"params": [parameter(1.0)], "lr": 1}])
    assert repr(optimizer).splitlines()[:4] == [
        "Rprop (",
        "Parameter Group 0",
        "    capturable: False",
        "    differentiable: False",
    ]
    assert "\n\nParameter Group 1\n" in repr(optimizer)


def test_an_optimiser_without_step_says_so():
    with pytest.raises(NotImplementedError, match=r"Optimizer: step\(\) is not implemented"):
        optim.Optimizer([parameter(1.0)], {}).step()


def test_a_wrapper_that_leaves_out_the_constructor_works():
    class EverySecond(optim.Optimizer):
        def __init__(self, optimizer):
            self.optimizer, self.param_groups, self.count = optimizer, optimizer.param_groups, 0

        def step(self, closure=None):
            self.count += 1
            return self.optimizer.step(closure) if self.count % 2 == 0 else None

    optimizer, p = stepped()
    before = p.tolist()
    wrapper = EverySecond(optimizer)
    wrapper.step()
    assert p.tolist() == before
    wrapper.step()
    assert p.tolist() != before
    wrapper.zero_grad()
    assert p.grad is None


def test_parameters_and_state_are_swapped_for_a_block():
    optimizer, p = stepped()
    q = parameter(5.0, 6.0)
    q.grad = facula.ones(2)
    state = copy.deepcopy(optimizer.state_dict())
    before = p.tolist()
    with optim.swap_in_optimizer_params_and_state(optimizer, {"q": q}, state):
        optimizer.step()
    assert q.tolist() != [5.0, 6.0] and p.tolist() == before
    assert state["state"][0]["step"].item() == 2.0 and optimizer.state[p]["step"].item() == 1.0
    with (
        pytest.raises(RuntimeError, match="got 0 parameters for the 1 of the optimiser"),
        optim.swap_in_optimizer_params_and_state(optimizer, {}, state),
    ):
        pass


def test_adagrad_has_its_state_from_the_beginning():
    x = facula.ones(2, requires_grad=True)
    optimizer = optim.Adagrad([x], initial_accumulator_value=0.5)
    assert optimizer.state[x]["sum"].tolist() == [0.5, 0.5] and optimizer.state[x]["step"] == 0
    optimizer.state[x]["note"] = "of the program"
    x.sum().backward()
    optimizer.step()
    assert optimizer.state[x]["sum"].tolist() == [1.5, 1.5]
    optimizer.share_memory()
    assert optimizer.state[x]["sum"].is_shared()
