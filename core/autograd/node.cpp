#include "autograd/node.h"

#include <map>
#include <string>

#include "autograd/hooks.h"
#include "autograd/operations.h"
#include "base/python_error.h"

namespace facula {

void check_real_derivative(const char* op, const Tensor& x, const Tensor& y) {
  check(!is_complex(y.dtype()) || !is_grad_enabled() || !x.requires_grad(), op,
        ": automatic differentiation is not available for complex results, got ", x, ".");
}

namespace {
uint64_t next_sequence_nr = 0;  // under the interpreter lock
}  // namespace

// ---- node types

PyTypeObject* node_base_type = nullptr;

PyTypeObject* node_type(const char* name, size_t nbytes) {
  static std::map<std::pair<std::string, size_t>, PyTypeObject*>& types =
      *new std::map<std::pair<std::string, size_t>, PyTypeObject*>;
  PyTypeObject*& type = types[{name, nbytes}];
  if (!type) {
    // Named again: a type without its own would get the slower one for Python classes.
    PyType_Slot slots[] = {{Py_tp_base, node_base_type},
                           {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_node)},
                           {0, nullptr}};
    // The name must outlive the type; types are never freed.
    const std::string& full_name = *new std::string(std::string("facula.autograd.") + name);
    PyType_Spec spec = {full_name.c_str(), static_cast<int>(nbytes), 0, Py_TPFLAGS_DEFAULT, slots};
    type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
    if (!type) fail(ErrorKind::Runtime, "cannot make the node type ", name);
  }
  return type;
}

Node* node_under_construction = nullptr;
namespace graph {
Operations operations;
}

namespace {

// Anomaly mode: the stack of the forward call, for the message of a failing backward.
void keep_traceback(Node* node) {
  PyObject* module = PyImport_ImportModule("traceback");
  PyObject* lines = module ? PyObject_CallMethod(module, "format_stack", nullptr) : nullptr;
  PyObject* empty = lines ? PyUnicode_FromString("") : nullptr;
  PyObject* text = empty ? PyUnicode_Join(empty, lines) : nullptr;
  Py_XDECREF(module);
  Py_XDECREF(lines);
  Py_XDECREF(empty);
  if (!text) throw_python_error();
  PyObject* metadata = PyDict_New();
  node->get_extras().metadata = metadata;
  int failed = metadata ? PyDict_SetItemString(metadata, "traceback_", text) : -1;
  Py_DECREF(text);
  if (failed) throw_python_error();
}

}  // namespace

Node* new_node(PyTypeObject* type, const char* name) {
  PyObject* object = type->tp_alloc(type, 0);  // zeroed
  if (!object) fail(ErrorKind::OutOfMemory, "out of memory while recording ", name);
  NodePtr node(static_cast<Node*>(object));
  node->name = name;
  node->sequence_nr = next_sequence_nr++;
  new (&node->location) SourceLocation(SourceLocation::here());
  if (is_anomaly_enabled()) keep_traceback(node.get());
  return node.release();
}

void set_edges(Node* node, const Tensor* const* inputs, size_t n_inputs) {
  node->edges = new Edge[n_inputs];
  node->n_edges = static_cast<uint32_t>(n_inputs);
  for (size_t i = 0; i < n_inputs; ++i)
    if (inputs[i]->defined()) node->edges[i] = gradient_edge(*inputs[i]);
}

void set_edges(Node* node, std::vector<Edge> edges) {
  node->edges = new Edge[edges.size()];
  node->n_edges = static_cast<uint32_t>(edges.size());
  std::copy(edges.begin(), edges.end(), node->edges);
}

void reserve_outputs(Node* node, size_t n_outputs) {
  node->outputs = new OutputInfo[n_outputs];
  node->n_outputs = static_cast<uint32_t>(n_outputs);
}

void attach_output(Node* node, const Tensor& y, uint32_t output_nr) {
  if (!node->outputs) reserve_outputs(node, 1);
  if (!y.defined()) return;
  node->outputs[output_nr] = {y.sizes(), y.dtype(), y.device()};
  if (!is_differentiable(y.dtype())) return;
  AutogradMeta& meta = y.meta();
  retain_node(node);
  release_node(std::exchange(meta.grad_fn, node));
  meta.output_nr = output_nr;
  y->requires_grad = true;
}

void activate_saved(Node* node) {
  try {
    for (SavedTensor* s = node->saved; s; s = s->next()) s->activate();
  } catch (...) {
    node->release_saved();
    throw;
  }
}

void Node::release_saved() {
  for (SavedTensor* s = saved; s; s = s->next()) s->release();
  if (wrapped) wrapped->release_saved();
}

Edge gradient_edge(const Tensor& x) {
  if (!x.requires_grad()) return {};
  if (Node* node = x.grad_fn()) {
    retain_node(node);
    return {node, x->meta->output_nr};
  }
  // A view made without recording has no history, and is no leaf of its own either.
  return x->requires_grad ? Edge{accumulator_of(x), 0} : Edge{};
}

void attach_edge(const Tensor& x, const Edge& edge) {
  AutogradMeta& meta = x.meta();
  retain_node(edge.node);
  release_node(std::exchange(meta.grad_fn, edge.node));
  meta.output_nr = edge.input_nr;
  x->requires_grad = edge.node != nullptr;
}

Tensor Needs::place_of(size_t i) const {
  const Edge& edge = node_.edges[i];
  if (!edge.node || !is_grad_enabled()) return {};
  const OutputInfo& info = edge.node->outputs[edge.input_nr];
  Tensor x = empty({0}, info.dtype, info.device);
  attach_edge(x, edge);
  return x;
}

Tensor Needs::zeros(size_t i) const {
  const Edge& edge = node_.edges[i];
  const OutputInfo& info = edge.node->outputs[edge.input_nr];
  Tensor x = empty(info.sizes, info.dtype, info.device);
  graph::operations.fill_with_zeros(x);
  return x;
}

// ---- leaves

namespace {

struct AccumulateNode : Node {
  TensorImpl* leaf;  // owned
};

// The leaf's gradient, taken over or added. See the engine for the hooks around it.
TensorList accumulate(Node& node, TensorList& grads) {
  auto& self = static_cast<AccumulateNode&>(node);
  Tensor leaf = Tensor::borrow(self.leaf);
  if (grads[0].defined()) {
    accumulate_grad(leaf, std::move(grads[0]));
    run_post_accumulate_hooks(leaf);
  }
  return {};
}

}  // namespace

Node* accumulator_of(const Tensor& leaf) {
  AutogradMeta& meta = leaf.meta();
  if (meta.accumulator) {
    retain_node(meta.accumulator);
    return meta.accumulator;
  }
  static PyTypeObject* type = node_type("AccumulateGrad", sizeof(AccumulateNode));
  Node* node = new_node(type, "AccumulateGrad");
  node->is_accumulator = true;
  node->sequence_nr = UINT64_MAX;  // leaves are served as soon as their gradient is complete
  node->apply = accumulate;
  reserve_outputs(node, 1);
  node->outputs[0] = {leaf.sizes(), leaf.dtype(), leaf.device()};
  Py_INCREF(leaf.get());
  static_cast<AccumulateNode*>(node)->leaf = leaf.get();
  meta.accumulator = node;
  return node;
}

void require_grad(const Tensor& x, bool on) {
  if (x.is_leaf()) {
    check(!on || is_differentiable(x.dtype()),
          "requires_grad: expected a floating-point or complex tensor, got ", x,
          ". (Only Tensors of floating point and complex dtype can require gradients.)");
    check(!on || !x->is_inference || is_inference_mode_enabled(),
          "requires_grad: a tensor made in inference mode cannot require grad outside of it. Make "
          "a normal one of it with clone() first.");
    x->requires_grad = on;
    if (on) x.meta();
  } else {
    check(on,
          "requires_grad: a result of operations that require grad requires it too. Use detach() "
          "for a tensor without history.");
  }
}

Tensor leaf_of(const Node& node) {
  return node.is_accumulator ? Tensor::borrow(static_cast<const AccumulateNode&>(node).leaf)
                             : Tensor();
}

// ---- life and death of nodes

int traverse_node(Node* node, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(node));
  Py_VISIT(node->dict);
  Py_VISIT(reinterpret_cast<PyObject*>(node->wrapped));
  for (uint32_t i = 0; i < node->n_edges; ++i)
    Py_VISIT(reinterpret_cast<PyObject*>(node->edges[i].node));
  for (SavedTensor* s = node->saved; s; s = s->next())
    if (int stop = s->traverse(visit, arg)) return stop;
  if (node->is_accumulator) Py_VISIT(static_cast<AccumulateNode*>(node)->leaf);
  if (NodeExtras* extras = node->extras) {
    for (auto& hooks : extras->tensor_hooks) Py_VISIT(hooks.dict);
    for (auto& retained : extras->retained) Py_VISIT(retained.weakref);
    Py_VISIT(extras->pre_hooks);
    Py_VISIT(extras->post_hooks);
    Py_VISIT(extras->metadata);
  }
  return 0;
}

void clear_node(Node* node) {
  Py_CLEAR(node->dict);
  for (SavedTensor* s = node->saved; s; s = s->next()) s->release();
  release_node(std::exchange(node->wrapped, nullptr));
  if (node->is_accumulator) {
    if (TensorImpl* leaf = std::exchange(static_cast<AccumulateNode*>(node)->leaf, nullptr)) {
      if (leaf->meta && leaf->meta->accumulator == node) leaf->meta->accumulator = nullptr;
      Py_DECREF(leaf);
    }
  }
  if (NodeExtras* extras = std::exchange(node->extras, nullptr)) {
    for (auto& hooks : extras->tensor_hooks) Py_XDECREF(hooks.dict);
    for (auto& retained : extras->retained) Py_XDECREF(retained.weakref);
    Py_XDECREF(extras->pre_hooks);
    Py_XDECREF(extras->post_hooks);
    Py_XDECREF(extras->metadata);
    delete extras;
  }
  Edge* edges = std::exchange(node->edges, nullptr);
  uint32_t n_edges = std::exchange(node->n_edges, 0);
  for (uint32_t i = 0; i < n_edges; ++i) release_node(edges[i].node);
  delete[] edges;
}

namespace {

void free_node(Node* node) {
  clear_node(node);
  if (node->destroy_captures) node->destroy_captures(*node);
  delete[] node->outputs;
  node->location.~SourceLocation();
  PyTypeObject* type = Py_TYPE(node);
  type->tp_free(node);
  Py_DECREF(type);
}

}  // namespace

// Freeing a node frees the nodes behind it. A chain of a million must not use a million stack
// frames, so from a small depth on the dead wait in a list.
void dealloc_node(PyObject* self) {
  static int depth = 0;
  static Node* dead = nullptr;
  Node* node = static_cast<Node*>(self);
  PyObject_GC_UnTrack(node);
  if (depth >= 16) {
    node->next_dead = dead;
    dead = node;
    return;
  }
  ++depth;
  free_node(node);
  if (depth == 1) {
    while (dead) {
      Node* next = dead;
      dead = next->next_dead;
      free_node(next);
    }
  }
  --depth;
}

// ---- record

bool must_record(const Tensor* const* inputs, size_t n_inputs, const Tensor* outputs,
                 size_t n_outputs) {
  bool wanted = false, is_volatile = false;
  for (size_t i = 0; i < n_inputs; ++i) {
    const Tensor& x = *inputs[i];
    if (!x.defined()) continue;
    is_volatile |= x->is_volatile;
    wanted |= x.requires_grad();
  }
  if (is_volatile) {
    for (size_t i = 0; i < n_outputs; ++i) outputs[i]->is_volatile = true;
    return false;
  }
  if (!wanted || !is_grad_enabled()) return false;
  bool is_differentiable_output = false;
  for (size_t i = 0; i < n_outputs; ++i)
    is_differentiable_output |= outputs[i].defined() && is_differentiable(outputs[i].dtype());
  if (!is_differentiable_output) return false;
  // A view whose history is out of date may be refused: now, while no node is under construction.
  for (size_t i = 0; i < n_inputs; ++i)
    if (inputs[i]->defined() && inputs[i]->is_view()) inputs[i]->grad_fn();
  return true;
}

// ---- what a tensor knows of its history

// A view says what its base says, whenever that was decided.
bool Tensor::requires_grad() const {
  return impl_->requires_grad || (impl_->base && impl_->base->requires_grad);
}

namespace {

// A view whose memory was written to since it was made takes a new history from its base, unless it
// was made where that cannot be told.
void check_rebase(const TensorImpl* x) {
  const char* made = x->view_kind == ViewKind::MadeInNoGrad ? "in no_grad mode"
                     : x->view_kind == ViewKind::OneOfMany
                         ? "by a function that returns several views (unbind, split, chunk)"
                         : "inside a custom Function";
  check(x->view_kind == ViewKind::Plain, "grad_fn: this view was made ", made,
        ", and its base or another view of it was modified inplace since. Make the view after the "
        "write, or clone() it.");
}

}  // namespace

Node* Tensor::grad_fn() const {
  TensorImpl* x = impl_;
  Node* known = x->meta ? x->meta->grad_fn : nullptr;
  bool is_stale = x->base && x->view_version != version() && (known || x->base->requires_grad);
  if (!is_stale) return known;
  check_rebase(x);
  x->view_version = version();
  Tensor base = Tensor::borrow(x->base);
  if (!base.requires_grad()) {
    // The base was detached: this view still has a history, but one that leads nowhere.
    base = alias(base);
    base->requires_grad = true;
  }
  GradModeGuard guard(true);
  // The parts of a conjugated base are those of its conjugate, but for signs.
  if (base.is_conj() && !is_complex(x->dtype)) base = graph::operations.conj_view(base);
  Tensor fresh = piece_under(base, geometry_of(*this), 0);
  if (fresh.dtype() != x->dtype) fresh = graph::operations.view_as_complex(fresh);
  uint8_t difference = lazy_difference(geometry_of(base), geometry_of(*this));
  if (difference & kLazyConj) fresh = graph::operations.conj_view(fresh);
  if (difference & kLazyNeg) fresh = graph::operations.neg_view(fresh);
  attach_output(fresh->meta->grad_fn, *this, 0);
  return x->meta->grad_fn;
}

}  // namespace facula
