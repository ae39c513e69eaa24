"""Tools beside the tensors: checkpointing and nested containers."""
