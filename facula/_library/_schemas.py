"""The schemas of PyTorch's own operations, which ``ops.aten`` and modes of dispatch show."""

from __future__ import annotations

from facula._library._overloads import overloads_of

# What operations that make tensors take, for which $options stands below.
_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
# Parameters and results, and the operations that have them, which modes see. The overload
# "default" has no name.
_SIGNATURES = {
    (
        "(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) "
        "-> Tensor"
    ): "isin.Scalar_Tensor",
    "(Scalar end, *, $options) -> Tensor": "arange",
    "(Scalar s, *, $options) -> Tensor": "scalar_tensor",
    "(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor": (
        "bucketize.Scalar"
    ),
    "(Scalar self, Tensor exponent) -> Tensor": "pow.Scalar",
    "(Scalar self, Tensor other) -> Tensor": (
        "bitwise_and.Scalar_Tensor bitwise_left_shift.Scalar_Tensor "
        "bitwise_or.Scalar_Tensor bitwise_right_shift.Scalar_Tensor "
        "bitwise_xor.Scalar_Tensor remainder.Scalar_Tensor xlogy.Scalar_Self"
    ),
    "(Scalar start, Scalar end, *, $options) -> Tensor": "arange.start range",
    "(Scalar start, Scalar end, Scalar step=1, *, $options) -> Tensor": (
        "arange.start_step range.step"
    ),
    "(Scalar start, Scalar end, int steps, *, $options) -> Tensor": "linspace",
    "(Scalar start, Scalar end, int steps, float base=10., *, $options) -> Tensor": "logspace",
    "(Scalar start, Tensor end, int steps, *, $options) -> Tensor": "linspace.Scalar_Tensor",
    "(Scalar start, Tensor end, int steps, float base=10., *, $options) -> Tensor": (
        "logspace.Scalar_Tensor"
    ),
    (
        "(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? "
        "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
    ): "randint.generator",
    (
        "(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor"
    ): "randint",
    (
        "(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, "
        "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
    ): "randint.low_generator",
    (
        "(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, "
        "Device? device=None, bool? pin_memory=None) -> Tensor"
    ): "randint.low",
    "(SymInt n, *, $options) -> Tensor": "eye",
    (
        "(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor"
    ): "randperm.generator",
    (
        "(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
        "pin_memory=None) -> Tensor"
    ): "randperm",
    "(SymInt n, SymInt m, *, $options) -> Tensor": "eye.m",
    "(SymInt[] size, *, $options) -> Tensor": "ones rand randn zeros",
    "(SymInt[] size, *, $options, MemoryFormat? memory_format=None) -> Tensor": (
        "empty.memory_format"
    ),
    "(SymInt[] size, *, Generator? generator, $options) -> Tensor": (
        "rand.generator randn.generator"
    ),
    "(SymInt[] size, Scalar fill_value, *, $options) -> Tensor": "full",
    "(SymInt[] size, SymInt[] stride, *, $options) -> Tensor": "empty_strided",
    "(SymInt[] size, int[] physical_layout, *, $options) -> Tensor": "empty_permuted",
    "(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)": "linalg_inv_ex",
    "(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)": "linalg_lu",
    (
        "(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, "
        "Tensor info)"
    ): "linalg_lu_factor_ex",
    '(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)': "linalg_qr",
    "(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor": "linalg_ldl_solve",
    "(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor": (
        "linalg_lu_solve"
    ),
    (
        "(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> "
        "(Tensor P, Tensor L, Tensor U)"
    ): "lu_unpack",
    "(Tensor abs, Tensor angle) -> Tensor": "polar",
    "(Tensor condition, Tensor self, Tensor other) -> Tensor": "where.self",
    "(Tensor count, Tensor prob, Generator? generator=None) -> Tensor": "binomial",
    (
        "(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) "
        "-> Tensor"
    ): "isin.Tensor_Scalar",
    (
        "(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool "
        "invert=False) -> Tensor"
    ): "isin.Tensor_Tensor",
    "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor": (
        "_log_softmax_backward_data _softmax_backward_data"
    ),
    "(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor": "threshold_backward",
    (
        "(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> "
        "(Tensor, Tensor, Tensor)"
    ): "native_layer_norm",
    (
        "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool "
        "align_corners) -> Tensor"
    ): "grid_sampler_2d grid_sampler_3d",
    "(Tensor input, Tensor tau) -> Tensor": "linalg_householder_product",
    (
        "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
        "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"
    ): "convolution",
    (
        "(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
        "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool "
        "benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor"
    ): "_convolution",
    (
        "(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int "
        "group, float eps) -> (Tensor, Tensor, Tensor)"
    ): "native_group_norm",
    (
        "(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
        "running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"
    ): "native_batch_norm",
    "(Tensor input, float p, bool? train) -> (Tensor, Tensor)": "native_dropout",
    "(Tensor mat1, Tensor mat2) -> Tensor": "hspmm",
    "(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor": "normal.Tensor_Tensor",
    "(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor": "normal.Tensor_float",
    (
        "(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, "
        "Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"
    ): "_scaled_dot_product_flash_attention_for_cpu",
    "(Tensor real, Tensor imag) -> Tensor": "complex",
    "(Tensor repeats, *, SymInt? output_size=None) -> Tensor": "repeat_interleave.Tensor",
    "(Tensor self) -> (Tensor a, Tensor tau)": "geqrf",
    "(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)": "linalg_eig",
    "(Tensor self) -> (Tensor mantissa, Tensor exponent)": "frexp.Tensor",
    "(Tensor self) -> Scalar": "_local_scalar_dense",
    "(Tensor self) -> Tensor": (
        "abs acos acosh alias_copy all angle any asin asinh atan atanh bitwise_not ceil cos "
        "cosh deg2rad detach_copy digamma erf erfc erfinv exp exp2 expm1 floor frac "
        "hardsigmoid hardswish i0 isinf isnan isneginf isposinf lgamma linalg_matrix_exp "
        "log log10 log1p log2 logical_not max median min mish nanmedian neg nonzero rad2deg "
        "reciprocal relu round rsqrt sgn sigmoid sign signbit silu sin sinc sinh "
        "special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 "
        "special_entr special_erfcx special_i0e special_i1 special_i1e special_log_ndtr "
        "special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 "
        "special_modified_bessel_k1 special_ndtri sqrt squeeze_copy t_copy tan tanh trace "
        "trunc view_as_complex_copy view_as_real_copy"
    ),
    "(Tensor self) -> bool": "is_coalesced",
    "(Tensor self) -> int": "_nnz dense_dim sparse_dim",
    "(Tensor self, *, $options, MemoryFormat? memory_format=None) -> Tensor": (
        "empty_like ones_like rand_like randn_like zeros_like"
    ),
    (
        "(Tensor self, *, $options, bool non_blocking=False, MemoryFormat? memory_format=None) "
        "-> Tensor"
    ): "_to_copy",
    (
        "(Tensor self, *, Generator? generator, $options, MemoryFormat? memory_format=None) -> "
        "Tensor"
    ): "rand_like.generator randn_like.generator",
    "(Tensor self, *, Generator? generator=None) -> Tensor": "bernoulli",
    "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor": "clone",
    "(Tensor self, *, ScalarType? dtype=None) -> Tensor": "mean prod sum",
    "(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor": "nonzero_static",
    "(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor": (
        "linalg_pinv.atol_rtol_tensor"
    ),
    (
        "(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor "
        "pivots, Tensor info)"
    ): "linalg_ldl_factor_ex",
    "(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)": (
        "linalg_cholesky_ex"
    ),
    (
        "(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, "
        "Tensor indices)"
    ): "sort.stable",
    "(Tensor self, *, int decimals) -> Tensor": "round.decimals",
    "(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)": "aminmax",
    '(Tensor self, *, str approximate="none") -> Tensor': "gelu",
    "(Tensor self, Device? device=None) -> Tensor": "_pin_memory",
    "(Tensor self, Device? device=None) -> bool": "is_pinned",
    "(Tensor self, Generator? generator=None) -> Tensor": (
        "_sample_dirichlet _standard_gamma poisson"
    ),
    "(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor": "elu",
    "(Tensor self, Scalar alpha=1.) -> Tensor": "celu",
    "(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor": "softplus",
    "(Tensor self, Scalar exponent) -> Tensor": "pow.Tensor_Scalar",
    (
        "(Tensor self, Scalar fill_value, *, $options, MemoryFormat? memory_format=None) -> Tensor"
    ): "full_like",
    "(Tensor self, Scalar lambd=0.5) -> Tensor": "hardshrink softshrink",
    "(Tensor self, Scalar max) -> Tensor": "clamp_max",
    "(Tensor self, Scalar min) -> Tensor": "clamp_min",
    "(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor": "hardtanh",
    "(Tensor self, Scalar negative_slope=0.01) -> Tensor": "leaky_relu",
    (
        "(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
        "dtype=None) -> Tensor"
    ): "linalg_vector_norm",
    "(Tensor self, Scalar other) -> Tensor": (
        "bitwise_and.Scalar bitwise_left_shift.Tensor_Scalar bitwise_or.Scalar "
        "bitwise_right_shift.Tensor_Scalar bitwise_xor.Scalar copysign.Scalar div.Scalar "
        "eq.Scalar floor_divide.Scalar fmod.Scalar ge.Scalar gt.Scalar le.Scalar lt.Scalar "
        "mul.Scalar ne.Scalar remainder.Scalar xlogy.Scalar_Other"
    ),
    "(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor": "div.Scalar_mode",
    "(Tensor self, Scalar other, Scalar alpha=1) -> Tensor": "add.Scalar rsub.Scalar sub.Scalar",
    "(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor": "renorm",
    "(Tensor self, Scalar p=2) -> Tensor": "norm.Scalar",
    "(Tensor self, Scalar threshold, Scalar value) -> Tensor": "threshold",
    "(Tensor self, Scalar value) -> Tensor": "fill.Scalar",
    "(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor": "clamp",
    "(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor": "norm.ScalarOpt_dtype",
    "(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor": (
        "norm.ScalarOpt_dim_dtype"
    ),
    "(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor": "norm.ScalarOpt_dim",
    "(Tensor self, SymInt diagonal=0) -> Tensor": "tril triu",
    "(Tensor self, SymInt groups) -> Tensor": "channel_shuffle",
    "(Tensor self, SymInt high, *, $options, MemoryFormat? memory_format=None) -> Tensor": (
        "randint_like"
    ),
    (
        "(Tensor self, SymInt high, *, Generator? generator, $options, MemoryFormat? "
        "memory_format=None) -> Tensor"
    ): "randint_like.generator",
    (
        "(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"
    ): "kthvalue",
    (
        "(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor "
        "values, Tensor indices)"
    ): "topk",
    (
        "(Tensor self, SymInt low, SymInt high, *, $options, MemoryFormat? memory_format=None) "
        "-> Tensor"
    ): "randint_like.low_dtype",
    (
        "(Tensor self, SymInt low, SymInt high, *, Generator? generator, $options, "
        "MemoryFormat? memory_format=None) -> Tensor"
    ): "randint_like.low_generator_dtype",
    (
        "(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? "
        "generator=None) -> Tensor"
    ): "multinomial",
    "(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor": "roll",
    "(Tensor self, SymInt[2] output_size) -> Tensor": "_adaptive_avg_pool2d",
    "(Tensor self, SymInt[3] output_size) -> Tensor": "_adaptive_avg_pool3d",
    "(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor": "constant_pad_nd",
    "(Tensor self, SymInt[] repeats) -> Tensor": "repeat",
    "(Tensor self, SymInt[] size) -> Tensor": "_unsafe_view",
    "(Tensor self, SymInt[] size, *, $options) -> Tensor": "new_empty new_ones new_zeros",
    "(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor": "resize",
    "(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor": "expand_copy",
    "(Tensor self, SymInt[] size, Scalar fill_value, *, $options) -> Tensor": "new_full",
    "(Tensor self, SymInt[] size, SymInt[] stride, *, $options) -> Tensor": "new_empty_strided",
    "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]": "unsafe_split_with_sizes",
    (
        "(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
        "unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)"
    ): "triangular_solve",
    (
        "(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor"
    ): "linalg_solve_triangular",
    (
        "(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, "
        "Tensor residuals, Tensor rank, Tensor singular_values)"
    ): "linalg_lstsq",
    (
        "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor"
    ): "addbmm baddbmm",
    (
        "(Tensor self, Tensor batch1, Tensor batch2, ScalarType out_dtype, *, Scalar beta=1, "
        "Scalar alpha=1) -> Tensor"
    ): "baddbmm.dtype",
    (
        "(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor "
        "hist, Tensor bin_edges)"
    ): "histogram.bins_tensor",
    "(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor": (
        "bucketize.Tensor"
    ),
    "(Tensor self, Tensor end, Scalar weight) -> Tensor": "lerp.Scalar",
    "(Tensor self, Tensor end, Tensor weight) -> Tensor": "lerp.Tensor",
    "(Tensor self, Tensor exponent) -> Tensor": "pow.Tensor_Tensor",
    "(Tensor self, Tensor high, *, $options, MemoryFormat? memory_format=None) -> Tensor": (
        "randint_like.Tensor"
    ),
    (
        "(Tensor self, Tensor high, *, Generator? generator, $options, MemoryFormat? "
        "memory_format=None) -> Tensor"
    ): "randint_like.Tensor_generator",
    "(Tensor self, Tensor index) -> Tensor": "take",
    "(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor": "put",
    "(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor": "max_unpool2d",
    (
        "(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> "
        "Tensor"
    ): "max_unpool3d",
    (
        "(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> "
        "Tensor"
    ): "ormqr",
    "(Tensor self, Tensor input2, bool upper=False) -> Tensor": "cholesky_solve",
    "(Tensor self, Tensor mask) -> Tensor": "masked_select",
    "(Tensor self, Tensor mask, Scalar value) -> Tensor": "masked_fill.Scalar",
    "(Tensor self, Tensor mask, Tensor source) -> Tensor": "masked_scatter",
    "(Tensor self, Tensor mask, Tensor value) -> Tensor": "masked_fill.Tensor",
    "(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor": "addmv",
    "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor": (
        "_sparse_addmm addmm"
    ),
    (
        "(Tensor self, Tensor mat1, Tensor mat2, ScalarType out_dtype, *, Scalar beta=1, Scalar "
        "alpha=1) -> Tensor"
    ): "addmm.dtype",
    "(Tensor self, Tensor mat2) -> Tensor": "bmm mm",
    "(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor": "bmm.dtype mm.dtype",
    "(Tensor self, Tensor max) -> Tensor": "clamp_max.Tensor",
    "(Tensor self, Tensor min) -> Tensor": "clamp_min.Tensor",
    "(Tensor self, Tensor other) -> Tensor": (
        "atan2 bitwise_and.Tensor bitwise_left_shift.Tensor bitwise_or.Tensor "
        "bitwise_right_shift.Tensor bitwise_xor.Tensor copysign.Tensor div.Tensor eq.Tensor "
        "floor_divide fmax fmin fmod.Tensor gcd ge.Tensor gt.Tensor hypot igamma igammac "
        "lcm ldexp.Tensor le.Tensor logaddexp logaddexp2 logical_and logical_or logical_xor "
        "lt.Tensor maximum minimum mul.Tensor ne.Tensor nextafter remainder.Tensor "
        "special_xlog1py special_zeta vdot xlogy.Tensor"
    ),
    "(Tensor self, Tensor other) -> bool": "equal is_same_size",
    "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor": "add.Tensor rsub.Tensor sub.Tensor",
    "(Tensor self, Tensor other, *, int dim=-1) -> Tensor": "linalg_cross",
    "(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor": "div.Tensor_mode",
    "(Tensor self, Tensor other, Scalar p=2) -> Tensor": "dist",
    (
        "(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool "
        "equal_nan=False) -> bool"
    ): "allclose",
    "(Tensor self, Tensor output) -> Tensor": "_standard_gamma_grad",
    "(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor": "bernoulli.Tensor",
    (
        "(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) "
        "-> Tensor"
    ): "as_strided_scatter",
    "(Tensor self, Tensor src, int dim, SymInt index) -> Tensor": "select_scatter",
    (
        "(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt "
        "step=1) -> Tensor"
    ): "slice_scatter",
    "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor": "diagonal_scatter",
    (
        "(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int "
        "reduction=1) -> Tensor"
    ): "multi_margin_loss",
    (
        "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> "
        "(Tensor output, Tensor total_weight)"
    ): "nll_loss_forward",
    (
        "(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int "
        "reduction=1) -> Tensor"
    ): "binary_cross_entropy_with_logits",
    "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor": (
        "binary_cross_entropy"
    ),
    "(Tensor self, Tensor target, int reduction=1) -> Tensor": "mse_loss soft_margin_loss",
    "(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor": "smooth_l1_loss",
    "(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor": "huber_loss",
    "(Tensor self, Tensor tensor) -> Tensor": "dot",
    "(Tensor self, Tensor tensor) -> bool": "is_set_to",
    "(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor": "addcdiv addcmul",
    "(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor": (
        "resize_as"
    ),
    "(Tensor self, Tensor value) -> Tensor": "fill.Tensor",
    "(Tensor self, Tensor values) -> Tensor": "heaviside",
    "(Tensor self, Tensor vec) -> Tensor": "mv",
    "(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor": "addr",
    "(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor": "conv_tbc",
    "(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor": "clamp.Tensor",
    "(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor": "bincount",
    "(Tensor self, Tensor?[] indices) -> Tensor": "index.Tensor",
    "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor": "index_put",
    (
        "(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
        "(Tensor, Tensor, Tensor)"
    ): "unique_consecutive",
    "(Tensor self, bool upper=False) -> Tensor": "cholesky cholesky_inverse",
    "(Tensor self, float p, *, Generator? generator=None) -> Tensor": "bernoulli.p",
    "(Tensor self, float? eps=None) -> Tensor": "logit",
    "(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor": (
        "nan_to_num"
    ),
    (
        "(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool "
        "density=False) -> (Tensor hist, Tensor bin_edges)"
    ): "histogram.bin_ct",
    "(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor": "histc",
    "(Tensor self, int dim) -> (Tensor values, Tensor indices)": "cummax cummin",
    "(Tensor self, int dim) -> Tensor": "logcumsumexp",
    "(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor": "cumprod cumsum",
    "(Tensor self, int dim, Tensor index) -> Tensor": "index_select",
    "(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor": "gather",
    "(Tensor self, int dim, Tensor index, Scalar value) -> Tensor": (
        "index_fill.int_Scalar scatter.value"
    ),
    "(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor": (
        "scatter.value_reduce"
    ),
    "(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor": "index_add",
    (
        "(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool "
        "include_self=True) -> Tensor"
    ): "index_reduce",
    "(Tensor self, int dim, Tensor index, Tensor src) -> Tensor": "scatter.src scatter_add",
    "(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor": "scatter.reduce",
    (
        "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool "
        "include_self=True) -> Tensor"
    ): "scatter_reduce.two",
    "(Tensor self, int dim, Tensor index, Tensor value) -> Tensor": "index_fill.int_Tensor",
    "(Tensor self, int dim, bool half_to_float) -> Tensor": "_log_softmax _softmax",
    "(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)": (
        "max.dim median.dim min.dim nanmedian.dim"
    ),
    "(Tensor self, int dim, bool keepdim=False) -> Tensor": "all.dim any.dim",
    "(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor": (
        "prod.dim_int"
    ),
    "(Tensor self, int dim=-1) -> Tensor": "glu",
    "(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)": "sort",
    "(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)": "mode",
    "(Tensor self, int downscale_factor) -> Tensor": "pixel_unshuffle",
    "(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor": "rot90",
    "(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor": "diag_embed",
    "(Tensor self, int p) -> Tensor": "mvlgamma",
    "(Tensor self, int upscale_factor) -> Tensor": "pixel_shuffle",
    "(Tensor self, int? dim=None) -> Tensor": "count_nonzero",
    "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor": "argmax argmin",
    "(Tensor self, int[1] dim, bool keepdim=False) -> Tensor": "logsumexp",
    "(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor": "hash_tensor",
    "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor": "amax amin",
    "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor": (
        "mean.dim sum.dim_IntList"
    ),
    (
        "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> "
        "(Tensor, Tensor)"
    ): "std_mean.correction var_mean.correction",
    (
        "(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"
    ): "std.correction var.correction",
    (
        "(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
    ): "nansum",
    (
        "(Tensor self, int[2] kernel_size, int[2] output_size, Tensor random_samples) -> "
        "(Tensor, Tensor)"
    ): "fractional_max_pool2d",
    (
        "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool "
        "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
    ): "avg_pool2d",
    (
        "(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
        "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"
    ): "max_pool2d_with_indices",
    "(Tensor self, int[2] output_size) -> (Tensor, Tensor)": "adaptive_max_pool2d",
    (
        "(Tensor self, int[3] kernel_size, int[3] output_size, Tensor random_samples) -> "
        "(Tensor, Tensor)"
    ): "fractional_max_pool3d",
    (
        "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool "
        "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor"
    ): "avg_pool3d",
    (
        "(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
        "dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)"
    ): "max_pool3d_with_indices",
    "(Tensor self, int[3] output_size) -> (Tensor, Tensor)": "adaptive_max_pool3d",
    "(Tensor self, int[] dim) -> Tensor": "count_nonzero.dim_IntList",
    "(Tensor self, int[] dims) -> Tensor": "flip",
    "(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor": "all.dims any.dims",
    (
        "(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? "
        "side=None, Tensor? sorter=None) -> Tensor"
    ): "searchsorted.Scalar",
    (
        "(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? "
        "side=None, Tensor? sorter=None) -> Tensor"
    ): "searchsorted.Tensor",
    "(Tensor start, Scalar end, int steps, *, $options) -> Tensor": "linspace.Tensor_Scalar",
    "(Tensor start, Scalar end, int steps, float base=10., *, $options) -> Tensor": (
        "logspace.Tensor_Scalar"
    ),
    "(Tensor start, Tensor end, int steps, *, $options) -> Tensor": "linspace.Tensor_Tensor",
    "(Tensor start, Tensor end, int steps, float base=10., *, $options) -> Tensor": (
        "logspace.Tensor_Tensor"
    ),
    "(Tensor theta, SymInt[] size, bool align_corners) -> Tensor": "affine_grid_generator",
    (
        "(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
        "bool sparse=False) -> Tensor"
    ): "embedding",
    "(Tensor x) -> Tensor": (
        "special_airy_ai special_scaled_modified_bessel_k0 "
        "special_scaled_modified_bessel_k1 special_spherical_bessel_j0"
    ),
    "(Tensor x, Tensor alpha, Tensor total) -> Tensor": "_dirichlet_grad",
    "(Tensor x, Tensor n) -> Tensor": (
        "special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
        "special_chebyshev_polynomial_v special_chebyshev_polynomial_w "
        "special_hermite_polynomial_h special_hermite_polynomial_he "
        "special_laguerre_polynomial_l special_legendre_polynomial_p "
        "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
        "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w"
    ),
    "(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]": "split.Tensor",
    "(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]": "split_with_sizes",
    "(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]": "unbind.int",
    "(Tensor(a!) self) -> Tensor(a!)": (
        "abs_ acos_ acosh_ asin_ asinh_ atan_ atanh_ bitwise_not_ ceil_ conj_physical_ cos_ "
        "cosh_ deg2rad_ detach_ digamma_ erf_ erfc_ erfinv_ exp2_ exp_ expm1_ floor_ frac_ "
        "i0_ lgamma_ log10_ log1p_ log2_ log_ logical_not_ neg_ rad2deg_ reciprocal_ relu_ "
        "round_ rsqrt_ set_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ squeeze_ t_ tan_ "
        "tanh_ trunc_ zero_"
    ),
    "(Tensor(a!) self, *, Generator? generator=None) -> Tensor(a!)": "random_",
    "(Tensor(a!) self, *, int decimals) -> Tensor(a!)": "round_.decimals",
    "(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)": "elu_",
    "(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)": "celu_",
    "(Tensor(a!) self, Scalar exponent) -> Tensor(a!)": "pow_.Scalar",
    "(Tensor(a!) self, Scalar max) -> Tensor(a!)": "clamp_max_",
    "(Tensor(a!) self, Scalar min) -> Tensor(a!)": "clamp_min_",
    "(Tensor(a!) self, Scalar min_val=-1, Scalar max_val=1) -> Tensor(a!)": "hardtanh_",
    "(Tensor(a!) self, Scalar negative_slope=0.01) -> Tensor(a!)": "leaky_relu_",
    "(Tensor(a!) self, Scalar other) -> Tensor(a!)": (
        "bitwise_and_.Scalar bitwise_left_shift_.Tensor_Scalar bitwise_or_.Scalar "
        "bitwise_right_shift_.Tensor_Scalar bitwise_xor_.Scalar copysign_.Scalar "
        "div_.Scalar eq_.Scalar floor_divide_.Scalar fmod_.Scalar ge_.Scalar gt_.Scalar "
        "le_.Scalar lt_.Scalar mul_.Scalar ne_.Scalar remainder_.Scalar xlogy_.Scalar_Other"
    ),
    "(Tensor(a!) self, Scalar other, *, str? rounding_mode) -> Tensor(a!)": "div_.Scalar_mode",
    "(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)": "add_.Scalar sub_.Scalar",
    "(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)": "renorm_",
    "(Tensor(a!) self, Scalar threshold, Scalar value) -> Tensor(a!)": "threshold_",
    "(Tensor(a!) self, Scalar value) -> Tensor(a!)": "fill_.Scalar",
    "(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)": "clamp_",
    "(Tensor(a!) self, Storage source) -> Tensor(a!)": "set_.source_Storage",
    (
        "(Tensor(a!) self, Storage source, SymInt storage_offset, SymInt[] size, SymInt[] "
        "stride=[]) -> Tensor(a!)"
    ): "set_.source_Storage_storage_offset",
    "(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)": "tril_ triu_",
    "(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)": (
        "resize_"
    ),
    (
        "(Tensor(a!) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
        "Tensor(a!)"
    ): "as_strided_",
    (
        "(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> "
        "Tensor(a!)"
    ): "addbmm_ baddbmm_",
    "(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)": "lerp_.Scalar",
    "(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)": "lerp_.Tensor",
    "(Tensor(a!) self, Tensor exponent) -> Tensor(a!)": "pow_.Tensor",
    "(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)": "put_",
    "(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)": (
        "embedding_renorm_"
    ),
    "(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)": "masked_fill_.Scalar",
    "(Tensor(a!) self, Tensor mask, Tensor source) -> Tensor(a!)": "masked_scatter_",
    "(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)": "masked_fill_.Tensor",
    (
        "(Tensor(a!) self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)"
    ): "addmv_",
    (
        "(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> "
        "Tensor(a!)"
    ): "addmm_",
    "(Tensor(a!) self, Tensor max) -> Tensor(a!)": "clamp_max_.Tensor",
    "(Tensor(a!) self, Tensor min) -> Tensor(a!)": "clamp_min_.Tensor",
    "(Tensor(a!) self, Tensor other) -> Tensor(a!)": (
        "atan2_ bitwise_and_.Tensor bitwise_left_shift_.Tensor bitwise_or_.Tensor "
        "bitwise_right_shift_.Tensor bitwise_xor_.Tensor copysign_.Tensor div_.Tensor "
        "eq_.Tensor floor_divide_.Tensor fmod_.Tensor gcd_ ge_.Tensor gt_.Tensor hypot_ "
        "igamma_ igammac_ lcm_ ldexp_ le_.Tensor logical_and_ logical_or_ logical_xor_ "
        "lt_.Tensor mul_.Tensor ne_.Tensor nextafter_ remainder_.Tensor xlogy_.Tensor"
    ),
    "(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)": "add_.Tensor sub_.Tensor",
    "(Tensor(a!) self, Tensor other, *, str? rounding_mode) -> Tensor(a!)": "div_.Tensor_mode",
    "(Tensor(a!) self, Tensor p, *, Generator? generator=None) -> Tensor(a!)": "bernoulli_.Tensor",
    "(Tensor(a!) self, Tensor source) -> Tensor(a!)": "set_.source_Tensor",
    "(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)": "copy_",
    "(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)": (
        "addcdiv_ addcmul_"
    ),
    (
        "(Tensor(a!) self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor(a!)"
    ): "resize_as_",
    "(Tensor(a!) self, Tensor value) -> Tensor(a!)": "fill_.Tensor",
    "(Tensor(a!) self, Tensor values) -> Tensor(a!)": "heaviside_",
    (
        "(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> "
        "Tensor(a!)"
    ): "addr_",
    "(Tensor(a!) self, Tensor? min=None, Tensor? max=None) -> Tensor(a!)": "clamp_.Tensor",
    (
        "(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)"
    ): "index_put_",
    (
        "(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)"
    ): "uniform_",
    "(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)": "exponential_",
    (
        "(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)"
    ): "normal_",
    (
        "(Tensor(a!) self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor(a!)"
    ): "log_normal_",
    (
        "(Tensor(a!) self, float median=0., float sigma=1., *, Generator? generator=None) -> "
        "Tensor(a!)"
    ): "cauchy_",
    "(Tensor(a!) self, float p, *, Generator? generator=None) -> Tensor(a!)": "geometric_",
    "(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)": (
        "bernoulli_.float"
    ),
    "(Tensor(a!) self, float? eps=None) -> Tensor(a!)": "logit_",
    (
        "(Tensor(a!) self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor(a!)"
    ): "nan_to_num_",
    "(Tensor(a!) self, int dim) -> Tensor(a!)": "squeeze_.dim unsqueeze_",
    "(Tensor(a!) self, int dim, *, ScalarType? dtype=None) -> Tensor(a!)": "cumprod_ cumsum_",
    "(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)": (
        "index_fill_.int_Scalar scatter_.value"
    ),
    "(Tensor(a!) self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor(a!)": (
        "scatter_.value_reduce"
    ),
    "(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)": "index_copy_",
    (
        "(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)"
    ): "index_add_",
    (
        "(Tensor(a!) self, int dim, Tensor index, Tensor source, str reduce, *, bool "
        "include_self=True) -> Tensor(a!)"
    ): "index_reduce_",
    "(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)": (
        "scatter_.src scatter_add_"
    ),
    "(Tensor(a!) self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor(a!)": (
        "scatter_.reduce"
    ),
    (
        "(Tensor(a!) self, int dim, Tensor index, Tensor src, str reduce, *, bool "
        "include_self=True) -> Tensor(a!)"
    ): "scatter_reduce_.two",
    "(Tensor(a!) self, int dim, Tensor index, Tensor value) -> Tensor(a!)": (
        "index_fill_.int_Tensor"
    ),
    "(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)": "transpose_",
    "(Tensor(a!) self, int from, int? to, *, Generator? generator=None) -> Tensor(a!)": (
        "random_.from"
    ),
    "(Tensor(a!) self, int n) -> Tensor(a!)": "polygamma_",
    "(Tensor(a!) self, int p) -> Tensor(a!)": "mvlgamma_",
    "(Tensor(a!) self, int to, *, Generator? generator=None) -> Tensor(a!)": "random_.to",
    "(Tensor(a!) self, int[] dim) -> Tensor(a!)": "squeeze_.dims",
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
        "_conj _indices _neg_view _values alias ccol_indices col_indices crow_indices "
        "detach indices row_indices squeeze t values view_as_complex "
        "view_as_real"
    ),
    "(Tensor(a) self, ScalarType dtype) -> Tensor(a)": "view.dtype",
    "(Tensor(a) self, SymInt[] size) -> Tensor(a)": "view",
    "(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)": "expand",
    (
        "(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)"
    ): "as_strided",
    "(Tensor(a) self, int dim) -> Tensor(a)": "squeeze.dim unsqueeze",
    "(Tensor(a) self, int dim, SymInt index) -> Tensor(a)": "select.int",
    "(Tensor(a) self, int dim0, int dim1) -> Tensor(a)": "transpose.int",
    (
        "(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
        "Tensor(a)"
    ): "slice.Tensor",
    "(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)": "unfold",
    "(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)": "diagonal",
    "(Tensor(a) self, int[] dim) -> Tensor(a)": "squeeze.dims",
    "(Tensor(a) self, int[] dims) -> Tensor(a)": "permute",
    "(Tensor[] self) -> Tensor[]": (
        "_foreach_abs _foreach_acos _foreach_asin _foreach_atan _foreach_ceil _foreach_cos "
        "_foreach_cosh _foreach_erf _foreach_erfc _foreach_exp _foreach_expm1 "
        "_foreach_floor _foreach_frac _foreach_lgamma _foreach_log _foreach_log10 "
        "_foreach_log1p _foreach_log2 _foreach_max _foreach_neg _foreach_reciprocal "
        "_foreach_round _foreach_rsqrt _foreach_sigmoid _foreach_sign _foreach_sin "
        "_foreach_sinh _foreach_sqrt _foreach_tan _foreach_tanh _foreach_trunc"
    ),
    "(Tensor[] tensors) -> Tensor": "block_diag",
    "(Tensor[] tensors, int dim=0) -> Tensor": "cat stack",
    "(float mean, Tensor std, *, Generator? generator=None) -> Tensor": "normal.float_Tensor",
    (
        "(float mean, float std, SymInt[] size, *, Generator? generator=None, $options) -> Tensor"
    ): "normal.float_float",
    "(int n, Tensor self) -> Tensor": "polygamma",
    "(int n, float d=1., *, $options) -> Tensor": "fft_fftfreq fft_rfftfreq",
    (
        "(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? "
        "device=None, bool? pin_memory=None) -> Tensor"
    ): "tril_indices triu_indices",
    "(int window_length, *, $options) -> Tensor": (
        "bartlett_window blackman_window hamming_window hann_window kaiser_window"
    ),
    "(int window_length, bool periodic, *, $options) -> Tensor": (
        "bartlett_window.periodic blackman_window.periodic hamming_window.periodic "
        "hann_window.periodic kaiser_window.periodic"
    ),
    "(int window_length, bool periodic, float alpha, *, $options) -> Tensor": (
        "hamming_window.periodic_alpha"
    ),
    "(int window_length, bool periodic, float alpha, float beta, *, $options) -> Tensor": (
        "hamming_window.periodic_alpha_beta"
    ),
    "(int window_length, bool periodic, float beta, *, $options) -> Tensor": "kaiser_window.beta",
    "(str filename, bool? shared=None, int? size=0, *, $options) -> Tensor": "from_file",
}
# Those of operations that are composed of others, which modes see instead.
_COMPOSED = {
    "(Tensor input, float p, bool train) -> Tensor": (
        "alpha_dropout dropout feature_alpha_dropout feature_dropout"
    ),
    "(Tensor self) -> Tensor": (
        "absolute arccos arccosh arcsin arcsinh arctan arctanh argwhere atleast_1d "
        "atleast_2d atleast_3d conj_physical corrcoef det fix fliplr flipud inverse "
        "isfinite isreal linalg_eigvals logdet matrix_exp msort negative relu6 selu "
        "special_digamma special_erf special_erfc special_erfinv special_exp2 special_expit "
        "special_expm1 special_gammaln special_i0 special_log1p special_ndtr special_psi "
        "special_sinc square"
    ),
    "(Tensor self) -> bool": (
        "is_complex is_conj is_contiguous is_distributed is_floating_point is_inference "
        "is_neg is_nonzero is_signed"
    ),
    "(Tensor self) -> int": "dim get_device numel storage_offset",
    "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor": (
        "fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft"
    ),
    "(Tensor self, Tensor other) -> Tensor": (
        "arctan2 inner kron linalg_matmul matmul special_gammainc special_gammaincc "
        "special_xlogy type_as"
    ),
    "(Tensor self, Tensor target, int reduction=1) -> Tensor": "l1_loss multilabel_margin_loss",
    "(Tensor(a!) self) -> Tensor(a!)": (
        "absolute_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ fix_ negative_ selu_ square_"
    ),
    "(Tensor(a!) self, Tensor other) -> Tensor(a!)": "arctan2_",
    "(Tensor(a!) self, float p, bool train) -> Tensor(a!)": (
        "alpha_dropout_ dropout_ feature_alpha_dropout_ feature_dropout_"
    ),
    "(Tensor(a) self) -> Tensor(a)": (
        "adjoint coalesce conj imag positive ravel real resolve_conj resolve_neg"
    ),
    "(Tensor[] tensors) -> Tensor": (
        "cartesian_prod column_stack dstack hstack linalg_multi_dot row_stack vstack"
    ),
    "(Tensor[] tensors, int dim=0) -> Tensor": "concat concatenate",
}


def _by_name(signatures: dict[str, str]) -> dict[str, str]:
    return {
        name: f"aten::{name}{signature.replace('$options', _OPTIONS)}"
        for signature, names in signatures.items()
        for name in names.split()
    }


_DISPATCHED = _by_name(_SIGNATURES)
_ALL = {**_by_name(_COMPOSED), **_DISPATCHED}


def _full_name(name: str, overload: str) -> str:
    return name if overload == "default" else f"{name}.{overload}"


def schema_of(name: str, overload: str) -> str | None:
    """The schema of an operation of ``aten``, where it is one of the table."""
    return _ALL.get(_full_name(name, overload))


def dispatched_overloads(name: str) -> list[str]:
    """The overloads of an operation of ``aten`` that modes see, in the order of choice."""
    return [o for o in overloads_of(name) if _full_name(name, o) in _DISPATCHED]
