import pytest
import vision_files as files

import facula
from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_patches_are_read(tmp_path, monkeypatch):
    files.photo_tour(tmp_path)
    monkeypatch.setitem(datasets.PhotoTour.lens, "liberty", 300)
    assert datasets.PhotoTour(tmp_path, "liberty").data.shape == (300, 64, 64)
    first, second, is_same = datasets.PhotoTour(tmp_path, "liberty", train=False)[1]
    assert (first.shape, second.dtype, is_same.item()) == ((64, 64), facula.uint8, 0)
