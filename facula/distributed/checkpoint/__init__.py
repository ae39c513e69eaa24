"""Checkpoints of several processes, which need an engine that is not there yet."""

from facula._refusing import refusing, refusing_class

__all__ = ["FileSystemReader", "FileSystemWriter", "load", "save"]

_ONE_FILE = "checkpoints are written by one process: torch.save(model.state_dict(), path)."

FileSystemReader = refusing_class("torch.distributed.checkpoint.FileSystemReader", _ONE_FILE)
FileSystemWriter = refusing_class("torch.distributed.checkpoint.FileSystemWriter", _ONE_FILE)
load = refusing("torch.distributed.checkpoint.load", _ONE_FILE)
save = refusing("torch.distributed.checkpoint.save", _ONE_FILE)
