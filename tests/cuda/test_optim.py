"""A step of an optimiser on a GPU is one launch, and gives what it gives on the CPU."""

import pytest

import facula
from check_op import assert_close, to_numpy

pytestmark = [pytest.mark.cuda, pytest.mark.promise("G1")]

OPTIMISERS = {
    "SGD": [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1, "maximize": True}],
    "AdamW": [{}],
    "NAdam": [{}],
    "RAdam": [{"lr": 0.01}],
    "Adamax": [{}],
    "Adagrad": [{"lr_decay": 0.1}],
    "Adadelta": [{}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}],
    "Rprop": [{}],
    "ASGD": [{}],
}
CASES = [(name, options) for name, all_of in OPTIMISERS.items() for options in all_of]


def step(name, options, device, dtype, n_steps=7):
    """Parameters of several shapes and orders of memory, after a few steps."""
    shapes = [(3,), (1000, 5), (), (2, 3, 4, 5), (0, 2)]
    parameters, gradients = [], []
    for i, shape in enumerate(shapes):
        facula.manual_seed(i)
        p = facula.randn(shape, dtype=facula.float64)
        if len(shape) == 4:
            p = p.contiguous(memory_format=facula.channels_last)
        parameters.append(p.to(device, dtype).requires_grad_())
        gradients.append(facula.randn(shape, dtype=facula.float64))
    optimizer = getattr(facula.optim, name)(parameters, **options)
    for i in range(n_steps):
        for p, g in zip(parameters, gradients, strict=True):
            p.grad = (g * (1 - 0.5 * i)).to(device, dtype)
        optimizer.step()
    return parameters


@pytest.mark.parametrize("name, options", CASES)
@pytest.mark.parametrize("dtype", [facula.float32, facula.float64, facula.bfloat16], ids=str)
def test_steps_agree_with_the_cpu(name, options, dtype):
    actual, expected = (step(name, options, device, dtype) for device in ("cuda", "cpu"))
    for a, e in zip(actual, expected, strict=True):
        assert a.stride() == e.stride()
        assert_close(a.detach(), to_numpy(e))


def test_parameters_that_share_memory_are_updated_one_after_the_other():
    def run(device):
        base = facula.ones(4, device=device)
        parameters = [base[:2].detach().requires_grad_(), base[:2].detach().requires_grad_()]
        for p in parameters:
            p.grad = facula.ones(2, device=device)
        facula.optim.SGD(parameters, lr=0.25).step()
        return base.tolist()

    assert run("cuda") == run("cpu") == [0.5, 0.5, 1.0, 1.0]


def test_a_parameter_on_each_device():
    a = facula.ones(2, requires_grad=True)
    b = facula.ones(2, device="cuda", requires_grad=True)
    optimizer = facula.optim.Adam([a, b], lr=0.1)
    for p in (a, b):
        p.grad = facula.ones_like(p)
    optimizer.step()
    assert a.tolist() == pytest.approx(b.tolist())


def test_gradients_are_clipped():
    p = facula.ones(3, device="cuda", requires_grad=True)
    p.grad = facula.full((3,), 10.0, device="cuda")
    total = facula.nn.utils.clip_grad_norm_([p], 1.0)
    assert total.item() == pytest.approx(300**0.5)
    assert p.grad.norm().item() == pytest.approx(1.0, rel=1e-4)
