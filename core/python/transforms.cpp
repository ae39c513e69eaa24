// What the transforms of facula.func need of the core: the object that stands for one example of a
// batch, and a question about graphs.
#include <unordered_set>
#include <vector>

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "bind/bind.h"
#include "ops/ops.h"

namespace facula {

namespace {

// An object of the class with the form of one example of `batch`, whose first dimension counts
// examples. It looks at the memory of the first one, and has no history: operations never get to
// its elements, since the transform that made it takes its place at the seam.
Tensor one_example(nb::handle cls, const Tensor& batch, int64_t n_examples) {
  check_type(PyType_Check(cls.ptr()), "_one_example: expected a class.");
  check(batch.dim() > 0 && batch.size(0) == n_examples, "vmap: a rule gave ", batch, " for ",
        n_examples, " examples. Please report it with the operation that was called.");
  Dims sizes(batch.sizes().begin() + 1, batch.sizes().end());
  Dims strides(batch.strides().begin() + 1, batch.strides().end());
  NoGradGuard guard;
  auto* type = reinterpret_cast<PyTypeObject*>(cls.ptr());
  if (batch.size(0) == 0) return alias_as(type, zeros(sizes, batch.dtype(), batch.device()));
  return alias_as(type, make_view(batch, sizes, strides, batch.offset()));
}

// Whether a gradient of one of the tensors would reach a leaf that is none of `own`.
bool reaches_others(const TensorList& tensors, const TensorList& own) {
  std::unordered_set<const void*> known;
  for (const Tensor& leaf : own) known.insert(leaf.get());
  std::vector<Node*> stack;
  auto add = [&](Node* node) {
    if (node && known.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& x : tensors) {
    if (!x.requires_grad()) continue;
    if (!x.grad_fn() && !known.count(x.get())) return true;
    add(x.grad_fn());
  }
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (node->is_accumulator && !known.count(leaf_of(*node).get())) return true;
    for (uint32_t i = 0; i < node->n_edges; ++i) add(node->edges[i].node);
  }
  return false;
}

}  // namespace

FACULA_BINDINGS {
  def_state(m, "_one_example", &one_example, "cls"_a, "batch"_a, "n_examples"_a);
  def_state(m, "_reaches_others", &reaches_others, "tensors"_a, "own"_a);
}

}  // namespace facula
