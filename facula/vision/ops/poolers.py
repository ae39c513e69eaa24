"""RoIAlign over the levels of a pyramid."""

from __future__ import annotations

import math
from collections.abc import Sequence

import facula
from facula import nn
from facula._core import Tensor
from facula.vision.ops._utils import pair, to_rois
from facula.vision.ops.roi_align import roi_align

__all__ = ["LevelMapper", "MultiScaleRoIAlign", "initLevelMapper"]


class LevelMapper:
    """The level of a pyramid for each box, by its size: equation 1 of the paper on FPN.

    Args:
        k_min: the finest level.
        k_max: the coarsest level.
        canonical_scale: boxes with this side are for ``canonical_level``.
        canonical_level: the number of the level for boxes of ``canonical_scale``.
        eps: added before rounding down.
    """

    def __init__(
        self,
        k_min: int,
        k_max: int,
        canonical_scale: int = 224,
        canonical_level: int = 4,
        eps: float = 1e-6,
    ) -> None:
        self.k_min = k_min
        self.k_max = k_max
        self.s0 = canonical_scale
        self.lvl0 = canonical_level
        self.eps = eps

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        """Levels from 0 for the boxes of all images, int64."""
        boxes = facula.cat(boxlists)
        side = ((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])).sqrt()
        level = facula.floor(self.lvl0 + facula.log2(side / self.s0) + self.eps)
        # A box of no area is for the finest level; one that is no number too.
        level = facula.nan_to_num(level, nan=self.k_min).clamp(self.k_min, self.k_max)
        return level.to(facula.int64) - self.k_min


def initLevelMapper(
    k_min: int,
    k_max: int,
    canonical_scale: int = 224,
    canonical_level: int = 4,
    eps: float = 1e-6,
) -> LevelMapper:
    """A :class:`LevelMapper`."""
    return LevelMapper(k_min, k_max, canonical_scale, canonical_level, eps)


class MultiScaleRoIAlign(nn.Module):
    """:func:`roi_align` of boxes on the level of a pyramid that fits their size.

    Args:
        featmap_names: the levels to use, from fine to coarse.
        output_size: bins of a box, rows and columns.
        sampling_ratio: points of a bin in each direction; 0 or less: as many as it has elements.
        canonical_scale: boxes with this side are for ``canonical_level``.
        canonical_level: the number of the level for boxes of ``canonical_scale``.

    Shape:
        a dictionary of ``(N, C, H_i, W_i)``, a list of boxes ``(L, 4)`` and the sizes of the
        images; result ``(K, C, rows, columns)``.

    Example:
        >>> from facula.vision.ops import MultiScaleRoIAlign
        >>> pool = MultiScaleRoIAlign(["fine", "coarse"], 3, 2)
        >>> x = {"fine": facula.ones(1, 5, 64, 64), "coarse": facula.ones(1, 5, 16, 16)}
        >>> pool(x, [facula.tensor([[10.0, 10.0, 200.0, 200.0]])], [(512, 512)]).shape
        torch.Size([1, 5, 3, 3])
    """

    def __init__(
        self,
        featmap_names: list[str],
        output_size: int | Sequence[int],
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.output_size = pair(output_size)
        self.sampling_ratio = sampling_ratio
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None

    def _setup_scales(self, features: list[Tensor], image_shapes: list[tuple[int, int]]) -> None:
        if not image_shapes:
            raise ValueError("MultiScaleRoIAlign: expected the sizes of the images, got none.")
        largest = [max(shape[d] for shape in image_shapes) for d in range(2)]
        # Steps of levels are powers of 2; sizes were rounded on the way.
        self.scales = [
            2 ** float(round(math.log2(level.shape[-2] / largest[0]))) for level in features
        ]
        self.map_levels = LevelMapper(
            round(-math.log2(self.scales[0])),
            round(-math.log2(self.scales[-1])),
            self.canonical_scale,
            self.canonical_level,
        )

    def forward(
        self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> Tensor:
        features = [level for name, level in x.items() if name in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self._setup_scales(features, image_shapes)
            assert self.scales is not None and self.map_levels is not None
        rois = to_rois("MultiScaleRoIAlign", boxes)
        if len(features) == 1:
            return roi_align(
                features[0], rois, self.output_size, self.scales[0], self.sampling_ratio
            )
        levels = self.map_levels(boxes)
        pieces, places = [], []
        for i, (level, scale) in enumerate(zip(features, self.scales, strict=True)):
            chosen = (levels == i).nonzero()[:, 0]
            places.append(chosen)
            pieces.append(
                roi_align(level, rois[chosen], self.output_size, scale, self.sampling_ratio)
            )
        # Pieces are in the order of levels, each box in one of them.
        everything = facula.cat(pieces)
        result = everything.new_zeros((rois.shape[0], *everything.shape[1:]))
        return result.index_copy(0, facula.cat(places), everything)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, "
            f"output_size={self.output_size}, sampling_ratio={self.sampling_ratio})"
        )
