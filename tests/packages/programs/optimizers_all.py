"""Every optimiser of pytorch-optimizer and torch-optimizer, and Lion."""

import inspect

import torch
import torch_optimizer
from lion_pytorch import Lion
from pytorch_optimizer import get_supported_optimizers, load_optimizer
from torch.nn.functional import mse_loss

# Those that need second derivatives, one class more of parameters, or several processes.
APART = [
    "adago",
    "adahessian",
    "adamuon",
    "alig",
    "demo",
    "distributedmuon",
    "muon",
    "muonclip",
    "normuon",
    "sophiah",
]


def loss_after(make):
    """The loss after four steps and a copy of the state."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    x, y = torch.randn(32, 4), torch.randn(32, 1)
    optimizer = make(net.parameters())

    def closure():
        optimizer.zero_grad()
        loss = mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(closure)
    optimizer.load_state_dict(optimizer.state_dict())
    return mse_loss(net(x), y).item()


def named():
    yield "lion_pytorch", Lion
    for name, found in sorted(vars(torch_optimizer).items()):
        if inspect.isclass(found) and "lr" in inspect.signature(found).parameters:
            yield f"torch_optimizer {name}", found
    for name in sorted(set(get_supported_optimizers()) - set(APART)):
        yield name, load_optimizer(name)


for name, made in named():
    try:
        print(name, f"{loss_after(lambda p, made=made: made(p, lr=1e-2)):.5f}")
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        print(name, type(error).__name__)
