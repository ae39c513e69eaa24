// The way from the core to facula.sparse, where the graph or an optimiser meets a sparse tensor.
#pragma once
#include "bind/bind.h"
#include "bind/seam.h"
#include "tensor/sparse.h"

namespace facula::sparse {

// A private function that may be given sparse tensors, because it looks at no elements. All others
// refuse them: see seam.cpp. Call it beside the function's binding.
void allow_in(const char* private_function);
bool is_allowed_in(const std::string& private_function);

// Does an operation that a sparse tensor takes part in, by its rule. False if it looks at no
// elements, and is done as for every tensor; else `result` is the answer, or null with a Python
// error set.
bool call_rule(PyObject* function, const seam::Arguments& args, PyObject*& result);

// The function of facula.sparse._graph.
nanobind::object function(const char* name);

// Its result, a tensor.
template <class... Args>
Tensor call(const char* name, Args&&... args) {
  nanobind::object result = function(name)(std::forward<Args>(args)...);
  return as_tensor(result.ptr());
}

}  // namespace facula::sparse
