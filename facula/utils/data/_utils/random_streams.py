"""Random numbers that depend on the batch, not on who fetches it.

Before a batch is fetched, three streams are started from its seed: Facula's, Python's ``random``
and NumPy's global one. Facula's belongs to the thread. The other two belong to the process; they
are put back after the fetch, so that the caller's own numbers do not depend on the loader.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import pickle
import random
import struct
import sys
from typing import Any

from facula import _core

__all__ = ["knows_numpy", "mark", "start", "stop"]

# Note [States in memory]
# random.seed, getstate and setstate take 17 us together and NumPy's 100 us, more than the rest of
# a batch. Both keep a Mersenne Twister of 624 words and a position in plain memory, which can be
# copied in a tenth of a microsecond. Where the words lie is found by comparing the memory with
# what getstate() says; where that fails, the public functions serve.
_N_WORDS = 624


def _python_twister() -> Any:
    owner: Any = random._inst
    *words, position = random.getstate()[1]
    raw = ctypes.string_at(id(owner), type(owner).__basicsize__)
    at = raw.find(struct.pack(f"{_N_WORDS}I", *words))
    if at < 4 or struct.unpack_from("i", raw, at - 4) != (position,):
        raise LookupError
    return _core._Twister(owner, None, id(owner) + at, id(owner) + at - 4, 0)


def _numpy_twister(module: Any, generator: Any) -> Any:
    address = generator.ctypes.state_address
    state = generator.state["state"]
    expected = state["key"].astype("uint32").tobytes() + struct.pack("i", state["pos"])
    if ctypes.string_at(address, len(expected)) != expected:
        raise LookupError
    rand = module.mtrand._rand
    pair = id(rand) + _gauss_offset(module)
    owner = (generator, rand)
    return _core._Twister(owner, generator.lock, address, address + 4 * _N_WORDS, pair)


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
        self._save, self._restore, self._seed = save, restore, seed
        self._kept: list[Any] = []

    def start(self, seed: int) -> None:
        self._kept.append(self._save())
        self._seed(seed % 2**32)

    def stop(self) -> None:
        self._restore(self._kept.pop())

    def mark(self) -> Any:
        return pickle.dumps(self._save())


def _python_stream() -> Any:
    try:
        return _python_twister()
    except (AttributeError, LookupError):
        return _SlowStream(random.getstate, random.setstate, random.seed)


def _numpy_stream(module: Any, generator: Any) -> Any:
    try:
        return _numpy_twister(module, generator)
    except (AttributeError, LookupError, KeyError, TypeError):
        save = functools.partial(module.get_state, legacy=False)
        return _SlowStream(save, module.set_state, module.seed)


def knows_numpy() -> bool:
    """Whether NumPy, and so its stream, has been imported."""
    return "numpy" in sys.modules


def _free_lock() -> None:
    # A thread that is not in the forked process may have been drawing, and does not end there.
    if isinstance(_numpy, _core._Twister):
        _numpy_generator.lock._at_fork_reinit()


os.register_at_fork(after_in_child=_free_lock)

_python: Any = None
_numpy: Any = None
_numpy_generator: Any = None  # the generator behind _numpy; a user can set another


def _streams() -> tuple[Any, ...]:
    global _python, _numpy, _numpy_generator
    if _python is None:
        _python = _python_stream()
    if not knows_numpy():
        return (_python,)  # nobody has drawn from it, and its import takes long
    module: Any = sys.modules.get("numpy.random")
    if module is None or not hasattr(module, "set_state"):  # NumPy puts its import off
        module = importlib.import_module("numpy.random")
    generator = module.get_bit_generator()
    if generator is not _numpy_generator:
        _numpy, _numpy_generator = _numpy_stream(module, generator), generator
    return _python, _numpy


def start(seed: int) -> Any:
    """Start the streams of the process from this seed; returns what :func:`stop` needs."""
    started = _streams()
    for n, stream in enumerate(started):
        stream.start(_core._mix_seeds(seed, n))
    return started


def stop(started: Any) -> None:
    """Let the streams go on as if :func:`start` had not been called, nor anything drawn since."""
    for stream in started:
        stream.stop()


def mark() -> Any:
    """Something that is different after anybody has drawn from one of the streams."""
    return [stream.mark() for stream in _streams()]
