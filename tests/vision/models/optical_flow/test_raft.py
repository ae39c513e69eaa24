import pytest

import facula
from facula.vision.models.optical_flow import RAFT, Raft_Small_Weights, raft_small
from facula.vision.models.optical_flow._utils import grid_sample, make_coords_grid, upsample_flow
from facula.vision.models.optical_flow.raft import (
    CorrBlock,
    FeatureEncoder,
    MotionEncoder,
    RecurrentBlock,
)

pytestmark = pytest.mark.promise("D3")


def test_points_are_counted_in_pixels():
    image = facula.arange(6.0).view(1, 1, 2, 3)
    grid = make_coords_grid(1, 2, 3).permute(0, 2, 3, 1)
    assert grid[0, 1, 2].tolist() == [2.0, 1.0]
    facula.testing.assert_close(grid_sample(image, grid, align_corners=True), image)


def test_a_constant_flow_stays_constant_when_enlarged():
    flow = facula.ones(1, 2, 3, 3)
    facula.testing.assert_close(upsample_flow(flow), facula.full((1, 2, 24, 24), 8.0))
    middle = upsample_flow(flow, facula.randn(1, 9 * 64, 3, 3))[..., 8:16, 8:16]
    facula.testing.assert_close(middle, facula.full((1, 2, 8, 8), 8.0))


def test_correlations_are_largest_where_the_images_agree():
    corr = CorrBlock(num_levels=1, radius=1)
    features = facula.nn.functional.normalize(facula.randn(1, 32, 4, 4), dim=1)
    corr.build_pyramid(features, features)
    found = corr.index_pyramid(make_coords_grid(1, 4, 4))
    assert found.shape == (1, corr.out_channels, 4, 4) == (1, 9, 4, 4)
    assert (found.argmax(dim=1) == 4).all()


def test_images_of_wrong_sizes_are_refused():
    model = raft_small()
    image = facula.ones(1, 3, 128, 128)
    with pytest.raises(ValueError, match="two images of the same size"):
        model(image, facula.ones(1, 3, 128, 136))
    with pytest.raises(ValueError, match=r"multiples of 8, got \(1, 3, 100, 128\)"):
        model(image[..., :100, :], image[..., :100, :])
    with pytest.raises(ValueError, match="give the model at least 128 x 128"):
        model(image[..., :64, :], image[..., :64, :])


def test_bad_parts_are_refused():
    with pytest.raises(ValueError, match="expected 5 numbers in layers"):
        FeatureEncoder(layers=(1, 2))
    with pytest.raises(ValueError, match="expected 2 numbers in flow_layers"):
        MotionEncoder(in_channels_corr=4, flow_layers=(1, 2, 3))
    with pytest.raises(ValueError, match="expected 1 or 2 numbers in corr_layers"):
        MotionEncoder(in_channels_corr=4, corr_layers=(1, 2, 3))
    with pytest.raises(ValueError, match="one or two kernel sizes and a padding for each"):
        RecurrentBlock(input_size=1, hidden_size=2, kernel_size=((1, 5),))
    with pytest.raises(ValueError, match="update_block has no attribute hidden_state_size"):
        RAFT(feature_encoder=None, context_encoder=None, corr_block=None, update_block=None)
    with pytest.raises(ValueError, match="expected features of the same shape"):
        CorrBlock().build_pyramid(facula.ones(1, 2, 16, 16), facula.ones(1, 3, 16, 16))


def test_parts_can_be_given():
    encoder = FeatureEncoder(layers=(4, 4, 4, 4, 8))
    assert raft_small(feature_encoder=encoder).feature_encoder is encoder


def test_weights_prepare_two_images():
    first, second = Raft_Small_Weights.DEFAULT.transforms()(
        facula.zeros(3, 8, 8, dtype=facula.uint8), facula.full((3, 8, 8), 255, dtype=facula.uint8)
    )
    assert (first.min().item(), second.max().item()) == (-1.0, 1.0)
