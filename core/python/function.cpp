#include "bind/bind.h"
#include "bind/sparse.h"

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "autograd/operations.h"
#include "ops/ops.h"

namespace facula {

namespace {

struct FunctionNode : Node {
  std::vector<SavedTensor>* saved_tensors;  // owned; null until recorded
  std::vector<bool>* is_tensor_input;       // owned; which arguments of forward have an edge
};

PyTypeObject* function_node_type = nullptr;

FunctionNode* function_node(nb::handle ctx) {
  check_type(PyObject_TypeCheck(ctx.ptr(), function_node_type),
             "expected the ctx of an autograd.Function, got ", Py_TYPE(ctx.ptr())->tp_name, ".");
  return static_cast<FunctionNode*>(static_cast<Node*>(ctx.ptr()));
}

// Calls ctx._run_backward(grads), which answers with one gradient for each argument of forward.
TensorList apply_in_python(Node& node, TensorList& grads) {
  auto& self = static_cast<FunctionNode&>(node);
  for (Tensor& grad : grads) grad = own_gradient(grad);
  nb::object tuple = nb::steal(to_python_tuple(grads));
  PyObject* answer = PyObject_CallMethod(&node, "_run_backward", "O", tuple.ptr());
  if (!answer) throw_python_error();
  nb::object owner = nb::steal(answer);
  TensorList out;
  for (size_t i = 0; i < self.is_tensor_input->size(); ++i) {
    if (!(*self.is_tensor_input)[i]) continue;
    PyObject* item = PyTuple_GET_ITEM(answer, i);
    out.push_back(item == Py_None ? Tensor() : graph::resolved(as_tensor(item)));
  }
  return out;
}

PyObject* function_node_new(PyTypeObject* type, PyObject*, PyObject*) {
  return guarded([&]() -> PyObject* {
    Node* node = new_node(type, type->tp_name);
    node->apply = apply_in_python;
    node->runs_without_grad = true;
    node->destroy_captures = [](Node& n) {
      auto& self = static_cast<FunctionNode&>(n);
      delete self.saved_tensors;
      delete self.is_tensor_input;
    };
    return node;
  });
}

bool contains(nb::handle tuple, const Tensor& x) {
  for (nb::handle item : nb::borrow<nb::tuple>(tuple))
    if (item.ptr() == x.get()) return true;
  return false;
}

void set_function_edges(FunctionNode* node, const nb::tuple& inputs) {
  std::vector<Edge> edges;
  node->is_tensor_input = new std::vector<bool>;
  for (nb::handle input : inputs) {
    bool is_edge = is_tensor(input.ptr());
    node->is_tensor_input->push_back(is_edge);
    if (is_edge) edges.push_back(gradient_edge(as_tensor(input.ptr())));
  }
  set_edges(node, std::move(edges));
}

// An input that forward wrote to and returned: it goes on with the node as its history.
void attach_dirty(FunctionNode* node, const Tensor& x, uint32_t output_nr) {
  check_inplace(node->name, x);
  bump_version(x);
  if (!x.is_view()) {
    attach_output(node, x, output_nr);
    return;
  }
  Tensor written = alias(x);
  attach_output(node, written, output_nr);
  rebase_history(x, written);
}

void save_tensors(FunctionNode* node, const nb::tuple& to_save) {
  node->saved_tensors = new std::vector<SavedTensor>;
  node->saved_tensors->reserve(to_save.size());
  for (nb::handle item : to_save) {
    Tensor x = item.is_none() ? Tensor() : as_tensor(item.ptr());
    bool is_output = x.defined() && x->meta && x->meta->grad_fn == node;
    node->saved_tensors->emplace_back(x, is_output);
    node->saved_tensors->back().join(node);
  }
  activate_saved(node);
}

// See facula/autograd/function.py for the division of labour.
nb::tuple record_function(nb::handle ctx, const nb::tuple& inputs, const nb::tuple& outputs) {
  FunctionNode* node = function_node(ctx);
  nb::tuple dirty = nb::borrow<nb::tuple>(ctx.attr("_dirty"));
  nb::tuple non_differentiable = nb::borrow<nb::tuple>(ctx.attr("_non_differentiable"));
  bool is_recorded = false;
  if (is_grad_enabled()) {
    for (nb::handle input : inputs)
      is_recorded |= is_tensor(input.ptr()) && as_tensor(input.ptr()).requires_grad();
  }
  for (nb::handle item : dirty) {
    check(is_tensor(item.ptr()) && contains(outputs, as_tensor(item.ptr())), node->name,
          ": a tensor given to mark_dirty must also be returned by forward.");
    if (!is_recorded) bump_version(as_tensor(item.ptr()));
  }
  if (!is_recorded) return outputs;
  set_function_edges(node, inputs);
  reserve_outputs(node, outputs.size());
  nb::list results;
  uint32_t output_nr = 0;
  for (nb::handle output : outputs) {
    uint32_t nr = output_nr++;
    if (!is_tensor(output.ptr())) {
      results.append(output);
      continue;
    }
    Tensor y = as_tensor(output.ptr());
    if (contains(dirty, y)) {
      attach_dirty(node, y, nr);
    } else if (contains(non_differentiable, y) || !is_differentiable(y.dtype())) {
      if (contains(inputs, y)) y = alias(y);
      node->outputs[nr] = {y.sizes(), y.dtype(), y.device()};
    } else {
      if (contains(inputs, y)) {
        NoGradGuard guard;
        y = make_view(y, y.sizes(), y.strides(), y.offset());
      }
      if (y.is_view()) y->view_kind = ViewKind::MadeInFunction;
      attach_output(node, y, nr);
    }
    results.append(nb::steal(wrap(y)));
  }
  save_tensors(node, nb::borrow<nb::tuple>(ctx.attr("_to_save")));
  return nb::tuple(results);
}

nb::list unpack_saved(nb::handle ctx) {
  FunctionNode* node = function_node(ctx);
  nb::list values;
  if (!node->saved_tensors) {
    // During forward, and where nothing is recorded.
    for (nb::handle item : nb::borrow<nb::tuple>(ctx.attr("_to_save"))) values.append(item);
    return values;
  }
  for (SavedTensor& saved : *node->saved_tensors) values.append(nb::steal(wrap(saved.unpack())));
  return values;
}

}  // namespace

FACULA_BINDINGS {
  static PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict,
                                      "Attributes set by the user.", nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  PyType_Slot slots[] = {{Py_tp_base, node_base_type},
                         {Py_tp_getset, properties},
                         {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_node)},
                         {Py_tp_new, reinterpret_cast<void*>(function_node_new)},
                         {0, nullptr}};
  PyType_Spec spec = {"facula._core.FunctionNode", sizeof(FunctionNode), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  function_node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!function_node_type) throw_python_error();
  m.attr("_FunctionNode") = nb::handle(reinterpret_cast<PyObject*>(function_node_type));
  m.def("_record_function", &record_function, "ctx"_a, "inputs"_a, "outputs"_a);
  sparse::allow_in("_record_function");
  m.def("_unpack_saved", &unpack_saved, "ctx"_a);
}

}  // namespace facula
