"""How a loader works inside. The public names are those of ``facula.utils.data``."""

from facula.utils.data._utils import collate, fetch, pin_memory, worker

__all__ = ["collate", "fetch", "pin_memory", "worker"]
