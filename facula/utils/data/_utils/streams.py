"""Random numbers that depend on the batch, not on who fetches it.

Before a batch is fetched, three streams are started from its seed: Facula's, Python's ``random``
and NumPy's global one. Facula's belongs to the thread. The other two belong to the process; they
are put back after the fetch, so that the caller's own numbers do not depend on the loader.
"""

from __future__ import annotations

import ctypes
import importlib
import pickle
import random
import struct
import sys
from typing import Any

from facula import _core

__all__ = ["knows_numpy", "mark", "put_back", "save", "seed_all"]

# Note [States in memory]
# random.seed, getstate and setstate take 17 us together and NumPy's 100 us, more than the rest of
# a batch. Both keep a Mersenne Twister of 624 words and a position in plain memory, which can be
# copied in a tenth of a microsecond. Where the words lie is found by comparing the memory with
# what getstate() says; where that fails, the public functions serve.
_N_WORDS = 624


class _PythonStream:
    def __init__(self) -> None:
        self.owner: Any = random._inst
        *words, position = random.getstate()[1]
        raw = ctypes.string_at(id(self.owner), type(self.owner).__basicsize__)
        at = raw.find(struct.pack(f"{_N_WORDS}I", *words))
        if at < 4 or struct.unpack_from("i", raw, at - 4) != (position,):
            raise LookupError
        self.memory = _view(id(self.owner) + at - 4, 4 + 4 * _N_WORDS)
        self.words = self.memory[4:]
        self.position = self.memory[:4].cast("i")
        self.first = self.words[:4].cast("i")

    def save(self) -> Any:
        return bytes(self.memory), self.owner.gauss_next

    def restore(self, state: Any) -> None:
        self.memory[:], self.owner.gauss_next = state

    def seed(self, seed: int) -> None:
        _core._fill_stream(self.words, seed)
        self.position[0] = _N_WORDS
        self.owner.gauss_next = None

    def mark(self) -> Any:
        return self.position[0], self.first[0]


class _NumpyStream:
    def __init__(self, module: Any) -> None:
        self.generator = module.get_bit_generator()
        address = self.generator.ctypes.state_address
        state = self.generator.state["state"]
        expected = state["key"].astype("uint32").tobytes() + struct.pack("i", state["pos"])
        if ctypes.string_at(address, len(expected)) != expected:
            raise LookupError
        self.memory = _view(address, len(expected))
        self.words = self.memory[: 4 * _N_WORDS]
        self.position = self.memory[4 * _N_WORDS :].cast("i")
        self.first = self.words[:4].cast("i")
        self.gauss = _view(id(module.mtrand._rand) + _gauss_offset(module), 16)

    def save(self) -> Any:
        return bytes(self.memory), bytes(self.gauss)

    def restore(self, state: Any) -> None:
        self.memory[:], self.gauss[:] = state

    def seed(self, seed: int) -> None:
        _core._fill_stream(self.words, seed)
        self.position[0] = _N_WORDS
        self.gauss[:] = bytes(16)

    def mark(self) -> Any:
        return self.position[0], self.first[0]


def _gauss_offset(module: Any) -> int:
    # The second number of a normal pair, kept behind a flag of 8 bytes.
    probe = module.RandomState(0)
    probe.standard_normal()
    gauss = probe.get_state(legacy=False)["gauss"]
    size = type(probe).__basicsize__
    raw = ctypes.string_at(id(probe), size)
    at = raw.find(struct.pack("d", gauss))
    if at < 8 or struct.unpack_from("q", raw, at - 8) != (1,):
        raise LookupError
    probe.standard_normal()
    if struct.unpack_from("q", ctypes.string_at(id(probe), size), at - 8) != (0,):
        raise LookupError
    return at - 8


class _SlowStream:
    """A stream through its public functions."""

    def __init__(self, save: Any, restore: Any, seed: Any) -> None:
        self.save, self.restore = save, restore
        self._seed = seed

    def seed(self, seed: int) -> None:
        self._seed(seed % 2**32)

    def mark(self) -> Any:
        return pickle.dumps(self.save())


def _view(address: int, nbytes: int) -> memoryview:
    return memoryview((ctypes.c_ubyte * nbytes).from_address(address)).cast("B")


def _python_stream() -> Any:
    try:
        return _PythonStream()
    except (AttributeError, LookupError):
        return _SlowStream(random.getstate, random.setstate, random.seed)


def _numpy_stream(module: Any) -> Any:
    try:
        return _NumpyStream(module)
    except (AttributeError, LookupError, KeyError, TypeError):
        return _SlowStream(module.get_state, module.set_state, module.seed)


def knows_numpy() -> bool:
    """Whether NumPy, and so its stream, has been imported."""
    return "numpy" in sys.modules


_python: Any = None
_numpy: Any = None


def _streams() -> tuple[Any, ...]:
    global _python, _numpy
    if _python is None:
        _python = _python_stream()
    if not knows_numpy():
        return (_python,)  # nobody has drawn from it, and its import takes long
    module: Any = sys.modules.get("numpy.random")
    if module is None or not hasattr(module, "set_state"):  # NumPy puts its import off
        module = importlib.import_module("numpy.random")
    if _numpy is None or (
        type(_numpy) is _NumpyStream and module.get_bit_generator() is not _numpy.generator
    ):
        _numpy = _numpy_stream(module)
    return _python, _numpy


def seed_all(seed: int) -> None:
    """Start the streams of the process from this seed."""
    for n, stream in enumerate(_streams()):
        stream.seed(_core._mix_seeds(seed, n))


def save() -> list[Any]:
    """What :func:`put_back` needs."""
    return [(stream, stream.save()) for stream in _streams()]


def put_back(saved: list[Any]) -> None:
    """Let the streams go on as if nothing had been drawn since :func:`save`."""
    for stream, state in saved:
        stream.restore(state)


def mark() -> Any:
    """Something that is different after anybody has drawn from one of the streams."""
    return [stream.mark() for stream in _streams()]
