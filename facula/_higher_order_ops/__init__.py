"""Operations that take functions, by the names of PyTorch's folder."""

from facula._higher_order_ops.associative_scan import associative_scan as associative_scan
from facula._symbols import cond as cond

__all__: list[str] = []
