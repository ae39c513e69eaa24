"""``action.reinforce(reward)``: the stochastic functions of PyTorch 0.1 and 0.2.

A sample of a distribution whose parameters have gradients remembers them. Its backward is that of
the score function: minus the reward times the logarithm of the sample's probability.
"""

from __future__ import annotations

from typing import Any

from facula._core import Tensor
from facula._notes import note


def reinforce(self: Tensor, reward: Any) -> None:
    """Say how good a sample was, before backward.

    Args:
        reward: a number, or a tensor with one for each element.
    """
    if "_sampled" not in self.__dict__:
        raise RuntimeError(
            "reinforce: expected a sample of multinomial, bernoulli or normal, drawn with "
            "probabilities that require grad."
        )
    note(
        "reinforce is an older form. Sample from torch.distributions, and differentiate "
        "-log_prob(action) * reward."
    )
    self.__dict__["_reward"] = reward


def surrogate(sample: Tensor) -> Tensor:
    """What is differentiated for a sample that has been given its reward."""
    if "_reward" not in sample.__dict__:
        raise RuntimeError("backward: a sample needs its reward first. Call reinforce(reward).")
    from facula.distributions import Bernoulli, Normal  # large, and needed here only

    name, args, kwargs = sample.__dict__["_sampled"]
    reward = sample.__dict__["_reward"]
    value = sample.detach()
    if name == "multinomial":
        log_prob = args[0].gather(-1, value).log()
    elif name == "bernoulli":
        log_prob = Bernoulli(args[0]).log_prob(value)
    else:
        scale = args[1] if len(args) > 1 else kwargs.get("std", 1.0)
        log_prob = Normal(args[0], scale).log_prob(value)
    if isinstance(reward, Tensor):
        reward = reward.detach().reshape(log_prob.shape if reward.numel() > 1 else ())
    loss: Tensor = -(log_prob * reward).sum()
    return loss


def roots_as_they_were(
    roots: tuple[Tensor, ...], grads: tuple[Tensor | None, ...]
) -> tuple[tuple[Tensor, ...], tuple[Tensor | None, ...]]:
    """The tensors that ``autograd.backward`` starts from, and their gradients, in today's form."""
    new_roots, new_grads = [], []
    for root, grad in zip(roots, grads, strict=True):
        if "_sampled" in root.__dict__:
            root = surrogate(root)
        elif grad is not None and grad.shape != root.shape and grad.numel() == root.numel():
            grad = grad.view_as(root)
        new_roots.append(root)
        new_grads.append(grad)
    return tuple(new_roots), tuple(new_grads)
