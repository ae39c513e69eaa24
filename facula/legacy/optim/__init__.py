"""Optimisers as functions: ``x, fx = sgd(opfunc, x, config, state)``, as Lua's Torch has them.

``opfunc(x)`` returns the loss and its gradient at x, which is changed in place. ``config`` has the
options by their names in Lua (``learningRate``, ``weightDecay``); ``state`` keeps what the next
call needs, and is ``config`` by default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import Tensor
from facula import optim as today

__all__ = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "asgd",
    "lbfgs",
    "nag",
    "rmsprop",
    "rprop",
    "sgd",
]

_Loss = Callable[[Tensor], tuple[Any, Tensor]]
_Options = dict[str, Any]


def _step(
    kind: Callable[..., Any],
    opfunc: _Loss,
    x: Tensor,
    config: _Options | None,
    state: _Options | None,
    names: dict[str, str],
    **fixed: Any,
) -> tuple[Tensor, Any]:
    """One step of an optimiser of today, which ``state`` keeps; ``names`` are its options'."""
    config = {} if config is None else config
    state = config if state is None else state
    options = {new: config[old] for old, new in names.items() if old in config}
    if "beta1" in config or "beta2" in config:
        options["betas"] = config.get("beta1", 0.9), config.get("beta2", 0.999)
    options.update(fixed)
    param, optimizer = state.get("optimizer", (None, None))
    if param is None or param.data_ptr() != x.data_ptr():
        param = x.detach()
        optimizer = kind([param], **options)
        state["optimizer"] = param, optimizer
    for group in optimizer.param_groups:
        group.update(options)
    fx, grad = opfunc(x)
    param.grad = grad.detach().clone()
    optimizer.step()
    state["evalCounter"] = state.get("evalCounter", 0) + 1
    return x, fx


_COMMON = {"learningRate": "lr", "weightDecay": "weight_decay"}


def _decayed(config: _Options | None, state: _Options | None, rate: float) -> float:
    """The rate after the steps that were made."""
    config = config or {}
    n_steps = (config if state is None else state).get("evalCounter", 0)
    start, decay = config.get("learningRate", rate), config.get("learningRateDecay", 0)
    return float(start / (1 + n_steps * decay))


def sgd(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Stochastic gradient descent, with momentum and a rate that decays."""
    names = {
        "momentum": "momentum",
        "dampening": "dampening",
        "nesterov": "nesterov",
        "weightDecay": "weight_decay",
    }
    given = config or {}
    # In Lua the dampening is the momentum, unless it is given.
    dampening = given.get("dampening", 0 if given.get("nesterov") else given.get("momentum", 0))
    rate = _decayed(config, state, 1e-3)
    return _step(today.SGD, opfunc, x, config, state, names, lr=rate, dampening=dampening)


def nag(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Nesterov's accelerated gradient."""
    names = {"weightDecay": "weight_decay"}
    momentum = (config or {}).get("momentum", 0.9)
    rate = _decayed(config, state, 1e-3)
    return _step(
        today.SGD, opfunc, x, config, state, names, lr=rate, momentum=momentum, nesterov=True
    )


def adam(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Adam."""
    names = {"weightDecay": "weight_decay", "epsilon": "eps"}
    rate = _decayed(config, state, 1e-3)
    return _step(today.Adam, opfunc, x, config, state, names, lr=rate)


def adamax(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Adamax."""
    return _step(today.Adamax, opfunc, x, config, state, {**_COMMON, "epsilon": "eps"})


def adagrad(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Adagrad."""
    names = {**_COMMON, "learningRateDecay": "lr_decay"}
    return _step(today.Adagrad, opfunc, x, config, state, names)


def adadelta(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Adadelta."""
    names = {"rho": "rho", "eps": "eps", "weightDecay": "weight_decay"}
    return _step(today.Adadelta, opfunc, x, config, state, names, lr=1.0)


def rmsprop(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """RMSprop."""
    return _step(
        today.RMSprop, opfunc, x, config, state, {**_COMMON, "alpha": "alpha", "epsilon": "eps"}
    )


def rprop(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Rprop."""
    return _step(today.Rprop, opfunc, x, config, state, {"stepsize": "lr"})


def asgd(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """Averaged stochastic gradient descent."""
    names = {"eta0": "lr", "lambda": "lambd", "alpha": "alpha", "t0": "t0"}
    return _step(today.ASGD, opfunc, x, config, state, names)


def lbfgs(
    opfunc: _Loss, x: Tensor, config: _Options | None = None, state: _Options | None = None
) -> tuple[Tensor, Any]:
    """L-BFGS; the second result is the list of all losses on the way."""
    config = {} if config is None else config
    names = {
        "learningRate": "lr",
        "maxIter": "max_iter",
        "maxEval": "max_eval",
        "tolFun": "tolerance_grad",
        "tolX": "tolerance_change",
        "nCorrection": "history_size",
    }
    options = {new: config[old] for old, new in names.items() if old in config}
    param = x.detach()
    losses = []

    def closure() -> Any:
        fx, grad = opfunc(x)
        param.grad = grad.detach().clone()
        losses.append(float(fx))
        return fx

    today.LBFGS([param], **options).step(closure)
    return x, losses
