"""What a program that is given a framework says, line by line."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch

from .frameworks import facula, outcome_of, seed

Log = Callable[..., None]
Program = Callable[[Any, Log], None]


def transcript(program: Program, lib: Any) -> list[str]:
    """The lines that a program logs: values by their text, functions by their result, exceptions
    by their type."""
    lines: list[str] = []

    def log(*values: Any) -> None:
        for value in values:
            if callable(value) and not isinstance(value, lib.nn.Module):
                value, error = outcome_of(value)
                if error is not None:
                    value = type(error).__name__
            lines.append(value if isinstance(value, str) else repr(value))

    seed(lib)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(lib, log)
    # Classes of the frameworks themselves appear in texts with their module.
    return [line.replace("facula.", "torch.") for line in lines]


def assert_same_transcript(program: Program) -> None:
    expected, actual = transcript(program, torch), transcript(program, facula)
    for line, (theirs, ours) in enumerate(zip(expected, actual, strict=False)):
        assert ours == theirs, f"line {line}"
    assert len(actual) == len(expected)
