"""Settings of the backend: kept for the scripts that set them, and without an effect."""

from __future__ import annotations

from types import SimpleNamespace

from facula.utils._config_module import install_config_module

allow_buffer_reuse = True
benchmark_kernel = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp_wrapper = False
debug = False
emulate_precision_casts = False
epilogue_fusion = True
fallback_random = False
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
layout_optimization = True
max_autotune = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
permute_fusion = False
post_grad_custom_post_pass = None
pre_grad_custom_pass = None
reorder_for_compute_comm_overlap = False
shape_padding = True
size_asserts = True
split_reductions = True
use_mixed_mm = True

aot_inductor = SimpleNamespace(output_path="", debug_compile=False, package=False)
cpp = SimpleNamespace(threads=-1, simdlen=None, enable_kernel_profile=False, weight_prepack=True)
trace = SimpleNamespace(enabled=False, graph_diagram=False)
triton = SimpleNamespace(
    cudagraph_skip_dynamic_graphs=False,
    cudagraph_trees=True,
    cudagraphs=False,
    unique_kernel_names=True,
)

# PyTorch has some 600, most of them for kernels on devices that are not supported here.
install_config_module(__name__, is_complete=False)
