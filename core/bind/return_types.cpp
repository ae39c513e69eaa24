#include "bind/return_types.h"

#include <string>
#include <unordered_map>

namespace facula {

nb::object named_result(const char* name, std::initializer_list<Tensor> values) {
  // Types are looked up once; they live as long as the interpreter.
  static auto* types = new std::unordered_map<std::string, nb::object>;
  nb::object& type = (*types)[name];
  if (!type.is_valid()) type = nb::module_::import_("facula.return_types").attr(name);
  nb::object items = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
  Py_ssize_t i = 0;
  for (const Tensor& value : values) PyTuple_SET_ITEM(items.ptr(), i++, wrap(value));
  return type(items);
}

}  // namespace facula
