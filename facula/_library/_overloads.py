"""The overloads of PyTorch's own operations: ``ops.aten.add`` has ``add.Tensor``, ``add.Scalar``.

All overloads of one operation are the same function here, which looks at its arguments itself.
"""

from __future__ import annotations

_USUAL = ("default", "out")
# Names of operations, and their overloads in PyTorch's order; others have the usual ones.
_OPERATIONS = {
    "_ctc_loss clamp clamp_max clamp_min clip": "default Tensor out Tensor_out",
    "_foreach_add _foreach_div _foreach_mul": (
        "Scalar Scalar_out List List_out ScalarList ScalarList_out Tensor Tensor_out"
    ),
    "_foreach_add_ _foreach_div_ _foreach_mul_": "Scalar List ScalarList Tensor",
    "_foreach_addcdiv _foreach_addcmul": (
        "Scalar Scalar_out ScalarList ScalarList_out Tensor Tensor_out"
    ),
    "_foreach_addcdiv_ _foreach_addcmul_": "Scalar ScalarList Tensor",
    "_foreach_clamp_max _foreach_clamp_min": (
        "Scalar Scalar_out List List_out ScalarList ScalarList_out"
    ),
    "_foreach_clamp_max_ _foreach_clamp_min_": "Scalar List ScalarList",
    "_foreach_lerp": "List List_out Scalar Scalar_out ScalarList ScalarList_out",
    "_foreach_lerp_ _foreach_pow_": "List Scalar ScalarList",
    "_foreach_maximum _foreach_minimum _foreach_sub": (
        "Scalar Scalar_out List List_out ScalarList ScalarList_out"
    ),
    "_foreach_maximum_ _foreach_minimum_ _foreach_sub_": "Scalar List ScalarList",
    "_foreach_norm _foreach_powsum": "Scalar Scalar_out",
    "_foreach_pow": "List List_out Scalar Scalar_out ScalarList ScalarList_out ScalarAndTensor",
    "_linalg_det _linalg_solve_ex": "default result",
    "_linalg_eigh": "default eigenvalues",
    "_linalg_slogdet": "default sign",
    "_linalg_svd linalg_svd svd": "default U",
    "add copysign mul sub": "Tensor Scalar out Scalar_out default",
    "add_ bitwise_and_ bitwise_or_ bitwise_xor_": "Tensor Scalar",
    "addmm baddbmm bmm mm": "default out dtype_out dtype",
    "all any": "default dim dims out dims_out all_out",
    "arange": "default start start_step start_out out",
    "argsort": "default stable stable_out",
    "atleast_1d atleast_2d atleast_3d": "default Sequence",
    "bartlett_window blackman_window hann_window": "default periodic out periodic_out",
    "bernoulli": "default out p Tensor Tensor_out float_out",
    "bernoulli_": "Tensor float",
    "bitwise_and bitwise_or bitwise_xor": (
        "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out"
    ),
    "bitwise_left_shift bitwise_right_shift": (
        "Tensor Tensor_Scalar Scalar_Tensor Tensor_out Tensor_Scalar_out Scalar_Tensor_out"
    ),
    "bitwise_left_shift_ bitwise_right_shift_": "Tensor_Scalar Tensor",
    "bucketize rsub": "Tensor Scalar Tensor_out Scalar_out",
    "clamp_ clamp_max_ clamp_min_ clip_ narrow": "default Tensor",
    "conv1d conv2d conv3d": "default padding",
    "conv_transpose2d conv_transpose3d": "input",
    "copysign_ float_power_ floor_divide_ fmod_ mul_": "Tensor Scalar",
    "count_nonzero": "default dim_IntList dim_IntList_out out",
    "ctc_loss": "IntList Tensor",
    "cumulative_trapezoid trapezoid trapz": "x dx",
    "div": (
        "Tensor Scalar Tensor_mode Scalar_mode out out_mode Scalar_out Scalar_mode_out default"
    ),
    "div_": "Tensor Tensor_mode Scalar Scalar_mode",
    "divide": "Tensor Scalar Tensor_mode Scalar_mode out out_mode",
    "divide_": "Tensor Tensor_mode Scalar_mode Scalar",
    "dsplit hsplit vsplit": "int array",
    "embedding_bag": "default padding_idx",
    "empty": "memory_format out",
    "eq ge gt le lt ne": "Tensor Scalar Scalar_out Tensor_out default",
    "eq_ fill_ ge_ greater_ greater_equal_ gt_ le_": "Scalar Tensor",
    "eye": "default m out m_out",
    "fill masked_fill": "Scalar Scalar_out Tensor Tensor_out",
    "flatten": "using_ints",
    "float_power pow": (
        "Tensor_Tensor Tensor_Scalar Scalar Tensor_Tensor_out Scalar_out Tensor_Scalar_out"
    ),
    "floor_divide": "default Scalar out Scalar_out",
    "fmod": "Tensor Scalar Tensor_out Scalar_out default",
    "fractional_max_pool2d fractional_max_pool3d": "default output",
    "frexp": "Tensor Tensor_out default",
    "geqrf": "default a",
    "gradient": (
        "scalarint scalararray array scalarrayint scalarrayarray tensorarrayint tensorarray"
    ),
    "greater greater_equal less less_equal not_equal": "Tensor Scalar Scalar_out Tensor_out",
    "gru lstm rnn_relu rnn_tanh": "input data",
    "hamming_window": (
        "default periodic periodic_alpha periodic_alpha_beta out periodic_out "
        "periodic_alpha_out periodic_alpha_beta_out"
    ),
    "histogram": "bins_tensor bins_tensor_out bin_ct bin_ct_out",
    "histogramdd": "default int_bins TensorList_bins",
    "index slice_copy split_copy unsafe_split": "Tensor Tensor_out",
    "index_fill": "int_Tensor int_Scalar int_Scalar_out int_Tensor_out",
    "index_fill_": "int_Tensor int_Scalar",
    "is_contiguous": "default memory_format",
    "isin": (
        "Tensor_Tensor Tensor_Tensor_out Tensor_Scalar Tensor_Scalar_out Scalar_Tensor "
        "Scalar_Tensor_out"
    ),
    "kaiser_window": "default periodic beta out periodic_out beta_out",
    "kthvalue mode topk": "default values",
    "ldexp": "Tensor out default",
    "lerp": "Scalar Tensor Scalar_out Tensor_out",
    "lerp_ less_ less_equal_ lt_ masked_fill_ ne_": "Scalar Tensor",
    "linalg_cholesky_ex": "default L",
    "linalg_cond": "default p_str out p_str_out",
    "linalg_eigh": "default eigvals",
    "linalg_inv_ex": "default inverse",
    "linalg_matrix_norm": "default str_ord out str_ord_out",
    "linalg_matrix_rank": (
        "default tol_tensor atol_rtol_tensor atol_rtol_float atol_rtol_tensor_out "
        "atol_rtol_float_out out out_tol_tensor"
    ),
    "linalg_norm": "default ord_str out ord_str_out",
    "linalg_pinv": (
        "default atol_rtol_float atol_rtol_tensor atol_rtol_tensor_out atol_rtol_float_out "
        "out rcond_tensor out_rcond_tensor"
    ),
    "linspace logspace": (
        "Tensor_Tensor Tensor_Scalar Scalar_Tensor default out Tensor_Tensor_out "
        "Tensor_Scalar_out Scalar_Tensor_out"
    ),
    "log_softmax select_copy softmax transpose_copy": "int int_out",
    "max": "other default dim dim_max unary_out out",
    "mean": "default dim out dtype_out",
    "median nanmedian": "default dim dim_values out",
    "meshgrid": "default indexing",
    "min": "other default dim dim_min unary_out out",
    "moveaxis": "intlist int",
    "movedim": "int intlist",
    "multiply true_divide": "Tensor Scalar out",
    "multiply_ remainder_ sub_ subtract_ true_divide_": "Tensor Scalar",
    "nanquantile quantile": "default scalar out scalar_out",
    "norm": (
        "Scalar ScalarOpt_dim ScalarOpt_dim_dtype dtype_out out ScalarOpt_dtype "
        "ScalarOpt_dtype_out Scalar_out"
    ),
    "normal": (
        "Tensor_float Tensor_float_out float_Tensor_out float_Tensor Tensor_Tensor "
        "Tensor_Tensor_out float_float float_float_out out"
    ),
    "not_equal_ pow_": "Scalar Tensor",
    "prod": "default dim_int int_out out",
    "qr": "default Q",
    "rand rand_like randn randn_like randperm": "default generator out generator_out",
    "randint": "default generator low low_generator out generator_out low_out low_generator_out",
    "randint_like": (
        "default Tensor low_dtype generator Tensor_generator low_generator_dtype out "
        "generator_out Tensor_out Tensor_generator_out low_dtype_out low_generator_dtype_out"
    ),
    "random_": "from to default",
    "range": "step default out out_",
    "remainder": "Tensor Scalar Scalar_Tensor Tensor_out Scalar_out Scalar_Tensor_out default",
    "repeat_interleave": "Tensor self_Tensor self_int Tensor_out",
    "result_type": "Tensor Scalar Scalar_Tensor Scalar_Scalar",
    "round": "default decimals out decimals_out",
    "round_": "default decimals",
    "scatter": "value src reduce value_reduce src_out value_out reduce_out value_reduce_out",
    "scatter_": "src value reduce value_reduce",
    "scatter_reduce": "two two_out",
    "scatter_reduce_": "two",
    "searchsorted": "Tensor Tensor_out Scalar Scalar_out",
    "select transpose unbind unflatten": "int",
    "set_": (
        "source_Storage_storage_offset source_Tensor default source_Storage "
        "source_Tensor_storage_offset"
    ),
    "size stride sym_size": "int default",
    "slice": "Tensor",
    "sort": "default stable values_stable values",
    "sparse_bsc_tensor sparse_csc_tensor": "ccol_row_value_size ccol_row_value",
    "sparse_bsr_tensor sparse_csr_tensor": "crow_col_value_size crow_col_value",
    "sparse_compressed_tensor": "comp_plain_value_size comp_plain_value",
    "sparse_coo_tensor": "size indices indices_size size_out",
    "special_chebyshev_polynomial_t": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_chebyshev_polynomial_u": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_chebyshev_polynomial_v": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_chebyshev_polynomial_w": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_hermite_polynomial_h": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_hermite_polynomial_he": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_laguerre_polynomial_l": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_legendre_polynomial_p": "default out x_scalar x_scalar_out n_scalar n_scalar_out",
    "special_shifted_chebyshev_polynomial_t": (
        "default out x_scalar x_scalar_out n_scalar n_scalar_out"
    ),
    "special_shifted_chebyshev_polynomial_u": (
        "default out x_scalar x_scalar_out n_scalar n_scalar_out"
    ),
    "special_shifted_chebyshev_polynomial_v": (
        "default out x_scalar x_scalar_out n_scalar n_scalar_out"
    ),
    "special_shifted_chebyshev_polynomial_w": (
        "default out x_scalar x_scalar_out n_scalar n_scalar_out"
    ),
    "special_xlog1py special_xlogy special_zeta": (
        "default other_scalar self_scalar out self_scalar_out other_scalar_out"
    ),
    "split": "Tensor sizes default",
    "squeeze squeeze_": "default dim dims",
    "squeeze_copy": "default dim dims out dim_out dims_out",
    "std var": "default dim correction correction_out out",
    "std_mean var_mean": "default dim correction correction_out",
    "stft": "default center",
    "subtract": "Tensor out Scalar",
    "sum": "dim_IntList default IntList_out out",
    "tensor_split": "sections indices tensor_indices_or_sections",
    "threshold_backward": "default grad_input",
    "to": "device dtype other dtype_layout",
    "to_sparse": "sparse_dim default",
    "triangular_solve": "default X",
    "unbind_copy": "int int_out",
    "view": "default dtype",
    "view_copy": "default dtype out dtype_out",
    "where": "self ScalarOther ScalarSelf Scalar default self_out",
    "xlogy": "Tensor Scalar_Other Scalar_Self OutTensor OutScalar_Self OutScalar_Other",
    "xlogy_": "Tensor Scalar_Other",
}
_OVERLOADS = {
    name: tuple(overloads.split())
    for names, overloads in _OPERATIONS.items()
    for name in names.split()
}
# The parameters and results that many operations have in common, for the overload "default".
_SIGNATURES = {
    "(Tensor input, float p, bool train) -> Tensor": (
        "alpha_dropout dropout feature_alpha_dropout feature_dropout"
    ),
    "(Tensor self) -> Tensor": (
        "abs absolute acos acosh alias_copy all angle any arccos arccosh arcsin arcsinh arctan "
        "arctanh argwhere asin asinh atan atanh atleast_1d atleast_2d atleast_3d bitwise_not "
        "ceil conj_physical corrcoef cos cosh deg2rad det detach_copy digamma erf erfc erfinv "
        "exp exp2 expm1 fix fliplr flipud floor frac hardsigmoid hardswish i0 inverse isfinite "
        "isinf isnan isneginf isposinf isreal lgamma linalg_eigvals linalg_matrix_exp log log10 "
        "log1p log2 logdet logical_not matrix_exp max median min mish msort nanmedian neg "
        "negative nonzero rad2deg reciprocal relu relu6 round rsqrt selu sgn sigmoid sign "
        "signbit silu sin sinc sinh special_bessel_j0 special_bessel_j1 special_bessel_y0 "
        "special_bessel_y1 special_digamma special_entr special_erf special_erfc special_erfcx "
        "special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 "
        "special_i0e special_i1 special_i1e special_log1p special_log_ndtr "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
        "special_modified_bessel_k1 special_ndtr special_ndtri special_psi special_sinc sqrt "
        "square squeeze_copy t_copy tan tanh trace trunc view_as_complex_copy view_as_real_copy"
    ),
    "(Tensor self) -> bool": (
        "is_coalesced is_complex is_conj is_contiguous is_distributed is_floating_point "
        "is_inference is_neg is_nonzero is_signed"
    ),
    "(Tensor self) -> int": "_nnz dense_dim dim get_device numel sparse_dim storage_offset",
    "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor": (
        "fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft"
    ),
    "(Tensor self, Tensor other) -> Tensor": (
        "arctan2 atan2 floor_divide fmax fmin gcd hypot igamma igammac inner kron lcm "
        "linalg_matmul logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum "
        "minimum nextafter special_gammainc special_gammaincc special_xlog1py special_xlogy "
        "special_zeta type_as vdot"
    ),
    "(Tensor self, Tensor target, int reduction=1) -> Tensor": (
        "l1_loss mse_loss multilabel_margin_loss soft_margin_loss"
    ),
    "(Tensor x) -> Tensor": (
        "special_airy_ai special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 "
        "special_spherical_bessel_j0"
    ),
    "(Tensor x, Tensor n) -> Tensor": (
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
        "special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
        "special_hermite_polynomial_h special_hermite_polynomial_he "
        "special_laguerre_polynomial_l special_legendre_polynomial_p "
        "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w"
    ),
    "(Tensor(a!) self) -> Tensor(a!)": (
        "abs_ absolute_ acos_ acosh_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ "
        "asinh_ atan_ atanh_ bitwise_not_ ceil_ conj_physical_ cos_ cosh_ deg2rad_ detach_ "
        "digamma_ erf_ erfc_ erfinv_ exp2_ exp_ expm1_ fix_ floor_ frac_ i0_ lgamma_ log10_ "
        "log1p_ log2_ log_ logical_not_ neg_ negative_ rad2deg_ reciprocal_ relu_ round_ rsqrt_ "
        "selu_ set_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ square_ squeeze_ t_ tan_ tanh_ "
        "trunc_ zero_"
    ),
    "(Tensor(a!) self, Tensor other) -> Tensor(a!)": (
        "arctan2_ atan2_ gcd_ hypot_ igamma_ igammac_ lcm_ ldexp_ logical_and_ logical_or_ "
        "logical_xor_ nextafter_"
    ),
    "(Tensor(a!) self, float p, bool train) -> Tensor(a!)": (
        "alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_"
    ),
    "(Tensor(a!)[] self) -> ()": (
        "_foreach_abs_ _foreach_acos_ _foreach_asin_ _foreach_atan_ _foreach_ceil_ "
        "_foreach_cos_ _foreach_cosh_ _foreach_erf_ _foreach_erfc_ _foreach_exp_ "
        "_foreach_expm1_ _foreach_floor_ _foreach_frac_ _foreach_lgamma_ _foreach_log10_ "
        "_foreach_log1p_ _foreach_log2_ _foreach_log_ _foreach_neg_ _foreach_reciprocal_ "
        "_foreach_round_ _foreach_rsqrt_ _foreach_sigmoid_ _foreach_sign_ _foreach_sin_ "
        "_foreach_sinh_ _foreach_sqrt_ _foreach_tan_ _foreach_tanh_ _foreach_trunc_ "
        "_foreach_zero_"
    ),
    "(Tensor(a) self) -> Tensor(a)": (
        "_conj _indices _neg_view _values adjoint ccol_indices coalesce col_indices conj "
        "crow_indices detach imag indices positive ravel real resolve_conj resolve_neg "
        "row_indices squeeze t values view_as_complex view_as_real"
    ),
    "(Tensor[] self) -> Tensor[]": (
        "_foreach_abs _foreach_acos _foreach_asin _foreach_atan _foreach_ceil _foreach_cos "
        "_foreach_cosh _foreach_erf _foreach_erfc _foreach_exp _foreach_expm1 _foreach_floor "
        "_foreach_frac _foreach_lgamma _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 "
        "_foreach_max _foreach_neg _foreach_reciprocal _foreach_round _foreach_rsqrt "
        "_foreach_sigmoid _foreach_sign _foreach_sin _foreach_sinh _foreach_sqrt _foreach_tan "
        "_foreach_tanh _foreach_trunc"
    ),
    "(Tensor[] tensors) -> Tensor": (
        "block_diag cartesian_prod column_stack dstack hstack linalg_multi_dot row_stack vstack"
    ),
    "(Tensor[] tensors, int dim=0) -> Tensor": "cat concat concatenate stack",
}
_SCHEMAS = {
    name: f"aten::{name}{signature}"
    for signature, names in _SIGNATURES.items()
    for name in names.split()
}


def overloads_of(name: str) -> tuple[str, ...]:
    """The names of the overloads of an operation of ``aten``."""
    return _OVERLOADS.get(name, _USUAL)


def schema_of(name: str, overload: str) -> str | None:
    """The schema of an operation of ``aten``, where it is one of the common ones."""
    return _SCHEMAS.get(name) if overload == "default" else None
