import pytest

import facula
from facula import nn
from facula.vision.models import EfficientNet, efficientnet_b0
from facula.vision.models.efficientnet import FusedMBConvConfig, MBConv, MBConvConfig

pytestmark = pytest.mark.promise("D3")


def test_width_and_depth_multiply_a_stage():
    stage = MBConvConfig(6, 3, 2, 16, 24, 2, width_mult=1.4, depth_mult=1.8)
    assert (stage.input_channels, stage.out_channels, stage.num_layers) == (24, 32, 4)


def test_only_the_first_block_of_a_stage_changes_the_shape():
    model = EfficientNet(
        [FusedMBConvConfig(4, 3, 2, 8, 16, 2), MBConvConfig(4, 3, 1, 16, 16, 1)], 0.2
    )
    assert [block.use_res_connect for stage in model.features[1:3] for block in stage] == [
        False,
        True,
        True,
    ]
    assert model.features(facula.ones(1, 3, 32, 32)).shape == (1, 64, 8, 8)


def test_stochastic_depth_grows_with_the_depth():
    model = EfficientNet([MBConvConfig(1, 3, 1, 8, 8, 4)], dropout=0.2, stochastic_depth_prob=0.4)
    depths = [block.stochastic_depth.p for block in model.features[1]]
    assert depths == pytest.approx([0.0, 0.1, 0.2, 0.3])


def test_bad_stages_are_refused():
    with pytest.raises(ValueError, match="inverted_residual_setting has no stages"):
        EfficientNet([], dropout=0.2)
    with pytest.raises(TypeError, match=r"a list of MBConvConfig and FusedMBConvConfig, got \[1\]"):
        EfficientNet([1], dropout=0.2)
    with pytest.raises(ValueError, match="MBConv: expected a stride of 1 or 2, got 3"):
        MBConv(MBConvConfig(1, 3, 3, 8, 8, 1), 0.0, nn.BatchNorm2d)


def test_parameters_are_as_many_as_published():
    assert sum(p.numel() for p in efficientnet_b0().parameters()) == 5_288_548
