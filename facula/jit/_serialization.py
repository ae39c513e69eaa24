"""Files of TorchScript, which are neither written nor read."""

from __future__ import annotations

from facula._refusing import refusing

__all__ = ["jit_module_from_flatbuffer", "load", "save", "save_jit_module_to_flatbuffer"]

_WRITE = (
    "there is no TorchScript to write. Save the weights with torch.save(model.state_dict(), path), "
    "or write a model for other programs with torch.onnx.export."
)
_READ = (
    "a file of TorchScript holds a program for PyTorch's own interpreter. Build the model in "
    "Python and load its weights: model.load_state_dict(torch.load(path)) of a file that was "
    "written with torch.save(model.state_dict(), path)."
)

save = refusing("torch.jit.save", _WRITE)
load = refusing("torch.jit.load", _READ)
save_jit_module_to_flatbuffer = refusing("torch.jit.save_jit_module_to_flatbuffer", _WRITE)
jit_module_from_flatbuffer = refusing("torch.jit.jit_module_from_flatbuffer", _READ)
