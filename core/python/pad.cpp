#include "ops/shape/pad.h"

#include "bind/bind.h"

namespace facula {

FACULA_BINDINGS {
  m.def("constant_pad_nd", &constant_pad_nd, "input"_a, "pad"_a, "value"_a = Scalar(0),
        R"(Puts a border of one value around a tensor.

Args:
    input: any tensor.
    pad: numbers of elements (before, after), the last dimension first; negative ones crop.
    value: what the border is filled with.

Example:
    >>> facula.constant_pad_nd(facula.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7])
)");
  m.def("_pad", &pad, "input"_a, "pad"_a, "mode"_a, "value"_a.none());
}

}  // namespace facula
