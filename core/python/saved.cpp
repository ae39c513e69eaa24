#include "python/saved.h"

#include <cstring>
#include <unordered_map>

#include "autograd/node_name.h"
#include "base/python_error.h"
#include "bind/bind.h"
#include "tables/mentions.h"

namespace facula {

namespace {

using Names = std::vector<std::string>;

// Captures of a derivative in their order, each by its name; without one it is nobody's.
Names names_in(const char* text) {
  Names names;
  for (const char* c = text; *c;) {
    size_t n = std::strcspn(c, " ");
    names.push_back(std::strncmp(c, "-", n) == 0 ? std::string() : std::string(c, n));
    c += n + (c[n] == ' ');
  }
  return names;
}

// The names of nodes in the text of an expression that chooses one: those in quotes.
Names quoted_in(const char* text) {
  Names names;
  for (const char* begin = std::strchr(text, '"'); begin;) {
    const char* end = std::strchr(begin + 1, '"');
    names.emplace_back(begin + 1, end);
    begin = std::strchr(end + 1, '"');
  }
  return names;
}

using Table = std::unordered_map<std::string, Names>;

// Rows keep what their gradient mentions; see how each table is used in ops/.
void add_rows(Table& table) {
#define UNARY(name, names, forms, kinds, refused, formula, gradient, ...)                     \
  table[static_cast<const char*>(NodeName(#name))] = {mentions(#gradient, 'x') ? "self" : "", \
                                                      mentions(#gradient, 'y') ? "result" : ""};
#include "tables/unary.def"
#define BINARY(name, names, numbers, kinds, check, formula, node, by_a, by_b, ...) \
  for (const std::string& node_name : quoted_in(#node)) {                          \
    Names& row = table[node_name];                                                 \
    row.clear();                                                                   \
    if (mentions(#by_a, 'a') || mentions(#by_b, 'a')) row.push_back("self");       \
    if (mentions(#by_a, 'b') || mentions(#by_b, 'b')) row.push_back("other");      \
    if (mentions(#by_a, 'y') || mentions(#by_b, 'y')) row.push_back("result");     \
  }
#include "tables/binary.def"
#define TERNARY(name, ...) \
  table[static_cast<const char*>(NodeName(#name))] = {"tensor1", "tensor2"};
#include "tables/ternary.def"
#define ACTIVATION(name, forms, node, ...) table[node "Backward0"] = {"self"};
#include "tables/activation.def"
#define REDUCTION(name, result, kinds, node, node_with_dim, element, Join, total, gradient, ...) \
  for (const char* node_name : {node, node_with_dim}) {                                          \
    if (!node_name) continue; /* a truth has no derivative */                                    \
    Names& row = table[node_name];                                                               \
    row.clear();                                                                                 \
    if (mentions(#gradient, 'x')) row.push_back("self");                                         \
    if (mentions(#gradient, 'y')) row.push_back("result");                                       \
  }
#include "tables/reduce.def"
#define LOSS(name, form, node, ...) table[node] = {"self", "target"};
#include "tables/loss.def"
}

const Table& all_names() {
  static const Table& table = *[] {
    auto* made = new Table;
    add_rows(*made);
#define SAVED(node, names) (*made)[node] = names_in(names);
#include "tables/saved.def"
#undef SAVED
    return made;
  }();
  return table;
}

// In the order of the captures; the list has the last one first.
std::vector<SavedTensor*> saved_of(const Node& node) {
  std::vector<SavedTensor*> all;
  for (SavedTensor* s = node.saved; s; s = s->next()) all.insert(all.begin(), s);
  return all;
}

// The names of the node, if it keeps as many tensors as they are.
const Names* names_of(const Node& node) {
  auto place = all_names().find(node.name);
  if (place == all_names().end()) return nullptr;
  return place->second.size() == saved_of(node).size() ? &place->second : nullptr;
}

// A tensor kept by a node: alive as long as somebody asks for it.
struct RawSaved {
  nb::object node;
  SavedTensor* saved;
};

nb::object raw(Node* node, SavedTensor* saved) {
  return nb::cast(RawSaved{nb::borrow(static_cast<PyObject*>(node)), saved});
}

}  // namespace

std::vector<std::string> saved_names(const Node& node) {
  std::vector<std::string> found;
  if (const Names* names = names_of(node))
    for (const std::string& name : *names)
      if (!name.empty()) found.push_back(name);
  return found;
}

PyObject* saved_attribute(Node* node, const char* name) {
  bool is_raw = std::strncmp(name, "_raw_saved_", 11) == 0;
  if (!is_raw && std::strncmp(name, "_saved_", 7) != 0) return nullptr;
  const char* own = name + (is_raw ? 11 : 7);
  const Names* names = names_of(*node);
  if (!names || !*own) return nullptr;
  std::vector<SavedTensor*> saved = saved_of(*node);
  for (size_t i = 0; i < names->size(); ++i) {
    if ((*names)[i] != own) continue;
    return is_raw ? raw(node, saved[i]).release().ptr() : wrap(saved[i]->unpack());
  }
  return nullptr;
}

FACULA_BINDINGS {
  nb::class_<RawSaved>(m, "_SavedTensor", R"(A tensor that a node keeps for its derivative.
    >>> x = facula.ones(2, requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.unpack()
    tensor([2.7183, 2.7183], grad_fn=<ExpBackward0>))"_doc)
      .def(
          "register_hooks",
          [](RawSaved& self, nb::handle pack, nb::handle unpack) {
            check_type(PyCallable_Check(pack.ptr()) && PyCallable_Check(unpack.ptr()),
                       "register_hooks: expected two functions.");
            Tensor value = self.saved->unpack();
            check(value.defined(),
                  "Calling register_hooks on a saved tensor with value None is forbidden");
            check(self.saved->raw().defined(),
                  "Setting hooks on a saved tensor that already has hooks is not allowed");
            self.saved->set_hooks(pack.ptr(), unpack.ptr());
          },
          "pack_hook"_a, "unpack_hook"_a,
          "Keep ``pack_hook(tensor)`` instead of the tensor, and ``unpack_hook`` of it for "
          "backward.")
      .def(
          "unpack", [](const RawSaved& self) { return self.saved->unpack(); },
          "The tensor as it was kept.");
  m.def(
      "_saved_by",
      [](nb::handle object) {
        check_type(PyObject_TypeCheck(object.ptr(), node_base_type), "_saved_by: expected a node.");
        Node* node = static_cast<Node*>(object.ptr());
        nb::list all;
        for (SavedTensor* saved : saved_of(*node)) all.append(raw(node, saved));
        return all;
      },
      "node"_a, "All tensors that a node keeps, in the order of its captures.");
}

}  // namespace facula
