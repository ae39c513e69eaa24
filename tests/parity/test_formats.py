"""The memory format of results: that of the input's strides, also where these have gaps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from .frameworks import facula

INPUTS = """
torch.ones(2, 8, 4, 6).to(memory_format=torch.channels_last)
torch.ones(2, 8, 4, 6).to(memory_format=torch.channels_last).chunk(2, 1)[1]
torch.ones(2, 8, 4, 6).to(memory_format=torch.channels_last)[:, ::2, :, ::2]
torch.ones(2, 8, 4, 6).to(memory_format=torch.channels_last)[:1]
torch.ones(1, 8, 4, 6).to(memory_format=torch.channels_last).expand(2, 8, 4, 6)
torch.ones(2, 8, 1, 6).to(memory_format=torch.channels_last)
torch.ones(4, 6, 8).permute(2, 0, 1).unsqueeze(0)
torch.ones(2, 8, 4, 6)[:, ::2]
torch.ones(2, 8, 4, 6)
"""
RESULTS = """
torch.cat([x, x], 1)
torch.cat([x, x], 2)
torch.stack([x, x], 0)
torch.stack([x, x], 2)
torch.stack([x, x], 4)
torch.stack([x, x.contiguous()])
F.pad(x, (1, 1))
F.max_pool2d(x, 1)
F.avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, 2)
F.interpolate(x, scale_factor=2)
F.interpolate(x, scale_factor=2, mode="bilinear")
F.pixel_shuffle(x, 2)
F.conv2d(x, torch.ones(4, x.shape[1], 1, 1))
F.group_norm(x, 2)
F.batch_norm(x, None, None, training=True)
x.new_empty(0).resize_as_(x, memory_format=torch.preserve_format)
torch.cat([x.unsqueeze(2), x.unsqueeze(2)], 2)
torch.cat([v, v], 1)
torch.stack([v, v], 1)
"""


def _strides(lib: Any, made: str, expression: str) -> tuple[int, ...]:
    names = {"torch": lib, "F": lib.nn.functional}
    names["x"] = eval(made, names)
    names["v"] = lib.ones(2, 3, 4, 5, 2).to(memory_format=lib.channels_last_3d)
    result = eval(expression, names)
    # A stride along one element means nothing, but for what it tells the next operation.
    return tuple(s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1)


@pytest.mark.parametrize("made", INPUTS.strip().splitlines())
@pytest.mark.parametrize("expression", RESULTS.strip().splitlines())
def test_results_have_the_format_of_pytorch(made: str, expression: str) -> None:
    assert _strides(facula, made, expression) == _strides(torch, made, expression)
