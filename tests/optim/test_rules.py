"""The rules of core/math/optim.h: values, layouts, dtypes, and steps that are refused."""

import numpy as np
import pytest

import facula
from facula import optim
from facula.optim._declared import RuleOptimizer

pytestmark = pytest.mark.promise("N6")


def parameter(*values, dtype=facula.float32):
    return facula.tensor(values, dtype=dtype, requires_grad=True)


def run(cls, options, params, n_steps=5):
    optimizer = cls(params, **options)
    for step in range(1, n_steps + 1):
        for p in params:
            slope = facula.tensor([2.0, -1.0, 0.5], dtype=p.dtype) * step
            p.grad = facula.empty_like(p).copy_(slope.expand(p.shape))
        optimizer.step()
    return optimizer


# With the parameter after five steps from [1, -2, 3] by gradients that are [2, -1, 0.5] times the
# number of the step, as PyTorch 2.13 gives it in float64.
RULES = [
    (optim.SGD, {"lr": 0.1}, [-2.0, -0.5, 2.25]),
    (
        optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1},
        [-4.277478125, 0.805388045, 1.375107334],
    ),
    (
        optim.SGD,
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
        [9.706558, -6.353279, 5.1766395],
    ),
    (
        optim.Adam,
        {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True},
        [0.513917438, -1.511452748, 2.506805982],
    ),
    (optim.AdamW, {"lr": 0.1, "maximize": True}, [1.479116873, -2.474126862, 3.469136849]),
    (
        optim.NAdam,
        {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True},
        [0.461579034, -1.412569085, 2.363559137],
    ),
    (optim.RAdam, {"lr": 0.1, "weight_decay": 0.1}, [-1.12203715, -0.864793985, 2.333480405]),
    (optim.Adamax, {"lr": 0.1, "weight_decay": 0.1}, [0.622696476, -1.617298073, 2.605084606]),
    (
        optim.Adagrad,
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5},
        [0.654723744, -1.671515569, 2.709346603],
    ),
    (optim.Adadelta, {"lr": 10.0, "weight_decay": 0.1}, [0.759366321, -1.763458749, 2.77260007]),
    (
        optim.RMSprop,
        {"lr": 0.1, "centered": True, "momentum": 0.9},
        [-10.535464782, 9.535464458, -8.535463808],
    ),
    (optim.Rprop, {"lr": 0.1}, [0.25584, -1.25584, 2.25584]),
    (optim.ASGD, {"lr": 0.1, "t0": 2, "lambd": 0.1}, [-1.951621833, -0.451727574, 2.12924844]),
]
NAMES = [f"{rule[0].__name__}-{i}" for i, rule in enumerate(RULES)]
every_rule = pytest.mark.parametrize("cls, options, expected", RULES, ids=NAMES)


def test_every_rule_is_tested():
    rules = {cls for cls in vars(optim).values() if isinstance(cls, type)}
    rules = {cls for cls in rules if issubclass(cls, RuleOptimizer)}
    assert rules == {cls for cls, _, _ in RULES}


TOLERANCES = {"float16": 3e-3, "bfloat16": 3e-2, "float32": 2e-6, "float64": 1e-8}


@every_rule
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_a_rule_gives_the_numbers_of_pytorch(cls, options, expected, dtype):
    p = parameter(1.0, -2.0, 3.0, dtype=getattr(facula, dtype))
    run(cls, options, [p])
    np.testing.assert_allclose(p.tolist(), expected, rtol=TOLERANCES[dtype])


@every_rule
def test_long_parameters_are_stepped_as_short_ones(cls, options, expected):
    p = facula.tensor([[1.0, -2.0, 3.0]]).repeat(40000, 1).requires_grad_()
    run(cls, options, [p])
    np.testing.assert_allclose(p.tolist()[::399], [expected] * 101, rtol=2e-6)


@every_rule
def test_any_layout_of_parameter_gradient_and_state_is_stepped(cls, options, expected):
    rows = facula.tensor([1.0, -2.0, 3.0]).repeat(4, 1)
    layouts = [
        rows.t().contiguous().t(),
        facula.cat([rows, rows], 1)[:, :3],
        facula.stack([rows, rows], 2)[:, :, 1],
    ]
    for p in layouts:
        p = p.detach().requires_grad_()
        optimizer = cls([p], **options)
        for step in range(1, 6):
            p.grad = (facula.tensor([2.0, -1.0, 0.5]) * step).expand(4, 3)
            optimizer.step()
            for state in optimizer.state[p].values():
                if state.dim() == 2:
                    state.set_(state.t().contiguous().t())
        np.testing.assert_allclose(p.tolist(), [expected] * 4, rtol=2e-6)


@every_rule
def test_a_complex_parameter_is_a_pair_of_real_ones(cls, options, expected):
    p = parameter(1 + 1j, -2 - 2j, 3 + 3j, dtype=facula.complex64)
    optimizer = cls([p], **options)
    for step in range(1, 6):
        p.grad = facula.tensor([2 + 2j, -1 - 1j, 0.5 + 0.5j]) * step
        optimizer.step()
    np.testing.assert_allclose(p.real.tolist(), expected, rtol=2e-6)
    np.testing.assert_allclose(p.imag.tolist(), expected, rtol=2e-6)


@every_rule
def test_a_differentiable_step_gives_the_same_numbers(cls, options, expected):
    leaf = parameter(1.0, -2.0, 3.0, dtype=facula.float64)
    p = leaf.clone()
    run(cls, {**options, "differentiable": True}, [p])
    np.testing.assert_allclose(p.tolist(), expected, rtol=1e-8)
    p.sum().backward()
    assert leaf.grad.isfinite().all() and (leaf.grad != 0).all()


@every_rule
def test_gradients_flow_through_a_differentiable_step(cls, options, expected):
    rate = options["lr"]
    has_rate = cls not in (optim.Rprop, optim.ASGD)  # whose rates are states, without a history

    def stepped(lr, start, slope):
        p = start.clone()
        if not has_rate:
            lr = rate
        optimizer = cls([p], **{**options, "lr": lr}, differentiable=True)
        for factor in (1.0, 0.5):
            p.grad = slope * factor + start
            optimizer.step()
        return p

    start = parameter(1.0, -2.0, 3.0, dtype=facula.float64)
    lr = facula.tensor(rate, dtype=facula.float64, requires_grad=has_rate)
    slope = parameter(2.0, -1.0, 0.5, dtype=facula.float64)
    assert facula.autograd.gradcheck(stepped, (lr, start, slope))


def test_gradients_flow_to_betas_and_weight_decay():
    def stepped(beta1, beta2, weight_decay):
        p = facula.tensor([1.0, -2.0], dtype=facula.float64)
        p.grad = facula.tensor([0.5, 0.25], dtype=facula.float64)
        optimizer = optim.Adam([p], 0.1, differentiable=True)
        optimizer.param_groups[0].update(betas=(beta1, beta2), weight_decay=weight_decay)
        optimizer.step()
        return p

    numbers = [facula.tensor(x, dtype=facula.float64, requires_grad=True) for x in (0.8, 0.9, 0.1)]
    assert facula.autograd.gradcheck(stepped, numbers)


@every_rule
def test_a_rule_gives_its_numbers_on_every_device(cls, options, expected, device):
    p = facula.tensor([1.0, -2.0, 3.0]).to(device).requires_grad_()
    optimizer = cls([p], **options)
    for step in range(1, 6):
        p.grad = (facula.tensor([2.0, -1.0, 0.5]) * step).to(device)
        optimizer.step()
    np.testing.assert_allclose(p.tolist(), expected, rtol=5e-6)


@every_rule
def test_parameters_without_elements_are_stepped(cls, options, expected):
    empty, p = facula.ones(0, 3, requires_grad=True), parameter(1.0, -2.0, 3.0)
    optimizer = cls([empty, p], **options)
    for step in range(1, 6):
        empty.grad = facula.ones(0, 3)
        p.grad = facula.tensor([2.0, -1.0, 0.5]) * step
        optimizer.step()
    np.testing.assert_allclose(p.tolist(), expected, rtol=2e-6)


@every_rule
def test_results_do_not_depend_on_the_number_of_threads(cls, options, expected):
    results = []
    before = facula.get_num_threads()
    for n_threads in (1, 2, 8):
        facula.set_num_threads(n_threads)
        facula.manual_seed(0)
        params = [facula.randn(n).requires_grad_() for n in (50000, 7, 100001)]
        optimizer = cls(params, **options)
        for p in params:
            p.grad = facula.randn(p.shape)
        optimizer.step()
        results.append(params)
    facula.set_num_threads(before)
    for a, b, c in zip(*results, strict=True):
        assert facula.equal(a, b) and facula.equal(a, c)


def test_groups_have_options_of_their_own_which_may_change():
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.25)
    a.grad = b.grad = facula.ones(1)
    optimizer.step()
    assert (a.item(), b.item()) == (0.75, 0.5)
    optimizer.param_groups[0]["lr"] = facula.tensor(0.5)
    optimizer.param_groups[1]["lr"] = 0.25
    optimizer.step()
    assert (a.item(), b.item()) == (0.25, 0.25)


def test_parameters_without_gradient_are_left_alone():
    a, b = parameter(1.0), parameter(1.0)
    optimizer = optim.Adam([a, b])
    b.grad = facula.ones(1)
    optimizer.step()
    assert a.item() == 1.0 and list(optimizer.state) == [b]


def test_a_parameter_listed_twice_is_stepped_twice():
    p = parameter(*[1.0] * 100000)
    p.grad = facula.ones(100000)
    with pytest.warns(UserWarning, match="SGD: a parameter is listed twice"):
        optimizer = optim.SGD([p, p], lr=0.25)
    optimizer.step()
    assert set(p.tolist()) == {0.5}


def test_parameters_that_share_memory_are_stepped_in_their_order():
    memory = facula.ones(100001)
    a, b = (memory[i : i + 100000].detach().requires_grad_() for i in (0, 1))
    a.grad = b.grad = facula.ones(100000)
    optim.SGD([a, b], lr=0.25).step()
    assert memory[0].item() == memory[-1].item() == 0.75
    assert set(memory[1:-1].tolist()) == {0.5}


def test_gradients_may_lie_in_the_memory_of_parameters():
    memory = facula.ones(100001)
    p = memory[:-1].detach().requires_grad_()
    p.grad = memory[1:].detach()
    q = facula.ones(100000, requires_grad=True)
    q.grad = memory[1:].detach()
    optim.SGD([p, q], lr=0.25).step()
    assert set(p.tolist()) == {0.75}
    assert set(q[:-1].tolist()) == {0.8125} and q[-1].item() == 0.75


def test_a_step_counts_as_a_write():
    p = parameter(1.0, 2.0)
    y = (p * p).sum()
    p.grad = facula.ones(2)
    optim.SGD([p]).step()
    with pytest.raises(RuntimeError, match="overwritten in-place"):
        y.backward()


def test_the_closure_is_called_with_gradients_on_and_its_result_returned():
    p = parameter(1.0)
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with facula.no_grad():
        assert optimizer.step(closure).item() == 1.0
    assert p.item() == 0.5


def broken_gradient(p):
    # Assigning it is refused; changing it in place is not.
    p.grad = facula.ones_like(p)
    p.grad.resize_(5)


def test_a_step_that_fails_changes_nothing():
    a, b = parameter(1.0, 2.0), parameter(3.0, 4.0)
    a.grad = facula.ones(2)
    broken_gradient(b)
    optimizer = optim.Adam([a, b])
    message = (
        r"Adam: parameter 1 of group 0 is float32 \(2,\) on cpu, but its gradient is float32 \(5,\)"
    )
    with pytest.raises(RuntimeError, match=message):
        optimizer.step()
    assert a.tolist() == [1.0, 2.0] and not optimizer.state
    b.grad = facula.ones(2)
    optimizer.step()
    broken_gradient(b)
    before = [a.tolist(), optimizer.state[a]["step"].item(), optimizer.state[a]["exp_avg"].tolist()]
    with pytest.raises(RuntimeError, match=message):
        optimizer.step()
    state = optimizer.state[a]
    assert [a.tolist(), state["step"].item(), state["exp_avg"].tolist()] == before


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda s: s.pop("exp_avg"), KeyError, "parameter 0 of group 0 has no 'exp_avg'"),
        (lambda s: s.update(exp_avg=1.0), TypeError, "Adam: expected a tensor as state 'exp_avg'"),
        (lambda s: s.update(step=facula.ones(2)), RuntimeError, "a count of steps that is float32"),
        (
            lambda s: s.update(exp_avg=facula.ones(3)),
            RuntimeError,
            r"its state is float32 \(3,\) on cpu. Was the state of another optimiser loaded\?",
        ),
    ],
)
def test_a_state_that_does_not_fit_is_named(change, error, message):
    p = parameter(1.0, 2.0)
    p.grad = facula.ones(2)
    optimizer = optim.Adam([p])
    optimizer.step()
    before = p.tolist()
    change(optimizer.state[p])
    with pytest.raises(error, match=message):
        optimizer.step()
    assert p.tolist() == before


def test_integer_parameters_are_refused_at_the_step():
    p = facula.ones(2, dtype=facula.int64)
    p.grad = facula.ones(2, dtype=facula.int64)
    with pytest.raises(RuntimeError, match="SGD: parameter 0 of group 0 is int64"):
        optim.SGD([p]).step()


def test_an_option_that_is_no_number_is_named():
    p = parameter(1.0)
    p.grad = facula.ones(1)
    with pytest.raises(TypeError, match="SGD: expected a number or a tensor for momentum, got str"):
        optim.SGD([{"params": [p], "momentum": "much"}]).step()
    with pytest.raises(TypeError, match="Adam: expected two numbers for betas, got float"):
        optim.Adam([{"params": [p], "betas": 0.5}]).step()


@pytest.mark.parametrize("name", ["ASGD", "Adadelta", "Adam", "AdamW", "RMSprop", "Rprop"])
def test_capturable_is_refused_on_the_cpu(name):
    x = facula.ones(2, requires_grad=True)
    optimizer = getattr(optim, name)([x], capturable=True)
    optimizer.step()  # without gradients there is nothing to do
    x.grad = facula.ones(2)
    message = rf"^{name}: capturable=True is for parameters on CUDA, got one on cpu\."
    with pytest.raises(AssertionError, match=message):
        optimizer.step()
    assert x.tolist() == [1, 1]


def test_a_group_without_an_option_is_refused():
    x = facula.ones(2, requires_grad=True)
    x.grad = facula.ones(2)
    optimizer = optim.SGD([x], momentum=0.9)
    del optimizer.param_groups[0]["momentum"]
    with pytest.raises(KeyError, match="SGD: a parameter group has no 'momentum'"):
        optimizer.step()
