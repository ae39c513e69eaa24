"""Records of logs that packages build themselves and give to the writer's file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import facula

try:
    from tensorboardX import summary
    from tensorboardX.proto.plugin_hparams_pb2 import HParamsPluginData
except ImportError as error:
    raise ImportError(
        "facula.utils.tensorboard needs tensorboardX: pip install facula[tensorboard]"
    ) from error

__all__ = ["hparams"]


def hparams(
    hparam_dict: Mapping[str, Any] | None = None,
    metric_dict: Mapping[str, Any] | None = None,
    hparam_domain_discrete: Mapping[str, Sequence[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """The three records of a row of the table of hyperparameters.

    Args:
        hparam_dict: the hyperparameters: numbers, texts, bools.
        metric_dict: the metrics, of which the names count.
        hparam_domain_discrete: the values that a hyperparameter can have, by its name.
    """
    given = [{} if part is None else part for part in (hparam_dict, metric_dict)]
    if not all(isinstance(part, Mapping) for part in given):
        raise TypeError("add_hparams: expected a dict of hyperparameters and one of metrics.")
    numbers = {key: _number(value) for key, value in given[0].items()}
    experiment, start, end = summary.hparams(numbers, given[1])
    for key, values in (hparam_domain_discrete or {}).items():
        _set_domain(experiment, key, values)
    return experiment, start, end


def as_array(value: Any) -> Any:
    # What the builders of tensorboardX take: arrays and numbers.
    if isinstance(value, facula.Tensor):
        value = value.detach().cpu()
        return (value.float() if value.dtype == facula.bfloat16 else value).numpy()
    if isinstance(value, list | tuple) and any(isinstance(v, facula.Tensor) for v in value):
        return np.stack([as_array(v) for v in value])
    return value


def _number(value: Any) -> Any:
    value = as_array(value)
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def _set_domain(experiment: Any, name: str, values: Sequence[Any]) -> None:
    # The values that a hyperparameter can have; the builder knows none.
    data = experiment.value[0].metadata.plugin_data
    content = HParamsPluginData.FromString(data.content)
    for info in content.experiment.hparam_infos:
        if info.name == name:
            info.domain_discrete.extend(values)
    data.content = content.SerializeToString()
