// The tensors that a node keeps for its derivative, as attributes of grad_fn: `_saved_self`, and
// `_raw_saved_self`, on which hooks can be set.
#pragma once
#include <string>
#include <vector>

#include "autograd/node.h"

namespace facula {

// The names that PyTorch has for what the node keeps.
std::vector<std::string> saved_names(const Node& node);
// The value of an attribute `_saved_*` or `_raw_saved_*`, a new reference; null, without an error,
// for any other name.
PyObject* saved_attribute(Node* node, const char* name);

}  // namespace facula
