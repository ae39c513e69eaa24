import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_captions_are_read(tmp_path):
    files.flickr8k(tmp_path)
    data = datasets.Flickr8k(tmp_path, tmp_path / "captions.html")
    assert [target for _, target in data] == [[f"A dog number {i} .", "It runs"] for i in (0, 1)]
    files.flickr30k(tmp_path)
    data = datasets.Flickr30k(tmp_path, tmp_path / "results.token")
    assert data[1][1] == ["A dog .", "It runs"]
