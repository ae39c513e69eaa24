"""Backends of PyTorch's compiler."""
