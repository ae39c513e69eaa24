"""Files that are hard to load again, and loads that did nothing."""

from __future__ import annotations

import inspect
import io
from typing import Any

import facula
from facula import Tensor
from facula.doctor._checks._check import Check
from facula.nn.modules.module import Module


class WholeModelSaved(Check):
    """A module saved as it is."""

    id = "F901"
    title = "a whole model in a file"
    why = (
        "The file holds the names of your classes and files: it cannot be loaded once they have "
        "changed, nor without being trusted to run code."
    )
    fix = "torch.save(model.state_dict(), path)"

    def saved(self, value: Any, file: Any) -> None:
        if isinstance(file, io.BytesIO) or self.here().is_installed:
            return  # a copy of the model, or a package that saves its own kind of file
        for part in value.values() if isinstance(value, dict) else [value]:
            if inspect.ismethod(part):  # model.state_dict, without the parentheses
                part = part.__self__
            if isinstance(part, Module):
                self.say(f"a whole {type(part).__name__} is saved, where its weights suffice.")


class NothingLoaded(Check):
    """``load_state_dict(strict=False)`` that found no key of the model."""

    id = "F902"
    title = "load_state_dict that matched nothing"
    why = "strict=False passes over all keys that do not fit: the model keeps its random weights."
    fix = 'state = {k.removeprefix("module."): v for k, v in state.items()}'

    def state_loaded(self, model: Module, state: Any, strict: bool, result: Any) -> None:
        keys = model.state_dict().keys()
        if not strict and keys and len(result.missing_keys) >= len(keys):
            if self.here().is_installed:
                return  # packages load a part of a model, and the rest by other ways
            some = ", ".join(result.unexpected_keys[:2]) or "none"
            self.say(
                f"none of the {len(keys)} keys of the model was in the file, which has {some}."
            )


class OwnStateLoaded(Check):
    """``load_state_dict`` of tensors that are the model's own memory."""

    id = "F903"
    title = "a state_dict that was not copied"
    why = (
        "state_dict() shows the weights as they are, also after later steps: the best ones were "
        "never kept, and loading them changes nothing."
    )
    fix = "best = copy.deepcopy(model.state_dict())"

    def state_loaded(self, model: Module, state: Any, strict: bool, result: Any) -> None:
        if not self.program.n_steps or not isinstance(state, dict):
            return
        own = model.state_dict()
        tensors = {k: v for k, v in state.items() if isinstance(v, Tensor) and v.numel()}
        if tensors and all(_are_one(v, own.get(k)) for k, v in tensors.items()):
            self.say("the state that is loaded is the model's own: nothing changes.")


def _are_one(a: Tensor, b: Any) -> bool:
    is_pair = isinstance(b, Tensor) and not a.is_meta and not b.is_meta
    return is_pair and a.layout is b.layout is facula.strided and a.data_ptr() == b.data_ptr()
