"""Faster R-CNN (arXiv:1506.01497), with feature pyramids (arXiv:1612.03144).

Images are a list of ``(3, H, W)`` with values from 0 to 1. In training mode targets are a list of
dictionaries of ``boxes`` ``(N, 4)``, x1, y1, x2, y2, and ``labels`` ``(N,)``, int64 from 1; the
result is a dictionary of losses. Else it is a dictionary of ``boxes``, ``labels`` and ``scores``
for each image.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from facula import nn
from facula._core import Tensor
from facula.nn import functional as F
from facula.vision.models._api import weights_enum
from facula.vision.models.detection._builder import Backbone, detector
from facula.vision.models.detection.anchor_utils import AnchorGenerator
from facula.vision.models.detection.backbone_utils import (
    BackboneWithFPN,
    mobilenet_extractor,
    resnet_fpn_extractor,
)
from facula.vision.models.detection.generalized_rcnn import GeneralizedRCNN
from facula.vision.models.detection.roi_heads import RoIHeads
from facula.vision.models.detection.rpn import RegionProposalNetwork, RPNHead
from facula.vision.models.detection.transform import GeneralizedRCNNTransform
from facula.vision.models.mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from facula.vision.models.resnet import ResNet50_Weights, resnet50
from facula.vision.ops.feature_pyramid_network import LastLevelP6P7
from facula.vision.ops.misc import Conv2dNormActivation
from facula.vision.ops.poolers import MultiScaleRoIAlign

__all__ = [
    "FasterRCNN",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]

IMAGE_MEAN = (0.485, 0.456, 0.406)
IMAGE_STD = (0.229, 0.224, 0.225)
_LEVELS = ["0", "1", "2", "3"]


def _default_anchors() -> AnchorGenerator:
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


def default_pool(size: int) -> MultiScaleRoIAlign:
    """RoIAlign of the levels of a ResNet, in the size that heads ask for."""
    return MultiScaleRoIAlign(featmap_names=_LEVELS, output_size=size, sampling_ratio=2)


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN on any backbone.

    Args:
        backbone: makes one feature map or a dictionary of them; ``out_channels`` is their width.
        num_classes: number of classes, the background included; ``None`` where ``box_predictor`` is
            given.
        min_size, max_size, image_mean, image_std: arguments of :class:`GeneralizedRCNNTransform`.
        rpn_anchor_generator, rpn_head: parts of the first stage.
        rpn_pre_nms_top_n_train, rpn_pre_nms_top_n_test: boxes of a level kept before overlapping
            ones are dropped.
        rpn_post_nms_top_n_train, rpn_post_nms_top_n_test: boxes of an image kept after it.
        rpn_nms_thresh, rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image,
            rpn_positive_fraction, rpn_score_thresh: arguments of :class:`RegionProposalNetwork`.
        box_roi_pool, box_head, box_predictor: parts of the second stage.
        box_score_thresh, box_nms_thresh, box_detections_per_img, box_fg_iou_thresh,
            box_bg_iou_thresh, box_batch_size_per_image, box_positive_fraction, bbox_reg_weights:
            arguments of :class:`RoIHeads`.
        **kwargs: passed to :class:`GeneralizedRCNNTransform`.

    Example:
        >>> from facula.vision.models.detection import FasterRCNN
        >>> from facula.vision.models.detection.backbone_utils import mobilenet_backbone
        >>> from facula.vision.models.detection.anchor_utils import AnchorGenerator
        >>> body = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=True)
        >>> anchors = AnchorGenerator(((16,), (32,), (64,)), ((1.0,),) * 3)
        >>> model = FasterRCNN(body, 3, min_size=64, rpn_anchor_generator=anchors).eval()
        >>> sorted(model([facula.rand(3, 40, 50)])[0])
        ['boxes', 'labels', 'scores']
    """

    def __init__(
        self,
        backbone: Any,
        num_classes: int | None = None,
        min_size: int | tuple[int, ...] = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: AnchorGenerator | None = None,
        rpn_head: nn.Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: nn.Module | None = None,
        box_head: nn.Module | None = None,
        box_predictor: nn.Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: tuple[float, float, float, float] | None = None,
        **kwargs: Any,
    ) -> None:
        name = type(self).__name__
        channels = out_channels_of(name, backbone)
        if not isinstance(rpn_anchor_generator, (AnchorGenerator, type(None))):
            raise TypeError(f"{name}: expected rpn_anchor_generator to be an AnchorGenerator.")
        if not isinstance(box_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(f"{name}: expected box_roi_pool to be a MultiScaleRoIAlign.")
        if (num_classes is None) == (box_predictor is None):
            raise ValueError(f"{name}: expected either num_classes or box_predictor.")
        anchors = rpn_anchor_generator or _default_anchors()
        rpn_head = rpn_head or RPNHead(channels, anchors.num_anchors_per_location()[0])
        pre = {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test}
        post = {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test}
        rpn = RegionProposalNetwork(
            anchors,
            rpn_head,
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            pre,
            post,
            rpn_nms_thresh,
            score_thresh=rpn_score_thresh,
        )
        pool = box_roi_pool or default_pool(7)
        if box_head is None:
            rows, columns = pool.output_size
            box_head = TwoMLPHead(channels * rows * columns, 1024)
        if box_predictor is None:
            assert num_classes is not None
            box_predictor = FastRCNNPredictor(1024, num_classes)
        roi_heads = RoIHeads(
            pool,
            box_head,
            box_predictor,
            box_fg_iou_thresh,
            box_bg_iou_thresh,
            box_batch_size_per_image,
            box_positive_fraction,
            bbox_reg_weights,
            box_score_thresh,
            box_nms_thresh,
            box_detections_per_img,
        )
        transform = GeneralizedRCNNTransform(
            min_size,
            max_size,
            image_mean or list(IMAGE_MEAN),
            image_std or list(IMAGE_STD),
            **kwargs,
        )
        super().__init__(backbone, rpn, roi_heads, transform)


def out_channels_of(name: str, backbone: Any) -> int:
    """The width of the feature maps of a backbone."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            f"{name}: expected a backbone with an attribute out_channels, the number of channels "
            f"of its feature maps; {type(backbone).__name__} has none."
        )
    channels: int = backbone.out_channels
    return channels


class TwoMLPHead(nn.Module):
    """Two linear layers, for the features of boxes.

    Args:
        in_channels: numbers of a box.
        representation_size: size of the result.
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(start_dim=1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions and linear layers, for the features of boxes.

    Args:
        input_size: channels, rows and columns of a box.
        conv_layers: channels of each convolution.
        fc_layers: sizes of the linear layers.
        norm_layer: makes the normalisations of the convolutions.
    """

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, rows, columns = input_size
        layers: list[nn.Module] = []
        for width in conv_layers:
            layers.append(Conv2dNormActivation(channels, width, norm_layer=norm_layer))
            channels = width
        layers.append(nn.Flatten())
        size = channels * rows * columns
        for width in fc_layers:
            layers += [nn.Linear(size, width), nn.ReLU(inplace=True)]
            size = width
        super().__init__(*layers)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """The classes of boxes, and a code of a better box for each class.

    Args:
        in_channels: numbers of a box.
        num_classes: number of classes, the background included.
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.dim() == 4 and tuple(x.shape[2:]) != (1, 1):
            raise AssertionError(
                f"FastRCNNPredictor: expected features (N, C, 1, 1), got {tuple(x.shape)}."
            )
        x = x.flatten(start_dim=1)
        return self.cls_score(x), self.bbox_pred(x)


def resnet50_fpn(backbone: Backbone, is_coarse: bool = False) -> BackboneWithFPN:
    """The backbone of most detectors; coarse: without the finest level, with two coarser ones."""
    network = resnet50(
        weights=backbone.weights, progress=backbone.progress, norm_layer=backbone.norm_layer
    )
    if not is_coarse:
        return resnet_fpn_extractor(network, backbone.trainable_layers)
    extra = LastLevelP6P7(256, 256)
    return resnet_fpn_extractor(network, backbone.trainable_layers, [2, 3, 4], extra)


def second_version(backbone: Backbone) -> dict[str, Any]:
    """The parts of the models of the second version (arXiv:2111.11429)."""
    network = resnet50(weights=backbone.weights, progress=backbone.progress)
    body = resnet_fpn_extractor(network, backbone.trainable_layers, norm_layer=nn.BatchNorm2d)
    anchors = _default_anchors()
    return {
        "backbone": body,
        "rpn_anchor_generator": anchors,
        "rpn_head": RPNHead(body.out_channels, anchors.num_anchors_per_location()[0], conv_depth=2),
        "box_head": FastRCNNConvFCHead(
            (body.out_channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d
        ),
    }


def _first(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> FasterRCNN:
    return FasterRCNN(resnet50_fpn(backbone), num_classes, **kwargs)


def _second(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> FasterRCNN:
    return FasterRCNN(num_classes=num_classes, **second_version(backbone), **kwargs)


def _mobile(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> FasterRCNN:
    network = mobilenet_v3_large(
        weights=backbone.weights, progress=backbone.progress, norm_layer=backbone.norm_layer
    )
    body = mobilenet_extractor(network, True, backbone.trainable_layers)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    kwargs = {"rpn_score_thresh": 0.05, **kwargs}
    return FasterRCNN(body, num_classes, rpn_anchor_generator=anchors, **kwargs)


def _mobile_320(backbone: Backbone, num_classes: int, weights: Any, **kwargs: Any) -> FasterRCNN:
    defaults = {
        "min_size": 320,
        "max_size": 640,
        "rpn_pre_nms_top_n_test": 150,
        "rpn_post_nms_top_n_test": 150,
    }
    return _mobile(backbone, num_classes, weights, **{**defaults, **kwargs})


FasterRCNN_ResNet50_FPN_Weights: Any = weights_enum(__name__, "FasterRCNN_ResNet50_FPN")
FasterRCNN_ResNet50_FPN_V2_Weights: Any = weights_enum(__name__, "FasterRCNN_ResNet50_FPN_V2")
FasterRCNN_MobileNet_V3_Large_FPN_Weights: Any = weights_enum(
    __name__, "FasterRCNN_MobileNet_V3_Large_FPN"
)
FasterRCNN_MobileNet_V3_Large_320_FPN_Weights: Any = weights_enum(
    __name__, "FasterRCNN_MobileNet_V3_Large_320_FPN"
)

fasterrcnn_resnet50_fpn = detector(
    FasterRCNN_ResNet50_FPN_Weights,
    "Faster R-CNN on a ResNet-50 with a feature pyramid",
    ResNet50_Weights.IMAGENET1K_V1,
    _first,
    was_without_eps=True,
)
fasterrcnn_resnet50_fpn_v2 = detector(
    FasterRCNN_ResNet50_FPN_V2_Weights,
    "Faster R-CNN with the improvements of https://arxiv.org/abs/2111.11429",
    ResNet50_Weights.IMAGENET1K_V1,
    _second,
    uses_backbone_weights=False,
)
fasterrcnn_mobilenet_v3_large_fpn = detector(
    FasterRCNN_MobileNet_V3_Large_FPN_Weights,
    "Faster R-CNN on a MobileNet v3 with a feature pyramid",
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    _mobile,
    n_stages=6,
)
fasterrcnn_mobilenet_v3_large_320_fpn = detector(
    FasterRCNN_MobileNet_V3_Large_320_FPN_Weights,
    "Faster R-CNN on a MobileNet v3 with a feature pyramid, for small images and telephones",
    MobileNet_V3_Large_Weights.IMAGENET1K_V1,
    _mobile_320,
    n_stages=6,
)
