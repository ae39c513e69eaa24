# mypy: implicit-reexport
# ruff: noqa: F401, F403
"""Functions of networks, without state."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from facula._core import _gelu as gelu
from facula._core import _linear as linear
from facula._core import _logsigmoid as logsigmoid
from facula._core import _scaled_dot_product_attention as scaled_dot_product_attention
from facula._core import _smooth_l1_loss as smooth_l1_loss
from facula._core import _soft_margin_loss as soft_margin_loss
from facula._core import _softplus as softplus
from facula._core import _softshrink as softshrink
from facula._core import (
    celu_,
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    hardshrink,
    prelu,
    relu_,
    selu_,
    threshold_,
)
from facula._ops import bilinear, cosine_similarity, pairwise_distance, pdist, rrelu_
from facula._ops._mark import operation as _operation
from facula.nn import _reduction as _Reduction
from facula.nn.functional._activation import *
from facula.nn.functional._adaptive_pooling import *
from facula.nn.functional._attention import *
from facula.nn.functional._attention import (
    _canonical_mask,
    _in_projection,
    _in_projection_packed,
    _mha_shape_check,
    _none_or_dtype,
)
from facula.nn.functional._dropout import *
from facula.nn.functional._embedding import *
from facula.nn.functional._fold import *
from facula.nn.functional._grouped import *
from facula.nn.functional._linear_cross_entropy import *
from facula.nn.functional._loss import *
from facula.nn.functional._norm import *
from facula.nn.functional._padding import *
from facula.nn.functional._pooling import *
from facula.nn.functional._vision import *

# Whatever is imported here is public. mypy reads no computed list; without one it agrees.
if not _TYPE_CHECKING:
    __all__ = [name for name in globals() if not name.startswith("_")]

    # Functions of the files of this package become operations that are known, and pickled, by its
    # name.
    for _name in __all__:
        _function = globals()[_name]
        if getattr(_function, "__module__", "").startswith(f"{__name__}."):
            globals()[_name] = _operation(module=__name__)(_function)
    del _name, _function


_OF_OTHERS = {
    "BroadcastingList1": "facula._jit_internal",
    "BroadcastingList2": "facula._jit_internal",
    "BroadcastingList3": "facula._jit_internal",
    "boolean_dispatch": "facula._jit_internal",
    "handle_torch_function": "facula.overrides",
    "has_torch_function": "facula.overrides",
    "has_torch_function_unary": "facula.overrides",
    "has_torch_function_variadic": "facula.overrides",
    "nll_loss2d": "facula._older_names",
}


def __getattr__(name: str) -> _Any:
    # Names of other modules, which PyTorch's file imports and programs take from it.
    if name == "assert_int_or_pair":
        return _assert_int_or_pair
    if name not in _OF_OTHERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import_module(_OF_OTHERS[name]), name)


def _assert_int_or_pair(arg: _Any, arg_name: str, message: str) -> None:
    if not isinstance(arg, int) and len(arg) != 2:
        raise AssertionError(message.format(arg_name))
