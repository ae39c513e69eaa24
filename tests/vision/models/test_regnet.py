import pytest

import facula
from facula.vision.models import regnet_x_400mf
from facula.vision.models.regnet import BlockParams, RegNet

pytestmark = pytest.mark.promise("D3")


def test_the_numbers_of_the_paper_give_its_stages():
    stages = BlockParams.from_init_params(16, 48, 27.89, 2.09, 8, se_ratio=0.25)
    assert stages.depths == [1, 3, 6, 6]
    assert stages.widths == [48, 104, 208, 440]
    assert stages.group_widths == [8, 8, 8, 8]


def test_a_bottleneck_narrower_than_a_group_narrows_the_group():
    stages = BlockParams.from_init_params(2, 8, 8.0, 2.0, 16)
    assert stages.group_widths == [8, 16]
    assert stages.widths == [8, 16]


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match=r"w_a >= 0, w_0 > 0 .* got w_a=-1, w_0=8, w_m=2"):
        BlockParams.from_init_params(2, 8, -1, 2, 3)


def test_stages_halve_the_image_and_have_their_names():
    model = RegNet(BlockParams.from_init_params(2, 8, 8.0, 2.0, 4, se_ratio=0.25), num_classes=3)
    features = model.trunk_output(model.stem(facula.ones(1, 3, 32, 32)))
    assert features.shape == (1, 16, 4, 4)
    assert "trunk_output.block2.block2-0.f.se.fc1.weight" in model.state_dict()


def test_parameters_are_as_many_as_published():
    assert sum(p.numel() for p in regnet_x_400mf().parameters()) == 5_495_976
