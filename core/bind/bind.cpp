#include "bind/bind.h"

#include <forward_list>
#include <sstream>
#include <string>
#include <vector>

namespace facula {

namespace {
// A function's, so that it is there before the first static object that asks for it.
std::vector<void (*)(nb::module_&)>& all_bindings() {
  static std::vector<void (*)(nb::module_&)> all;
  return all;
}
}  // namespace

const char* operator""_doc(const char* text, size_t size) {
  std::istringstream lines(std::string(text, size));
  std::string doc, line, last;
  bool has_args = false, has_example = false;
  while (std::getline(lines, line)) {
    if (!doc.empty()) doc += '\n';
    if (!has_example && line.rfind("    >>>", 0) == 0) {
      doc += "\nExample:\n";
      has_example = true;
    } else if (!has_args && !has_example && line.rfind("    ", 0) == 0 && last.back() != ':') {
      doc += "\nArgs:\n";
      has_args = true;
    }
    doc += line;
    if (!line.empty()) last = line;
  }
  // Kept for good: docstrings are passed on as plain pointers.
  static std::forward_list<std::string> kept;
  return kept.emplace_front(std::move(doc)).c_str();
}

Bindings::Bindings(void (*bind)(nb::module_&)) { all_bindings().push_back(bind); }

void run_bindings(nb::module_& m) {
  for (void (*bind)(nb::module_&) : all_bindings()) bind(m);
}

}  // namespace facula
