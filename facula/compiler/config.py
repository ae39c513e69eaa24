"""Settings of PyTorch's compiler: kept for the scripts that set them, and without an effect."""

from __future__ import annotations

from typing import Any

from facula.utils._config_module import install_config_module

# Settings of torch._dynamo.config, which are public here.
_SHARED = (
    "accumulated_recompile_limit",
    "allow_unspec_int_on_nn_module",
    "assume_static_by_default",
    "automatic_dynamic_shapes",
    "capture_dynamic_output_shape_ops",
    "capture_scalar_outputs",
    "dynamic_shapes",
    "enable_cpp_symbolic_shape_guards",
    "fail_on_recompile_limit_hit",
    "log_file_name",
    "recompile_limit",
    "reorderable_logging_functions",
    "skip_tensor_guards_with_matching_dict_tags",
    "verbose",
    "wrap_top_frame",
)
__all__ = ["force_disable_caches", "job_id", *_SHARED]

cache_key_tag = ""
dynamic_sources = ""
dynamic_values = ""
force_cudagraph_gc = False
force_disable_caches = False
job_id: Any = None
pgo_extra_read_key: Any = None
pgo_extra_write_key: Any = None
unbacked_sources = ""

install_config_module(__name__, aliases={name: f"facula._dynamo.config.{name}" for name in _SHARED})
