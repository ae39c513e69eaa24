"""Data that comes in the wrong order, twice transformed, or too slowly."""

from __future__ import annotations

import ast
import inspect
import linecache
import random
import sys
import textwrap
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from facula import Tensor
from facula._transform import tensors_in
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import ByObject
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter
from facula.utils.data import RandomSampler


class SortedBatches(Check):
    """Batches for training that have examples of one class only."""

    id = "F801"
    title = "batches of one class"
    why = "The data are sorted and not shuffled: the model learns one class and forgets the others."
    fix = "loader = DataLoader(dataset, batch_size=64, shuffle=True)"
    operations: ClassVar[frozenset[str]] = frozenset({"cross_entropy", "nll_loss"})

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._seen: dict[Place, tuple[int, int, set[int]]] = {}  # batches, of one class, classes
        self._steps: dict[Place, int] = {}  # the step of the last batch
        self._n_in_vain = 0  # calls in a row from places that were seen often enough

    def operation(self, call: Call) -> None:
        if self._n_in_vain > 100:
            return
        target = call.argument(1, "target")
        is_trained = isinstance(call.result, Tensor) and call.result.requires_grad
        if not is_trained or not isinstance(target, Tensor) or target.is_floating_point():
            return
        if target.dim() != 1 or target.numel() < 8:
            return
        place = self.here()
        n, n_single, classes = self._seen.get(place, (0, 0, set()))
        if self._steps.get(place) == self.program.n_steps:
            n = 100  # a loss for several domains, or for what is real and what is not
            self._seen[place] = n, n_single, classes
        self._steps[place] = self.program.n_steps
        self._n_in_vain += 1
        if n >= 100:
            return
        self._n_in_vain = 0
        low, high = (int(v) for v in target.aminmax())
        classes |= {low, high}
        n, n_single = n + 1, n_single + (low == high)
        self._seen[place] = n, n_single, classes
        if n >= 8 and n_single >= 0.8 * n and len(classes) > 1:
            self.say(f"{n_single} of {n} batches had examples of one class only.", place)


class SharedGenerator(Check):
    """A generator that all workers have in the same state."""

    id = "F802"
    title = "the same random numbers in all workers"
    why = (
        "Every worker has a generator in the same state: they all draw the same augmentations, in "
        "every epoch again."
    )
    fix = "torch.rand(()), or a generator that worker_init_fn makes of torch.initial_seed()"

    def loader_used(self, loader: Any) -> None:
        if loader.num_workers < 2:
            return
        if loader.worker_init_fn is not None:
            seed = _seed_in(loader.worker_init_fn)
            if seed is not None:
                self.say(f"worker_init_fn seeds each of {loader.num_workers} workers with {seed}.")
            return
        numpy = sys.modules.get("numpy")
        kinds: tuple[type, ...] = (random.Random,)
        if numpy is not None:
            kinds += (numpy.random.Generator, numpy.random.RandomState)
        for owner in _parts(loader.dataset):
            for name, value in vars(owner).items():
                if isinstance(value, kinds):
                    self.say(
                        f"{type(owner).__name__}.{name} is a {type(value).__name__}, of which each "
                        f"of {loader.num_workers} workers has a copy."
                    )


def _seed_in(function: Any) -> int | None:
    """The number that a function seeds a generator with; None if it depends on anything."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):  # a lambda within a call is no program by itself
        return None
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in ("seed", "manual_seed") and len(node.args) == 1:
            (seed,) = node.args
            if isinstance(seed, ast.Constant) and isinstance(seed.value, int):
                return seed.value
    return None


class TransformedTwice(Check):
    """The same conversion or normalisation twice, in a list of transforms or after the loader."""

    id = "F803"
    title = "a transform applied twice"
    why = "Images that are scaled or normalised twice are nearly constant."
    fix = "Compose([ToTensor(), Normalize(mean, std)])  # each once"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # The Normalize that the batches of a loader went through, and the images of the last one.
        self._normalised: ByObject[Any, Any] = ByObject()
        self._batch: tuple[Any, list[weakref.ref[Tensor]]] | None = None

    def batch_loaded(self, loader: Any, batch: Any, seconds: float) -> None:
        transform = self._normalised.get(loader)
        if transform is not None:
            images = [weakref.ref(x) for x in tensors_in([batch]) if x.dim() == 4]
            self._batch = transform, images

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        if self._batch is None or type(model).__name__ != "Normalize" or not args:
            return
        first, images = self._batch
        # With other numbers it may be what undoes the first, for a picture.
        is_same = _numbers(model) == _numbers(first)
        if is_same and any(image() is args[0] for image in images):
            self.say("the images of the loader are normalised by its dataset already.")

    def loader_used(self, loader: Any) -> None:
        for owner in _parts(loader.dataset):
            transforms = _transforms(owner)
            for transform in transforms:
                if type(transform).__name__ == "Normalize":
                    self._normalised[loader] = transform
            names = [type(t).__name__ for t in transforms]
            for name in ("ToTensor", "Normalize"):
                if names.count(name) > 1:
                    self.say(
                        f"the transforms of {type(loader.dataset).__name__} have {name} twice."
                    )


def _numbers(normalize: Any) -> tuple[set[float], set[float]]:
    """Mean and standard deviation, whether given once or for each channel."""
    return set(normalize.mean), set(normalize.std)


class UnscaledImages(Check):
    """Images with numbers up to 255 for a convolution or a linear layer."""

    id = "F804"
    title = "images that are not scaled"
    why = "Layers are initialised for inputs around 1; with 255 the first steps are far too large."
    fix = "images = images.float() / 255  # then (images - mean) / std"
    operations: ClassVar[frozenset[str]] = frozenset({"conv2d", "linear"})
    looks = "seldom"  # layers are many, and one look is enough

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._n: ByObject[Module, int] = ByObject()
        self._given: set[int] = set()  # the memory that layers of the model were given

    def operation(self, call: Call) -> None:
        if self.program.is_in_model and isinstance(call.args[0], Tensor):
            self._given.add(call.args[0].data_ptr())

    def model_called(self, model: Module, args: tuple[Any, ...], result: Any) -> None:
        given, self._given = self._given, set()
        n = self._n.get(model, 0)
        if n >= 3 or not args or not isinstance(args[0], Tensor):
            return
        self._n[model] = n + 1
        x = args[0]
        if (
            x.is_meta
            or x.dim() != 4
            or x.size(1) not in (1, 3)
            or not x.is_floating_point()
            or not x.numel()
        ):
            return
        # A model that scales its images itself gives its layers other numbers than it is given.
        if x.data_ptr() not in given or not model.training:
            return
        low, high = (float(v) for v in x.detach().aminmax())
        if low >= 0 and 100 < high <= 255:
            self.say(
                f"{type(model).__name__} is given images with numbers from {low:g} to {high:g}."
            )


class SlowLoading(Check):
    """More time in loading than in computing."""

    id = "F805"
    title = "loading takes longer than computing"
    why = "The model waits for its data; a faster machine would not help."
    fix = "DataLoader(dataset, batch_size=64, num_workers=4, persistent_workers=True)"

    least_s: ClassVar[float] = 5.0  # that are worth a word

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._place: Place | None = None
        self._n = 0
        self._start = self._waited = 0.0

    def batch_loaded(self, loader: Any, batch: Any, seconds: float) -> None:
        if self._place is None:  # the first batch includes the start of workers
            self._place, self._start = self.here(), time.perf_counter()
            return
        self._n += 1
        self._waited += seconds

    def ends(self) -> None:
        if self._place is None or self._n < 20 or not self.program.n_steps:
            return
        total = time.perf_counter() - self._start
        if self._waited > 0.5 * total and self._waited > self.least_s:
            self.say(
                f"of {total:.1f} s the program waited {self._waited:.1f} s for its batches.",
                self._place,
            )


class CopiedInEveryStep(Check):
    """The same tensor, copied to another device again and again."""

    id = "F806"
    title = "the same tensor copied in every step"
    why = "A copy to another device takes longer than most operations, and has to be waited for."
    fix = "x = x.to(device)  # once, before the loop"
    operations: ClassVar[frozenset[str]] = frozenset({"to", "cuda", "cpu"})

    least_bytes: ClassVar[int] = 1 << 16  # that are worth a word

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        # The tensor of each place and its version, the step of its last copy, how many there were.
        self._copies: dict[Place, tuple[weakref.ref[Tensor], int, int, int]] = {}

    def operation(self, call: Call) -> None:
        x, y = call.args[0], call.result
        if x is y or not isinstance(x, Tensor) or not isinstance(y, Tensor):
            return
        # Parameters that are kept elsewhere and copied when needed are so on purpose.
        if x.device == y.device or isinstance(x, Parameter) or x.nbytes < self.least_bytes:
            return
        place, step = self.here(), self.program.n_steps
        ref, version, last, n = self._copies.get(place, (lambda: None, 0, 0, 0))
        if ref() is not x or version != x._n_writes:
            self._copies[place] = weakref.ref(x), x._n_writes, step, 1
        elif step > last:
            self._copies[place] = weakref.ref(x), version, step, n + 1
            if n + 1 == 20:
                self.say(f"the same {tuple(x.shape)} tensor was copied to {y.device} 20 times.")


class ShuffledInEvaluation(Check):
    """Predictions in the order of a shuffled loader, compared with labels in the dataset's."""

    id = "F807"
    title = "a shuffled loader in evaluation"
    why = (
        "The predictions are in the order of the loader, another one each time, and the labels in "
        "that of the dataset: the score is that of guessing."
    )
    fix = (
        "loader = DataLoader(test_set, batch_size=64, shuffle=False)  # or labels from its batches"
    )
    operations: ClassVar[frozenset[str]] = frozenset(
        {"cat", "eq", "__eq__", "sub", "mse_loss", "l1_loss", "cross_entropy", "nll_loss"}
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._loader: weakref.ref[Any] | None = None  # the last one
        self._place: Place | None = None  # of its batches
        self._n_steps = 0  # before its first batch: with none since, it is no training
        self._joined: dict[int, weakref.ref[Tensor]] = {}  # predictions of all batches, by memory

    def batch_loaded(self, loader: Any, batch: Any, seconds: float) -> None:
        if self._loader is None or self._loader() is not loader:
            self._loader, self._place = weakref.ref(loader), self.here()
            self._n_steps = self.program.n_steps

    def operation(self, call: Call) -> None:
        loader = None if self._loader is None else self._loader()
        if loader is None or not isinstance(getattr(loader, "sampler", None), RandomSampler):
            return
        if call.name == "cat":
            is_evaluation = self._n_steps == self.program.n_steps
            if not is_evaluation or not isinstance(call.result, Tensor) or not call.result.dim():
                return
            if call.result.size(0) == len(loader.dataset):
                joined, at = self._joined, call.result.data_ptr()
                joined[at] = weakref.ref(call.result, lambda _: joined.pop(at, None))
            return
        a, b = call.args[0], call.argument(1, "other", call.kwargs.get("target"))
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return
        own = {x.data_ptr() for x in _tensors_of(loader.dataset)}
        for predictions, labels in ((a, b), (b, a)):
            ref = self._joined.get(predictions.data_ptr())
            if ref is not None and ref() is not None and labels.data_ptr() in own:
                self.say(
                    "predictions of a shuffled loader are compared with labels that were not "
                    "shuffled.",
                    self.here(),
                    self._place,
                )


def _tensors_of(dataset: Any) -> Iterator[Tensor]:
    """The tensors that a dataset has for all of its examples."""
    values = list(vars(dataset).values()) if hasattr(dataset, "__dict__") else []
    values += [x for value in values if isinstance(value, (list, tuple)) for x in value[:10]]
    yield from (x for x in values if isinstance(x, Tensor) and not x.is_meta)


class WorkersWithoutGuard(Check):
    """A program that starts workers where each of them, if it imports the program, does so again.

    Said of the line of the main program that leads to the loader.
    """

    id = "F808"
    title = "workers without a guard"
    why = (
        "Where processes are not forked (on Windows, on macOS, on Linux from Python 3.14 on), a "
        "worker imports the program first: without a guard it runs all of it again, and fails."
    )
    fix = "if __name__ == '__main__': main()  # with the loop over the loader in main()"

    def loader_used(self, loader: Any) -> None:
        if not loader.num_workers or loader.worker_type == "thread":
            return
        frame = _main_frame()
        if frame is None:
            return
        place = Place(frame.f_code.co_filename, frame.f_lineno)
        # What is no file, as a cell of a notebook, is imported by nobody.
        if place.is_installed or not Path(place.file).is_file():
            return
        if not _is_guarded(ast.parse("".join(linecache.getlines(place.file))), place.line):
            self.say(
                f"the program starts {loader.num_workers} workers outside of "
                "if __name__ == '__main__'.",
                place,
                self.here(),
            )


def _main_frame() -> FrameType | None:
    """The frame of the main program's own lines, if they lead here."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == "__main__":
            return frame
        frame = frame.f_back
    return None


def _is_guarded(tree: ast.Module, line: int) -> bool:
    """Whether a line is within, or after the end by, a comparison of ``__name__``."""
    for node in tree.body:
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        if "__name__" in names and isinstance(node, ast.If):
            is_within = node.lineno <= line <= (node.end_lineno or line)
            if is_within or node.lineno < line:  # if __name__ != "__main__": sys.exit()
                return True
    return False


def _parts(dataset: Any) -> Iterator[Any]:
    """A dataset and the datasets and transforms that it is made of, as far as they have names."""
    waiting: list[Any] = [dataset]
    seen: set[int] = set()
    while waiting and len(seen) < 100:
        part = waiting.pop()
        if id(part) in seen or not hasattr(part, "__dict__"):
            continue
        seen.add(id(part))
        yield part
        for name in ("dataset", "datasets", "transform", "transforms", "target_transform"):
            value = vars(part).get(name)
            waiting += value if isinstance(value, (list, tuple)) else [value]


def _transforms(part: Any, depth: int = 0) -> list[Any]:
    """The transforms that a list of transforms applies one after the other, nested ones too."""
    inside = vars(part).get("transforms") if hasattr(part, "__dict__") else None
    # RandomChoice and the like have transforms, of which they apply some.
    if not isinstance(inside, list) or type(part).__name__ != "Compose" or depth > 5:
        return []
    return [u for t in inside for u in (_transforms(t, depth + 1) or [t])]
