#include "ops/nn/dropout.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bind/bind.h"

namespace facula {

FACULA_BINDINGS {
  m.def("dropout", dropout, "input"_a, "p"_a, "train"_a,
        R"(Zeroes elements with probability ``p`` and scales the others by ``1 / (1 - p)``.

Args:
    input: floating point.
    p: the probability of a zero, in ``[0, 1]``.
    train: without it, the result is ``input`` itself.

Example:
    >>> facula.dropout(facula.tensor([1.0, 2.0]), 0.0, True)
    tensor([1., 2.]))");
  m.def(
      "dropout_", [](Tensor x, double p, bool train) -> Tensor { return dropout_(x, p, train); },
      "input"_a, "p"_a, "train"_a);
  m.def("native_dropout", native_dropout, "input"_a, "p"_a, "train"_a.none(),
        R"(``dropout`` together with its mask: true for the elements that were kept.

Example:
    >>> facula.native_dropout(facula.tensor([1.0, 2.0]), 0.5, False)
    (tensor([1., 2.]), tensor([True, True])))");
}

}  // namespace facula
