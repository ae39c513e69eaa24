"""Files that PyTorch 2.13 wrote (tests/golden/make_checkpoints.py)."""

import ast
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

import facula
from facula import nn

pytestmark = pytest.mark.promise("P1")

FOLDER = Path(__file__).parent.parent / "golden" / "checkpoints"


@pytest.mark.parametrize("name", ["dtypes", "dtypes_stacked"])
def test_every_dtype(name):
    loaded = facula.load(FOLDER / f"{name}.pt")
    assert len(loaded) == 12
    for dtype, x in loaded.items():
        assert x.dtype == getattr(facula, dtype)
        assert facula.equal(x, facula.tensor([0, 1, 2]).to(x.dtype))


@pytest.mark.parametrize(
    "name, mmap", [("views", False), ("views", True), ("views_stacked", False)]
)
def test_views(name, mmap):
    views = facula.load(FOLDER / f"{name}.pt", mmap=mmap)
    assert views["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert views["t"].stride() == (1, 3)
    assert views["step"].tolist() == [1, 3, 5]
    assert (views["expanded"].tolist(), views["expanded"].stride()) == ([2] * 4, (0,))
    assert views["empty"].shape == (0,)
    views["base"][1] = 7
    assert (views["t"][1, 0], views["step"][0]) == (7, 7)


def test_conjugated_and_negated_views():
    views = facula.load(FOLDER / "views.pt")
    assert views["conj"].tolist() == [1 - 2j]
    assert views["neg"].tolist() == [-2]


def test_objects():
    loaded = facula.load(FOLDER / "objects.pt")
    assert type(loaded["parameter"]) is nn.Parameter
    assert isinstance(loaded["buffer"], nn.Buffer)
    assert loaded["size"] == facula.Size([1, 2])
    assert loaded["device"] == facula.device("cuda", 1)
    assert loaded["layout"] is facula.strided
    assert loaded["ordered"] == OrderedDict(b=1, a=2)
    assert (loaded["set"], loaded["complex"], loaded["bytes"]) == ({1, 2}, 1 + 2j, b"\0\xff")
    assert (loaded["scalar"], loaded["long"]) == (np.float64(1.5), 1 << 70)
    assert loaded["array"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_sparse_tensors():
    loaded = facula.load(FOLDER / "sparse.pt")
    assert loaded["coo"].to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    assert not loaded["coo"].is_coalesced()
    assert loaded["coalesced"].is_coalesced()
    assert loaded["coalesced"].dtype == facula.float64
    assert (loaded["hybrid"].sparse_dim(), loaded["hybrid"].dense_dim()) == (1, 1)
    assert loaded["hybrid"].to_dense().tolist() == [[0, 1], [2, 3]]
    assert (loaded["empty"].shape, loaded["empty"]._nnz()) == ((2, 3), 0)
    for layout in ("csr", "csc"):
        assert loaded[layout].layout is getattr(facula, f"sparse_{layout}")
        assert loaded[layout].to_dense().tolist() == [[0, 1], [2, 3]]
    assert isinstance(loaded["parameter"], nn.Parameter)
    assert loaded["parameter"].is_sparse
    assert loaded["parameter"].requires_grad


@pytest.mark.promise("P2")
@pytest.mark.parametrize("name", ["training", "training_stacked"])
def test_a_training_goes_on(name):
    checkpoint = facula.load(FOLDER / f"{name}.pt")
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = facula.optim.AdamW(model.parameters())
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    expected = ast.literal_eval((FOLDER / "training.txt").read_text())
    assert {key: x.tolist() for key, x in model.state_dict().items()} == expected
    assert optimizer.param_groups[0]["lr"] == 0.125
    assert optimizer.state_dict()["state"][0]["step"] == 2


@pytest.mark.promise("P2")
def test_a_whole_module():
    model = facula.load(FOLDER / "module.pt", trusted=True)
    assert [type(part) for part in model] == [nn.Conv2d, nn.ReLU, nn.Flatten, nn.Linear]
    assert model(facula.ones(1, 1, 3, 3)).shape == (1, 1)
