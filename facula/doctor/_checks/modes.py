"""Training in evaluation mode, evaluation in training mode, and layers that know of neither."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, ClassVar

from facula import Tensor
from facula._transform import tensors_in
from facula._warnings import _is_between, user_frame
from facula.doctor._checks._check import Call, Check
from facula.doctor._program import ByObject, Origin, parameters_of
from facula.nn.modules.batchnorm import _BatchNorm
from facula.nn.modules.dropout import _DropoutNd
from facula.nn.modules.module import Module
from facula.optim import Optimizer

_IN_TRAINING = "training mode"
_DROPOUTS = frozenset(
    {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}
)


class EvaluationInTrainingMode(Check):
    """Predictions that are scored while dropout or batch norm are in training mode."""

    id = "F201"
    title = "evaluation in training mode"
    why = (
        "Dropout still drops and batch norm still uses, and changes, the statistics of the batch: "
        "the score is not the model's, and evaluating it changes it."
    )
    fix = "model.eval()  # before the evaluation, and model.train() after it"
    operations: ClassVar[frozenset[str]] = frozenset(
        {
            "argmax",
            "max",
            "topk",
            "eq",
            "__eq__",
            "__ge__",
            "__gt__",
            "ge",
            "gt",
            "cross_entropy",
            "nll_loss",
            "mse_loss",
            "l1_loss",
            "round",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
        }
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._from_file: ByObject[Tensor, bool] = ByObject()
        self._restored: ByObject[Module, bool] = ByObject()  # models with weights from a file

    def loaded(self, value: Any) -> None:
        for x in tensors_in([value]):
            self._from_file[x] = True

    def state_loaded(self, model: Module, state: Any, strict: bool, result: Any) -> None:
        # Not the weights of another model, which has a use for its mode.
        if isinstance(state, dict) and any(self._from_file.get(x) for x in state.values()):
            self._restored[model] = True

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        facts = self.program.models[model]
        # Only models that are or were trained: a generator may well make its images in this mode.
        if self.program.is_grad_enabled or not (facts.n_trained or self._restored.get(model)):
            return
        # Dropout that is switched on in a model in evaluation mode is meant.
        if model.training and any(layer.training for layer in facts.layers):
            for x in tensors_in([result]):
                origin = Origin(_IN_TRAINING, self.here(), None, x.dim())
                self.program.origins.note(x, origin)

    def operation(self, call: Call) -> None:
        if self.program.is_grad_enabled or not call.args:
            return
        origin = self.program.origins.of(call.args[0])
        while origin is not None and origin.name != _IN_TRAINING:
            origin = origin.earlier
        if origin is not None:
            self.say(
                f"the model is in training mode, and its output is scored by {call.name}.",
                origin.place,
                self.here(),
            )


class TrainingInEvaluationMode(Check):
    """Steps of an optimiser for a model whose dropout and batch norm are switched off."""

    id = "F202"
    title = "training in evaluation mode"
    why = (
        "Dropout does nothing and batch norm keeps old statistics: the model overfits, or learns "
        "with numbers that do not fit its inputs any more."
    )
    fix = "model.train()  # at the beginning of every epoch, after the evaluation"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._is_pending = False  # since the last step a model was called in evaluation mode

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        facts = self.program.models[model]
        if model.training or not self.program.is_grad_enabled:
            return
        has_dropout = any(isinstance(layer, _DropoutNd) for layer in facts.layers)
        if (has_dropout or (facts.layers and facts.n_trained)) and any(
            x.requires_grad for x in tensors_in([result])
        ):
            facts.eval_place = self.here()
            self._is_pending = True

    def step_begins(self, optimizer: Optimizer) -> None:
        if not self._is_pending:
            return
        self._is_pending = False
        for model, facts in self.program.models.items():
            place, facts.eval_place = facts.eval_place, None
            # A call in training mode as well: that in evaluation mode may be for an adversarial
            # example, or for the targets.
            if place is None or facts.trained_at == self.program.n_steps:
                continue
            ours = {id(p) for p in parameters_of(optimizer) if p.grad is not None}
            if any(id(p) in ours for p in model.parameters()):
                self.say(
                    f"{type(model).__name__} is in evaluation mode, and its parameters are "
                    "trained.",
                    place,
                    self.here(),
                )


class DropoutIgnoresEval(Check):
    """``F.dropout``, or a layer made in ``forward``, in a module that is in evaluation mode."""

    id = "F203"
    title = "dropout that ignores eval()"
    why = (
        "F.dropout drops unless it is told not to, and so does a layer that the model does not "
        "know: predictions are random also after eval()."
    )
    fix = "x = F.dropout(x, p=0.5, training=self.training)"
    operations: ClassVar[frozenset[str]] = _DROPOUTS | {"scaled_dot_product_attention"}

    def operation(self, call: Call) -> None:
        module = _module_that_runs()
        if module is None or module.training:
            return
        if call.name not in _DROPOUTS:  # attention is told to drop by the probability alone
            if call.argument(4, "dropout_p", 0.0) > 0 and _layer_that_runs() is None:
                self._tell(call.name, module)
            return
        layer = _layer_that_runs()
        if layer is not None:
            is_mistake = layer.training and _is_unknown_to(module, layer)
        else:  # who writes training=True means it
            is_mistake = len(call.args) < 3 and not {"training", "train"} & call.kwargs.keys()
        if is_mistake:
            self._tell(call.name, module)

    def _tell(self, name: str, module: Module) -> None:
        self.say(f"{name} drops elements although {_name(module)} is in evaluation mode.")


class BatchNormIgnoresEval(Check):
    """Batch norm of a batch's own statistics in a module that is in evaluation mode."""

    id = "F204"
    title = "batch norm that ignores eval()"
    why = "Predictions depend on the other examples of the batch, and change the statistics."
    fix = "x = F.batch_norm(x, self.mean, self.var, training=self.training)"
    operations: ClassVar[frozenset[str]] = frozenset({"batch_norm"})

    def operation(self, call: Call) -> None:
        # The call of the core, of nine arguments in another order, is the inside of this one.
        if len(call.args) > 8 or call.argument(5, "training") is not True:
            return
        module = _module_that_runs()
        if call.argument(1, "running_mean") is None or module is None or module.training:
            return
        layer = _layer_that_runs()
        if layer is None or _is_unknown_to(module, layer):
            self.say(f"batch_norm trains although {_name(module)} is in evaluation mode.")


def _module_that_runs() -> Module | None:
    """The module whose method of the program's own called an operation."""
    frame = user_frame()
    module = None if frame is None else frame.f_locals.get("self")
    return module if isinstance(module, Module) else None


def _layer_that_runs() -> Module | None:
    """The dropout or batch norm layer that does an operation; None where a function does it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        layer = frame.f_locals.get("self")
        if isinstance(layer, (_BatchNorm, _DropoutNd)):
            return layer
        frame = frame.f_back
    return None


def _is_unknown_to(module: Module, layer: Module) -> bool:
    return all(part is not layer for part in module.modules())


def _name(module: Module) -> str:
    return type(module).__name__
