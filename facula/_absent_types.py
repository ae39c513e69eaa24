"""Types that programs name in annotations and tables; nothing is made of them here."""

from __future__ import annotations

from facula._refusing import refusing_class


class QuantizedDType:
    """A dtype of quantised numbers: it can be named and compared; there are no tensors of it.

    Args:
        name: its name in PyTorch.
    """

    is_floating_point = is_complex = False

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


qint8 = QuantizedDType("qint8")
qint32 = QuantizedDType("qint32")
quint8 = QuantizedDType("quint8")
quint4x2 = QuantizedDType("quint4x2")
quint2x4 = QuantizedDType("quint2x4")

_FILES = "facula.load and facula.save read and write its files."
PyTorchFileReader = refusing_class("torch.PyTorchFileReader", _FILES)
PyTorchFileWriter = refusing_class("torch.PyTorchFileWriter", _FILES)

# Types of values in TorchScript: packages name them in annotations.
_TORCHSCRIPT = "there is no TorchScript. Tensors are of facula.Tensor, devices of facula.device."
AnyType = refusing_class("torch.AnyType", _TORCHSCRIPT)
BoolType = refusing_class("torch.BoolType", _TORCHSCRIPT)
ClassType = refusing_class("torch.ClassType", _TORCHSCRIPT)
DeviceObjType = refusing_class("torch.DeviceObjType", _TORCHSCRIPT)
DictType = refusing_class("torch.DictType", _TORCHSCRIPT)
FloatType = refusing_class("torch.FloatType", _TORCHSCRIPT)
IntType = refusing_class("torch.IntType", _TORCHSCRIPT)
ListType = refusing_class("torch.ListType", _TORCHSCRIPT)
OptionalType = refusing_class("torch.OptionalType", _TORCHSCRIPT)
StringType = refusing_class("torch.StringType", _TORCHSCRIPT)
TensorType = refusing_class("torch.TensorType", _TORCHSCRIPT)
TupleType = refusing_class("torch.TupleType", _TORCHSCRIPT)
