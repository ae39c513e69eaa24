"""What limits the rows in which PyTorch is faster, as profiles showed it."""

import re
from collections.abc import Iterable

# The first pattern that a name has in it counts.
REASONS = (
    # Of the sweep.
    (r"block_diag", "Each block is padded, then all are joined: every element is written twice."),
    (r"tolist", "Page faults: the C library gives the memory of each list back to the system."),
    (r"linalg\.eig(vals)?\(", "The QR iteration of OpenBLAS's LAPACK, which has no blocks."),
    (
        r"linalg\.(lstsq|eigh)\(",
        "On two threads: one matrix is worked on by one, but for its products.",
    ),
    (
        r"\.renorm_\(|addr_",
        "The result is made first and then copied into the tensor, a third of the time.",
    ),
    (
        r"\)\.\w+_\((row|2|y)\)$",
        "In place: truth values are made first and then converted.",
    ),
    (
        r"renorm|histogram|kaiser_window|kron|multi_dot|broadcast_tensors|x\.new\(|float_power",
        "A few small operations or checks, called from Python: calls are the cost, not elements.",
    ),
    (
        r"is_storage|is_autocast_enabled|get_num_interop_threads",
        "A single call from Python, 20 ns longer.",
    ),
    (
        r"sparse_(coo|csr|csc)_tensor|to_sparse\(\); torch\.\w*mm",
        "Ten to fifteen calls from Python for checks and dispatch, 0.5 to 0.9 us together.",
    ),
    (r"map2?_|apply_", "Elements go through lists of Python."),
    (r"(avg|max)_pool3d", "A row of four results takes as long as one of sixteen, a vector."),
    (r"unique_consecutive", "A store and an addition that waits for the one before, 0.4 ns each."),
    (r"(sort|argsort)\(vector", "Eight passes over words of 16 bytes, a key and its place."),
    (r"index_add", "Of bfloat16: sums in float32, rounded once, are three conversions of it all."),
    (r"aminmax", "Two passes over the elements."),
    (r"ndtr\b", "Of float16: through the double precision of erfc for floats."),
    (r"pixel_(un)?shuffle", "With channels last: four copies of every fourth element."),
    (r"unfold_copy", "Pairs of every second element are copied one by one, 0.45 ns each."),
    (
        r"index_select\(x, 1|index_fill|gather",
        "Loads of an index and an element, and a store: no instruction has more of them at once.",
    ),
    (r"copysign|to\(torch\.complex64\)", "Of bfloat16: widened and rounded in registers."),
    (r"vdot", "The first vector is conjugated into a copy."),
    (r"solve_triangular", "OpenBLAS's ctrsm packs the whole matrix, also for two right sides."),
    (r"baddbmm", "Of small complex matrices: factors are tested for each element."),
    (r"conv_tbc", "Of bfloat16: by float32, as its pairs need more than four channels."),
    (r"median", "Transposed: a copy of the elements comes first."),
    (
        r"flip|rot90|cat\(|column_stack|constant_pad_nd|slice_scatter|split_with_sizes_copy|repeat"
        r"|reciprocal|neg|relu|rad2deg|clamp|w\[i\] = x|index_copy|index_put|interpolate",
        "Equal or ahead when measured again by itself: memory is the limit of both.",
    ),
    # Of the benchmarks.
    (r"^sum, 16M", "Memory, from which 64 MB come at 65 GB/s."),
    (
        r"bfloat16 conv2d|autocast ResNet-18",
        "Products run at the peak of their instruction; a seventh is spent on turning sums into "
        "planes and on copying lines.",
    ),
    (
        r"conv2d 7x7|stride 2",
        "Products run at the peak; packing every second pixel, or turning sums into planes, is a "
        "sixth, which a layout with channels last would not need.",
    ),
    (
        r"conv2d 1x1",
        "85% of the peak, or all of it with AVX2; four times as much is written as read.",
    ),
    (
        r"512 to 512 on 7",
        "Transforms of Winograd's gradient of the weight, made for each 8x8 channels.",
    ),
    (
        r"MobileNet",
        "Pointwise products at 80% of the peak are three quarters of it; 49 pixels of 7x7 images "
        "fill 64 lanes, and onnxruntime folds batch norm and ReLU into convolutions.",
    ),
    (r"of one row", "Weights come from the cache at 92 of the 112 GB/s that it has."),
    (r"load 500 MB", "Checksums are compared, which PyTorch does not do."),
)
UNKNOWN = "Not looked into, or another run's noise."


def explained(names: Iterable[str]) -> str:
    """An item for each reason, with the names that it is of."""
    by_reason: dict[str, list[str]] = {reason: [] for _, reason in REASONS}
    for name in dict.fromkeys(names):
        found = (reason for pattern, reason in REASONS if re.search(pattern, name))
        by_reason.setdefault(next(found, UNKNOWN), []).append(name)
    lines = []
    for reason, of in by_reason.items():
        if of:
            lines.append("- " + ", ".join(f"`{name.strip('`')}`" for name in of) + f": {reason}")
    return "\n".join(lines)
