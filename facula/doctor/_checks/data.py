"""Data that comes in the wrong order, twice transformed, or too slowly."""

from __future__ import annotations

import random
import sys
import time
import weakref
from collections.abc import Iterator
from typing import Any, ClassVar

from facula import Tensor
from facula.doctor._checks._check import Call, Check
from facula.doctor._finding import Place
from facula.doctor._program import ByObject
from facula.nn.modules.module import Module
from facula.nn.parameter import Parameter


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


class _AtFirstBatch(Check):
    """Looks at every loader once."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()

    def batch_loaded(self, loader: Any, seconds: float) -> None:
        if loader not in self._known:
            self._known.add(loader)
            self.loader_used(loader)

    def loader_used(self, loader: Any) -> None:
        """Look at a loader that has given its first batch.

        Args:
            loader: the loader.
        """
        raise NotImplementedError


class SharedGenerator(_AtFirstBatch):
    """A dataset with a generator of its own that all workers have a copy of."""

    id = "F802"
    title = "the same random numbers in all workers"
    why = (
        "Every worker has a copy of the dataset's generator in the same state: they all draw the "
        "same augmentations, in every epoch again."
    )
    fix = "torch.rand(()), or a generator that worker_init_fn makes of torch.initial_seed()"

    def loader_used(self, loader: Any) -> None:
        if loader.num_workers < 2 or loader.worker_init_fn is not None:
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


class TransformedTwice(_AtFirstBatch):
    """A list of transforms that has the same conversion or normalisation twice."""

    id = "F803"
    title = "a transform applied twice"
    why = "Images that are scaled or normalised twice are nearly constant."
    fix = "Compose([ToTensor(), Normalize(mean, std)])  # each once"

    def loader_used(self, loader: Any) -> None:
        for owner in _parts(loader.dataset):
            names = [type(t).__name__ for t in _transforms(owner)]
            for name in ("ToTensor", "Normalize"):
                if names.count(name) > 1:
                    self.say(
                        f"the transforms of {type(loader.dataset).__name__} have {name} twice."
                    )


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

    def batch_loaded(self, loader: Any, seconds: float) -> None:
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
        if ref() is not x or version != x._version:
            self._copies[place] = weakref.ref(x), x._version, step, 1
        elif step > last:
            self._copies[place] = weakref.ref(x), version, step, n + 1
            if n + 1 == 20:
                self.say(f"the same {tuple(x.shape)} tensor was copied to {y.device} 20 times.")


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
