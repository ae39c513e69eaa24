#include "bind/bind.h"

#include <vector>

namespace facula {

namespace {
// A function's, so that it is there before the first static object that asks for it.
std::vector<void (*)(nb::module_&)>& all_bindings() {
  static std::vector<void (*)(nb::module_&)> all;
  return all;
}
}  // namespace

Bindings::Bindings(void (*bind)(nb::module_&)) { all_bindings().push_back(bind); }

void run_bindings(nb::module_& m) {
  for (void (*bind)(nb::module_&) : all_bindings()) bind(m);
}

}  // namespace facula
