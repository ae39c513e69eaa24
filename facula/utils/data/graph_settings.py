"""Settings for all the pipes that a pipe is made of: shares, order and seeds."""

from __future__ import annotations

import inspect
from typing import Any

from facula._warnings import warn_user
from facula.utils.data.graph import traverse_dps
from facula.utils.data.sampler import draw_seed

__all__ = [
    "apply_random_seed",
    "apply_sharding",
    "apply_shuffle_seed",
    "apply_shuffle_settings",
    "get_all_graph_pipes",
]


def get_all_graph_pipes(graph: dict[int, tuple[Any, Any]]) -> list[Any]:
    """The pipes of a graph, each once, the last one first.

    Args:
        graph: what :func:`facula.utils.data.graph.traverse_dps` returned.
    """
    found: dict[int, Any] = {}

    def collect(graph: dict[int, tuple[Any, Any]]) -> None:
        for key, (pipe, parts) in graph.items():
            if key not in found:
                found[key] = pipe
                collect(parts)

    collect(graph)
    return list(found.values())


def _has_methods(pipe: Any, *names: str) -> bool:
    # Any name is an attribute of a pipe that a step is registered by: methods are asked for.
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_sharding(
    datapipe: Any, num_of_instances: int, instance_id: int, sharding_group: Any = None
) -> Any:
    """Tell the pipes that give each worker its share which worker this is.

    Args:
        datapipe: the last pipe.
        num_of_instances: how many workers there are.
        instance_id: the number of this one.
        sharding_group: passed on to pipes that take it.

    Example:
        >>> from facula.utils.data.datapipes.iter import IterableWrapper
        >>> from facula.utils.data.graph_settings import apply_sharding
        >>> list(apply_sharding(IterableWrapper(range(5)).sharding_filter(), 2, 1))
        [1, 3]
    """

    def apply(graph: dict[int, tuple[Any, Any]], applied: Any) -> None:
        for pipe, parts in graph.values():
            here = applied
            if _has_methods(pipe, "apply_sharding"):
                if applied is not None:
                    raise RuntimeError(
                        "apply_sharding: Sharding twice on a single pipeline is likely unintended "
                        f"and will cause data loss: {applied} shares what {pipe} has shared."
                    )
                here = pipe
                takes_group = len(inspect.signature(pipe.apply_sharding).parameters) > 2
                group = {"sharding_group": sharding_group} if takes_group else {}
                pipe.apply_sharding(num_of_instances, instance_id, **group)
            apply(parts, here)

    apply(traverse_dps(datapipe), None)
    return datapipe


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Switch the pipes that shuffle on or off; one is added where there is none.

    Args:
        datapipe: the last pipe.
        shuffle: whether they shuffle; None leaves all as it is.
    """
    if shuffle is None:
        return datapipe
    pipes = get_all_graph_pipes(traverse_dps(datapipe))
    shufflers = [pipe for pipe in pipes if _has_methods(pipe, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warn_user(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. One is added "
            "at the end, whose buffer may be too small for the data."
        )
        datapipe = datapipe.shuffle()
        shufflers = [datapipe]
    for shuffler in shufflers:
        shuffler.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Any) -> Any:
    """Give each pipe that draws random numbers a seed for its next pass.

    Args:
        datapipe: the last pipe.
        rng: the generator that the seeds are drawn from.
    """
    for pipe in get_all_graph_pipes(traverse_dps(datapipe)):
        if _has_methods(pipe, "set_seed"):
            pipe.set_seed(draw_seed(rng))
    return datapipe


def apply_shuffle_seed(datapipe: Any, rng: Any) -> Any:
    """An older name of :func:`apply_random_seed`.

    Args:
        datapipe: the last pipe.
        rng: the generator that the seeds are drawn from.
    """
    return apply_random_seed(datapipe, rng)
