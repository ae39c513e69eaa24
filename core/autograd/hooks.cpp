#include "autograd/hooks.h"

#include "autograd/operations.h"
#include "base/python_error.h"
#include "tensor/sparse.h"

namespace facula {

using graph::operations;

namespace {

// An owned reference that is released when a hook raises.
struct Ref {
  PyObject* p;
  explicit Ref(PyObject* object) : p(object) {
    if (!p) throw_python_error();
  }
  ~Ref() { Py_DECREF(p); }
  Ref(const Ref&) = delete;
};

// The hooks as they are now: a hook may remove itself while it runs.
Ref snapshot(PyObject* hooks) { return Ref(PyDict_Values(hooks)); }

void replace_from(PyObject* result, TensorList& tensors, const char* what) {
  if (PyObject_TypeCheck(result, tensor_type) && tensors.size() == 1) {
    tensors[0] = graph::resolved(Tensor::borrow(static_cast<TensorImpl*>(result)));
    return;
  }
  check_type(PyTuple_Check(result), what,
             ": expected the hook to return None or a tuple of tensors, got ",
             Py_TYPE(result)->tp_name, ".");
  check(PyTuple_GET_SIZE(result) == static_cast<Py_ssize_t>(tensors.size()), what,
        ": the hook returned ", PyTuple_GET_SIZE(result), " gradients; expected ", tensors.size(),
        ".");
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, i);
    if (item == Py_None) {
      tensors[i] = Tensor();
      continue;
    }
    check_type(PyObject_TypeCheck(item, tensor_type), what,
               ": expected tensors or None in the hook's result, got ", Py_TYPE(item)->tp_name,
               ".");
    check(tensors[i].defined(), what, ": expected None at index ", i,
          " of the hook's result, where no gradient was, got a tensor.");
    tensors[i] = graph::resolved(Tensor::borrow(static_cast<TensorImpl*>(item)));
  }
}

}  // namespace

PyObject* to_python_tuple(const TensorList& tensors) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  if (!tuple) throw_python_error();
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* item = tensors[i].defined() ? tensors[i].get() : Py_None;
    Py_INCREF(item);
    PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

Tensor own_gradient(const Tensor& grad) {
  bool is_own = !grad.defined() || grad.requires_grad() || is_sparse(grad);
  return is_own || !has_internal_overlap(grad) ? grad
                                               : operations.clone(grad, MemoryFormat::Contiguous);
}

void run_tensor_hooks(PyObject* hooks, Tensor& grad) {
  Ref list = snapshot(hooks);
  grad = own_gradient(grad);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.p); ++i) {
    Ref result(PyObject_CallOneArg(PyList_GET_ITEM(list.p, i), grad.get()));
    if (result.p == Py_None) continue;
    check_type(PyObject_TypeCheck(result.p, tensor_type),
               "register_hook: expected the hook to return None or a tensor, got ",
               Py_TYPE(result.p)->tp_name, ".");
    Tensor replacement = Tensor::borrow(static_cast<TensorImpl*>(result.p));
    check(replacement.sizes() == grad.sizes(),
          "register_hook: expected the hook to keep the shape of the gradient, ", grad, ", got ",
          replacement, ".");
    check(replacement.dtype() == grad.dtype(),
          "register_hook: expected the hook to keep the dtype of the gradient, ", grad, ", got ",
          replacement, ".");
    grad = graph::resolved(replacement);
  }
}

void run_node_pre_hooks(PyObject* hooks, TensorList& grad_outputs) {
  Ref list = snapshot(hooks);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.p); ++i) {
    Ref grads(to_python_tuple(grad_outputs));
    Ref result(PyObject_CallOneArg(PyList_GET_ITEM(list.p, i), grads.p));
    if (result.p != Py_None) replace_from(result.p, grad_outputs, "register_prehook");
  }
}

void run_node_post_hooks(PyObject* hooks, TensorList& grad_inputs, const TensorList& grad_outputs) {
  Ref list = snapshot(hooks);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.p); ++i) {
    Ref ins(to_python_tuple(grad_inputs));
    Ref outs(to_python_tuple(grad_outputs));
    Ref result(PyObject_CallFunctionObjArgs(PyList_GET_ITEM(list.p, i), ins.p, outs.p, nullptr));
    if (result.p != Py_None) replace_from(result.p, grad_inputs, "register_hook");
  }
}

void run_post_accumulate_hooks(const Tensor& leaf) {
  if (!leaf->meta->post_accumulate_hooks) return;
  Ref list = snapshot(leaf->meta->post_accumulate_hooks);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.p); ++i) {
    Ref result(PyObject_CallOneArg(PyList_GET_ITEM(list.p, i), leaf.get()));
    check(result.p == Py_None, "register_post_accumulate_grad_hook: hooks should return None.");
  }
}

void accumulate_grad(const Tensor& leaf, Tensor grad) {
  AutogradMeta& meta = leaf.meta();
  auto replace = [&](Tensor value) { Py_XDECREF(std::exchange(meta.grad, value.release())); };
  if (!meta.grad && is_sparse(grad)) {
    bool keep = !is_grad_enabled() && grad.is_only_handle();
    replace(keep ? std::move(grad) : operations.clone(grad, MemoryFormat::Preserve));
  } else if (!meta.grad) {
    bool keep = !is_grad_enabled() && grad.is_only_handle() && !grad.is_view() &&
                grad.storage()->n_refs() == 1 && grad.strides() == leaf.strides() &&
                is_non_overlapping_and_dense(grad.sizes(), grad.strides());
    if (!keep) {
      // The gradient takes the leaf's memory layout, so that optimisers walk both in the same
      // order.
      if (is_grad_enabled()) {
        grad = operations.clone(grad, MemoryFormat::Preserve);
      } else {
        Tensor copy = is_non_overlapping_and_dense(leaf.sizes(), leaf.strides())
                          ? empty_strided(leaf.sizes(), leaf.strides(), grad.dtype(), grad.device())
                          : empty(leaf.sizes(), grad.dtype(), grad.device());
        operations.copy_bytes(copy, grad);
        grad = copy;
      }
    }
    meta.grad = grad.release();
  } else if (!is_grad_enabled()) {
    Tensor held = Tensor::borrow(meta.grad);
    // A sparse tensor cannot take in a dense one.
    if (is_sparse(held) && !is_sparse(grad)) {
      replace(operations.add(held, grad));
    } else {
      operations.add_to(held, grad);
    }
  } else {
    replace(operations.add(Tensor::borrow(meta.grad), grad));
  }
}

}  // namespace facula
