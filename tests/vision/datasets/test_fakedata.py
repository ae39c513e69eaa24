import pytest

import facula
from facula.vision import datasets

pytestmark = pytest.mark.promise("D3")


def test_random_images_are_those_of_their_index():
    data = datasets.FakeData(3, (3, 4, 5), transform=lambda image: image.tobytes())
    assert data[1] == data[1] != data[2]
    state = facula.get_rng_state()
    data[0]
    assert facula.get_rng_state().equal(state)
    with pytest.raises(IndexError, match="index 3 is out of range of 3 images"):
        data[3]
