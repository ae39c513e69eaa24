"""Types that programs name in annotations and tables; nothing is made of them here."""

from __future__ import annotations

from facula._refusing import refusing_class


class AbsentDType:
    """A dtype of PyTorch that can be named and compared; there are no tensors of it here.

    Args:
        name: its name in PyTorch.
        itemsize: the number of bytes of an element.
        is_signed: whether numbers may be negative; None for types that are no numbers.
        is_floating_point: whether it is a type of floating-point numbers.
    """

    is_complex = False

    def __init__(
        self,
        name: str,
        itemsize: int = 1,
        is_signed: bool | None = None,
        is_floating_point: bool = False,
    ) -> None:
        self._name = name
        self.itemsize = itemsize
        self._is_signed = is_signed
        self.is_floating_point = is_floating_point

    @property
    def is_signed(self) -> bool:
        """Whether numbers of the type may be negative."""
        if self._is_signed is None:
            raise RuntimeError(f"is_signed: {self!r} is no type of plain numbers.")
        return self._is_signed

    def to_real(self) -> AbsentDType:
        """The type of real numbers that belongs to this one, which it is itself."""
        return self

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


# Quantised numbers: integers with a scale.
qint8 = AbsentDType("qint8")
qint32 = AbsentDType("qint32", 4)
quint8 = AbsentDType("quint8")
quint4x2 = AbsentDType("quint4x2")
quint2x4 = AbsentDType("quint2x4")

# Bits without a meaning, several elements to a byte.
bits1x8 = AbsentDType("bits1x8")
bits2x4 = AbsentDType("bits2x4")
bits4x2 = AbsentDType("bits4x2")
bits8 = AbsentDType("bits8")
bits16 = AbsentDType("bits16", 2)

# Integers of fewer bits than a byte, each in a byte of its own.
int1 = AbsentDType("int1", is_signed=True)
int2 = AbsentDType("int2", is_signed=True)
int3 = AbsentDType("int3", is_signed=True)
int4 = AbsentDType("int4", is_signed=True)
int5 = AbsentDType("int5", is_signed=True)
int6 = AbsentDType("int6", is_signed=True)
int7 = AbsentDType("int7", is_signed=True)
uint1 = bit = AbsentDType("uint1", is_signed=False)
uint2 = AbsentDType("uint2", is_signed=False)
uint3 = AbsentDType("uint3", is_signed=False)
uint4 = AbsentDType("uint4", is_signed=False)
uint5 = AbsentDType("uint5", is_signed=False)
uint6 = AbsentDType("uint6", is_signed=False)
uint7 = AbsentDType("uint7", is_signed=False)

float4_e2m1fn_x2 = AbsentDType("float4_e2m1fn_x2", is_signed=True, is_floating_point=True)

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
