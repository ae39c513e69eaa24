// Methods that take ints, one tuple of ints, or the tuple by name: x.permute(1, 0),
// x.permute((1, 0)), x.permute(dims=(1, 0)).
#pragma once
#include "bind/bind.h"

namespace facula {

template <class F, class... Extra>
void def_dims_method(const char* name, const char* keyword, F f, const Extra&... extra) {
  def_method(
      name,
      [name, f](const Tensor& x, const nb::args& args, const std::optional<Dims>& dims) {
        check_type(!dims || args.size() == 0, name, ": the argument is given twice.");
        return f(x, dims ? *dims : dims_from_args(name, args));
      },
      "args"_a, nb::arg(keyword).none() = nb::none(), extra...);
}

}  // namespace facula
