"""What several processes do together, with derivatives; there is no engine for it yet."""

from facula.distributed.distributed_c10d import _needs_group

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]

all_gather = _needs_group("nn.functional.all_gather")
all_reduce = _needs_group("nn.functional.all_reduce")
all_to_all = _needs_group("nn.functional.all_to_all")
all_to_all_single = _needs_group("nn.functional.all_to_all_single")
broadcast = _needs_group("nn.functional.broadcast")
gather = _needs_group("nn.functional.gather")
reduce = _needs_group("nn.functional.reduce")
reduce_scatter = _needs_group("nn.functional.reduce_scatter")
scatter = _needs_group("nn.functional.scatter")
