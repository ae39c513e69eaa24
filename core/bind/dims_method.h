// Functions that take a tuple of ints, and their methods, which take ints too: permute(x, (1, 0)),
// x.permute(1, 0), x.permute((1, 0)), x.permute(dims=(1, 0)).
#pragma once
#include "bind/bind.h"

namespace facula {

// Ints of which PyTorch wants a sequence even if there is one. Dims are an int or a sequence.
struct IntList {
  Dims dims;
  operator const Dims&() const { return dims; }
};

template <class T>
struct InList {
  using type = T;
};
template <>
struct InList<const Dims&> {
  using type = const IntList&;
};

// f with lists in place of dims.
template <class Result, class... Args>
auto with_lists(Result (*f)(Args...)) {
  return [f](typename InList<Args>::type... args) -> Result { return f(args...); };
}

template <class F, class... Extra>
void def_dims_method(const char* name, const char* keyword, F f, const Extra&... extra) {
  def_method(
      name,
      [name, f](const Tensor& x, const nb::args& args, const std::optional<IntList>& dims) {
        check_type(!dims || args.size() == 0, name, ": the argument is given twice.");
        return f(x, dims ? dims->dims : dims_from_args(name, args));
      },
      "args"_a, nb::arg(keyword).none() = nb::none(), extra...);
}

}  // namespace facula

namespace nanobind::detail {

template <>
struct type_caster<facula::IntList> {
  NB_TYPE_CASTER(facula::IntList, const_name("collections.abc.Sequence[int]"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    return facula::dims_from_object(src.ptr(), value.dims);
  }
};

}  // namespace nanobind::detail
