"""The names of the package itself, which scripts for torchvision use."""

import pytest

import facula
from facula import vision


@pytest.mark.promise("D3")
def test_the_lines_at_the_top_of_scripts_work():
    assert vision.__version__ == facula.__version__
    vision.disable_beta_transforms_warning()
    vision.set_image_backend("PIL")
    assert vision.get_image_backend() == "PIL"
    with pytest.raises(ValueError, match="expected 'PIL', got 'accimage'"):
        vision.set_image_backend("accimage")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        vision.nothing  # noqa: B018


@pytest.mark.promise("D3")
def test_the_imports_of_the_detection_tutorial_work():
    from facula.vision.models.detection.faster_rcnn import FastRCNNPredictor
    from facula.vision.models.detection.mask_rcnn import MaskRCNNPredictor
    from facula.vision.models.detection.rpn import AnchorGenerator

    assert AnchorGenerator is vision.models.detection.anchor_utils.AnchorGenerator
    assert FastRCNNPredictor(8, 3).cls_score.out_features == 3
    assert MaskRCNNPredictor(8, 8, 3) is not None


@pytest.mark.promise("D4")
def test_the_older_name_of_downloads_is_there():
    assert facula.utils.model_zoo.load_url is facula.hub.load_state_dict_from_url
