// The autograd graph: nodes, edges, saved tensors, and record(), which every differentiable
// operation ends with.
//
// A Node is the derivative of one executed operation. Its edges lead to the nodes of the
// operation's inputs, so the graph points backwards and a result owns its whole history. Nodes are
// Python objects (`grad_fn`), see Note [One object on both sides] in tensor.h: a cycle through a
// hook, a ctx or an attribute is found by the garbage collector.
#pragma once
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "base/location.h"
#include "tensor/modes.h"
#include "tensor/tensor.h"

namespace facula {

// ---- the graph
struct Edge {
  Node* node = nullptr;   // owned by the node that holds the edge; null: no gradient wanted
  uint32_t input_nr = 0;  // which output of the forward operation, that is, which input of the node
};

// What the engine knows of a forward output: gradients for it must have this form.
struct OutputInfo {
  Dims sizes;
  DType dtype;
  Device device;
};

// Which inputs of the forward operation want a gradient from the run that asks.
class Needs {
 public:
  explicit Needs(const Node& node) : node_(node) {}
  bool operator[](size_t i) const;
  // A tensor without elements that has the i-th input's place in the graph, for a derivative that
  // is recorded as depending on the input without having saved it. Undefined where nothing is
  // recorded.
  Tensor place_of(size_t i) const;
  // The i-th input's gradient where that is zero.
  Tensor zeros(size_t i) const;

 private:
  const Node& node_;
};

// A tensor kept for backward, as a member of a derivative's captures: `[x = save(x)](const Tensor&
// g) {...}`. It becomes active when record() moves the captures into their node: then it takes the
// version, cuts the tie of an output to its own node (the node must not own its owner), and goes
// through the saved-tensor hooks.
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const Tensor& value, bool is_output) : value_(value), is_output_(is_output) {}
  SavedTensor(SavedTensor&& o) noexcept;
  SavedTensor(const SavedTensor& o) : value_(o.value_), is_output_(o.is_output_) {}
  SavedTensor& operator=(const SavedTensor&) = delete;
  ~SavedTensor();

  // The tensor as it was saved. Raises if it was written to since, or if the graph was already
  // freed.
  Tensor unpack() const;
  operator Tensor() const { return unpack(); }

  void join(Node* node);
  void activate();
  void release();
  int traverse(visitproc visit, void* arg) const;
  Tensor raw() const { return value_; }
  void set_hooks(PyObject* pack, PyObject* unpack);  // for one saved tensor, from Python
  SavedTensor* next() const { return next_; }

 private:
  Tensor value_;
  Node* owner_ = nullptr;
  SavedTensor* next_ =
      nullptr;  // all saved tensors of a node are a list, for release and for the garbage collector
  PyObject* packed_ = nullptr;  // what the pack hook returned, and the hook to undo it
  PyObject* unpack_hook_ = nullptr;
  Edge edge_;  // of a packed input: where its gradients go, since the hook may return plain data;
               // owned
  uint64_t form_ = 0;  // of sizes, dtype and device: derivatives are kernels that trust them
  uint32_t version_ = 0;
  uint32_t output_nr_ = 0;
  bool is_output_ = false;
  bool was_defined_ = false;
  bool had_grad_fn_ = false;  // an input with a history of its own
  bool is_released_ = false;
};

// Several saved tensors as one capture.
class SavedList {
 public:
  explicit SavedList(const TensorList& values);
  SavedList(SavedList&& o) noexcept;
  SavedList(const SavedList&) = default;
  TensorList unpack() const;
  size_t size() const { return items_.size(); }

 private:
  std::vector<SavedTensor> items_;
};

// In the place of a tensor that a derivative does not mention: takes none in the node.
struct NotSaved {
  NotSaved(const Tensor&, bool) {}
  operator Tensor() const { return {}; }
};
template <bool kIsMentioned>
using SavedIf = std::conditional_t<kIsMentioned, SavedTensor, NotSaved>;

inline SavedTensor save(const Tensor& x) { return {x, false}; }
inline SavedTensor save_output(const Tensor& y) { return {y, true}; }
inline SavedList save(const TensorList& xs) { return SavedList(xs); }

// The parts of a node that few nodes have.
struct NodeExtras {
  struct TensorHooks {
    uint32_t output_nr;
    PyObject* dict;  // owned; shared with the tensor
  };
  struct Retained {
    uint32_t output_nr;
    PyObject* weakref;  // owned; to the tensor whose .grad is to be set
  };
  std::vector<TensorHooks> tensor_hooks;
  std::vector<Retained> retained;
  PyObject* pre_hooks = nullptr;   // dict of hooks on the node itself; owned
  PyObject* post_hooks = nullptr;  // dict; owned
  PyObject* metadata = nullptr;    // dict; owned. Anomaly mode keeps the forward traceback here.
};

struct Node : PyObject {
  using Apply = TensorList (*)(Node& node, TensorList& grads);

  PyObject* dict;
  Apply apply;
  void (*destroy_captures)(Node& node);  // ends the life of the derivative's captures
  const char* name;
  Edge* edges;  // owned array
  OutputInfo* outputs;
  uint32_t n_edges;
  uint32_t n_outputs;
  uint64_t sequence_nr;  // later operations have larger numbers; the engine runs large ones first
  SavedTensor* saved;    // head of the list
  NodeExtras* extras;
  Node* wrapped;    // owned: a derivative that this node calls itself (CopySlices)
  Node* next_dead;  // see dealloc_node
  SourceLocation location;
  bool runs_without_grad;  // written in Python: called even if no gradient came
  bool is_accumulator;     // holds a leaf; its gradient is added to the leaf's .grad

  NodeExtras& get_extras() {
    if (!extras) extras = new NodeExtras;
    return *extras;
  }
  void release_saved();
};

inline void retain_node(Node* node) { Py_XINCREF(reinterpret_cast<PyObject*>(node)); }
inline void release_node(Node* node) { Py_XDECREF(reinterpret_cast<PyObject*>(node)); }
struct ReleaseNode {
  void operator()(Node* node) const { release_node(node); }
};
using NodePtr = std::unique_ptr<Node, ReleaseNode>;  // one reference

// The Python type of nodes with this name and size. Types are made once and never freed.
PyTypeObject* node_type(const char* name, size_t nbytes);
extern PyTypeObject* node_base_type;
void init_node_type(PyObject* module);

// A node without captures' memory initialised; edges and outputs are set. The caller puts it into a
// tensor.
Node* new_node(PyTypeObject* type, const char* name);
void set_edges(Node* node, const Tensor* const* inputs, size_t n_inputs);
void set_edges(Node* node, std::vector<Edge> edges);  // takes over the references
// y becomes an output of the node; its geometry is noted for the engine.
void attach_output(Node* node, const Tensor& y, uint32_t output_nr);
void reserve_outputs(Node* node, size_t n_outputs);
// Sets versions, hooks and the list of the saved tensors that were moved into the node's memory.
// Where a hook raises, all of them are released: the node of an unfinished operation keeps nothing.
void activate_saved(Node* node);
// While captures are moved into a node, their saved tensors join its list.
extern Node* node_under_construction;

// The edge along which a gradient of x travels; empty if x wants none. The reference is new.
Edge gradient_edge(const Tensor& x);
Node* accumulator_of(const Tensor& leaf);  // new reference
// x, a tensor without history, stands for the one whose edge this is.
void attach_edge(const Tensor& x, const Edge& edge);

int traverse_node(Node* node, visitproc visit, void* arg);
void clear_node(Node* node);
void dealloc_node(PyObject* self);

// x.requires_grad = on; raises where x cannot have what is asked.
void require_grad(const Tensor& x, bool on);

// ---- record
// True if an operation on these inputs must be recorded. Marks `y` volatile where an input is.
bool must_record(const Tensor* const* inputs, size_t n_inputs, const Tensor* outputs,
                 size_t n_outputs);

namespace detail {

template <class F>
struct LambdaNode : Node {
  alignas(F) unsigned char memory[sizeof(F)];
  F& captures() { return *std::launder(reinterpret_cast<F*>(memory)); }
};

template <class F>
TensorList call_backward(F& f, Node& node, TensorList& grads) {
  if constexpr (std::is_invocable_r_v<Tensor, F&, const Tensor&>) {
    TensorList out(1);
    out[0] = f(static_cast<const Tensor&>(grads[0]));
    return out;
  } else if constexpr (std::is_invocable_r_v<TensorList, F&, const Tensor&, Needs>) {
    return f(static_cast<const Tensor&>(grads[0]), Needs(node));
  } else {
    static_assert(std::is_invocable_r_v<TensorList, F&, const TensorList&, Needs>,
                  "a derivative is Tensor(const Tensor& g), TensorList(const Tensor& g, Needs) or, "
                  "for several "
                  "outputs, TensorList(const TensorList& gs, Needs)");
    return f(static_cast<const TensorList&>(grads), Needs(node));
  }
}

template <class F>
NodePtr make_lambda_node(const char* name, F&& backward) {
  using Fn = std::decay_t<F>;
  using LNode = LambdaNode<Fn>;
  // One call site has one name, but for a few that choose between two.
  static const char* last_name = nullptr;
  static PyTypeObject* last_type = nullptr;
  if (last_name != name) {
    last_type = node_type(name, sizeof(LNode));
    last_name = name;
  }
  NodePtr node(new_node(last_type, name));
  node_under_construction = node.get();
  try {
    new (static_cast<LNode*>(node.get())->memory) Fn(std::forward<F>(backward));
  } catch (...) {
    node_under_construction = nullptr;
    node->saved = nullptr;  // went with the captures
    throw;
  }
  node_under_construction = nullptr;
  node->apply = [](Node& n, TensorList& grads) {
    return call_backward(static_cast<LNode&>(n).captures(), n, grads);
  };
  node->destroy_captures = [](Node& n) { static_cast<LNode&>(n).captures().~Fn(); };
  return node;
}

}  // namespace detail

// Attaches the derivative `backward` to y where a gradient is wanted. `name` is the grad_fn's
// public name. backward gets the gradient of y and returns the gradients of `inputs`, in their
// order; an undefined tensor stands for zero.
template <class F>
Tensor record(const char* name, Tensor y, std::initializer_list<TensorRef> inputs, F&& backward) {
  static_assert(sizeof(TensorRef) == sizeof(const Tensor*));
  auto refs = reinterpret_cast<const Tensor* const*>(inputs.begin());
  if (!must_record(refs, inputs.size(), &y, 1)) return y;
  NodePtr node = detail::make_lambda_node(name, std::forward<F>(backward));
  set_edges(node.get(), refs, inputs.size());
  attach_output(node.get(), y, 0);
  activate_saved(node.get());
  return y;
}

// The same for gx, a gradient that is linear in g and depends on x, the input, in steps or not at
// all. Its derivative by x is zeros, as PyTorch's is, where that of an ordinary linear operation
// would be none.
template <class F>
Tensor record_linear(const char* name, Tensor gx, const Tensor& g, const Tensor& x, F&& by_g) {
  return record(name, std::move(gx), {g, x},
                [by_g = std::forward<F>(by_g)](const Tensor& h, Needs needs) mutable -> TensorList {
                  return {needs[0] ? by_g(h) : Tensor(), needs[1] ? needs.zeros(1) : Tensor()};
                });
}

// The same for operations with a list of inputs or several outputs.
template <class F>
void record_all(const char* name, const TensorList& outputs, const TensorList& inputs,
                F&& backward) {
  std::vector<const Tensor*> refs;
  for (const Tensor& x : inputs) refs.push_back(&x);
  if (!must_record(refs.data(), refs.size(), outputs.data(), outputs.size())) return;
  NodePtr node = detail::make_lambda_node(name, std::forward<F>(backward));
  set_edges(node.get(), refs.data(), refs.size());
  reserve_outputs(node.get(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    attach_output(node.get(), outputs[i], static_cast<uint32_t>(i));
  activate_saved(node.get());
}

// Raises if y, a complex result of x, would need a derivative that only the real operation has.
void check_real_derivative(const char* op, const Tensor& x, const Tensor& y);

// ---- in place
// Call before x is written to: raises for a leaf that requires grad, a view of one, an expanded
// tensor, ...
void check_inplace(const char* op, const Tensor& x);
// Raises for a tensor of inference mode outside of it.
void check_inference(const char* op, const Tensor& x);
// The same for writes that an expanded tensor can take.
void check_writable(const char* op, const Tensor& x);
// The part of it that concerns history; for writes that get one from another operand.
void check_recorded_write(const char* op, const Tensor& x);
// Call after x was written to: counts the write.
inline void bump_version(const Tensor& x) {
  x->version->bump();
  x->storage->note_write();
}
// Gives x, just written to, the history `grad_fn` of `result`, of which it now has the value. A
// view passes it on to its base.
void rebase_history(const Tensor& x, const Tensor& result);

// Where a tensor lies in its storage, in elements of its dtype.
struct ViewGeometry {
  Dims sizes, strides;
  int64_t offset;
  DType dtype;
  uint8_t lazy;  // LazyMarks
};
ViewGeometry geometry_of(const Tensor& x);
// The elements of `base` that a view of it looks at. Those under a complex view of a real base stay
// real, in pairs: (..., 2). `origin` is the offset that the viewed tensor had, where `base` stands
// for it at the start of another storage; otherwise 0.
Tensor piece_under(const Tensor& base, ViewGeometry view, int64_t origin);
// The marks by which a view's elements differ from those of its base, as LazyMarks.
uint8_t lazy_difference(const ViewGeometry& base, const ViewGeometry& view);

// ---- saved-tensor hooks, per thread: pairs (pack, unpack), the innermost counts
void push_saved_tensor_hooks(PyObject* pack, PyObject* unpack);
void pop_saved_tensor_hooks();
void set_saved_tensor_hooks_disabled(const char* message);  // null enables them again
const char* saved_tensor_hooks_disabled();

// ---- the engine
// Runs backward from `roots` with gradients `grads`. With empty `inputs` it adds to the leaves'
// .grad and returns nothing; otherwise it returns the gradients of `inputs` (undefined where there
// is no path), or adds to their .grad if `accumulate`. Inside hooks and derivatives: the number of
// the running call of backward (-1: none), whether it reaches a node, and whether it goes on to all
// leaves.
int64_t current_backward_id();
bool backward_reaches(Node* node);
bool is_backward_to_leaves();
TensorList run_backward(const TensorList& roots, const TensorList& grads, bool retain_graph,
                        bool create_graph, const TensorList& inputs, bool accumulate);

}  // namespace facula
