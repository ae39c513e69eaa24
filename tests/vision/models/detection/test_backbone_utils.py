import pytest

from facula.vision.models.detection import backbone_utils

pytestmark = pytest.mark.promise("D3")


def test_layers_to_train():
    with pytest.warns(UserWarning, match=r"has no effect without trained weights"):
        assert backbone_utils.choose_trainable_layers(False, 2, 5, 3) == 5
    assert backbone_utils.choose_trainable_layers(True, None, 5, 3) == 3
    with pytest.raises(ValueError, match=r"expected a number from 0 to 5, got 6"):
        backbone_utils.choose_trainable_layers(True, 6, 5, 3)
    backbone = backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, trainable_layers=1
    )
    trained = {k.split(".")[0] for k, p in backbone.body.named_parameters() if p.requires_grad}
    assert trained == {"layer4"}
