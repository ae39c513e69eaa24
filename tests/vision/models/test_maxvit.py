import pytest

import facula
from facula import nn
from facula.vision.models import MaxVit
from facula.vision.models.maxvit import (
    MaxVitBlock,
    PartitionAttentionLayer,
    RelativePositionalMultiHeadAttention,
    WindowDepartition,
    WindowPartition,
)

pytestmark = pytest.mark.promise("D3")


def partition_attention(kind):
    return PartitionAttentionLayer(8, 4, 2, kind, (4, 4), 2, nn.GELU, nn.LayerNorm, 0.0, 0.0, 0.0)


def test_windows_put_together_are_the_image():
    x = facula.randn(2, 3, 4, 6)
    windows = WindowPartition()(x, 2)
    assert windows.shape == (2, 6, 4, 3)
    assert facula.equal(windows[0, 1, :, 0], x[0, 0, :2, 2:4].flatten())
    assert facula.equal(WindowDepartition()(windows, 2, 2, 3), x)


@pytest.mark.parametrize("kind, neighbour", [("window", (1, 1)), ("grid", (2, 2))])
def test_windows_see_neighbours_and_grids_what_is_far(kind, neighbour):
    layer = partition_attention(kind)
    x = facula.randn(1, 8, 4, 4)
    changed = x.clone()
    changed[:, 0, neighbour[0], neighbour[1]] += 1
    seen = (layer(changed) - layer(x))[0].abs().amax(0) > 1e-6
    rows = (0, 1) if kind == "window" else (0, 2)
    expected = facula.zeros(4, 4, dtype=facula.bool)
    for row in rows:
        for column in rows:
            expected[row, column] = True
    assert facula.equal(seen, expected)


def test_sizes_that_cannot_be_cut_are_refused():
    with pytest.raises(
        ValueError, match="the 5 x 5 places of block 1 cannot be cut into parts of 2"
    ):
        MaxVit((40, 40), 8, 2, [8, 8], [1, 1], 4, 0.1)
    with pytest.raises(ValueError, match="feat_dim of 8 is no multiple of the head_dim 3"):
        RelativePositionalMultiHeadAttention(8, 3, 4)
    with pytest.raises(ValueError, match="expected a partition_type 'grid' or 'window', got 'row'"):
        partition_attention("row")
    with pytest.raises(ValueError, match=r"a number for each of 2 layers, got \[0.1\]"):
        MaxVitBlock(8, 8, 0.25, 4, nn.BatchNorm2d, nn.GELU, 4, 2, 0.0, 0.0, 2, (8, 8), 2, [0.1])


def test_stochastic_depth_grows_with_the_depth():
    model = MaxVit((32, 32), 8, 2, [8, 8], [1, 2], 4, stochastic_depth_prob=0.2, num_classes=3)
    depths = [
        m.stochastic_dropout.p for m in model.modules() if isinstance(m, PartitionAttentionLayer)
    ]
    assert depths == pytest.approx([0.0, 0.0, 0.1, 0.1, 0.2, 0.2])
    assert model(facula.randn(2, 3, 32, 32)).shape == (2, 3)
