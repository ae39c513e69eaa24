"""Every public name of the package is one of PyTorch's."""

import inspect

import torch

import facula


def test_the_top_level_has_only_names_of_pytorch() -> None:
    ours = {n for n, v in vars(facula).items() if n[0] != "_" and not inspect.ismodule(v)}
    assert sorted(ours - set(dir(torch))) == []
