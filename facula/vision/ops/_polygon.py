"""Areas of convex polygons and of what they have in common."""

from __future__ import annotations

import facula
from facula._core import Tensor


def _cross(a: Tensor, b: Tensor) -> Tensor:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]


def polygon_area(corners: Tensor) -> Tensor:
    """The area of ``(..., K, 2)`` corners in order."""
    return _cross(corners, corners.roll(-1, -2)).sum(-1).abs() / 2


def convex_intersection(a: Tensor, b: Tensor) -> Tensor:
    """The area that convex polygons ``(..., K, 2)`` have in common, in pairs.

    The corners of the common part are the corners of each that lie in the other, and the points
    where edges cross. Around their middle, sorted by angle, they are a polygon; points that are
    found twice add nothing to its area.
    """
    inside_a, inside_b = _is_inside(a, b), _is_inside(b, a)
    crossings, do_cross = _crossings(a, b)
    a, b = facula.broadcast_tensors(a, b)
    points = facula.cat([a, b, crossings], dim=-2)
    is_corner = facula.cat([inside_a, inside_b, do_cross], dim=-1)
    n = is_corner.sum(-1, keepdim=True)
    middle = (points * is_corner[..., None]).sum(-2) / n.clamp(min=1)
    # Points that do not count are put on one that does, so that they add no area either.
    first = is_corner.int().argmax(-1, keepdim=True)
    chosen = points.take_along_dim(first[..., None], -2)
    spokes = facula.where(is_corner[..., None], points, chosen) - middle[..., None, :]
    with facula.no_grad():
        order = facula.atan2(spokes[..., 1], spokes[..., 0]).argsort(-1)
    area = polygon_area(spokes.take_along_dim(order[..., None], -2))
    return facula.where(n[..., 0] > 2, area, 0)


def _is_inside(points: Tensor, polygon: Tensor) -> Tensor:
    """Which of ``(..., K, 2)`` points lie in a convex polygon, its border included."""
    edges = polygon.roll(-1, -2) - polygon
    spokes = points[..., :, None, :] - polygon[..., None, :, :]
    sides = _cross(edges[..., None, :, :], spokes)
    # On the border the product is 0 but for rounding, which grows with the coordinates.
    slack = 1e-6 * (edges.abs().amax((-2, -1)) ** 2)[..., None, None] if sides.numel() else 0
    return (sides >= -slack).all(-1) | (sides <= slack).all(-1)


def _crossings(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Where each edge of one polygon meets each of another, and whether it does."""
    edges_a, edges_b = a.roll(-1, -2) - a, b.roll(-1, -2) - b
    along_a, along_b = edges_a[..., :, None, :], edges_b[..., None, :, :]
    between = b[..., None, :, :] - a[..., :, None, :]
    turn = _cross(along_a, along_b)
    is_parallel = turn == 0
    turn = facula.where(is_parallel, 1, turn)
    t, u = _cross(between, along_b) / turn, _cross(between, along_a) / turn
    do_cross = ~is_parallel & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    points = a[..., :, None, :] + t[..., None] * along_a
    return points.flatten(-3, -2), do_cross.flatten(-2)
