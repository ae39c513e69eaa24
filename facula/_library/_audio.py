"""The operations of torchaudio's compiled library, with which the package can be imported.

It asks for them when it has found the library's file. All else that it does is written with
tensors. The loss of transducers is not here.
"""

from __future__ import annotations

from typing import Any

import facula
from facula._core import Tensor
from facula.library import Library

_probes = Library("_torchaudio", "DEF")
_operations = Library("torchaudio", "DEF")


def _define(library: Library, schema: str, function: Any) -> None:
    library.define(schema)
    library.impl(schema.partition("(")[0], function, "CompositeExplicitAutograd")


def _filter(input: Tensor, a_coeffs: Tensor, output: Tensor) -> None:
    """``y[t] = x[t] - a[1] y[t-1] - ...``, from zeros in front of the output on.

    Coefficients ``(channels, order)`` are in the order of time, that of ``y[t]`` last.
    """
    order = a_coeffs.size(1)
    past = a_coeffs[:, :-1]
    for t, x in enumerate(input.unbind(2)):
        before = output[:, :, t : t + order - 1]
        output[:, :, t + order - 1] = x - (before * past).sum(2)


def _overdrive(
    waveform: Tensor, temp: Tensor, last_in: Tensor, last_out: Tensor, output: Tensor
) -> None:
    """A filter that lets no constant part through, mixed with the sound itself."""
    for t, (sound, distorted) in enumerate(zip(waveform.unbind(1), temp.unbind(1), strict=True)):
        last_out = distorted - last_in + 0.995 * last_out
        last_in = distorted
        output[:, t] = sound * 0.5 + last_out * 0.75


def _forced_align(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int
) -> tuple[Tensor, Tensor]:
    """The most probable of the paths that CTC reads as the targets.

    Args:
        log_probs: ``(1, T, C)``, of each class at each time.
        targets: ``(1, L)``, without blanks.
        input_lengths: ``(1,)``, how many times count.
        target_lengths: ``(1,)``, how many targets count.
        blank: the class between targets.

    Returns:
        The class at each time ``(1, T)``, and the probabilities as they are.
    """
    if log_probs.dim() != 3 or log_probs.size(0) != 1:
        raise RuntimeError(
            "forced_align: expected log_probs (1, T, C) of one sequence, got "
            f"{tuple(log_probs.shape)}."
        )
    labels = targets[0, : int(target_lengths[0])]
    scores = log_probs[0, : int(input_lengths[0])]
    # Between, before and after the targets there may be blanks: states 0, 2, 4 ...
    states = facula.full((2 * len(labels) + 1,), blank, dtype=facula.int64)
    states[1::2] = labels
    n_repeats = int((labels[1:] == labels[:-1]).sum())
    if len(scores) < len(labels) + n_repeats:
        raise RuntimeError(
            f"forced_align: {len(labels)} targets, {n_repeats} of which follow an equal one, need "
            f"{len(labels) + n_repeats} times, got {len(scores)}. (targets length is too long for "
            "CTC)"
        )
    # From a target one may go on to the next without a blank, unless they are equal.
    may_skip = facula.zeros(len(states), dtype=facula.bool)
    may_skip[3::2] = labels[1:] != labels[:-1]
    nowhere = facula.full((2,), -facula.inf, dtype=scores.dtype)
    best = facula.cat([scores[0, states[:2]], nowhere.new_full((len(states),), -facula.inf)])
    best, steps = best[: len(states)], []
    for row in scores[1:]:
        before = facula.cat([nowhere, best])
        skipping = before[:-2].where(may_skip, -facula.inf)
        best, step = facula.stack([best, before[1:-1], skipping]).max(0)
        best = best + row[states]
        steps.append(step)
    state = len(states) - 1
    if len(states) > 1 and best[-2] > best[-1]:
        state -= 1
    path = [state]
    for step in reversed(steps):
        path.append(path[-1] - int(step[path[-1]]))
    classes = states[path[::-1]].to(targets.dtype)
    return classes.unsqueeze(0), log_probs


_define(_probes, "is_align_available() -> bool", lambda: True)
_define(_probes, "cuda_version() -> int?", lambda: None)
_define(
    _operations,
    "_lfilter_core_loop(Tensor input, Tensor a_coeffs, Tensor(a!) output) -> ()",
    _filter,
)
_define(
    _operations,
    "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor last_in, Tensor last_out, "
    "Tensor(a!) output) -> ()",
    _overdrive,
)
_define(
    _operations,
    "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
    "int blank) -> (Tensor, Tensor)",
    _forced_align,
)
