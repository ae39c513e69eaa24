import pytest

import facula
from facula.vision.models import video
from facula.vision.models.video.mvit import MSBlockConfig, MViT, Pool
from facula.vision.models.video.resnet import (
    BasicStem,
    Bottleneck,
    Conv2Plus1D,
    Conv3DNoTemporal,
    Conv3DSimple,
)
from facula.vision.models.video.s3d import SepInceptionBlock3D
from facula.vision.models.video.swin_transformer import PatchEmbed3d, ShiftedWindowAttention3d

pytestmark = pytest.mark.promise("D3")


@pytest.mark.parametrize(
    "conv, frames", [(Conv3DSimple, 2), (Conv2Plus1D, 2), (Conv3DNoTemporal, 4)]
)
def test_convolutions_halve_space_and_mostly_time(conv, frames):
    y = conv(3, 4, 5, stride=2)(facula.ones(1, 3, 4, 8, 8))
    assert y.shape == (1, 4, frames, 4, 4)
    assert conv.get_downsample_stride(2) == (4 // frames, 2, 2)


def test_a_resnet_of_bottlenecks_can_begin_as_the_identity():
    model = video.VideoResNet(
        Bottleneck, [Conv3DSimple] * 4, [1, 1, 1, 1], BasicStem, 3, zero_init_residual=True
    )
    assert model.layer4[0].conv3[1].weight.abs().sum() == 0
    assert model.eval()(facula.randn(1, 3, 4, 16, 16)).shape == (1, 3)


def test_mc3_has_3d_convolutions_only_in_its_first_stage():
    model = video.mc3_18(num_classes=2)
    assert isinstance(model.layer1[0].conv1[0], Conv3DSimple)
    assert isinstance(model.layer2[0].conv1[0], Conv3DNoTemporal)


def test_branches_of_s3d_stand_side_by_side():
    block = SepInceptionBlock3D(4, 1, 2, 3, 2, 4, 5, facula.nn.BatchNorm3d)
    assert block(facula.randn(1, 4, 2, 6, 6)).shape == (1, 13, 2, 6, 6)


def test_windows_longer_than_the_video_are_cut():
    attention = ShiftedWindowAttention3d(4, [8, 2, 2], [4, 1, 1], num_heads=2)
    assert attention.relative_position_index.shape == (32, 32)
    x = facula.randn(1, 2, 5, 4, 4)
    assert attention(x).shape == x.shape
    with pytest.raises(ValueError, match="expected 3 numbers in window_size"):
        ShiftedWindowAttention3d(4, [2, 2], [0, 0], num_heads=2)


def test_patches_are_padded():
    assert PatchEmbed3d([2, 4, 4], embed_dim=8)(facula.ones(1, 3, 3, 9, 4)).shape == (1, 2, 3, 1, 8)


def test_weights_prepare_videos():
    prepare = video.R3D_18_Weights.DEFAULT.transforms()
    frames = facula.randint(0, 256, (2, 4, 3, 120, 160), dtype=facula.uint8)
    assert prepare(frames).shape == (2, 3, 4, 112, 112)
    assert "``(..., C, T, H, W)``" in prepare.describe()
    assert len(video.R3D_18_Weights.DEFAULT.meta["categories"]) == 400


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
