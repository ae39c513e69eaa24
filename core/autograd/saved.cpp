// Saved tensors, their checks and their hooks.
#include "autograd/node.h"
#include "autograd/operations.h"
#include "base/python_error.h"
#include "tensor/modes.h"

namespace facula {

namespace {

struct HookPair {
  PyObject* pack;
  PyObject* unpack;
};
thread_local std::vector<HookPair> hook_stack;
thread_local std::string disabled_message;
thread_local bool hooks_disabled = false;

// A number that differs for tensors of different sizes, dtype or device.
uint64_t form_of(const Tensor& x) {
  auto mix = [](uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
  };
  uint64_t hash = mix(static_cast<uint64_t>(x.dtype()), static_cast<uint64_t>(x.dim()));
  hash = mix(hash, static_cast<uint64_t>(x.device().type) << 8 | uint8_t(x.device().index));
  for (int64_t size : x.sizes()) hash = mix(hash, static_cast<uint64_t>(size));
  return hash;
}

}  // namespace

void push_saved_tensor_hooks(PyObject* pack, PyObject* unpack) {
  check(!hooks_disabled, disabled_message);
  Py_INCREF(pack);
  Py_INCREF(unpack);
  hook_stack.push_back({pack, unpack});
}

void pop_saved_tensor_hooks() {
  check(!hook_stack.empty(), "saved_tensors_hooks: left a block that was not entered.");
  HookPair pair = hook_stack.back();
  hook_stack.pop_back();
  Py_DECREF(pair.pack);
  Py_DECREF(pair.unpack);
}

void set_saved_tensor_hooks_disabled(const char* message) {
  check(!message || hook_stack.empty(), message ? message : "");
  hooks_disabled = message != nullptr;
  disabled_message = message ? message : "";
}
const char* saved_tensor_hooks_disabled() {
  return hooks_disabled ? disabled_message.c_str() : nullptr;
}

void SavedTensor::join(Node* node) {
  owner_ = node;
  next_ = node->saved;
  node->saved = this;
}

SavedTensor::SavedTensor(SavedTensor&& o) noexcept
    : value_(std::move(o.value_)), is_output_(o.is_output_) {
  if (node_under_construction) join(node_under_construction);
}

SavedTensor::~SavedTensor() {
  Py_XDECREF(packed_);
  Py_XDECREF(unpack_hook_);
  release_node(edge_.node);
}

void SavedTensor::activate() {
  was_defined_ = value_.defined();
  if (!was_defined_) return;
  // Inside of inference mode nothing else is at hand: the transforms of func record there.
  check(!value_->is_inference || is_inference_mode_enabled(), owner_->name,
        ": a tensor made in inference mode cannot be kept for the derivative. Make a normal one of "
        "it with clone() first.");
  version_ = value_.version();
  form_ = form_of(value_);
  had_grad_fn_ = !is_output_ && value_->meta && value_->meta->grad_fn;
  if (is_output_) {
    output_nr_ = value_->meta ? value_->meta->output_nr : 0;
    value_ = alias(value_);
  }
  // A number that the user wrote is no tensor of theirs.
  if (!hook_stack.empty() && !value_->is_wrapped_number)
    set_hooks(hook_stack.back().pack, hook_stack.back().unpack);
}

void SavedTensor::set_hooks(PyObject* pack, PyObject* unpack) {
  NoGradGuard guard;
  PyObject* packed = PyObject_CallOneArg(pack, value_.get());
  if (!packed) throw_python_error();
  Py_XSETREF(packed_, packed);
  Py_INCREF(unpack);
  Py_XSETREF(unpack_hook_, unpack);
  if (!is_output_) {
    release_node(edge_.node);
    edge_ = gradient_edge(value_);
  }
  value_ = Tensor();
}

Tensor SavedTensor::unpack() const {
  // No check(): it would look up the line for every tensor.
  if (is_released_)
    fail(ErrorKind::Runtime, "backward: the tensors that ", owner_->name, " (recorded at ",
         owner_->location.describe(),
         ") kept for its derivative were freed by an earlier backward. Call detach() on what goes "
         "on from an earlier step; if both shall go through it, call the first with "
         "retain_graph=True. (Trying to backward through the graph a second time.)");
  if (!was_defined_) return Tensor();
  Tensor value = value_;
  if (packed_) {
    PyObject* result = PyObject_CallOneArg(unpack_hook_, packed_);
    if (!result) throw_python_error();
    bool is_tensor = PyObject_TypeCheck(result, tensor_type);
    if (!is_tensor) Py_DECREF(result);
    check_type(is_tensor, "saved_tensors_hooks: expected the unpack hook to return a tensor.");
    value = graph::resolved(Tensor::steal(static_cast<TensorImpl*>(result)));
  } else if (value.version() != version_) {
    fail(ErrorKind::Runtime, "backward: ", owner_->name, " (recorded at ",
         owner_->location.describe(), ") needs a ", value, " tensor",
         is_output_ ? ", its own output," : "",
         " that was overwritten in-place since (modified by an inplace operation): expected "
         "version ",
         version_, ", got version ", value.version(), ". It was last written to at ",
         value->version->last_write.describe(),
         ". Use the operation that is not in place there, or clone() the tensor first.");
  }
  check(form_of(value) == form_, owner_->name,
        ": needs a tensor as it was in the forward pass, but ",
        packed_ ? "the unpack hook returned " : "it was given other data since and is now ", value,
        ", of another shape, dtype or device.");
  check(packed_ || !had_grad_fn_ || value->meta->grad_fn, owner_->name,
        ": needs a tensor that was detached in place since, by detach_(). Use detach() instead.");
  if (is_output_ && is_grad_enabled()) {
    // Second derivatives flow through the output's own node.
    value = alias(value);
    attach_output(owner_, value, output_nr_);
  } else if (edge_.node && is_grad_enabled()) {
    value = alias(value);
    attach_edge(value, edge_);
  }
  return value;
}

void SavedTensor::release() {
  is_released_ = true;
  value_ = Tensor();
  Py_CLEAR(packed_);
  Py_CLEAR(unpack_hook_);
  release_node(std::exchange(edge_.node, nullptr));
}

int SavedTensor::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value_.get());
  Py_VISIT(packed_);
  Py_VISIT(unpack_hook_);
  Py_VISIT(static_cast<PyObject*>(edge_.node));
  return 0;
}

SavedList::SavedList(const TensorList& values) {
  for (const Tensor& value : values) items_.emplace_back(value, false);
}

SavedList::SavedList(SavedList&& o) noexcept : items_(std::move(o.items_)) {
  if (node_under_construction)
    for (SavedTensor& item : items_) item.join(node_under_construction);
}

TensorList SavedList::unpack() const {
  TensorList values;
  for (const SavedTensor& item : items_) values.push_back(item.unpack());
  return values;
}

}  // namespace facula
