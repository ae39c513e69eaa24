"""Training in evaluation mode, evaluation in training mode, and layers that know of neither."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from facula._warnings import user_frame
from facula.doctor._program import Origin, parameters_of, tensors_in
from facula.doctor.checks._check import Call, Check
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
            "cross_entropy",
            "nll_loss",
            "mse_loss",
            "l1_loss",
            "round",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
        }
    )

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        facts = self.program.models[model]
        # Only models that are trained: a generator may well make its images in training mode.
        if self.program.is_grad_enabled or not facts.n_trained:
            return
        # Dropout that is switched on in a model in evaluation mode is meant.
        if model.training and any(layer.training for layer in facts.layers):
            for x in tensors_in(result):
                origin = Origin(_IN_TRAINING, facts.place, None, x.dim())
                self.program.origins.note(x, origin)

    def operation(self, call: Call) -> None:
        if self.program.is_grad_enabled or not call.args:
            return
        origin = self.program.origins.of(call.args[0])
        if origin is not None and origin.name == _IN_TRAINING:
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
        # Calls in training mode until the last step.
        self._n_trained: weakref.WeakKeyDictionary[Module, int] = weakref.WeakKeyDictionary()

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        facts = self.program.models[model]
        if model.training or not self.program.is_grad_enabled:
            return
        has_dropout = any(isinstance(layer, _DropoutNd) for layer in facts.layers)
        if (has_dropout or (facts.layers and facts.n_trained)) and any(
            x.requires_grad for x in tensors_in(result)
        ):
            facts.eval_place = facts.place

    def step_begins(self, optimizer: Optimizer) -> None:
        for model, facts in self.program.models.items():
            place, facts.eval_place = facts.eval_place, None
            n_trained, self._n_trained[model] = self._n_trained.get(model, 0), facts.n_trained
            # A call in training mode as well: that in evaluation mode may be for an adversarial
            # example, or for the targets.
            if place is None or facts.n_trained > n_trained:
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
    """``F.dropout`` in a module that is in evaluation mode."""

    id = "F203"
    title = "functional dropout that ignores eval()"
    why = "F.dropout drops unless it is told not to: predictions are random also after eval()."
    fix = "x = F.dropout(x, p=0.5, training=self.training)"
    operations: ClassVar[frozenset[str]] = _DROPOUTS

    def operation(self, call: Call) -> None:
        # Who writes training=True means it.
        if len(call.args) > 2 or "training" in call.kwargs or "train" in call.kwargs:
            return
        module = _module_that_runs()
        if module is not None and not module.training:
            self.say(f"{call.name} drops elements although {_name(module)} is in evaluation mode.")


class BatchNormIgnoresEval(Check):
    """``F.batch_norm(training=True)`` in a module that is in evaluation mode."""

    id = "F204"
    title = "functional batch norm that ignores eval()"
    why = "Predictions depend on the other examples of the batch, and change the statistics."
    fix = "x = F.batch_norm(x, self.mean, self.var, training=self.training)"
    operations: ClassVar[frozenset[str]] = frozenset({"batch_norm"})

    def operation(self, call: Call) -> None:
        if len(call.args) > 5 or call.kwargs.get("training") is not True:
            return
        module = _module_that_runs()
        if call.argument(1, "running_mean") is not None and module and not module.training:
            self.say(f"batch_norm trains although {_name(module)} is in evaluation mode.")


def _module_that_runs() -> Module | None:
    """The module whose method of the program's own called an operation."""
    frame = user_frame()
    module = None if frame is None else frame.f_locals.get("self")
    return module if isinstance(module, Module) else None


def _name(module: Module) -> str:
    return type(module).__name__
