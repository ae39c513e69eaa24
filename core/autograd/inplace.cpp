// In-place writes and history.
//
// Note [Writes through a view]
// `y = x[0]; y.mul_(2)` changes x. The history of x becomes a CopySlices node: it takes the
// gradient of x, hands the part under the view to the derivative of the write, and puts what comes
// back in its place. The view and its siblings find out by the version counter that their grad_fn
// is out of date, and take a new one, as_strided of the base (Tensor::grad_fn).
//
// A view may be real where its base is complex (view_as_real, imag), or the other way round. Its
// geometry counts elements of its own dtype, so the two meet in real numbers: piece_under.
#include "autograd/node.h"
#include "autograd/operations.h"

namespace facula {

using graph::operations;

void check_inplace(const char* op, const Tensor& x) {
  check(!has_internal_overlap(x), op, ": expected a tensor with a place for each element, got ", x,
        " with strides ", x.strides(),
        ", where elements share places. Write to its clone() instead.");
  check_writable(op, x);
}

void check_inference(const char* op, const Tensor& x) {
  check(!x->is_inference || is_inference_mode_enabled(), op,
        ": inplace update to an inference tensor outside inference mode is not allowed. Make a "
        "normal tensor with clone() first.");
}

void check_writable(const char* op, const Tensor& x) {
  check_inference(op, x);
  if (is_grad_enabled() && x.requires_grad()) check_recorded_write(op, x);
}

void check_recorded_write(const char* op, const Tensor& x) {
  check(x->view_kind != ViewKind::OneOfMany, op,
        ": one of the views that unbind, split or chunk made cannot be written to while gradients "
        "are recorded. Use the operation that is not in place.");
  check(x->view_kind != ViewKind::MadeInNoGrad, op,
        ": a view made under no_grad() cannot be written to where gradients are recorded. Do both "
        "under no_grad() (then the write is not recorded), or neither (then it is).");
  check(x->view_kind != ViewKind::MadeInFunction, op,
        ": a view made inside a custom Function cannot be written to. Return its clone() from "
        "forward.");
  if (!x.requires_grad()) return;
  if (x.is_view()) {
    check(x->requires_grad || Tensor::borrow(x->base).is_leaf(), op,
          ": this view was made before its base had a history, so it counts as a leaf that "
          "requires grad, and cannot be written to. Make the view again.");
    check(
        !Tensor::borrow(x->base).is_leaf(), op,
        ": a view of a leaf that requires grad cannot be written to while gradients are "
        "recorded. Write to it under no_grad(), or work on a copy. (a view of a leaf Variable that "
        "requires grad is being used in an in-place operation)");
  } else {
    check(
        !x.is_leaf(), op,
        ": a leaf that requires grad cannot be written to while gradients are recorded. Write to "
        "it under no_grad(), or work on a copy. (a leaf Variable that requires grad is being used "
        "in an in-place operation)");
  }
}

ViewGeometry geometry_of(const Tensor& x) {
  return {x.sizes(), x.strides(), x.offset(), x.dtype(), x->lazy};
}

uint8_t lazy_difference(const ViewGeometry& base, const ViewGeometry& view) {
  uint8_t difference = base.lazy ^ view.lazy;
  if (!is_complex(base.dtype) || is_complex(view.dtype)) return difference;
  // A part of a conjugated base: the imaginary parts, which lie at odd places, have the other sign.
  bool is_imaginary = base.lazy & kLazyConj && view.offset % 2 == 1;
  return (difference & kLazyNeg) ^ (is_imaginary ? kLazyNeg : 0);
}

Tensor piece_under(const Tensor& base, ViewGeometry view, int64_t origin) {
  if (is_complex(base.dtype()) && !is_complex(view.dtype))
    return operations.as_strided(operations.view_as_real(base), view.sizes, view.strides,
                                 view.offset - 2 * origin);
  if (!is_complex(base.dtype()) && is_complex(view.dtype)) {
    for (int64_t& stride : view.strides) stride *= 2;
    view.sizes.push_back(2);
    view.strides.push_back(1);
    view.offset *= 2;
  }
  return operations.as_strided(base, view.sizes, view.strides, view.offset - origin);
}

namespace {

// The node that replaces the base's history after a write through a view.
struct CopySlices : Node {
  ViewGeometry base, view;  // `wrapped` is the derivative of the write; its first input is the view
};

// A gradient of the view's elements as one of the base's, or the other way round.
Tensor turned(const Tensor& g, uint8_t marks) {
  Tensor y = g;
  if (marks & kLazyConj) y = operations.conj(y);
  return marks & kLazyNeg ? operations.neg(y) : y;
}

TensorList apply_copy_slices(Node& node, TensorList& grads) {
  auto& self = static_cast<CopySlices&>(node);
  Tensor whole =
      is_non_overlapping_and_dense(self.base.sizes, self.base.strides)
          ? empty_strided(self.base.sizes, self.base.strides, grads[0].dtype(), grads[0].device())
          : empty(self.base.sizes, grads[0].dtype(), grads[0].device());
  operations.copy(whole, grads[0]);
  bool same_layout = whole.strides() == self.base.strides;
  check(same_layout, "backward: a write through a view of an overlapping base is not supported.");
  Tensor part = piece_under(whole, self.view, self.base.offset);
  bool is_in_pairs = is_complex(self.view.dtype) && !is_complex(part.dtype());
  TensorList inner{
      is_in_pairs ? operations.view_as_complex(operations.clone(part, MemoryFormat::Contiguous))
                  : operations.clone(part, MemoryFormat::Preserve)};
  uint8_t difference = lazy_difference(self.base, self.view);
  inner[0] = turned(inner[0], difference);
  TensorList results = self.wrapped->apply(*self.wrapped, inner);
  TensorList out(node.n_edges);
  if (node.edges[0].node) {
    if (results[0].defined()) {
      Tensor result = turned(results[0], difference);
      operations.copy(
          part, is_in_pairs ? operations.view_as_real(operations.to_dtype(result, self.view.dtype))
                            : result);
    } else {
      operations.fill_with_zeros(part);
    }
    out[0] = whole;
  }
  for (uint32_t i = 1; i < node.n_edges; ++i) out[i] = results[i];
  return out;
}

void destroy_copy_slices(Node& node) {
  auto& self = static_cast<CopySlices&>(node);
  self.base.~ViewGeometry();
  self.view.~ViewGeometry();
}

}  // namespace

void rebase_history(const Tensor& x, const Tensor& result) {
  Node* write = result->meta ? result->meta->grad_fn : nullptr;
  if (!write) return;
  if (!x.is_view()) {
    attach_output(write, x, result->meta->output_nr);
    return;
  }
  Tensor base = Tensor::borrow(x->base);
  static PyTypeObject* type = node_type("CopySlices", sizeof(CopySlices));
  auto* node = static_cast<CopySlices*>(new_node(type, "CopySlices"));
  new (&node->base) ViewGeometry(geometry_of(base));
  new (&node->view) ViewGeometry(geometry_of(x));
  retain_node(write);
  node->wrapped = write;
  node->apply = apply_copy_slices;
  node->destroy_captures = destroy_copy_slices;
  std::vector<Edge> edges{gradient_edge(base)};
  for (uint32_t i = 1; i < write->n_edges; ++i) {
    retain_node(write->edges[i].node);
    edges.push_back(write->edges[i]);
  }
  set_edges(node, std::move(edges));
  attach_output(node, base, 0);
  release_node(node);
  // It takes its new history from the base, whatever it took since the write was counted.
  x->view_version = x.version() - 1;
  x.grad_fn();
}

}  // namespace facula
