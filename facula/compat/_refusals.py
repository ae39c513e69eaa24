"""What PyTorch has and Facula does not, with a way out: the one table.

A name stands here if programs call it and nothing of ours could do what it does. Whoever asks for
it is told so at once, in words; to ``hasattr`` and to ``from torch import name`` it is missing, as
every other name that is not there. Names that programs import without using them are there, and
say the same when they are called: ``facula/_refusing.py``. ``docs/compat.md`` has both tables.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple


class Refusal(NamedTuple):
    """A row of the table.

    Args:
        names: the names in PyTorch, ``*`` for any letters; a module stands for all that it has.
        reason: what is not there, as the end of a sentence.
        way_out: what to do instead, as a sentence.
    """

    names: tuple[str, ...]
    reason: str
    way_out: str


REFUSALS = (
    Refusal(
        (
            "torch.ao.nn.*",
            "torch.ao.ns",
            "torch.ao.pruning",
            "torch.choose_qparams_optimized",
            "torch.dequantize",
            "torch.fake_quantize_*",
            "torch.fbgemm_*",
            "torch.fused_moving_avg_obs_fake_quant",
            "torch.int_repr",
            "torch.nn.intrinsic",
            "torch.nn.qat",
            "torch.nn.quantizable",
            "torch.q_*",
            "torch.quantize_*",
            "torch.quantized_*",
        ),
        "there are no quantized tensors",
        "Use bfloat16 (model.bfloat16(), torch.autocast), or export to ONNX and quantize there.",
    ),
    Refusal(
        (
            "torch.align_tensors",
            "torch.Tensor.index",
            "torch.Tensor.align_as",
            "torch.Tensor.align_to",
            "torch.Tensor.refine_names",
            "torch.Tensor.rename",
            "torch.Tensor.rename_",
        ),
        "tensors have no named dimensions",
        "Give dimensions by number, or use the package einops.",
    ),
    Refusal(
        ("torch.nested", "torch.Tensor.to_padded_tensor"),
        "there are no nested tensors",
        "Pad sequences with torch.nn.utils.rnn.pad_sequence and pass a mask.",
    ),
    Refusal(
        (
            "torch.masked.MaskedTensor",
            "torch.masked.masked_tensor",
            "torch.masked.as_masked_tensor",
        ),
        "there is no masked tensor type",
        "The functions of torch.masked take a mask= of their own.",
    ),
    Refusal(
        ("torch.utils.mobile_optimizer", "torch.utils.bundled_inputs"),
        "there is no TorchScript",
        "Save the state_dict, or export to ONNX.",
    ),
    Refusal(
        (
            "torch.onnx.dynamo_export",
            "torch.onnx.operators",
            "torch.onnx.ops",
            "torch.onnx.symbolic_opset*",
            "torch.onnx.testing",
            "torch.onnx.utils",
            "torch.onnx.verification",
        ),
        "models are exported to ONNX by one function, which needs none of PyTorch's parts",
        "Call torch.onnx.export; verify=True compares, custom_translation_table adds operations.",
    ),
    Refusal(
        ("torch.package",),
        "programs are not saved with their code",
        "Save the state_dict, or export to ONNX.",
    ),
    Refusal(
        ("torch.sparse.to_sparse_semi_structured", "torch.sparse.SparseSemiStructuredTensor*"),
        "there is no 2:4 sparsity",
        "Use dense tensors, or torch.sparse_csr for very sparse ones.",
    ),
    Refusal(
        ("torch.cuda.jiterator", "torch.cuda.tunable", "torch.cuda.gds", "torch.cuda.nccl"),
        "there is no such access to CUDA's libraries",
        "Ordinary operations compile their kernels at first use and keep them.",
    ),
    Refusal(
        ("torch.utils.ffi",),
        "C extensions of PyTorch 0.1 to 0.4 are not built",
        "Write the function with tensor operations, or call the library with ctypes.",
    ),
    Refusal(
        ("torch.nn._functions", "torch.autograd._functions"),
        "the private functions of PyTorch 0.1 to 0.4 are not there",
        "Call torch.nn.functional.",
    ),
    Refusal(
        ("torch.utils.serialization.load_lua", "torch.utils.serialization.read_lua_file"),
        "files of Lua's Torch are not read",
        "Load them with PyTorch before 1.0, and save the tensors with torch.save.",
    ),
    Refusal(
        ("torch.monitor", "torch.utils.throughput_benchmark", "torch.utils.mkldnn"),
        "there is no such tool",
        "See torch.profiler and torch.utils.benchmark.",
    ),
    Refusal(
        (
            "torchvision.datasets.HMDB51",
            "torchvision.datasets.Kinetics",
            "torchvision.datasets.UCF101",
            "torchvision.datasets.samplers",
            "torchvision.datasets.video_utils",
            "torchvision.io.VideoReader",
            "torchvision.io.read_video*",
            "torchvision.io.video",
            "torchvision.io.write_video",
        ),
        "no video files are read or written",
        "Decode the frames with another package, such as av, and stack them to a tensor.",
    ),
    Refusal(
        ("torchvision.models.quantization",),
        "there are no quantized tensors",
        "Use torchvision.models with bfloat16, or export to ONNX and quantize there.",
    ),
)


class NotInFacula(AttributeError):
    """A name of PyTorch's that Facula does not have; the message says what to do instead."""


def sentence(name: str) -> str | None:
    """What is said of a name of PyTorch's; None if the table does not have it."""
    for row in REFUSALS:
        for pattern in row.names:
            if fnmatchcase(name, pattern) or name.startswith(pattern + "."):
                return f"{name} is not part of Facula: {row.reason}. {row.way_out}"
    return None
