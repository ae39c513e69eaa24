import pytest

import facula
from facula.vision.models.video.swin_transformer import PatchEmbed3d, ShiftedWindowAttention3d

pytestmark = pytest.mark.promise("D3")


def test_windows_longer_than_the_video_are_cut():
    attention = ShiftedWindowAttention3d(4, [8, 2, 2], [4, 1, 1], num_heads=2)
    assert attention.relative_position_index.shape == (32, 32)
    x = facula.randn(1, 2, 5, 4, 4)
    assert attention(x).shape == x.shape
    with pytest.raises(ValueError, match="expected 3 numbers in window_size"):
        ShiftedWindowAttention3d(4, [2, 2], [0, 0], num_heads=2)


def test_patches_are_padded():
    assert PatchEmbed3d([2, 4, 4], embed_dim=8)(facula.ones(1, 3, 3, 9, 4)).shape == (1, 2, 3, 1, 8)
