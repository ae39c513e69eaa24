"""Images to look at: grids, files, and drawings of boxes, masks, key points and flows."""

from __future__ import annotations

import math
from typing import Any

import facula
from facula._core import Tensor
from facula._warnings import warn_user
from facula.vision._imports import optional
from facula.vision.transforms.v2.functional._type_conversion import from_pixels, pixels

__all__ = [
    "draw_bounding_boxes",
    "draw_keypoints",
    "draw_segmentation_masks",
    "flow_to_image",
    "make_grid",
    "save_image",
]

Color = str | tuple[int, int, int]


def _as_batch(tensor: Any) -> Tensor:
    """Images ``(N, C, H, W)`` of three or more channels, from a tensor or a list of them."""
    if isinstance(tensor, list):
        for image in tensor:
            if not isinstance(image, Tensor):
                raise TypeError(
                    f"make_grid: expected a list of tensors, got one with {type(image).__name__}."
                )
        tensor = facula.stack(tensor)
    elif not isinstance(tensor, Tensor):
        raise TypeError(
            f"make_grid: expected a tensor or a list of them, got {type(tensor).__name__}."
        )
    if tensor.dim() < 2:
        raise IndexError(f"make_grid: expected images, got a tensor {tuple(tensor.shape)}.")
    if tensor.dim() > 4:
        raise RuntimeError(
            f"make_grid: expected images (N, C, H, W), got a tensor {tuple(tensor.shape)}."
        )
    tensor = tensor.unsqueeze(0) if tensor.dim() == 2 else tensor
    tensor = tensor.unsqueeze(0) if tensor.dim() == 3 else tensor
    batch: Tensor = tensor.expand(-1, 3, -1, -1) if tensor.shape[1] == 1 else tensor
    return batch


def _stretch(image: Tensor, value_range: tuple[float, float] | None) -> None:
    low, high = value_range or (float(image.min()), float(image.max()))
    image.clamp_(low, high).sub_(low).div_(max(high - low, 1e-5))


def make_grid(
    tensor: Tensor | list[Tensor],
    nrow: int = 8,
    padding: int = 2,
    normalize: bool = False,
    value_range: tuple[int, int] | None = None,
    scale_each: bool = False,
    pad_value: float = 0.0,
) -> Tensor:
    """One image of many.

    Args:
        tensor: images ``(N, C, H, W)``, or a list of images of one size.
        nrow: images in a row.
        padding: pixels between them.
        normalize: whether values are stretched to reach from 0 to 1.
        value_range: the values that become 0 and 1; by default the least and the greatest.
        scale_each: whether each image is stretched by itself.
        pad_value: the value between the images.

    Shape:
        result ``(C, H', W')``; images of one channel get three.

    Example:
        >>> from facula.vision import utils
        >>> utils.make_grid(facula.zeros(5, 3, 4, 4), nrow=3).shape
        torch.Size([3, 14, 20])
    """
    batch = _as_batch(tensor)
    if normalize:
        if value_range is not None and not isinstance(value_range, tuple):
            raise TypeError(f"make_grid: value_range is a pair of numbers, got {value_range!r}.")
        if not batch.is_floating_point():
            raise RuntimeError(
                f"make_grid: only floating-point images can be normalized, got {batch.dtype}."
            )
        batch = batch.clone()
        for part in batch.unbind(0) if scale_each else [batch]:
            _stretch(part, value_range)
    n, n_channels, height, width = batch.shape
    if n == 1:
        return batch.squeeze(0)
    if nrow == 0:
        raise ZeroDivisionError("make_grid: nrow is 0; a row has one image or more.")
    if nrow < 0:
        raise RuntimeError(f"make_grid: expected one image or more in a row, got nrow={nrow}.")
    n_columns = min(nrow, n)
    n_rows = math.ceil(n / n_columns)
    height, width = height + padding, width + padding
    grid = batch.new_full(
        (n_channels, height * n_rows + padding, width * n_columns + padding), pad_value
    )
    for i, image in enumerate(batch.unbind(0)):
        y, x = i // n_columns * height + padding, i % n_columns * width + padding
        grid[:, y : y + height - padding, x : x + width - padding] = image
    return grid


def save_image(
    tensor: Tensor | list[Tensor], fp: Any, format: str | None = None, **kwargs: Any
) -> None:
    """Save images, with values from 0 to 1, as one file.

    Args:
        tensor: an image, or several, of which :func:`make_grid` makes one.
        fp: the file's path, or a file open for writing.
        format: such as ``"PNG"``; by default from the name of the file.
        kwargs: arguments of :func:`make_grid`.

    Example:
        >>> import io
        >>> from facula.vision import utils
        >>> file = io.BytesIO()
        >>> utils.save_image(facula.zeros(3, 4, 4), file, format="PNG")
        >>> file.getvalue()[1:4]
        b'PNG'
    """
    grid = make_grid(tensor, **kwargs)
    image = grid.mul(255).add_(0.5).clamp_(0, 255).to(facula.uint8).cpu()
    from_pixels(image, "RGB").save(fp, format=format)


def _check_image(name: str, image: Any, is_rgb: bool = True) -> None:
    if not isinstance(image, Tensor):
        raise TypeError(f"{name}: expected a tensor, got {type(image).__name__}.")
    if not (image.dtype == facula.uint8 or image.is_floating_point()):
        raise ValueError(f"{name}: expected a uint8 or floating-point image, got {image.dtype}.")
    if image.dim() != 3:
        raise ValueError(f"{name}: expected one image (C, H, W), got {tuple(image.shape)}.")
    if image.shape[0] not in ((3,) if is_rgb else (1, 3)):
        expected = "3 channels" if is_rgb else "1 or 3 channels"
        raise ValueError(f"{name}: expected {expected}, got an image {tuple(image.shape)}.")


def _as_pil(image: Tensor) -> Any:
    image = image.as_subclass(Tensor)
    if image.is_floating_point():
        image = image.mul(255).to(facula.uint8)
    return from_pixels(image.expand(3, -1, -1).cpu(), "RGB")


def _like(drawn: Any, image: Tensor) -> Tensor:
    result = pixels(drawn)
    if image.is_floating_point():
        return result.to(image.dtype).div_(255)
    return result


def _colors(name: str, colors: Any, n: int) -> list[Any]:
    """A color, as numbers from 0 to 255, for each of n things."""
    if colors is None:
        # Far from each other, and always the same.
        steps = (2**25 - 1, 2**15 - 1, 2**21 - 1)
        return [tuple(i * step % 255 for step in steps) for i in range(n)]
    if isinstance(colors, list):
        if len(colors) < n:
            raise ValueError(f"{name}: expected {n} colors or one, got a list of {len(colors)}.")
    else:
        if isinstance(colors, tuple) and len(colors) != 3:
            raise ValueError(f"{name}: expected a color of red, green and blue, got {colors}.")
        colors = [colors] * n
    to_rgb = optional("PIL.ImageColor").getrgb
    return [to_rgb(color) if isinstance(color, str) else color for color in colors]


def _draw_rotated(draw: Any, box: list[int], outline: Any, width: int, fill: Any) -> None:
    """A rotated box; its first side, the top of what it holds, is dashed."""
    if fill is not None:
        draw.polygon(box, fill=fill, outline=None, width=0)
    x, y, *others = box
    for i in range(0, 6, 2):
        draw.line((box + box)[i + 2 : i + 6], fill=outline, width=width)
    dx, dy = others[0] - x, others[1] - y
    length, dash = math.hypot(dx, dy), 5
    for start in range(0, math.ceil(length), 2 * dash):
        ends = start / length, min(start + dash, length) / length
        line = [(int(x + dx * end), int(y + dy * end)) for end in ends]
        draw.line(line, fill=outline, width=width)


def draw_bounding_boxes(
    image: Tensor,
    boxes: Tensor,
    labels: list[str] | None = None,
    colors: list[Color] | Color | None = None,
    fill: bool | None = False,
    width: int = 1,
    font: str | None = None,
    font_size: int | None = None,
    label_colors: list[Color] | Color | None = None,
    label_background_colors: list[Color] | Color | None = None,
    fill_labels: bool = False,
) -> Tensor:
    """Draw boxes on an image.

    Args:
        image: ``(C, H, W)`` of 1 or 3 channels, uint8, or floating point from 0 to 1.
        boxes: two corners of each, ``(N, 4)``, or the four of a rotated one, ``(N, 8)``.
        labels: a text for each box, or None.
        colors: a color for each box or one for all: a name, ``"#FF00FF"``, or red, green, blue.
        fill: whether boxes are filled, so that the image shines through.
        width: the width of the lines, in pixels.
        font: the file of a TrueType font for the labels.
        font_size: the size of the labels, where there is a font.
        label_colors: the colors of the labels; by default those of the boxes, or black on a
            background.
        label_background_colors: the colors behind the labels; by default those of the boxes.
        fill_labels: whether labels have a background.

    Shape:
        result ``(3, H, W)``, of the image's dtype.

    Example:
        >>> from facula.vision import utils
        >>> image = facula.zeros(3, 4, 4, dtype=facula.uint8)
        >>> utils.draw_bounding_boxes(image, facula.tensor([[0, 0, 2, 2]]), colors="red")[0]
        tensor([[255, 255, 255,   0],
                [255,   0, 255,   0],
                [255, 255, 255,   0],
                [  0,   0,   0,   0]], dtype=torch.uint8)
    """
    name = "draw_bounding_boxes"
    _check_image(name, image, is_rgb=False)
    n = boxes.shape[0]
    if boxes.dim() != 2 or boxes.shape[1] not in (4, 8):
        raise IndexError(f"{name}: expected boxes (N, 4) or (N, 8), got {tuple(boxes.shape)}.")
    if boxes.shape[1] == 4 and bool((boxes[:, :2] > boxes[:, 2:]).any()):
        raise ValueError(
            f"{name}: expected boxes (xmin, ymin, xmax, ymax), got one that ends before it begins. "
            "Use facula.vision.ops.box_convert for other formats."
        )
    if n == 0:
        warn_user(f"{name}: there are no boxes to draw.")
        return image
    texts = [None] * n if labels is None else labels
    if len(texts) != n:
        raise ValueError(f"{name}: expected {n} labels, one for each box, got {len(texts)}.")
    box_colors = _colors(name, colors, n)
    text_colors = box_colors
    if label_colors is not None or fill_labels:
        text_colors = _colors(name, label_colors or "black", n)
    background_colors = box_colors
    if label_background_colors is not None and fill_labels:
        background_colors = _colors(name, label_background_colors, n)
    text_font = None
    if font is not None:
        text_font = optional("PIL.ImageFont").truetype(font=font, size=font_size or 10)
    elif font_size is not None:
        warn_user(f"{name}: font_size needs font, and is ignored.")

    drawn = _as_pil(image)
    draw = optional("PIL.ImageDraw").Draw(drawn, "RGBA" if fill else None)
    things = zip(
        boxes.to(facula.int64).tolist(),
        texts,
        box_colors,
        text_colors,
        background_colors,
        strict=False,
    )
    for box, text, color, text_color, background in things:
        options = {"outline": color, "width": width, "fill": (*color, 100) if fill else None}
        if len(box) == 4:
            draw.rectangle(box, **options)
        else:
            _draw_rotated(draw, box, **options)
        if text is None:
            continue
        place = box[0] + width + 1, box[1] + width + 1
        if fill_labels:
            left, top, right, bottom = draw.textbbox(place, text, font=text_font)
            draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=background)
        draw.text(place, text, fill=text_color, font=text_font)
    return _like(drawn, image)


def draw_segmentation_masks(
    image: Tensor,
    masks: Tensor,
    alpha: float = 0.8,
    colors: list[Color] | Color | None = None,
) -> Tensor:
    """Draw masks on an image; where some overlap, they are black.

    Args:
        image: ``(3, H, W)``, uint8, or floating point from 0 to 1.
        masks: ``(N, H, W)`` or ``(H, W)``, bool.
        alpha: how much of the color is seen, from 0 to 1.
        colors: a color for each mask or one for all: a name, ``"#FF00FF"``, or red, green, blue.

    Shape:
        result ``(3, H, W)``, of the image's dtype.

    Example:
        >>> from facula.vision import utils
        >>> image = facula.zeros(3, 1, 2)
        >>> mask = facula.tensor([[True, False]])
        >>> utils.draw_segmentation_masks(image, mask, alpha=0.5, colors="red")[0]
        tensor([[0.5000, 0.0000]])
    """
    name = "draw_segmentation_masks"
    _check_image(name, image)
    masks = masks.unsqueeze(0) if masks.dim() == 2 else masks
    if masks.dim() != 3:
        raise ValueError(f"{name}: expected masks (N, H, W) or (H, W), got {tuple(masks.shape)}.")
    if masks.dtype != facula.bool:
        raise ValueError(f"{name}: expected masks of dtype bool, got {masks.dtype}.")
    if masks.shape[-2:] != image.shape[-2:]:
        raise ValueError(
            f"{name}: expected masks of the size of the image {tuple(image.shape)}, "
            f"got {tuple(masks.shape)}."
        )
    if masks.shape[0] == 0:
        warn_user(f"{name}: there are no masks to draw.")
        return image
    image = image.as_subclass(Tensor)
    painted = image.clone()
    for mask, color in zip(masks.unbind(0), _colors(name, colors, masks.shape[0]), strict=False):
        paint = facula.tensor(color, dtype=image.dtype, device=image.device)
        if image.is_floating_point():
            paint = paint / 255
        painted[:, mask] = paint.unsqueeze(-1)
    painted[:, masks.sum(0) > 1] = 0
    return image.mul(1 - float(alpha)).add_(painted.mul(float(alpha))).to(image.dtype)


def draw_keypoints(
    image: Tensor,
    keypoints: Tensor,
    connectivity: list[tuple[int, int]] | None = None,
    colors: Color | None = None,
    radius: int = 2,
    width: int = 3,
    visibility: Tensor | None = None,
) -> Tensor:
    """Draw points on an image, and lines between them.

    Args:
        image: ``(3, H, W)``, uint8, or floating point from 0 to 1.
        keypoints: x and y of K points for each of N objects, ``(N, K, 2)``.
        connectivity: pairs of points that are joined by a line.
        colors: the color of all points: a name, ``"#FF00FF"``, or red, green, blue.
        radius: the radius of the points, in pixels.
        width: the width of the lines, in pixels.
        visibility: which points are drawn, ``(N, K)``; by default all.

    Shape:
        result ``(3, H, W)``, of the image's dtype.

    Example:
        >>> from facula.vision import utils
        >>> image = facula.zeros(3, 3, 3, dtype=facula.uint8)
        >>> points = facula.tensor([[[1, 1]]])
        >>> utils.draw_keypoints(image, points, colors="red", radius=1)[0].sum() > 255
        tensor(True)
    """
    name = "draw_keypoints"
    _check_image(name, image)
    if keypoints.dim() != 3:
        raise ValueError(f"{name}: expected points (N, K, 2), got {tuple(keypoints.shape)}.")
    if visibility is None:
        visibility = facula.ones(keypoints.shape[:-1], dtype=facula.bool)
    if visibility.dim() == 3:
        visibility = visibility.squeeze(-1)
    if tuple(visibility.shape) != tuple(keypoints.shape[:-1]):
        raise ValueError(
            f"{name}: expected a visibility {tuple(keypoints.shape[:-1])}, one for each point, "
            f"got {tuple(visibility.shape)}."
        )
    drawn = _as_pil(image)
    draw = optional("PIL.ImageDraw").Draw(drawn)
    seen = visibility.to(facula.bool).tolist()
    for points, is_seen in zip(keypoints.to(facula.int64).tolist(), seen, strict=True):
        for (x, y, *_), shown in zip(points, is_seen, strict=True):
            if shown:
                circle = x - radius, y - radius, x + radius, y + radius
                draw.ellipse(circle, fill=colors, outline=None, width=0)
        for start, end in connectivity or ():
            if is_seen[start] and is_seen[end]:
                line = (*points[start][:2], *points[end][:2])
                draw.line(line, width=width)
    return _like(drawn, image)


def _color_wheel() -> Tensor:
    """The colors of directions, after Baker et al., A Database and Evaluation Methodology for
    Optical Flow, 2007: as many steps between two colors as the eye tells apart, ``(55, 3)``."""
    rows: list[list[float]] = []
    # From one pure color to the next a channel rises or falls: steps, its index, and which.
    arcs = [
        (15, 1, True),
        (6, 0, False),
        (4, 2, True),
        (11, 1, False),
        (13, 0, True),
        (6, 2, False),
    ]
    color = [255.0, 0.0, 0.0]
    for n_steps, channel, rises in arcs:
        for step in range(n_steps):
            part = float(math.floor(255 * step / n_steps))
            color[channel] = part if rises else 255.0 - part
            rows.append(list(color))
        color[channel] = 255.0 if rises else 0.0
    return facula.tensor(rows)


def flow_to_image(flow: Tensor) -> Tensor:
    """An optical flow as colors: the hue is its direction, the strength its length.

    Args:
        flow: x and y of the movement of each pixel, float32, ``(N, 2, H, W)`` or ``(2, H, W)``.

    Shape:
        result ``(N, 3, H, W)`` or ``(3, H, W)``, uint8.

    Example:
        >>> from facula.vision import utils
        >>> utils.flow_to_image(facula.zeros(2, 4, 5))[:, 0, 0]
        tensor([255, 255, 255], dtype=torch.uint8)
    """
    if flow.dtype != facula.float32:
        raise ValueError(f"flow_to_image: expected a float32 flow, got {flow.dtype}.")
    if flow.dim() not in (3, 4) or flow.shape[-3] != 2:
        raise ValueError(
            f"flow_to_image: expected a flow (2, H, W) or (N, 2, H, W), got {tuple(flow.shape)}."
        )
    if not bool(flow.isfinite().all()):
        raise IndexError("flow_to_image: the flow has values that are NaN or infinite.")
    length = flow.square().sum(-3, keepdim=True).sqrt()
    flow = flow / (length.max() + facula.finfo(flow.dtype).eps)
    x, y = flow.unbind(-3)
    length = (x.square() + y.square()).sqrt()
    wheel = _color_wheel().to(flow.device)
    place = (facula.atan2(-y, -x) / math.pi + 1) / 2 * (wheel.shape[0] - 1)
    below = place.floor().to(facula.int64)
    above = (below + 1) % wheel.shape[0]
    part = (place - below).unsqueeze(-1)
    full = (1 - part) * (wheel[below] / 255) + part * (wheel[above] / 255)
    color: Tensor = 1 - length.unsqueeze(-1) * (1 - full)
    return color.mul(255).floor().to(facula.uint8).movedim(-1, -3)
