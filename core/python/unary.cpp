#include "ops/unary.h"

#include "ops/ops.h"
#include "python/bind.h"

namespace facula {

void bind_unary(nb::module_& m) {
#define UNARY(name, node, kinds, formula, gradient)                                                                    \
  m.def(#name, [](const Tensor& x, const std::optional<Tensor>& out) { return into_out(#name, name(x), out.value_or(Tensor())); }, \
        "input"_a, nb::kw_only(), "out"_a.none() = nb::none());                                                        \
  def_method(#name, [](const Tensor& x) { return name(x); });                                                          \
  def_method(#name "_", [](Tensor x) { return name##_(x); });
#include "ops/unary.def"
#undef UNARY
}

}  // namespace facula
