"""Tools beside the tensors, in modules to be imported by name: checkpointing, hooks."""

__all__: list[str] = []
