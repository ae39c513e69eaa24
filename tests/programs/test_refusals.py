"""The table of what PyTorch has and Facula does not, and its page."""

import pytest

import facula
import facula.vision
from facula.compat._refusals import REFUSALS, sentence
from tools import compat

pytestmark = pytest.mark.promise("U2")
NAMES = [name for row in REFUSALS for name in row.names]


def test_the_page_is_what_make_docs_would_write():
    assert compat.PAGE.read_text() == compat.render(), "run make docs"


@pytest.mark.parametrize("name", [name for name in NAMES if "*" not in name])
def test_what_is_refused_is_not_there(name):
    root, *path, last = name.split(".")
    owner = facula.vision if root == "torchvision" else facula
    for part in path:
        owner = getattr(owner, part, None)
    assert owner is None or not hasattr(owner, last)
    assert name not in NAMES[: NAMES.index(name)]


@pytest.mark.parametrize("row", REFUSALS)
def test_a_refusal_is_a_sentence_with_a_way_out(row):
    text = sentence(row.names[0].replace("*", "x"))
    assert " is not part of Facula: " in text
    assert not row.reason.endswith(".") and row.way_out.endswith(".")


def test_what_lies_below_a_module_is_refused_with_it():
    assert sentence("torch.ao.nn.quantized").startswith("torch.ao.nn.quantized is")
    assert sentence("torch.aorta") is None and sentence("torch.nn.Linear") is None
