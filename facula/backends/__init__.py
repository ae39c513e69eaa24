"""What the library found on this machine, and switches of what it uses."""

from contextlib import nullcontext as _nullcontext

from facula._lazy import lazy_modules as _lazy_modules
from facula.backends import cpu, cuda, cudnn, mha, mps

# Those of which nothing is used: imported for the scripts that name them.
_UNUSED = (
    "cusparselt",
    "kleidiai",
    "miopen",
    "mkl",
    "mkldnn",
    "nnpack",
    "openmp",
    "opt_einsum",
    "quantized",
    "xnnpack",
)
__getattr__ = _lazy_modules(__name__, *_UNUSED)

__all__ = ["cpu", "cuda", "cudnn", "mha", "mps", *_UNUSED]

# PyTorch's block in which switches that were frozen can be set: here they always can.
__allow_nonbracketed_mutation = _nullcontext
