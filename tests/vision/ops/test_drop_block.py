import pytest

import facula
from facula.vision import ops

pytestmark = pytest.mark.promise("D3")


def test_drop_block_drops_whole_blocks():
    facula.manual_seed(0)
    y = ops.drop_block2d(facula.ones(8, 4, 12, 12), p=0.2, block_size=3)
    is_dropped = (y == 0).float()
    share = is_dropped.mean().item()
    assert 0.1 < share < 0.3
    # Each dropped element is part of a dropped 3x3 square.
    pool = facula.nn.functional.max_pool2d
    centers = 1 - pool(1 - is_dropped, 3, 1, 1)
    assert facula.equal(pool(centers, 3, 1, 1), is_dropped)
    with pytest.raises(ValueError, match=r"expected an odd block size, got 2"):
        ops.drop_block2d(facula.ones(1, 1, 4, 4), 0.2, 2)
