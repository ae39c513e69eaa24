"""Short calls that programs make: results, strides and exceptions as PyTorch's."""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from .frameworks import facula, outcome_of
from .outcome import agree


def _agree(text: str, **options: Any) -> None:
    """Both do the same for an expression in which ``torch`` is either."""

    def program(lib: Any) -> Any:
        return eval(text, {"torch": lib, "np": np, "functools": functools})

    agree(program, **options)


@pytest.mark.parametrize(
    "text",
    [
        "torch.zeros(1, 1, 3).squeeze(0, 1)",
        "torch.zeros(1, 1, 3).squeeze(0, -1, np.int64(1))",
        "torch.zeros(1, 1, 3).squeeze(0, torch.tensor(1))",
        "torch.zeros(1, 1, 3).squeeze(0, 0)",
        "torch.zeros(1, 1, 3).squeeze(0, 5)",
        "torch.zeros(1, 1, 3).squeeze(0, 'a')",
        "torch.zeros(1, 1, 3).squeeze(0, dim=1)",
        "torch.zeros(1, 1, 3).squeeze_(0, 1)",
        "torch.squeeze(torch.zeros(1, 1, 3), 0, 1)",
        "torch.ones(2, 1, 3).count_nonzero(0, 1)",
        "torch.ones(2, 1, 3).count_nonzero(0, 0)",
        "torch.count_nonzero(torch.ones(2, 1, 3), 0, 1)",
        "torch.ones(2, 4, 3).hsplit(1, 2)",
        "torch.ones(4, 4, 3).vsplit(1, 2, 3)",
        "torch.ones(4, 4, 6).dsplit(1, 2)",
        "torch.dsplit(torch.ones(4, 4, 6), 1, 2)",
        "torch.vmap(lambda t: t.squeeze(0, 1))(torch.ones(5, 1, 1, 3))",
        "torch.vmap(lambda t: t.count_nonzero(0, 1))(torch.ones(5, 1, 1, 3))",
    ],
)
def test_ints_one_by_one(text: str) -> None:
    _agree(text, kind="exact")


@pytest.mark.parametrize("text", ["torch.save(1, '{}/a/b.pt')", "torch.load('{}/empty.pt')"])
def test_files_that_cannot_be_had(text: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pt").touch()
    kind = type(outcome_of(lambda: eval(text.format(tmp_path), {"torch": torch}))[1])
    with pytest.raises(kind):
        eval(text.format(tmp_path), {"torch": facula})


@pytest.mark.parametrize(
    "text",
    [
        "torch.histogramdd(torch.zeros(3, 0), bins=[])",
        "torch.histogramdd(torch.zeros(3, 0), bins=2, weight=torch.ones(3))",
        "torch.histogramdd(torch.zeros(3, 4, 0), bins=2)",
        "torch.histogramdd(torch.zeros(3, 1), bins=[torch.tensor([0.5])])",
        "torch.histogramdd(torch.zeros(3, 2), bins=[torch.arange(2.0), torch.tensor([0.5])])",
        "torch.histogramdd(torch.zeros(3, 0), bins=2, density=True)",
        "torch.histogram(torch.zeros(3), bins=torch.tensor([0.5]))",
    ],
)
def test_histograms_of_nothing(text: str) -> None:
    _agree(text)


@pytest.mark.parametrize("switch", ["torch.enable_grad()", "torch.set_grad_enabled(True)"])
def test_inference_mode_and_switches_of_recording(switch: str) -> None:
    def program(lib: Any) -> Any:
        x = lib.ones(3, requires_grad=True)
        with lib.inference_mode():
            with eval(switch, {"torch": lib}):
                y = x * 2
            inside = [y, x[:2], x.detach(), y.detach(), y[:2], y.data]
        return [t.requires_grad for t in inside], [t.is_inference() for t in inside]

    agree(program)


def test_inference_tensors_have_no_version() -> None:
    def program(lib: Any) -> Any:
        with lib.inference_mode():
            x = lib.ones(3)
        return x._version

    agree(program)


@pytest.mark.parametrize(
    "text",
    [
        "torch.ones(3, dtype=torch.int32) + np.bool_(True)",
        "np.bool_(True) * torch.ones(3, dtype=torch.int64)",
        "torch.ones(3) - np.bool_(True)",
        "torch.ones(3, dtype=torch.bool) + np.bool_(True)",
        "torch.ones(3, dtype=torch.bool) & np.bool_(True)",
        "torch.ones(3, dtype=torch.bool) == np.bool_(True)",
        "torch.ones(3, dtype=torch.int64) > np.bool_(True)",
        "torch.where(torch.ones(3) > 0, np.bool_(True), np.bool_(False))",
        "torch.full((2,), np.bool_(True))",
        "torch.tensor(np.bool_(True))",
        "torch.tensor([np.bool_(True), np.bool_(False)])",
        "torch.ones(3).fill_(np.bool_(False))",
        "torch.ones(3, dtype=torch.bool).fill_(np.bool_(False))",
        "torch.ones(3).masked_fill(torch.ones(3) > 0, np.bool_(False))",
        "torch.ones(3).add(torch.ones(3), alpha=np.bool_(True))",
        "torch.ones(3, dtype=torch.int32).add(torch.ones(3), alpha=np.bool_(True))",
        "torch.ones(3, dtype=torch.int32) + np.int64(2)",
        "torch.ones(3, dtype=torch.int32) + np.float32(2)",
        "np.float64(2) ** torch.ones(3)",
        "np.int64(7) // torch.ones(3, dtype=torch.int64)",
        "torch.result_type(torch.ones(3, dtype=torch.int32), np.bool_(True))",
        "torch.result_type(torch.ones(2, dtype=torch.float16), 1j)",
        "torch.result_type(torch.ones(2, dtype=torch.float16), torch.tensor(1j))",
        "torch.result_type(torch.ones(2, dtype=torch.float16), torch.ones(2) * 1j)",
    ],
)
def test_numbers_of_numpy(text: str) -> None:
    _agree(text)


LAYOUTS = {
    4: [
        "x",
        "x[:, :2]",
        "x[:, :, 1:]",
        "x[:1]",
        "x[:, :1]",
        "x[:, :, :1]",
        "x.mT",
        "x.contiguous()",
    ],
    5: ["x", "x[:, :2]", "x[:1]", "x.contiguous()"],
}


@pytest.mark.parametrize(("n_dims", "layout"), [(n, x) for n in LAYOUTS for x in LAYOUTS[n]])
@pytest.mark.parametrize(
    "text",
    [
        "x.roll(1, 2)",
        "x.roll((1, 2), (2, 3))",
        "x.roll((1, 0), (2, 3))",
        "x.roll((1, -1), (2, 2))",
        "x.roll(4, 2)",
        "x.roll(0, 1)",
        "x.roll(1, 1)",
        "x.roll(1)",
        "getattr(torch.nn.functional, f'adaptive_avg_pool{x.dim() - 2}d')(x, 1)",
        "getattr(torch.nn.functional, f'adaptive_avg_pool{x.dim() - 2}d')(x, 2)",
        "getattr(torch.nn.functional, f'adaptive_avg_pool{x.dim() - 2}d')(x[0], 1)",
    ],
)
def test_strides_of_images(n_dims: int, layout: str, text: str) -> None:
    def program(lib: Any) -> Any:
        x = lib.arange(2.0 * 3 * 4 ** (n_dims - 2)).reshape(2, 3, *[4] * (n_dims - 2))
        x = x.to(memory_format=lib.channels_last if n_dims == 4 else lib.channels_last_3d)
        x = eval(layout, {"x": x})
        y = eval(text, {"torch": lib, "x": x})
        return y, y.stride()

    agree(program, kind="elementwise")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "complex64"])
@pytest.mark.parametrize("call", ["conv3d", "conv_transpose3d"])
@pytest.mark.parametrize("last", ["x", "w", "xw", ""])
@pytest.mark.parametrize(
    ("shape", "out", "kernel", "options"),
    [
        ((2, 3, 4, 5, 6), 4, 2, {}),
        ((2, 3, 4, 4, 4), 1, 2, {}),
        ((2, 3, 4, 4, 4), 4, 4, {}),
        ((2, 1, 4, 4, 4), 4, 3, {"padding": 1, "stride": 2}),
        ((1, 3, 4, 4, 4), 4, 3, {}),
        ((1, 3, 4, 4, 4), 4, 4, {}),
        ((2, 4, 4, 4, 4), 4, 2, {"groups": 2}),
    ],
)
def test_strides_of_convolved_volumes(
    dtype: str, call: str, last: str, shape: Any, out: int, kernel: int, options: Any
) -> None:
    def program(lib: Any) -> Any:
        groups = options.get("groups", 1)
        first, second = (out, shape[1]) if call == "conv3d" else (shape[1], out)
        x = lib.ones(shape, dtype=getattr(lib, dtype))
        w = lib.ones(first, second // groups, *[kernel] * 3, dtype=x.dtype)
        if "x" in last:
            x = x.to(memory_format=lib.channels_last_3d)
        if "w" in last:
            w = w.to(memory_format=lib.channels_last_3d)
        return getattr(lib.nn.functional, call)(x, w, **options).stride()

    agree(program)


@pytest.mark.parametrize(
    "text",
    [
        "torch.linspace(0j, complex(float('inf'), 1), 4)",
        "torch.linspace(complex(float('inf'), 0), 1 + 1j, 4)",
        "torch.linspace(0, complex(1, float('inf')), 5)",
        "torch.linspace(complex(float('nan'), 0), 2 + 1j, 3)",
        "torch.linspace(2 + 1j, 5 - 3j, 7)",
        "torch.linspace(2 + 1j, 5 - 3j, 7, dtype=torch.complex128)",
        "torch.linspace(complex(1, -0.0), complex(2, -0.0), 3)",
        "torch.linspace(1j, 2, 1)",
    ],
)
def test_complex_numbers_at_equal_distances(text: str) -> None:
    _agree(f"torch.view_as_real({text}).flatten()", kind="exact")


@pytest.mark.parametrize(
    "text",
    [
        "torch.ones(3)[torch.tensor([1, 0, 1], dtype=torch.uint8)]",
        "torch.where(torch.tensor([1, 0, 1], dtype=torch.uint8), torch.ones(3), torch.zeros(3))",
        "torch.cross(torch.ones(2, 3), torch.ones(2, 3))",
        "torch.meshgrid(torch.ones(2), torch.ones(3))",
    ],
)
def test_what_pytorch_warns_of(text: str) -> None:
    """The same category and first words; in processes of their own, which were not told yet."""
    words = {}
    for lib in ("torch", "facula"):
        program = (
            f"import warnings, {lib} as torch\n"
            "with warnings.catch_warnings(record=True) as told:\n"
            "    warnings.simplefilter('always')\n"
            f"    {text}\n"
            "print([(w.category.__name__, str(w.message)) for w in told])"
        )
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        words[lib] = ast.literal_eval(ran.stdout)
    [(kind, theirs)], [(own_kind, ours)] = words["torch"], words["facula"]
    assert kind == own_kind
    assert ours.split()[:4] == theirs.split()[:4]
