import math

import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def test_levels_of_a_pyramid_by_the_size_of_boxes():
    mapper = ops.poolers.LevelMapper(2, 5)
    sides = facula.tensor([0.0, 56.0, 112.0, 224.0, 448.0, 10000.0, math.nan])
    boxes = facula.stack([sides * 0, sides * 0, sides, sides], dim=1)
    assert mapper([boxes]).tolist() == [0, 0, 1, 2, 3, 3, 0]
