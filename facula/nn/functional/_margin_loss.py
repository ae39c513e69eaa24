"""Losses that ask for a margin."""

from __future__ import annotations

from collections.abc import Callable

from facula import _core, _ops
from facula._core import Tensor
from facula._ops.losses import reduced
from facula._ops.shapes import broadcast_for
from facula.nn._reduction import get_enum, resolve


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The input where the target is 1, what it lacks to the margin where it is -1.

    Args:
        input: distances.
        target: 1 or -1.
        margin: the least distance wanted where the target is -1.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.hinge_embedding_loss(facula.tensor([0.5, 0.25]), facula.tensor([1, -1]))
        tensor(0.6250)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _ops.hinge_embedding_loss(input, target, margin, number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        input1: scores.
        input2: scores to compare with.
        target: 1 where ``input1`` should be the larger, -1 where ``input2``.
        margin: by how much.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.margin_ranking_loss(facula.ones(1), facula.tensor([3.0]), facula.ones(1))
        tensor(2.)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss: expected inputs and target of as many dimensions, got "
            f"{tuple(input1.shape)}, {tuple(input2.shape)} and {tuple(target.shape)}."
        )
    return _ops.margin_ranking_loss(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of vectors where the target is 1, ``max(0, cos - margin)`` where it is -1.

    Args:
        input1: vectors, along the last dimension.
        input2: vectors, of the same shape.
        target: 1 or -1.
        margin: from -1 to 1.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        inputs ``(N, D)`` and target ``(N,)``, or ``(D,)`` and ``()``.

    Example:
        >>> from facula.nn import functional as F
        >>> x, y = facula.tensor([[1.0, 0.0]]), facula.tensor([[0.0, 1.0]])
        >>> F.cosine_embedding_loss(x, y, facula.ones(1))
        tensor(1.)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    return _ops.cosine_embedding_loss(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the anchor is nearer to the negative than it may be, the margin included.

    Args:
        anchor: vectors.
        positive: vectors that should be near.
        negative: vectors that should be far.
        margin: by how much; above 0.
        p: order of the norm.
        eps: added to differences.
        swap: whether the distance of the positive to the negative counts where it is less.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        all ``(N, D)`` or ``(D,)``; losses ``(N,)`` or ``()``.

    Example:
        >>> from facula.nn import functional as F
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_loss(anchor, far, anchor)
        tensor(6.0000)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: expected margin > 0, got {margin}.")
    return _ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with a distance of one's own.

    Args:
        anchor: vectors.
        positive: vectors that should be near.
        negative: vectors that should be far.
        distance_function: of two tensors of vectors; ``pairwise_distance`` if not given.
        margin: by how much; above 0.
        swap: whether the distance of the positive to the negative counts where it is less.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> anchor, far = facula.zeros(1, 2), facula.tensor([[3.0, 4.0]])
        >>> F.triplet_margin_with_distance_loss(
        ...     anchor, far, anchor, distance_function=lambda x, y: (x - y).abs().sum(1)
        ... )
        tensor(8.)
    """
    number = get_enum(reduction)
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: expected margin > 0, got {margin}.")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "triplet_margin_with_distance_loss: expected anchor, positive and negative of as many "
            f"dimensions, got {tuple(anchor.shape)}, {tuple(positive.shape)} and "
            f"{tuple(negative.shape)}."
        )
    distance = _ops.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _core.minimum(far, distance(positive, negative))
    return reduced((margin + near - far).clamp_min(0), number)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))``.

    Args:
        input: scores.
        target: 1 or -1.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.soft_margin_loss(facula.tensor([0.0, 2.0]), facula.tensor([1.0, -1.0]))
        tensor(1.4100)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if not input.is_floating_point():
        raise RuntimeError(
            f"soft_margin_loss: expected a floating-point input, got {input.dtype}. Convert it "
            "with input.float()."
        )
    x, y = broadcast_for("soft_margin_loss", input, target.to(input.dtype))
    return _core._soft_margin_loss(x, y, number)


def _check_classes(name: str, input: Tensor, target: Tensor, least: int) -> None:
    """That targets are int64 from ``least`` to the number of classes, less one."""
    if not input.is_floating_point():
        raise NotImplementedError(
            f"{name}: expected a floating-point input, got {input.dtype}. Convert it with "
            "input.float()."
        )
    if target.dtype != _core.int64:
        raise RuntimeError(
            f"{name}: expected class indices of dtype int64, got {target.dtype}. Convert them "
            "with target.long()."
        )
    n_classes = input.size(-1) if input.dim() > 0 else 1
    is_bad = (target < least) | (target >= n_classes)
    if not is_bad.any():
        return
    places = is_bad.nonzero()[0].tolist()
    bad_class = target[tuple(places)].item()
    where = "" if not places else f" at index {places[0] if len(places) == 1 else tuple(places)}"
    raise RuntimeError(
        f"{name}: target has class {bad_class}{where}, but input {tuple(input.shape)} has "
        f"{n_classes} classes."
    )


def _check_rows(name: str, input: Tensor) -> None:
    if input.dim() > 2 or (input.dim() > 0 and input.size(-1) == 0):
        raise RuntimeError(
            f"{name}: expected an input (C,) or (N, C) with classes, got {tuple(input.shape)}."
        )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of other classes exceed that of the target, the margin included.

    Args:
        input: scores.
        target: class indices, int64, each in ``[0, C)``.
        p: power of each excess, 1 or 2.
        margin: by how much the target's score should be above the others.
        weight: of each class.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input ``(C,)`` or ``(N, C)``, target ``()`` or ``(N,)``; losses of the target's shape.

    Example:
        >>> from facula.nn import functional as F
        >>> F.multi_margin_loss(facula.tensor([[0.1, 0.2, 0.4, 0.8]]), facula.tensor([3]))
        tensor(0.3250)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: expected p = 1 or 2, got {p}.")
    if weight is not None and weight.dim() != 1:
        raise ValueError(f"multi_margin_loss: expected a weight (C,), got {tuple(weight.shape)}.")
    _check_rows("multi_margin_loss", input)
    scores = input.reshape(-1, input.size(-1) if input.dim() > 0 else 1)
    n_rows, n_classes = scores.shape
    if target.dim() > 1 or target.numel() != n_rows:
        raise RuntimeError(
            f"multi_margin_loss: expected {n_rows} targets for an input {tuple(input.shape)}, got "
            f"{tuple(target.shape)}."
        )
    if weight is not None and weight.size(0) != n_classes:
        raise RuntimeError(
            f"multi_margin_loss: expected a weight for each of the {n_classes} classes, got "
            f"{tuple(weight.shape)}."
        )
    _check_classes("multi_margin_loss", input, target, 0)
    classes = target.reshape(-1, 1)
    excess = (margin - scores.gather(1, classes) + scores).clamp_min(0)
    if p == 2:
        excess = excess.square()
    if weight is not None:
        excess = excess * weight[classes]
    losses = excess.scatter(1, classes, 0).sum(1) / n_classes
    if number == 0:
        return losses.view(target.shape)
    return losses.sum() / max(n_rows, 1) if number == 1 else losses.sum()


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """How much the scores of other classes exceed those of the targets, less a margin of 1.

    Args:
        input: scores.
        target: class indices, int64, from the left; what follows the first -1 does not count.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(C,)`` or ``(N, C)``; losses ``()`` or ``(N,)``.

    Example:
        >>> from facula.nn import functional as F
        >>> scores = facula.tensor([[0.1, 0.2, 0.4, 0.8]])
        >>> F.multilabel_margin_loss(scores, facula.tensor([[3, 0, -1, 1]]))
        tensor(0.8500)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    _check_rows("multilabel_margin_loss", input)
    if target.shape != input.shape:
        raise RuntimeError(
            f"multilabel_margin_loss: expected a target of the input's shape "
            f"{tuple(input.shape)}, got {tuple(target.shape)}."
        )
    _check_classes("multilabel_margin_loss", input, target, -1)
    scores = input.reshape(-1, input.size(-1) if input.dim() > 0 else 1)
    classes = target.view(scores.shape)
    counts = (classes >= 0).long().cumprod(1)
    classes = classes * counts
    is_target = _core.zeros_like(classes).scatter_add(1, classes, counts) > 0
    excess = (1 - scores.gather(1, classes).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    is_pair = (counts > 0).unsqueeze(2) & ~is_target.unsqueeze(1)
    losses = excess.masked_fill(~is_pair, 0).sum((1, 2)) / scores.size(1)
    return reduced(losses.view(input.shape[:-1]), number)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of ``binary_cross_entropy_with_logits``.

    Args:
        input: logits.
        target: 0 or 1, of the input's shape.
        weight: of each class; broadcast.
        size_average: deprecated, see ``reduction``.
        reduce: deprecated, see ``reduction``.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Shape:
        input and target ``(*, C)``; losses ``(*)``.

    Example:
        >>> from facula.nn import functional as F
        >>> F.multilabel_soft_margin_loss(facula.tensor([[0.0, 2.0]]), facula.tensor([[1.0, 1.0]]))
        tensor(0.4100)
    """
    number = get_enum(resolve(size_average, reduce, reduction))
    losses = -(target * _core.logsigmoid(input) + (1 - target) * _core.logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(-1) / input.size(-1), number)
