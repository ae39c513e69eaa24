// backward(), grad modes, hooks, nodes as Python objects.
#include <Python.h>
#include <structmember.h>

#include <cstring>
#include <set>

#include "autograd/hooks.h"
#include "autograd/node.h"
#include "autograd/operations.h"
#include "bind/bind.h"
#include "bind/sparse.h"
#include "ops/ops.h"
#include "python/new_tensor.h"
#include "python/saved.h"

namespace facula {

namespace {

using OptionalGradients = std::vector<std::optional<Tensor>>;

// The gradient to start from: the given one, or 1 for a scalar.
Tensor root_gradient(const char* op, const Tensor& root, const std::optional<Tensor>& given) {
  if (given) {
    check(given->sizes() == root.sizes(), op, ": expected a gradient of the shape of its output, ",
          root.sizes(), ", got ", given->sizes(), ".");
    check(is_complex(given->dtype()) == is_complex(root.dtype()), op,
          ": expected a gradient that is complex where its output is, got ", *given, " for ", root,
          ".");
    return graph::resolved(*given);
  }
  if (!root.requires_grad()) return Tensor();  // refused with a better message by the engine
  check(root.numel() == 1, op, ": an output that is no scalar, ", root,
        ", needs a gradient. Reduce it first, e.g. with .sum(), or pass a gradient of the output's "
        "shape. (grad can be implicitly created only for scalar outputs)");
  check(is_floating(root.dtype()), op, ": an output that is not real, ", root,
        ", needs a gradient. Pass one.");
  return full(root.sizes(), 1, root.dtype(), root.device());
}

// What an iterable holds, all tensors.
TensorList tensors_in(nb::handle iterable) {
  TensorList tensors;
  for (nb::handle item : iterable) {
    check_type(is_tensor(item.ptr()), "backward: expected tensors as inputs, got ",
               Py_TYPE(item.ptr())->tp_name, ".");
    tensors.push_back(as_tensor(item.ptr()));
  }
  return tensors;
}

// The gradients of `inputs`, added to their .grad where `accumulate`; all leaves where there are no
// inputs. All that users give to backward() and grad() is checked here.
TensorList differentiate(const char* op, const TensorList& roots, const OptionalGradients& given,
                         bool retain_graph, bool create_graph,
                         const std::optional<TensorList>& inputs, bool accumulate) {
  check(given.size() == roots.size(), op, ": got ", roots.size(), " tensors and ", given.size(),
        " gradients; expected one each.");
  check(!inputs || !inputs->empty(), op, ": inputs is empty.",
        accumulate ? " Leave it out to reach every leaf." : "");
  const TensorList& targets = inputs ? *inputs : TensorList();
  for (const Tensor& x : targets)
    check(x.requires_grad(), op, ": expected inputs that require grad, got ", x, ".");
  TensorList grads;
  for (size_t i = 0; i < roots.size(); ++i) grads.push_back(root_gradient(op, roots[i], given[i]));
  TensorList found = run_backward(roots, grads, retain_graph, create_graph, targets, accumulate);
  for (size_t i = 0; accumulate && i < targets.size(); ++i)
    if (found[i].defined()) accumulate_grad(targets[i], found[i]);
  return found;
}

struct ModesBefore {
  bool grad, inference;
};
thread_local std::vector<ModesBefore> inference_stack;

nb::object dict_of(PyObject*& slot) {
  if (!slot) slot = PyDict_New();
  return nb::borrow(slot);
}

// The dict for the hooks of a tensor: a leaf keeps it itself, a result on its node, so that a later
// in-place operation, which gives the tensor another node, leaves the hooks with the value they
// were meant for.
nb::object tensor_hooks(const Tensor& x) {
  check(x.requires_grad(), "register_hook: expected a tensor that requires grad, got ", x, ".");
  Node* node = x.grad_fn();
  if (!node) return dict_of(x.meta().hooks);
  uint32_t output_nr = x->meta->output_nr;
  for (auto& hooks : node->get_extras().tensor_hooks)
    if (hooks.output_nr == output_nr) return nb::borrow(hooks.dict);
  nb::object dict = nb::dict();
  node->get_extras().tensor_hooks.push_back({output_nr, nb::object(dict).release().ptr()});
  return dict;
}

void retain_grad(const Tensor& x) {
  check(x.requires_grad(), "retain_grad: expected a tensor that requires grad, got ", x, ".");
  if (x.is_leaf() || x.meta().retains_grad) return;
  PyObject* weak = PyWeakref_NewRef(x.get(), nullptr);
  if (!weak) throw_python_error();
  x.grad_fn()->get_extras().retained.push_back({x->meta->output_nr, weak});
  x.meta().retains_grad = true;
}

// ---- grad_fn in Python

Node* node_of(PyObject* self) { return static_cast<Node*>(self); }

// Nodes that are no derivative of an operation have the namespace of PyTorch's engine before them.
PyObject* node_name(PyObject* self, PyObject*) {
  const char* name = node_of(self)->name;
  bool is_of_engine = std::strcmp(name, "AccumulateGrad") == 0 ||
                      std::strcmp(name, "CopySlices") == 0 ||
                      std::strcmp(name, "CopyBackwards") == 0;
  return PyUnicode_FromFormat("%s%s", is_of_engine ? "torch::autograd::" : "", name);
}

PyObject* node_next_functions(PyObject* self, void*) {
  Node* node = node_of(self);
  PyObject* tuple = PyTuple_New(node->n_edges);
  for (uint32_t i = 0; tuple && i < node->n_edges; ++i) {
    PyObject* next = node->edges[i].node ? static_cast<PyObject*>(node->edges[i].node) : Py_None;
    PyTuple_SET_ITEM(tuple, i, Py_BuildValue("(OI)", next, node->edges[i].input_nr));
  }
  return tuple;
}

PyObject* node_variable(PyObject* self, void*) {
  Node* node = node_of(self);
  if (!node->is_accumulator) {
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", node->name);
    return nullptr;
  }
  return guarded([&] { return wrap(leaf_of(*node)); });
}

PyObject* node_metadata(PyObject* self, void*) {
  return guarded([&] { return dict_of(node_of(self)->get_extras().metadata).release().ptr(); });
}
PyObject* node_pre_hooks(PyObject* self, PyObject*) {
  return guarded([&] { return dict_of(node_of(self)->get_extras().pre_hooks).release().ptr(); });
}
PyObject* node_post_hooks(PyObject* self, PyObject*) {
  return guarded([&] { return dict_of(node_of(self)->get_extras().post_hooks).release().ptr(); });
}
PyObject* node_sequence_nr(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(node_of(self)->sequence_nr);
}
PyObject* node_location(PyObject* self, PyObject*) {
  const std::string place = node_of(self)->location.describe();
  return PyUnicode_FromStringAndSize(place.data(), static_cast<Py_ssize_t>(place.size()));
}
// What gradients that come to the node look like: one for each output of its operation.
PyObject* node_input_metadata(PyObject* self, void*) {
  return guarded([&] {
    const Node* node = node_of(self);
    nb::object make = nb::module_::import_("types").attr("SimpleNamespace");
    nb::list all;
    for (uint32_t i = 0; i < node->n_outputs; ++i) {
      const OutputInfo& form = node->outputs[i];
      all.append(make("shape"_a = nb::steal(size_object(form.sizes)), "dtype"_a = form.dtype,
                      "device"_a = form.device, "is_tensor_subclass"_a = false,
                      "is_nested_tensor"_a = false));
    }
    return nb::object(all).release().ptr();
  });
}

PyObject* node_getattribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  const char* text = PyUnicode_AsUTF8(name);
  if (!text || (std::strncmp(text, "_saved_", 7) && std::strncmp(text, "_raw_saved_", 11)))
    return nullptr;
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  found = guarded([&] { return saved_attribute(node_of(self), text); });
  if (found || PyErr_Occurred()) {
    for (PyObject* object : {type, error, traceback}) Py_XDECREF(object);
  } else {
    PyErr_Restore(type, error, traceback);
  }
  return found;
}

PyObject* node_dir(PyObject* self, PyObject*) {
  return guarded([&] {
    nb::object base = nb::borrow(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    nb::list names(base.attr("__dir__")(nb::handle(self)));
    for (const std::string& name : saved_names(*node_of(self)))
      for (const char* prefix : {"_saved_", "_raw_saved_"})
        names.append(nb::str((prefix + name).c_str()));
    return nb::object(names).release().ptr();
  });
}

PyObject* node_repr(PyObject* self) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(self)->name, self);
}

}  // namespace

void init_node_type(PyObject* module) {
  static PyMethodDef methods[] = {
      {"name", node_name, METH_NOARGS, "The name of the derivative, for example 'MulBackward0'."},
      {"_hooks", node_post_hooks, METH_NOARGS, "The dict of hooks that run after the node."},
      {"_prehooks", node_pre_hooks, METH_NOARGS, "The dict of hooks that run before the node."},
      {"_sequence_nr", node_sequence_nr, METH_NOARGS,
       "The place of the operation in the order of execution."},
      {"_location", node_location, METH_NOARGS,
       "The line of the program that recorded the operation, as 'train.py:12'."},
      {"__dir__", node_dir, METH_NOARGS, "The attributes, those of saved tensors among them."},
      {nullptr, nullptr, 0, nullptr}};
  static PyGetSetDef properties[] = {
      {"next_functions", node_next_functions, nullptr,
       "Pairs (node, input number): where gradients go next.", nullptr},
      {"variable", node_variable, nullptr, "The leaf of an AccumulateGrad node.", nullptr},
      {"metadata", node_metadata, nullptr, "A dict for notes about the node.", nullptr},
      {"_input_metadata", node_input_metadata, nullptr,
       "Shape, dtype and device of each gradient that comes to the node.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(Node, dict), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_node)},
      {Py_tp_traverse, reinterpret_cast<void*>(+[](PyObject* self, visitproc visit, void* arg) {
         return traverse_node(node_of(self), visit, arg);
       })},
      {Py_tp_clear, reinterpret_cast<void*>(+[](PyObject* self) {
         clear_node(node_of(self));
         return 0;
       })},
      {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
      {Py_tp_getattro, reinterpret_cast<void*>(node_getattribute)},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {Py_tp_members, members},
      {0, nullptr}};
  static PyType_Spec spec = {"facula.autograd.graph.Node", sizeof(Node), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  node_base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!node_base_type) throw_python_error();
  PyModule_AddObjectRef(module, "_Node", reinterpret_cast<PyObject*>(node_base_type));
}

namespace {

void bind_modes(nb::module_& m) {
  def_state(m, "is_grad_enabled", &is_grad_enabled,
            R"(Whether operations are recorded for backward() in this thread.
    >>> with facula.no_grad():
    ...     facula.is_grad_enabled()
    False)"_doc);
  m.def("_set_grad_enabled", &set_grad_enabled, "mode"_a);
  def_state(m, "is_inference_mode_enabled", &is_inference_mode_enabled,
            R"(Whether inference mode is on in this thread.
    >>> with facula.inference_mode():
    ...     facula.is_inference_mode_enabled()
    True)"_doc);
  // Inference mode switches recording off with it; what was before comes back at the end of the
  // block.
  m.def(
      "_push_inference_mode",
      [](bool mode) {
        inference_stack.push_back({is_grad_enabled(), is_inference_mode_enabled()});
        set_inference_mode_enabled(mode);
        set_grad_enabled(!mode);
      },
      "mode"_a);
  m.def("_pop_inference_mode", [] {
    check(!inference_stack.empty(), "inference_mode: left a block that was not entered.");
    set_grad_enabled(inference_stack.back().grad);
    set_inference_mode_enabled(inference_stack.back().inference);
    inference_stack.pop_back();
  });
  def_state(m, "is_anomaly_enabled", &is_anomaly_enabled,
            R"(Whether anomaly detection is on, as within ``autograd.detect_anomaly()``.
    >>> facula.is_anomaly_enabled()
    False)"_doc);
  def_state(m, "is_anomaly_check_nan_enabled", &is_anomaly_check_nan_enabled,
            R"(Whether anomaly detection, where it is on, raises at a NaN that backward() makes.
    >>> facula.is_anomaly_check_nan_enabled()
    True)"_doc);
  m.def("_set_anomaly_enabled", &set_anomaly_enabled, "mode"_a, "check_nan"_a = true);
}

void bind_backward(nb::module_& m) {
  sparse::allow_in("_run_backward");
  m.def(
      "_run_backward",
      [](const TensorList& roots, const OptionalGradients& grads, bool retain_graph,
         bool create_graph, const std::optional<TensorList>& inputs, bool allow_unused,
         bool accumulate) {
        const char* op = accumulate ? "backward" : "grad";
        TensorList found =
            differentiate(op, roots, grads, retain_graph, create_graph, inputs, accumulate);
        for (size_t i = 0; !accumulate && i < found.size(); ++i)
          check(allow_unused || found[i].defined(), op, ": input ", i, ", ", (*inputs)[i],
                ", has no part in the outputs. Pass allow_unused=True to get None for it. (The "
                "differentiated Tensor appears to not have been used in the graph.)");
        return nb::steal(to_python_tuple(accumulate ? TensorList{} : found));
      },
      "tensors"_a, "grad_tensors"_a, "retain_graph"_a, "create_graph"_a, "inputs"_a.none(),
      "allow_unused"_a, "accumulate_grad"_a);
  def_method(
      "backward",
      [](const Tensor& x, const std::optional<Tensor>& gradient, std::optional<bool> retain_graph,
         bool create_graph, const nb::object& inputs) {
        std::optional<TensorList> targets;
        if (is_tensor(inputs.ptr()))
          targets = {as_tensor(inputs.ptr())};
        else if (!inputs.is_none())
          targets = tensors_in(inputs);
        differentiate("backward", {x}, {gradient}, retain_graph.value_or(create_graph),
                      create_graph, targets, true);
      },
      "gradient"_or_none, "retain_graph"_or_none, "create_graph"_a = false, "inputs"_or_none,
      R"(Computes the gradients of the leaves and adds them to their .grad.
    gradient: the gradient of this tensor, of its shape; a tensor of one element needs none.
    retain_graph: whether the graph is kept for another call; None for the value of create_graph.
    create_graph: whether backward is recorded itself, for gradients of gradients.
    inputs: the tensors whose gradients are wanted; None for all leaves.
    >>> x = facula.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.]))"_doc);
}

// The last of several nodes shows the name of the operation that they are the derivative of.
void name_node(Node* node, const std::string& name) {
  static std::set<std::string>& names = *new std::set<std::string>;  // nodes borrow their names
  PyTypeObject* old = Py_TYPE(node);
  PyTypeObject* type = node_type(name.c_str(), old->tp_basicsize);
  Py_INCREF(type);
  Py_SET_TYPE(node, type);
  Py_DECREF(old);
  node->name = names.insert(name).first->c_str();
}

// Edges of the graph, and tensors that stand for them: backward takes tensors.
void bind_edges(nb::module_& m) {
  m.def(
      "_gradient_edge",
      [](const Tensor& x) {
        Edge edge = gradient_edge(x);
        check(edge.node != nullptr, "get_gradient_edge: expected a tensor that requires grad, got ",
              x, ".");
        return nb::make_tuple(nb::steal(static_cast<PyObject*>(edge.node)), edge.input_nr);
      },
      "tensor"_a, "The node that the gradient of a tensor goes to, and as which of its inputs.");
  m.def(
      "_tensor_of_edge",
      [](nb::handle object, uint32_t output_nr) {
        check_type(PyObject_TypeCheck(object.ptr(), node_base_type),
                   "GradientEdge: expected a node, got ", Py_TYPE(object.ptr())->tp_name, ".");
        Node* node = node_of(object.ptr());
        check(output_nr < node->n_outputs, "GradientEdge: ", node->name, " has ", node->n_outputs,
              " outputs, got output_nr ", output_nr, ".");
        if (node->is_accumulator) return leaf_of(*node);
        const OutputInfo& form = node->outputs[output_nr];
        // Nobody reads its values: one element stands for all.
        Tensor x = empty_strided(form.sizes, Dims(form.sizes.size(), 0), form.dtype, form.device);
        attach_edge(x, {node, output_nr});
        return x;
      },
      "node"_a, "output_nr"_a, "A tensor of the form and with the edge of the one that is meant.");
  m.def(
      "_name_node",
      // No operation: what watches those must not see it.
      [](nb::handle result, const std::string& name) {
        Tensor y = as_tensor(result.ptr());
        if (y->meta && y->meta->grad_fn && !y->base) name_node(y->meta->grad_fn, name);
      },
      "result"_a, "name"_a,
      "Give the node of a new result, of an operation that was composed of others, a name.");
}

void bind_running_backward(nb::module_& m) {
  m.def("_current_graph_task_id", &current_backward_id,
        "The number of the running call of backward; -1 outside.");
  m.def(
      "_will_engine_execute_node",
      [](nb::handle node) {
        check_type(PyObject_TypeCheck(node.ptr(), node_base_type),
                   "will_engine_execute_node: expected a node, got ", Py_TYPE(node.ptr())->tp_name,
                   ".");
        return backward_reaches(node_of(node.ptr()));
      },
      "node"_a, "Whether the running call of backward reaches the node.");
  m.def("_is_backward_to_leaves", &is_backward_to_leaves,
        "Whether the running call of backward goes on to all leaves.");
}

void bind_leaves() {
  def_method(
      "requires_grad_",
      [](Tensor x, bool on) {
        require_grad(x, on);
        return x;
      },
      "requires_grad"_a = true,
      R"(Sets whether gradients are wanted for this tensor, and returns it.
    requires_grad: whether operations on the tensor are recorded from now on.
    >>> facula.zeros(2).requires_grad_()
    tensor([0., 0.], requires_grad=True))"_doc);
  def_method(
      "retain_grad", &retain_grad,
      R"(Makes backward() store the gradient of this result in its .grad, where leaves have theirs.
    >>> x = facula.ones(2, requires_grad=True)
    >>> y = 3 * x
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.]))"_doc);
  def_method("_tensor_hooks", &tensor_hooks);
  def_method("_post_accumulate_hooks", [](const Tensor& x) {
    check(x.requires_grad(),
          "register_post_accumulate_grad_hook: expected a tensor that requires grad, got ", x, ".");
    check(x.is_leaf(), "register_post_accumulate_grad_hook: expected a leaf, got ", x,
          ", a result of operations.");
    return dict_of(x.meta().post_accumulate_hooks);
  });
  def_method(
      "detach_",
      [](Tensor x) {
        check(!x.is_view(), "detach_: a view cannot be detached in place. Use detach().");
        if (x->meta) release_node(std::exchange(x->meta->grad_fn, nullptr));
        x->requires_grad = false;
        return x;
      },
      R"(Cuts this tensor from its history, which makes it a leaf without gradient, and returns it.
    >>> x = facula.ones(2, requires_grad=True)
    >>> (3 * x).detach_()
    tensor([3., 3.]))"_doc);
  def_method(
      "is_inference", [](const Tensor& x) { return x->is_inference; },
      R"(Whether the tensor was made in inference mode.
    >>> with facula.inference_mode():
    ...     facula.zeros(2).is_inference()
    True)"_doc);
  def_method("_is_view", [](const Tensor& x) { return x.is_view(); });
  def_method("_bump_version", [](const Tensor& x) { bump_version(x); });
}

}  // namespace

FACULA_BINDINGS {
  bind_modes(m);
  bind_backward(m);
  bind_edges(m);
  bind_running_backward(m);
  bind_leaves();
  m.def("_push_saved_tensors_hooks", [](nb::handle pack, nb::handle unpack) {
    push_saved_tensor_hooks(pack.ptr(), unpack.ptr());
  });
  m.def("_pop_saved_tensors_hooks", &pop_saved_tensor_hooks);
  m.def(
      "_disable_saved_tensors_hooks",
      [](std::optional<std::string> message) {
        set_saved_tensor_hooks_disabled(message ? message->c_str() : nullptr);
      },
      "message"_a.none());
  m.def("_saved_tensors_hooks_disabled_message", [] {
    const char* message = saved_tensor_hooks_disabled();
    return message ? std::optional<std::string>(message) : std::nullopt;
  });
}

}  // namespace facula
