#pragma once

#include "bind/casters.h"

namespace facula {

// An int for which PyTorch also takes a tensor of one integer whatever its shape: a number of
// entries, a place or a diagonal. For a dim it takes only one without dimensions.
struct Count {
  int64_t value;
  operator int64_t() const { return value; }
};

inline bool count_from_object(PyObject* object, int64_t& out) {
  if (!is_tensor(object)) return index_from_object(object, out);
  Dims only;
  if (!dims_from_object(object, only)) return false;
  out = only[0];
  return true;
}

}  // namespace facula

namespace nanobind::detail {

template <>
struct type_caster<facula::Count> {
  NB_TYPE_CASTER(facula::Count, const_name("int"))
  bool from_python(handle src, uint8_t, cleanup_list*) noexcept {
    return facula::count_from_object(src.ptr(), value.value);
  }
  static handle from_cpp(facula::Count x, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromLongLong(x.value);
  }
};

}  // namespace nanobind::detail
