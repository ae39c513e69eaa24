"""The table of operations: which ones, how each is called, and how closely results must agree.

Sample inputs, bad inputs, dtypes and forms are taken from the database of operations that PyTorch
tests itself with; this file says which of its entries are the core's and what is special there.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import types
import unittest
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from .frameworks import COMPLEX, DTYPES, FLOATING


def load_module(name: str) -> Any:
    """A module of ``torch.testing._internal``, where PyTorch keeps its lists of test cases."""
    # They import a test package of PyTorch's for one class that is not used here.
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    return importlib.import_module(f"torch.testing._internal.{name}")


@dataclass(frozen=True)
class Op:
    """One operation. ``name`` is its id in the suite, ``path`` where it is found."""

    name: str
    path: str
    info: Any
    tolerance: str  # a key of compare.SLACK, "exact", "repeated" or "unspecified", for empty memory
    forms: tuple[str, ...]  # of the names that callable() understands
    dtypes: tuple[str, ...] = tuple(DTYPES)

    def missing_forms(self, lib: Any) -> list[str]:
        """The forms that PyTorch has and ``lib`` has not."""
        return [form for form in self.forms if not self._has(lib, form)]

    def _has(self, lib: Any, form: str) -> bool:
        try:
            self.callable(lib, form)
        except AttributeError:
            return False
        return True

    def callable(self, lib: Any, form: str) -> Callable[..., Any]:
        """The operation in one of its forms; raises AttributeError where ``lib`` lacks it."""
        leaf = self.path.rsplit(".", 1)[-1]
        if form in ("function", "out"):
            function = functools.reduce(getattr, self.path.split("."), lib)
            return _ARGUMENT_ORDER.get(self.path, _as_is)(function)
        if form == "property":
            getattr(lib.Tensor, leaf)
            return lambda x: getattr(x, leaf)
        if form == "operator":
            return _OPERATORS.get(self.name) or self.info.operator_variant
        if form == "inplace_operator":
            return self.info.inplace_operator_variant
        name = leaf if form == "method" or leaf.endswith("_") else leaf + "_"
        return getattr(lib.Tensor, name)


def _as_is(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def _with_own_distance(function: Callable[..., Any]) -> Callable[..., Any]:
    """The database's distance is a module of PyTorch's; its twin is the module of that name."""

    def call(*args: Any, distance_function: Any = None, **kwargs: Any) -> Any:
        is_facula = not isinstance(args[0], torch.Tensor)
        if is_facula and isinstance(distance_function, torch.nn.Module):
            from facula.nn import modules

            distance_function = getattr(modules, type(distance_function).__name__)()
        return function(*args, distance_function=distance_function, **kwargs)

    return call


def _without_phases(*vectors: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The sizes of vectors, which are determined up to a sign, or a complex number of size 1."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            results = function(*args, **kwargs)
            return tuple(x.abs() if i in vectors else x for i, x in enumerate(results))

        return call

    return wrap


# The database passes the tensor first even where the function does not.
_ARGUMENT_ORDER: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "einsum": lambda f: lambda tensors, equation, **kw: f(equation, *tensors, **kw),
    "linalg.eig": _without_phases(1),
    "linalg.eigh": _without_phases(1),
    "linalg.svd": _without_phases(0, 2),
    "pca_lowrank": _without_phases(0, 2),
    "svd": _without_phases(0, 2),
    "svd_lowrank": _without_phases(0, 2),
    "where": lambda f: lambda x, mask, other, **kw: f(mask, x, other, **kw),
    "nn.functional.triplet_margin_with_distance_loss": _with_own_distance,
    "polygamma": lambda f: lambda x, n, **kw: f(n, x, **kw),
}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OPERATORS = {
    "div.no_rounding_mode": operator.truediv,
    "floor_divide": operator.floordiv,
}
# Functions that take out= although the database does not say so.
_OUT_TOO = {"sum", "prod"}
_WITHOUT_OUT = {"special.softmax", "special.log_softmax"}  # unlike what they are other names of

# Operations on sparse tensors, which test_sparse.py has; PyTorch's private ones; kernels of CUDA.
_ELSEWHERE_PREFIXES = (
    "sparse.",
    "torch.",
    "jiterator",
    "native_dropout_backward",
    "max_pool2d",
    "_",
)
_ELSEWHERE = _names("to_sparse slice")
# PyTorch's gradient of pdist reads freed memory for an input without elements, native_batch_norm
# divides by the number of them; the other two write outside of their memory where the pivots are
# not those of the matrix, or have gaps between them. They are compared on the database's samples.
CRASHES_PYTORCH = _names("nn.functional.pdist linalg.ldl_solve lu_unpack native_batch_norm")
# Their options are objects of a class of PyTorch's: test_modules.py has them.
# The entry is a product, and the pseudoinverse of it: linalg.pinv has the same samples.
_OTHER_FUNCTION = _names("linalg.pinv.singular")
_IN_MODULES = _names(
    "nn.functional.linear_cross_entropy.chunked nn.functional.linear_cross_entropy.chunked_none"
)
_CORE_ANYWAY = _names(
    "__getitem__ __radd__ __rdiv__ __rmul__ __rand__ __ror__ __rxor__ "
    "__rmatmul__ __rmod__ __rpow__ __rsub__ native_layer_norm"
)

_MOVES_DATA = _names(
    "broadcast_to broadcast_tensors block_diag combinations cartesian_prod chunk unsafe_chunk "
    "clone contiguous positive conj conj_physical resolve_conj resolve_neg view_as_real "
    "view_as_complex complex expand expand_as diag diag_embed diagonal diagonal_scatter flip "
    "fliplr flipud imag real masked_fill masked_scatter masked_select meshgrid as_strided "
    "as_strided_scatter narrow permute roll rot90 split unsafe_split split_with_sizes select "
    "select_scatter slice_scatter tensor_split hsplit vsplit dsplit ravel reshape reshape_as view "
    "view_as atleast_1d atleast_2d atleast_3d flatten unflatten column_stack gather index_fill "
    "index_copy index_select __getitem__ sort unique unique_consecutive put take scatter bfloat16 "
    "bool byte char double float half int long short cdouble cfloat to zeros_like ones_like "
    "full_like new_zeros new_ones ones zeros full eye scalar_tensor new_full stack hstack cat "
    "unbind vstack dstack msort movedim squeeze fill take_along_dim unsqueeze zero_ transpose T H "
    "mT mH tril triu where argwhere neg sign max min maximum minimum fmax fmin amax amin aminmax "
    "clamp clamp_min clamp_max floor ceil trunc cummax cummin median kthvalue topk mode t "
    "repeat_interleave diagflat argsort item relu copy_ type_as nn.functional.relu "
    "nn.functional.relu6 nn.functional.hardtanh nn.functional.one_hot copysign nan_to_num "
    "constant_pad_nd"
)
# Moves data too, but an element may come several times: its gradient is a sum.
_REPEATS_DATA = _names("repeat tile unfold unfold_copy nn.functional.pad nn.functional.unfold")
_ADDS_UP = _names(
    "addmm addmv addbmm baddbmm dot vdot bmm mv addr cdist sum_to_size corrcoef cov cross cumsum "
    "cumprod diff gradient matmul var_mean std_mean quantile nanquantile mm dist outer "
    "float_power einsum index_add index_reduce index_put scatter_add scatter_reduce histc "
    "histogram bincount renorm trapz trapezoid cumulative_trapezoid logsumexp trace kron inner "
    "tensordot logcumsumexp softmax log_softmax norm mean nanmean std var prod sum nansum addcmul "
    "addcdiv nn.functional.bilinear nn.functional.conv1d nn.functional.conv2d "
    "nn.functional.conv3d nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
    "nn.functional.conv_transpose3d nn.functional.linear nn.functional.ctc_loss "
    "linalg.vector_norm linalg.cross nn.functional.multi_head_attention_forward "
    "nn.functional.scaled_dot_product_attention __rmatmul__ allclose nn.functional.batch_norm "
    "nn.functional.group_norm nn.functional.instance_norm nn.functional.layer_norm "
    "nn.functional.local_response_norm nn.functional.normalize nn.functional.rms_norm "
    "native_layer_norm nn.functional.embedding nn.functional.embedding_bag"
)
# What LAPACK does, in its dtypes; the others are refused, if there are elements.
_FACTORS = _names(
    "cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve "
    "ormqr pca_lowrank pinverse qr slogdet svd svd_lowrank "
    "triangular_solve linalg.cholesky linalg.cholesky_ex linalg.cond linalg.det linalg.eig "
    "linalg.eigh linalg.eigvals linalg.eigvalsh linalg.householder_product linalg.inv "
    "linalg.inv_ex linalg.ldl_factor linalg.ldl_factor_ex linalg.lstsq linalg.lu "
    "linalg.lu_factor linalg.lu_factor_ex linalg.lu_solve linalg.matrix_rank "
    "linalg.pinv linalg.qr linalg.slogdet linalg.solve "
    "linalg.solve_ex linalg.solve_triangular linalg.svd linalg.svdvals linalg.tensorinv "
    "linalg.tensorsolve"
)
_ADDS_UP |= _FACTORS | _names(
    "linalg.matrix_norm linalg.matrix_power linalg.multi_dot linalg.norm linalg.vander "
    "linalg.vecdot matrix_exp matrix_power"
)
# Pooling and resampling.
_MOVES_DATA |= _names(
    "linalg.diagonal nn.functional.max_unpool1d nn.functional.max_unpool2d "
    "nn.functional.max_unpool3d nn.functional.pixel_shuffle nn.functional.pixel_unshuffle "
    "nn.functional.channel_shuffle expand_copy diagonal_copy alias_copy as_strided_copy "
    "narrow_copy view_copy permute_copy split_with_sizes_copy unbind_copy squeeze_copy "
    "unsqueeze_copy transpose_copy t_copy nonzero_static chalf hash_tensor lu_unpack"
)
_REPEATS_DATA |= _names(
    "nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d "
    "nn.functional.adaptive_max_pool1d nn.functional.adaptive_max_pool2d "
    "nn.functional.adaptive_max_pool3d nn.functional.fractional_max_pool2d "
    "nn.functional.fractional_max_pool3d"
)
_ADDS_UP |= _names("stft istft histogramdd native_batch_norm native_group_norm linalg.ldl_solve")
_ADDS_UP |= _names(
    "nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d "
    "nn.functional.adaptive_avg_pool1d nn.functional.adaptive_avg_pool2d "
    "nn.functional.adaptive_avg_pool3d nn.functional.interpolate nn.functional.grid_sample "
    "grid_sampler_2d grid_sampler_3d nn.functional.upsample_bilinear "
    "nn.functional.upsample_nearest"
)
# Their samples take minutes in all dtypes, and nn.functional has the same operation.
_LARGE = _names("grid_sampler_3d")
_SPECIAL = _names("lgamma digamma polygamma mvlgamma igamma igammac i0 erfinv logspace")
_CHAPTERS = {"fft": "sum", "masked": "sum", "special": "special", "signal": "special"}
_UNINITIALISED = _names(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_"
)


def _tolerance(path: str) -> str:
    groups = (
        ("unspecified", _UNINITIALISED),
        ("exact", _MOVES_DATA),
        ("repeated", _REPEATS_DATA),
        ("sum", _ADDS_UP),
        ("special", _SPECIAL),
    )
    chapter = _CHAPTERS.get(path.partition(".")[0], "elementwise")
    return next((kind for kind, names in groups if path in names), chapter)


def _forms(name: str, info: Any) -> tuple[str, ...]:
    path = info.name
    leaf = path.rsplit(".", 1)[-1]
    function = functools.reduce(lambda f, n: getattr(f, n, None), path.split("."), torch)
    forms = []
    if callable(function) and not isinstance(function, type):
        forms.append("function")
    if isinstance(getattr(torch.Tensor, leaf, None), types.GetSetDescriptorType):
        return (*forms, "property")
    if hasattr(torch.Tensor, leaf) and (info.method_variant or not forms):
        forms.append("method")
    in_place = leaf if leaf.endswith("_") else leaf + "_"
    if (info.inplace_variant or not forms) and hasattr(torch.Tensor, in_place):
        forms.append("inplace")
    if info.operator_variant is not None or name in _OPERATORS:
        forms.append("operator")
    if info.inplace_operator_variant is not None:
        forms.append("inplace_operator")
    if (info.supports_out or path in _OUT_TOO) and "function" in forms:
        forms.append("out")
    return tuple(forms)


def _is_core(name: str, info: Any) -> bool:
    if info.name in _CORE_ANYWAY:
        return True
    return not (
        name in _IN_MODULES | _OTHER_FUNCTION
        or info.name in _ELSEWHERE
        or info.name.startswith(_ELSEWHERE_PREFIXES)
    )


def _aliases(op: Op) -> Iterator[Op]:
    """Other names of the operation; one dtype shows that they lead to the same place."""
    for alias in op.info.aliases:
        path = alias.name.removeprefix("torch.")
        if path.startswith(_ELSEWHERE_PREFIXES):
            continue
        forms = ["function"] if alias.op is not None else []
        forms += ["method"] if alias.method_variant is not None else []
        forms += ["inplace"] if alias.inplace_variant is not None else []
        if alias.op is not None and "out" in op.forms and path not in _WITHOUT_OUT:
            forms.append("out")
        yield Op(path, path, op.info, op.tolerance, tuple(forms), ("float32",))


@functools.cache
def table() -> dict[str, Op]:
    """All operations of the suite, by name."""
    ops: dict[str, Op] = {}
    for info in [*load_module("common_methods_invocations").op_db, *_own_entries()]:
        name = info.name + ("." + info.variant_test_name if info.variant_test_name else "")
        if _is_core(name, info):
            forms = ("inplace",) if name == "normal.in_place" else _forms(name, info)
            dtypes = ("float32",) if name in _LARGE else tuple(DTYPES)
            if info.name in _FACTORS:
                dtypes = (*FLOATING[-2:], *COMPLEX)
            ops[name] = Op(name, info.name, info, _tolerance(info.name), forms, dtypes)
    for op in list(ops.values()):
        for alias in _aliases(op):
            ops.setdefault(alias.name, alias)
    return ops


def _own_entries() -> list[Any]:
    """Operations that PyTorch's database leaves out."""
    from torch.testing._internal.opinfo.core import OpInfo, SampleInput

    def entry(name: str, arguments: Callable[[torch.dtype, bool], list[list[Any]]]) -> Any:
        def sample_inputs(info: Any, device: str, dtype: Any, requires_grad: bool, **_: Any) -> Any:
            return [SampleInput(a[0], args=tuple(a[1:])) for a in arguments(dtype, requires_grad)]

        return OpInfo(
            name,
            op=getattr(torch.Tensor, name),
            dtypes=list(DTYPES.values()),
            sample_inputs_func=sample_inputs,
            supports_out=False,
        )

    def values(dtype: torch.dtype, grad: bool, *shape: int) -> torch.Tensor:
        return torch.testing.make_tensor(
            shape, dtype=dtype, device="cpu", low=0, high=9, requires_grad=grad
        )

    def copies(dtype: torch.dtype, grad: bool) -> list[list[Any]]:
        sources = [values(other, False, 3) for other in DTYPES.values()]
        same = [[values(dtype, False, 2, 3), values(dtype, grad, *s)] for s in ((2, 3), (3,), ())]
        return same + [[values(dtype, False, 2, 3), source] for source in sources]

    def one(dtype: torch.dtype, grad: bool) -> list[list[Any]]:
        return [[values(dtype, grad, *s)] for s in ((3, 4), (), (0, 2))]

    def two(dtype: torch.dtype, grad: bool) -> list[list[Any]]:
        return [[values(dtype, grad, 2, 3), values(o, False, 3)] for o in DTYPES.values()]

    return [entry("relu", one), entry("copy_", copies), entry("type_as", two)]
