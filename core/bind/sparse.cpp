#include "bind/sparse.h"

#include <unordered_set>

namespace facula::sparse {

namespace {

std::unordered_set<std::string>& allowing() {
  static std::unordered_set<std::string> names;
  return names;
}

}  // namespace

void allow_in(const char* private_function) { allowing().insert(private_function); }
bool is_allowed_in(const std::string& private_function) {
  return allowing().count(private_function) > 0;
}

nb::object function(const char* name) {
  return nb::module_::import_("facula.sparse._graph").attr(name);
}

FACULA_BINDINGS {
  m.def(
      "_set_sparse_type",
      [](nb::handle cls) { sparse_type = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr()); },
      "cls"_a, "Makes objects of the class sparse tensors to the core; called once.");
}

}  // namespace facula::sparse
