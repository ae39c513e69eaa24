import pytest
import vision_files as files

from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_films_are_read(tmp_path):
    files.moving_mnist(tmp_path)
    assert datasets.MovingMNIST(tmp_path, "test", 15)[0].shape == (5, 1, 64, 64)
