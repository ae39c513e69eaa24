"""``GradScaler``: keeps gradients of 16 bits from vanishing by scaling the loss."""

from __future__ import annotations

import inspect
import math
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

from facula import _core, cuda
from facula._core import Tensor
from facula._warnings import warn_user
from facula.autograd.grad_mode import no_grad

if TYPE_CHECKING:
    from facula.optim import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimiser has come since the last ``GradScaler.update()``."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


# At the top level for pickle.
def _ready() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales the loss, so that small gradients do not become zero in 16 bits.

    ``scale`` multiplies the loss; ``step`` divides the gradients again and leaves the step out if
    one of them is infinite or NaN; ``update`` then makes the scale smaller, or larger after
    ``growth_interval`` steps without such gradients.

    Args:
        device: the kind of device that the training runs on, ``"cpu"`` or ``"cuda"``.
        init_scale: the scale at the beginning.
        growth_factor: what the scale is multiplied by to make it larger; more than 1.
        backoff_factor: what the scale is multiplied by to make it smaller; less than 1.
        growth_interval: how many steps in a row must have finite gradients before the scale grows.
        enabled: whether anything is scaled; False makes ``step`` that of the optimiser and the
            other methods do nothing.

    Example:
        >>> model = facula.nn.Linear(2, 1)
        >>> optimizer = facula.optim.SGD(model.parameters(), lr=0.1)
        >>> scaler = facula.amp.GradScaler("cpu", init_scale=1024.0)
        >>> with facula.autocast("cpu", dtype=facula.float16):
        ...     loss = model(facula.ones(4, 2)).square().mean()
        >>> scaler.scale(loss).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> scaler.get_scale()
        1024.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not cuda.is_available():
            warn_user(
                "GradScaler: enabled for 'cuda', but CUDA is not available. Disabling.",
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(
                f"GradScaler: the growth factor must be > 1.0, got growth_factor={growth_factor}."
            )
        if backoff_factor >= 1.0:
            raise AssertionError(
                f"GradScaler: the backoff factor must be < 1.0, got "
                f"backoff_factor={backoff_factor}."
            )
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        # The tensors are made by the first scale(), on the device of what it scales.
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        self._scale: Tensor | None = None
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(_ready)

    def scale(self, outputs: Any) -> Any:
        """Multiply a tensor, or all tensors of an iterable, by the scale.

        Args:
            outputs: the loss; or several tensors, in lists or tuples, which stay what they are.
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                device = outputs.device
                self._scale = _core.full((), self._init_scale, dtype=_core.float32, device=device)
                self._growth_tracker = _core.full(
                    (), self._init_growth_tracker, dtype=_core.int32, device=device
                )
            return outputs * self._scale.to(outputs.device, non_blocking=True)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        if isinstance(outputs, Iterable):
            return map(self.scale, outputs)
        raise ValueError(
            "GradScaler.scale: outputs must be a Tensor or an iterable of Tensors, got "
            f"{type(outputs).__name__}."
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimiser by the scale, for example to clip them before step.

        Args:
            optimizer: the optimiser whose parameters' gradients are divided.
        """
        if not self._enabled:
            return
        scale, _ = self._tensors("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "GradScaler: unscale_() has already been called on this optimizer since the last "
                "update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("GradScaler: unscale_() is being called after step().")
        # In float64, so that the inverse of a power of two that float32 has is exact.
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, False)
        state["stage"] = OptState.UNSCALED

    @no_grad()
    def _unscale_grads_(
        self, optimizer: Optimizer, inverse: Tensor | None, allow_fp16: bool
    ) -> dict[_core.device, Tensor]:
        """Divide the gradients, and say for each device whether one of them was not finite."""
        largest: dict[_core.device, list[Tensor]] = defaultdict(list)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype == _core.float16 and not allow_fp16:
                    raise ValueError(
                        "GradScaler: Attempting to unscale FP16 gradients. Keep the parameters in "
                        "float32, and let autocast make those of 16 bits."
                    )
                # Infinite or NaN where any element is; one pass, and no memory.
                largest[grad.device].append(_core._linalg_vector_norm(grad, math.inf).float())
                if inverse is not None:
                    grad.mul_(inverse.to(grad.device, non_blocking=True))
        return {
            device: _core.stack(norms).isfinite().logical_not().any().float()
            for device, norms in largest.items()
        }

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Let the optimiser make a step, unless a gradient is infinite or NaN.

        Args:
            optimizer: the optimiser; its gradients are divided first if ``unscale_`` did not.
            args: arguments of ``optimizer.step``.
            kwargs: arguments by name of ``optimizer.step``.

        Returns:
            what ``optimizer.step`` returns; None where the step is left out.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError(
                "GradScaler: Closure use is not currently supported if GradScaler is enabled."
            )
        self._tensors("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError(
                "GradScaler: step() has already been called since the last update()."
            )
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling_optimizer(optimizer, state, args, kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        found = state["found_inf_per_device"].values()
        if not found:
            raise AssertionError(
                "GradScaler: No inf checks were recorded for this optimizer: none of its "
                "parameters has a gradient. Was backward() called?"
            )
        is_finite = not sum(flag.item() for flag in found)
        result = optimizer.step(*args, **kwargs) if is_finite else None
        state["stage"] = OptState.STEPPED
        return result

    def _step_of_scaling_optimizer(
        self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """An optimiser that divides by itself gets ``grad_scale`` and ``found_inf`` to do it."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warn_user(
                "GradScaler: passing itself to step(grad_scaler=) is deprecated. The optimizer "
                "has the attributes grad_scale and found_inf during the step.",
                FutureWarning,
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale, _ = self._tensors("step")
        found = [flag.to(scale.device) for flag in state["found_inf_per_device"].values()]
        before = getattr(optimizer, "grad_scale", None)
        is_unscaled = state["stage"] is OptState.UNSCALED
        optimizer.grad_scale = before if is_unscaled else scale * (1 if before is None else before)
        optimizer.found_inf = _core.stack(found).sum()
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Change the scale by what the gradients were; to be called once after all steps.

        Args:
            new_scale: the scale to set, a float or a tensor of one element; None to let it shrink
                or grow.
        """
        if not self._enabled:
            return
        scale, tracker = self._tensors("update")
        if isinstance(new_scale, Tensor):
            if (
                new_scale.device.type != self._device
                or new_scale.numel() != 1
                or new_scale.requires_grad
            ):
                raise AssertionError(
                    "GradScaler.update: new_scale should be a float or a 1-element tensor on "
                    f"{self._device} with requires_grad=False."
                )
            scale.copy_(new_scale.reshape(()))
        elif new_scale is not None:
            scale.fill_(new_scale)
        else:
            self._grow_or_shrink(scale, tracker)
        self._per_optimizer_states = defaultdict(_ready)

    def _grow_or_shrink(self, scale: Tensor, tracker: Tensor) -> None:
        found = [
            flag.to(scale.device, non_blocking=True)
            for state in self._per_optimizer_states.values()
            for flag in state["found_inf_per_device"].values()
        ]
        if not found:
            raise AssertionError(
                "GradScaler: No inf checks were recorded prior to update. Call step() first."
            )
        # Without a question to the device, which would have to be waited for.
        is_bad = _core.stack(found).sum() > 0
        n_good = tracker + 1
        is_due = n_good == self._growth_interval
        grown = (scale.double() * self._growth_factor).float()
        shrunk = (scale.double() * self._backoff_factor).float()
        kept = _core.where(is_due & grown.isfinite(), grown, scale)
        scale.copy_(_core.where(is_bad, shrunk, kept))
        tracker.copy_(n_good.masked_fill(is_bad | is_due, 0))

    def _tensors(self, method: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"GradScaler: Attempted {method} but _scale is None. Was scale(loss) not called "
                "before?"
            )
        return self._scale, self._growth_tracker

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[_core.device, Tensor]:
        state = self._per_optimizer_states[id(optimizer)]
        found = self._unscale_grads_(optimizer, None, True)
        state["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Optimizer) -> dict[_core.device, Tensor]:
        found: dict[_core.device, Tensor] = self._per_optimizer_states[id(optimizer)][
            "found_inf_per_device"
        ]
        return found

    def get_scale(self) -> float:
        """The scale; 1.0 if nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale)

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by to make it larger."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by to make it larger."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by to make it smaller."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by to make it smaller."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps in a row must have finite gradients before the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many steps in a row must have finite gradients before the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker)

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state, to be saved after ``update``; empty if nothing is scaled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Set the state.

        Args:
            state_dict: what :meth:`state_dict` returned.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler: The source state dict is empty, possibly because it was saved from a "
                "disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "GradScaler: may only be pickled at the beginning of an iteration, or at the "
                    "end after scaler.update()."
                )
            # As numbers: whoever loads it may have another device.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state
