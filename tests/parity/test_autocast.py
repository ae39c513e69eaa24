"""Mixed precision beside PyTorch's: the dtype of every operation's result inside of autocast."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import pytest
import torch
from torch._subclasses import FakeTensorMode

from .frameworks import convert, dtype_name, facula, seed
from .ops import Op, table
from .samples import Sample, samples

OPS = {name: op for name, op in table().items() if {"function", "method"} & set(op.forms)}
N_SAMPLES = 3


def dtypes_in(value: Any) -> list[str]:
    """The dtypes of the tensors in a result, in order."""
    if isinstance(value, (list, tuple)):
        return [dtype for item in value for dtype in dtypes_in(item)]
    is_tensor = isinstance(value, (torch.Tensor, facula.Tensor))
    return [dtype_name(value.dtype)] if is_tensor else []


def on_cpu(lib: Any, op: Op, form: str, sample: Sample) -> list[str] | Exception:
    args, kwargs = convert(lib, (sample.args, sample.kwargs))
    seed(lib)
    try:
        with lib.autocast("cpu", dtype=lib.bfloat16):
            return dtypes_in(op.callable(lib, form)(*args, **kwargs))
    except Exception as error:
        return error


FAKE = FakeTensorMode()


def fake_cuda(op: Op, form: str, sample: Sample) -> list[str] | Exception:
    """PyTorch's dtypes on a GPU, found without one: of tensors that have no data."""

    def on_gpu(t: torch.Tensor) -> torch.Tensor:
        with FAKE:
            return torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="cuda")

    there = sample.map("on a GPU", on_gpu)
    with FAKE:
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.bfloat16)
        try:
            return dtypes_in(op.callable(torch, form)(*there.args, **there.kwargs))
        except Exception as error:
            return error
        finally:
            torch.set_autocast_dtype("cuda", torch.float16)
            torch.set_autocast_enabled("cuda", False)


def by_list_of_gpus(op: Op, form: str, sample: Sample) -> list[str] | Exception:
    facula._core._set_autocast_list("cpu", "cuda")
    try:
        return on_cpu(facula, op, form, sample)
    finally:
        facula._core._set_autocast_list("cpu", "cpu")


@cache
def taken(name: str) -> list[Sample]:
    return [s.without_grad() for s in samples(OPS[name], "float32")[:N_SAMPLES]]


def cases(op: Op, given: str) -> Iterator[Sample]:
    def in_given(t: torch.Tensor) -> torch.Tensor:
        return t.to(getattr(torch, given)) if t.dtype == torch.float32 else t

    for sample in taken(op.name):
        yield sample.map(given, in_given)


def works_without(op: Op, form: str, sample: Sample) -> bool:
    args, kwargs = convert(facula, (sample.args, sample.kwargs))
    try:
        op.callable(facula, form)(*args, **kwargs)
    except Exception:
        return False
    return True


# For some shapes PyTorch takes another way, in which nothing is cast.
KNOWN = {
    "tensordot": "factors of size 1 are multiplied and summed",
    "inner": "vectors are multiplied and summed",
    # PyTorch's empty statistics of evaluation are float32 under its emulated list alone.
    "native_batch_norm": "statistics of evaluation have another dtype",
    # PyTorch's are Python whose parts are cast for one by one; ours are operations of the core.
    "linalg.pinv": "composed of parts that are cast",
    "linalg.pinv.hermitian": "composed of parts that are cast",
    **{
        f"masked.{name}": "composed of parts that are cast"
        for name in (
            [
                "sum",
                "prod",
                "cumsum",
                "cumprod",
                "norm",
                "softmax",
                "log_softmax",
                "normalize",
                "logsumexp",
            ]
        )
    },
}


def check(name: str, given: str, call: Any, call_pytorch: Any, n_forms: int = 2) -> None:
    op = OPS[name]
    if name in KNOWN:
        pytest.skip(KNOWN[name])
    differences = []
    for sample in cases(op, given):
        for form in [f for f in ("function", "method") if f in op.forms][:n_forms]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = call_pytorch(op, form, sample)
                ours = call(op, form, sample)
                # What cannot be computed in any case is a matter of test_ops.py.
                is_comparable = isinstance(theirs, list) and (
                    isinstance(ours, list) or works_without(op, form, sample)
                )
            if is_comparable and ours != theirs:
                differences.append(f"{form} {sample.describe()}: {ours!r}, PyTorch has {theirs}")
    assert not differences, "\n".join(differences[:3])


GIVEN = pytest.mark.parametrize("given", ["float32", "bfloat16"])


@GIVEN
@pytest.mark.parametrize("name", OPS)
def test_results_have_pytorchs_dtypes_inside_of_autocast(name: str, given: str) -> None:
    check(name, given, partial(on_cpu, facula), partial(on_cpu, torch))


@GIVEN
@pytest.mark.parametrize("name", OPS)
def test_results_have_pytorchs_dtypes_by_the_list_of_gpus(name: str, given: str) -> None:
    check(name, given, by_list_of_gpus, fake_cuda, n_forms=1)  # tensors without data are slow


def recurrent(kind: str, **kwargs: Any) -> Any:
    return lambda lib, x: getattr(lib.nn, kind)(3, 4, **kwargs)(x)


def packed(kind: str) -> Any:
    return lambda lib, x: getattr(lib.nn, kind)(3, 4)(lib.nn.utils.rnn.pack_sequence([x, x[:2]]))


MODULES: dict[str, Any] = {
    **{kind: recurrent(kind) for kind in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell")},
    **{f"packed {kind}": packed(kind) for kind in ("RNN", "LSTM", "GRU")},
    "deep GRU": recurrent("GRU", num_layers=2, bidirectional=True),
    "MultiheadAttention": lambda lib, x: lib.nn.MultiheadAttention(3, 1).to(x.dtype)(x, x, x),
    "TransformerEncoderLayer": lambda lib, x: lib.nn.TransformerEncoderLayer(3, 1, 8)(x.float()),
    "Conv2d and BatchNorm2d": lambda lib, x: lib.nn.Sequential(
        lib.nn.Conv2d(1, 2, 2), lib.nn.BatchNorm2d(2), lib.nn.ReLU()
    )(x[None, None]),
    "Linear and LayerNorm": lambda lib, x: lib.nn.Sequential(
        lib.nn.Linear(3, 4), lib.nn.LayerNorm(4), lib.nn.GELU()
    )(x),
    "CrossEntropyLoss": lambda lib, x: lib.nn.CrossEntropyLoss()(
        lib.nn.Linear(3, 4)(x), lib.zeros(5, dtype=lib.int64)
    ),
}


@GIVEN
@pytest.mark.parametrize("name", MODULES)
def test_modules_have_pytorchs_dtypes_inside_of_autocast(name: str, given: str) -> None:
    def dtypes(lib: Any) -> list[str]:
        with lib.autocast("cpu"):
            return dtypes_in(MODULES[name](lib, lib.ones(5, 3, dtype=getattr(lib, given))))

    assert dtypes(facula) == dtypes(torch)


@pytest.mark.parametrize("device, list_of", [("AutocastCPU", "cpu"), ("AutocastCUDA", "cuda")])
def test_no_operation_that_pytorch_lists_is_forgotten(device: str, list_of: str) -> None:
    """What PyTorch registers by another name than users call is in OTHER."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    listed = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::") and has_kernel(name, device)
    }
    public = {name for name in listed if not name.startswith("_")} - OTHER
    assert public <= set(facula._core._autocast_names())


OTHER = {
    *("convolution", "cudnn_convolution", "cudnn_convolution_transpose", "mkldnn_rnn_layer"),
    *("frobenius_norm", "cross_entropy_loss", "nll_loss2d", "multilabel_margin_loss_forward"),
    *("reflection_pad1d", "reflection_pad2d"),
    *("replication_pad1d", "replication_pad2d", "replication_pad3d"),
    *("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d"),
    *("upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d"),
    "fake_quantize_per_tensor_affine",
}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"init_scale": 3.0, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 2},
        {"init_scale": 2.0**30, "growth_interval": 1},
    ],
)
def test_a_scaler_goes_pytorchs_way(options: dict[str, Any]) -> None:
    """With gradients that overflow now and then, in float16."""

    def run(lib: Any) -> list[Any]:
        w = lib.nn.Parameter(lib.tensor([1.0, -2.0, 3.0]))
        optimizer = lib.optim.SGD([w], lr=0.1, momentum=0.9)
        scaler = lib.amp.GradScaler("cpu", **options)
        trace: list[Any] = []
        for step in range(25):
            optimizer.zero_grad()
            with lib.autocast("cpu", dtype=lib.float16):
                loss = (w[None] @ w[:, None]).sum() * (1e4 if step % 7 == 3 else 1.0)
            scaler.scale(loss).backward()
            if step % 2:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            trace.append((scaler.state_dict(), w.tolist()))
        return trace

    theirs, ours = run(torch), run(facula)
    assert [state for state, _ in ours] == [state for state, _ in theirs]
    for (_, a), (_, b) in zip(ours, theirs, strict=True):
        assert a == pytest.approx(b, rel=1e-3)


@pytest.mark.parametrize("dims", [0, 1, 2])
def test_a_product_of_all_elements_keeps_its_dtype(dims: int) -> None:
    def dtype(lib: Any) -> str:
        x = lib.ones(3, 3)
        with lib.autocast("cpu", dtype=lib.bfloat16):
            return str(lib.tensordot(x, x, dims=dims).dtype)

    assert dtype(facula) == dtype(torch)
