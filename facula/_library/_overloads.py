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


def overloads_of(name: str) -> tuple[str, ...]:
    """The names of the overloads of an operation of ``aten``."""
    return _OVERLOADS.get(name, _USUAL)
