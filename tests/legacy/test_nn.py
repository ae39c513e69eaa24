"""torch.legacy.nn: outputs, gradients of inputs, and sums of gradients of parameters."""

import copy

import pytest

import facula
from facula import autograd
from facula.legacy import nn
from facula.nn import functional as F

pytestmark = pytest.mark.promise("A9")

IMAGE = (2, 3, 6, 6)
MODULES = {
    "Linear": (lambda: nn.Linear(4, 3), (5, 4)),
    "Linear without bias": (lambda: nn.Linear(4, 3, bias=False), (5, 4)),
    "SpatialConvolution": (lambda: nn.SpatialConvolution(3, 2, 3, 3, 2, 1, 1), IMAGE),
    "SpatialFullConvolution": (lambda: nn.SpatialFullConvolution(3, 2, 3, 3, 2, 2), IMAGE),
    "BatchNormalization": (lambda: nn.BatchNormalization(4), (5, 4)),
    "SpatialBatchNormalization": (lambda: nn.SpatialBatchNormalization(3), IMAGE),
    "SpatialMaxPooling": (lambda: nn.SpatialMaxPooling(2, 2).ceil(), IMAGE),
    "SpatialAveragePooling": (lambda: nn.SpatialAveragePooling(2, 2, 2, 2), IMAGE),
    "SpatialUpSamplingNearest": (lambda: nn.SpatialUpSamplingNearest(2), IMAGE),
    "SpatialZeroPadding": (lambda: nn.SpatialZeroPadding(1, 2, 0, 1), IMAGE),
    "PReLU": (lambda: nn.PReLU(), (5, 4)),
    "Add": (lambda: nn.Add(4), (5, 4)),
    "Mul": (lambda: nn.Mul(), (5, 4)),
    "CMul": (lambda: nn.CMul(4), (5, 4)),
    "Reshape": (lambda: nn.Reshape(2, 2), (5, 4)),
    "View": (lambda: nn.View(-1, 2), (5, 4)),
    "Transpose": (lambda: nn.Transpose((0, 1)), (5, 4)),
    "Select": (lambda: nn.Select(1, 2), (5, 4)),
    "Narrow": (lambda: nn.Narrow(1, 1, 2), (5, 4)),
    "Squeeze": (lambda: nn.Squeeze(), (5, 1)),
    "Unsqueeze": (lambda: nn.Unsqueeze(1), (5, 4)),
    "HardTanh": (lambda: nn.HardTanh(-0.5, 0.5), (5, 4)),
    "Clamp": (lambda: nn.Clamp(-0.5, 0.5), (5, 4)),
    "Power": (lambda: nn.Power(3), (5, 4)),
    "MulConstant": (lambda: nn.MulConstant(2), (5, 4)),
    "AddConstant": (lambda: nn.AddConstant(2), (5, 4)),
    "Max": (lambda: nn.Max(1), (5, 4)),
    "Min": (lambda: nn.Min(1), (5, 4)),
    **{
        name: (getattr(nn, name), (5, 4))
        for name in [
            "Identity",
            "ReLU",
            "ReLU6",
            "Tanh",
            "Sigmoid",
            "LogSigmoid",
            "SoftMax",
            "SoftMin",
            "LogSoftMax",
            "SoftPlus",
            "SoftSign",
            "ELU",
            "LeakyReLU",
            "Abs",
            "Square",
            "Exp",
            "Sum",
            "Mean",
            "Normalize",
        ]
    },
}


def numeric_gradient(function, x, grad, eps=1e-5):
    """The gradient of ``(function(x) * grad).sum()`` by differences."""
    result = facula.zeros_like(x)
    for i in range(x.numel()):
        sides = []
        for sign in (eps, -eps):
            before = x.view(-1)[i].item()
            x.view(-1)[i] += sign
            sides.append((function() * grad).sum().item())
            x.view(-1)[i] = before
        result.view(-1)[i] = (sides[0] - sides[1]) / (2 * eps)
    return result


@pytest.mark.parametrize("name", MODULES)
def test_gradients_agree_with_differences(name):
    make, shape = MODULES[name]
    module, x = make().double(), facula.randn(shape, dtype=facula.float64)
    y = module.forward(x)
    assert not y.requires_grad
    grad = facula.randn(y.shape, dtype=y.dtype)
    module.zeroGradParameters()
    module.backward(x, grad)
    module.backward(x, grad, 0.5)
    params, sums = module.parameters()
    gradient, sums = module.gradInput.clone(), [g.clone() for g in sums]
    run = lambda: module.clone().forward(x)  # noqa: E731
    expected = numeric_gradient(run, x, grad)
    facula.testing.assert_close(gradient, expected, atol=1e-6, rtol=1e-5)
    for param, sum_ in zip(params, sums, strict=True):
        expected = 1.5 * numeric_gradient(run, param, grad)
        facula.testing.assert_close(sum_, expected, atol=1e-6, rtol=1e-5)


def test_containers_and_tables():
    a, b = facula.tensor([1.0, 2.0]), facula.tensor([3.0, 5.0])
    results = {
        nn.CAddTable(): [4, 7],
        nn.CSubTable(): [-2, -3],
        nn.CMulTable(): [3, 10],
        nn.CDivTable(): [1 / 3, 0.4],
        nn.CMaxTable(): [3, 5],
        nn.CMinTable(): [1, 2],
        nn.JoinTable(0): [1, 2, 3, 5],
        nn.SelectTable(1): [3, 5],
        nn.DotProduct(): 13,
    }
    for module, expected in results.items():
        facula.testing.assert_close(module.forward([a, b]), facula.tensor(expected) * 1.0)
        grads = module.backward([a, b], facula.ones_like(module.output))
        assert [g.shape for g in grads] == [(2,), (2,)]
    assert nn.FlattenTable().forward([a, [b, [a]]])[2] is not None
    assert len(nn.SplitTable(0).forward(facula.ones(3, 2))) == 3
    assert nn.MM(transB=True).forward([facula.ones(2, 3), facula.ones(4, 3)]).shape == (2, 4)
    both = nn.ConcatTable().add(nn.Identity()).add(nn.MulConstant(3))
    assert [y.tolist() for y in both.forward(a)] == [[1, 2], [3, 6]]
    assert both.backward(a, [facula.ones(2), facula.ones(2)]).tolist() == [4, 4]


def network():
    net = nn.Sequential().add(nn.Linear(4, 8)).add(nn.Tanh()).add(nn.Linear(8, 3))
    return net.add(nn.LogSoftMax())


def test_a_network_has_the_gradients_of_autograd():
    net, x, target = network(), facula.randn(5, 4), facula.tensor([0, 1, 2, 0, 1])
    criterion = nn.ClassNLLCriterion()
    loss = criterion.forward(net.forward(x), target)
    net.zeroGradParameters()
    grad = net.backward(x, criterion.backward(net.output, target))
    leaf = x.clone().requires_grad_()
    params = [p.clone().requires_grad_() for p in net.parameters()[0]]
    hidden = F.linear(leaf, *params[:2]).tanh()
    expected = F.cross_entropy(F.linear(hidden, *params[2:]), target)
    assert type(loss) is float
    assert loss == pytest.approx(expected.item())
    grads = autograd.grad(expected, [leaf, *params])
    facula.testing.assert_close([grad, *net.parameters()[1]], list(grads))
    assert net.get(1).gradInput.shape == net.get(1).output.shape == (5, 8)


def test_dropout_obeys_training_and_evaluate():
    net, x = (
        nn.Sequential().add(nn.Dropout(0.5)).add(nn.SpatialDropout(0.5)),
        facula.ones(8, 8, 4, 4),
    )
    assert (net.forward(x) == 0).any()
    net.evaluate()
    assert facula.equal(net.forward(x), x)
    net.training()
    assert (net.forward(x) == 0).any()


def test_modules_are_copied_converted_found_and_shown():
    net = network()
    twin = net.clone()
    twin.get(0).weight.zero_()
    assert net.get(0).weight.abs().sum() > 0
    assert copy.deepcopy(net).forward(facula.ones(1, 4)).shape == (1, 3)
    assert net.double().forward(facula.ones(1, 4).double()).dtype == facula.float64
    assert net.type() == "torch.DoubleTensor"
    assert len(net.findModules(nn.Linear)[0]) == 2
    names = []
    net.apply(lambda module: names.append(type(module).__name__))
    assert names == ["Sequential", "Linear", "Tanh", "Linear", "LogSoftMax"]
    assert "nn.Linear(4 -> 8)" in repr(net)
    net.remove()
    net.insert(nn.Identity(), 0)
    assert net.size() == len(net) == 4


def test_one_vector_shares_the_memory_of_all_parameters():
    net = network()
    params, grads = net.flattenParameters()
    assert params.shape == grads.shape == (4 * 8 + 8 + 8 * 3 + 3,)
    params.zero_()
    assert net.get(0).weight.abs().sum() == 0
    net.forward(facula.ones(1, 4))
    net.backward(facula.ones(1, 4), facula.tensor([[1.0, 0.0, 0.0]]))
    assert grads.abs().sum() > 0


CRITERIONS = {
    "MSECriterion": (F.mse_loss, facula.rand(3, 2)),
    "AbsCriterion": (F.l1_loss, facula.rand(3, 2)),
    "SmoothL1Criterion": (F.smooth_l1_loss, facula.rand(3, 2)),
    "BCECriterion": (F.binary_cross_entropy, facula.rand(3, 2).round()),
    "SoftMarginCriterion": (F.soft_margin_loss, facula.ones(3, 2)),
    "HingeEmbeddingCriterion": (F.hinge_embedding_loss, facula.ones(3, 2)),
    "CrossEntropyCriterion": (F.cross_entropy, facula.tensor([0, 1, 0])),
    "MultiMarginCriterion": (F.multi_margin_loss, facula.tensor([0, 1, 0])),
}


@pytest.mark.parametrize("averages", [True, False])
@pytest.mark.parametrize("name", CRITERIONS)
def test_criterions_are_the_losses_of_today(name, averages):
    function, target = CRITERIONS[name]
    x = facula.rand(3, 2).requires_grad_()
    criterion = getattr(nn, name)(sizeAverage=averages)
    expected = function(x, target, reduction="mean" if averages else "sum")
    assert criterion.forward(x.detach(), target) == pytest.approx(expected.item())
    facula.testing.assert_close(
        criterion.backward(x.detach(), target), autograd.grad(expected, x)[0]
    )


def test_sums_of_criterions():
    x, y = facula.rand(3, 2), facula.rand(3, 2)
    both = nn.MultiCriterion().add(nn.MSECriterion(), 2).add(nn.AbsCriterion())
    expected = 2 * F.mse_loss(x, y) + F.l1_loss(x, y)
    assert both.forward(x, y) == pytest.approx(expected.item())
    assert both.backward(x, y).shape == x.shape
    pair = nn.ParallelCriterion().add(nn.MSECriterion()).add(nn.L1Cost(), 0.5)
    assert pair.forward([x, y], [y, None]) == pytest.approx(
        (F.mse_loss(x, y) + 0.5 * y.abs().sum()).item()
    )
    assert len(pair.backward([x, y], [y, None])) == 2


def test_constructors_refuse_other_arguments():
    with pytest.raises(TypeError, match="Power: the argument pow is missing"):
        nn.Power()
    with pytest.raises(TypeError, match=r"Select: expected the arguments \(dimension, index\)"):
        nn.Select(1, 2, 3)
    with pytest.raises(NotImplementedError):
        nn.Criterion().forward(1, 2)


@pytest.mark.parametrize("averages", [True, False])
def test_the_divergence_is_averaged_over_all_elements(averages):
    x, y = facula.rand(3, 2).log(), facula.rand(3, 2)
    total = (y * (y.log() - x)).sum().item()
    loss = nn.DistKLDivCriterion(averages).forward(x, y)
    assert loss == pytest.approx(total / (6 if averages else 1))
