import pytest

import facula
from facula import nn
from facula.nn.utils._per_sample_grad import call_for_per_sample_grads


def network():
    facula.manual_seed(0)
    layers = nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(36, 3)
    return nn.Sequential(*layers)


def assert_are_those_of_single_samples(net, x, y, reduction):
    loss_of = nn.CrossEntropyLoss(reduction=reduction)
    loss_of(call_for_per_sample_grads(net, loss_reduction=reduction)(x), y).backward()
    for i in range(len(x)):
        parameters = list(net.parameters())
        alone = facula.autograd.grad(loss_of(net(x[i : i + 1]), y[i : i + 1]), parameters)
        for parameter, grad in zip(parameters, alone, strict=True):
            assert facula.allclose(parameter.grad_sample[i], grad, atol=1e-6)
            assert parameter.grad is None


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_each_sample_has_the_gradient_that_it_has_alone(reduction):
    x, y = facula.randn(5, 2, 5, 5), facula.tensor([0, 1, 2, 0, 1])
    assert_are_those_of_single_samples(network(), x, y, reduction)


def test_samples_may_lie_along_the_second_dimension():
    layer = nn.Linear(3, 2, bias=False)
    x = facula.randn(4, 5, 3)
    y = call_for_per_sample_grads(layer, batch_first=False)(x)
    y.sum().backward()
    assert y.shape == (4, 5, 2)
    assert facula.allclose(layer.weight.grad_sample[:, 0], x.sum(0))


def test_frozen_parameters_get_nothing():
    layer = nn.Linear(3, 2)
    layer.bias.requires_grad_(False)
    call_for_per_sample_grads(layer)(facula.ones(4, 3)).sum().backward()
    assert not hasattr(layer.bias, "grad_sample")
    assert layer.weight.grad_sample.shape == (4, 2, 3)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"loss_reduction": "max"}, "expected loss_reduction 'sum' or 'mean', got max"),
        ({"batch_size": 0}, "expected a positive batch_size, got 0"),
        ({"batch_size": 2.0}, "expected None or an int as batch_size, got float"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(RuntimeError, match=message):
        call_for_per_sample_grads(nn.Linear(2, 2), **options)


def test_wrong_arguments_are_refused():
    with pytest.raises(RuntimeError, match="expected a Module, got function"):
        call_for_per_sample_grads(lambda x: x)
    call = call_for_per_sample_grads(nn.Bilinear(2, 2, 2))
    with pytest.raises(RuntimeError, match=r"the arguments have \[2, 3\] samples"):
        call(facula.ones(2, 2), facula.ones(3, 2))
    with pytest.raises(RuntimeError, match="there is no tensor among the arguments"):
        call(1, 2)


def test_gradients_that_are_there_are_not_added_to():
    layer = nn.Linear(2, 2)
    call = call_for_per_sample_grads(layer)
    call(facula.ones(3, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="the parameter weight has a grad_sample already"):
        call(facula.ones(3, 2))
