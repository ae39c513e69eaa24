"""Every public name of the package is one of PyTorch's."""

import inspect
import runpy
from typing import Any

import torch
import torch._inductor.config

import facula
import facula._inductor.config


def test_the_top_level_has_only_names_of_pytorch() -> None:
    ours = {n for n, v in vars(facula).items() if n[0] != "_" and not inspect.ismodule(v)}
    assert sorted(ours - set(dir(torch))) == []


def test_the_modules_of_functions_have_all_names_of_pytorch() -> None:
    # Of masks on their own there is no class.
    no_class = {"MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"}
    assert set(torch.fft.__all__) - {"Tensor"} <= set(facula.fft.__all__) <= set(dir(torch.fft))
    assert sorted(facula.special.__all__) == sorted(torch.special.__all__)
    assert sorted(facula.signal.windows.__all__) == sorted(torch.signal.windows.__all__)
    assert sorted(facula.masked.__all__) == sorted(set(torch.masked.__all__) - no_class)


def test_the_page_of_missing_names_is_what_make_docs_would_write() -> None:
    missing = runpy.run_path("tools/missing.py")
    assert missing["PAGE"].read_text() == missing["page"]()


def test_nearly_all_names_of_the_compared_namespaces_are_here() -> None:
    rows: Any = runpy.run_path("tools/missing.py")["compare"]().values()
    total, absent = sum(row[0] for row in rows), sum(len(row[1]) for row in rows)
    assert absent / total < 0.015


def test_settings_of_the_compilers_backend_have_the_names_of_pytorch() -> None:
    # What begins with an underscore is no setting for users, and one name is an import.
    theirs = {name for name in torch._inductor.config._config if "._" not in f".{name}"}
    ours = facula._inductor.config.shallow_copy_dict()  # without what is another module's
    assert theirs - {"TYPE_CHECKING", "force_disable_caches"} == set(ours)
    assert not facula._inductor.config.force_disable_caches
