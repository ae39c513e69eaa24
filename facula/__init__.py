"""Facula: PyTorch's programming model in a package small enough to read.

``import facula as torch`` is the usual way to port a script.
"""

from importlib import import_module as _import_module
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula import (
    _core,
    _foreach,
    _legacy,
    _settings,
    autograd,
    backends,
    cuda,
    func,
    linalg,
    random,
    return_types,
    storage,
    types,
    utils,
    version,
)
from facula import _tensor as _tensor  # makes the methods that are written in Python
from facula._assertion import _assert as _assert
from facula._assertion import _assert_async as _assert_async
from facula._core import *  # noqa: F403
from facula._legacy import *  # noqa: F403
from facula._limits import finfo, iinfo
from facula._ops import *  # noqa: F403
from facula._ops._mark import public_names as _public_names
from facula._settings import *  # noqa: F403
from facula._tensor_str import set_printoptions
from facula.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from facula.func import vmap
from facula.random import thread_safe_generator
from facula.storage import TypedStorage
from facula.utils.dlpack import from_dlpack
from facula.version import __version__ as __version__

if _TYPE_CHECKING:
    from facula import (
        accelerator,
        amp,
        array_api,
        compat,
        compiler,
        cpu,
        distributed,
        distributions,
        doctor,
        export,
        fft,
        functional,
        futures,
        fx,
        hub,
        jit,
        library,
        masked,
        mps,
        mtia,
        multiprocessing,
        nn,
        onnx,
        ops,
        optim,
        overrides,
        profiler,
        quasirandom,
        resume,
        serialization,
        signal,
        sparse,
        special,
        testing,
        torch_version,
        vision,
        viz,
        xpu,
    )
    from facula._devices import *  # noqa: F403
    from facula._file_memory import *  # noqa: F403
    from facula._symbols import *  # noqa: F403
    from facula.amp import GradScaler, autocast
    from facula.compiler import compile
    from facula.linalg._older_norms import *  # noqa: F403
    from facula.serialization import load, save
    from facula.sparse._older_functions import *  # noqa: F403
    from facula.viz import summary

newaxis = None
# What the build has: LAPACK and Fourier transforms of its own; threads that are not OpenMP's.
has_lapack = has_spectral = True
has_openmp = False

# Names that PyTorch has too, for samples with derivatives.
_dirichlet_grad = _core._dirichlet_grad
_sample_dirichlet = _core._sample_dirichlet
_standard_gamma = _core._standard_gamma
_standard_gamma_grad = _core._standard_gamma_grad
# Lists of tensors in one call, which optimisers of others use.
globals().update(_foreach.functions())

# Imported when they are first asked for: much code that a script may never use.
_LAZY = {
    "_C",
    "_VF",
    "__config__",
    "__future__",
    "_compile",
    "_dynamo",
    "_functorch",
    "_inductor",
    "_jit_internal",
    "_library",
    "_subclasses",
    "_vmap_internals",
    "accelerator",
    "amp",
    "ao",
    "array_api",
    "classes",
    "compat",
    "compiler",
    "cpu",
    "distributed",
    "distributions",
    "doctor",
    "export",
    "fft",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "masked",
    "mps",
    "mtia",
    "multiprocessing",
    "nn",
    "onnx",
    "ops",
    "optim",
    "overrides",
    "profiler",
    "quantization",
    "quasirandom",
    "resume",
    "serialization",
    "signal",
    "sparse",
    "special",
    "testing",
    "torch_version",
    "vision",
    "viz",
    "xpu",
}
# What few programs use, by the file that is loaded when one of its names is first asked for. The
# files have no lists of their own: a test compares what they define with this one.
_RARE = {
    "facula._devices": ("AcceleratorError", "Event", "Stream", "get_device_module"),
    "facula._file_memory": ("from_file",),
    "facula._symbols": (
        "SymBool",
        "SymFloat",
        "SymInt",
        "cond",
        "sym_float",
        "sym_int",
        "sym_ite",
        "sym_max",
        "sym_min",
        "sym_not",
        "sym_sqrt",
        "sym_sum",
    ),
    "facula.linalg._older_norms": ("frobenius_norm", "nuclear_norm"),
    "facula.sparse._older_functions": (
        "ccol_indices_copy",
        "col_indices_copy",
        "crow_indices_copy",
        "dsmm",
        "indices_copy",
        "row_indices_copy",
        "saddmm",
        "spmm",
        "sspaddmm",
        "values_copy",
    ),
}
_LAZY_NAMES = {
    **{name: file for file, names in _RARE.items() for name in names},
    **dict.fromkeys(
        (
            "AnyType",
            "BoolType",
            "ClassType",
            "DeviceObjType",
            "DictType",
            "FloatType",
            "IntType",
            "ListType",
            "OptionalType",
            "PyTorchFileReader",
            "PyTorchFileWriter",
            "StringType",
            "TensorType",
            "TupleType",
            "bit",
            "bits16",
            "bits1x8",
            "bits2x4",
            "bits4x2",
            "bits8",
            "float4_e2m1fn_x2",
            "int1",
            "int2",
            "int3",
            "int4",
            "int5",
            "int6",
            "int7",
            "qint32",
            "qint8",
            "quint2x4",
            "quint4x2",
            "quint8",
            "uint1",
            "uint2",
            "uint3",
            "uint4",
            "uint5",
            "uint6",
            "uint7",
        ),
        "facula._absent_types",
    ),
    **dict.fromkeys(
        ("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"),
        "facula.sparse._older_functions",
    ),
    **dict.fromkeys(
        ("_convolution", "_log_softmax_backward_data", "_softmax_backward_data"),
        "facula._library._aten",
    ),
    **dict.fromkeys(
        (
            "_check",
            "_check_index",
            "_check_is_size",
            "_check_not_implemented",
            "_check_tensor_all",
            "_check_tensor_all_with",
            "_check_type",
            "_check_value",
            "_check_with",
        ),
        "facula._checks",
    ),
    "CompilationUnit": "facula.jit",
    "_disable_dynamo": "facula._compile",
    "_grouped_mm": "facula._library._aten",
    "_shape_as_tensor": "facula._library._aten",
    "Future": "facula.futures",
    "GradScaler": "facula.amp",
    "JITException": "facula.jit",
    "ScriptFunction": "facula.jit",
    "ScriptModule": "facula.jit",
    **dict.fromkeys(("Storage", *_tensor.OLDER_FUNCTIONS), "facula._older_names"),
    "autocast": "facula.amp",
    "compile": "facula.compiler",
    "load": "facula.serialization",
    "save": "facula.serialization",
    "summary": "facula.viz",
}


def __getattr__(name: str) -> _Any:
    if name in _LAZY_NAMES:
        # Kept, so that it is found at once from now on.
        return globals().setdefault(name, getattr(_import_module(_LAZY_NAMES[name]), name))
    if name == "torch":  # as PyTorch's own __init__.py leaves it behind
        return _import_module(__name__)
    if name in ("has_cuda", "has_mps"):
        backend = name.removeprefix("has_")
        text = f"{name!r} is deprecated, please use 'facula.backends.{backend}.is_built()'"
        _import_module("facula._warnings").warn_user(text)
        return getattr(_import_module("facula.backends"), backend).is_built()
    if name == "set_vital":  # PyTorch leaves it to old packages, and does nothing
        return lambda *args: None
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _import_module(f"facula.{name}")


__all__ = [
    *(name for name in dir(_core) if name[0] != "_" != name[-1]),
    *_legacy.__all__,
    *_public_names(globals()),
    *_settings.__all__,
    *(name for names in _RARE.values() for name in names),
    "GradScaler",
    "TypedStorage",
    "accelerator",
    "amp",
    "array_api",
    "autocast",
    "autograd",
    "backends",
    "compat",
    "compile",
    "compiler",
    "cpu",
    "cuda",
    "distributed",
    "distributions",
    "doctor",
    "e",
    "enable_grad",
    "export",
    "fft",
    "finfo",
    "from_dlpack",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "iinfo",
    "inf",
    "inference_mode",
    "jit",
    "library",
    "linalg",
    "load",
    "masked",
    "mps",
    "mtia",
    "multiprocessing",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "onnx",
    "ops",
    "optim",
    "overrides",
    "pi",
    "profiler",
    "quasirandom",
    "random",
    "resume",
    "return_types",
    "save",
    "serialization",
    "set_grad_enabled",
    "set_printoptions",
    "signal",
    "sparse",
    "special",
    "storage",
    "summary",
    "testing",
    "thread_safe_generator",
    "torch_version",
    "types",
    "utils",
    "version",
    "vision",
    "viz",
    "vmap",
    "xpu",
]
