import pytest

import facula
from facula.vision.models.video.mvit import MSBlockConfig, MViT, Pool

pytestmark = pytest.mark.promise("D3")


def test_pooling_leaves_the_class_token_alone():
    pool = Pool(facula.nn.MaxPool3d((1, 2, 2)), None)
    x = facula.arange(9.0).view(1, 9, 1)
    y, thw = pool(x, (2, 2, 2))
    assert thw == (2, 1, 1)
    assert y.flatten().tolist() == [0.0, 4.0, 8.0]
    y, _ = pool(x.view(1, 1, 9, 1), (2, 2, 2))
    assert y.shape == (1, 1, 3, 1)


def test_mvit_takes_an_image_for_a_video_of_one_frame():
    block = MSBlockConfig(1, 8, 8, [], [], [], [])
    model = MViT(
        (32, 32), 2, [block, block], False, False, False, False, patch_embed_stride=(1, 4, 4)
    )
    model.pos_encoding.temporal_size = 1
    model.pos_encoding.temporal_pos = facula.nn.Parameter(facula.zeros(1, 8))
    assert model.eval()(facula.ones(1, 3, 32, 32)).shape == (1, 400)


def test_mvit_needs_blocks():
    with pytest.raises(ValueError, match="block_setting has no blocks"):
        MViT((32, 32), 2, [], False, False, False, False)
