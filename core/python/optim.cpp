// The steps of the optimisers. Groups and states are the optimiser's own dicts, read at every step:
// whatever the user changes in them counts.
#include "ops/optim/optim.h"

#include <unordered_map>

#include "autograd/node.h"
#include "bind/bind.h"
#include "python/new_tensor.h"

namespace facula {

namespace {

// A name as Python has it, made once. Names are string literals: their address stands for them.
PyObject* key_of(const char* name) {
  static auto& keys = *new std::unordered_map<const void*, PyObject*>;
  PyObject*& key = keys[name];
  if (!key) key = PyUnicode_InternFromString(name);
  return key;
}

// Borrowed; null where there is none.
PyObject* find(PyObject* dict, PyObject* key) {
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (!value && PyErr_Occurred()) throw_python_error();
  return value;
}

nb::object attribute(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttr(object, key_of(name));
  if (!value) throw_python_error();
  return nb::steal(value);
}

const char* type_name(PyObject* object) { return Py_TYPE(object)->tp_name; }

double number_of(const char* optimizer, const char* name, PyObject* object) {
  if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
  Scalar value;
  if (is_tensor(object)) return item(as_tensor(object)).to_double();
  check_type(number_from_object(object, value), optimizer, ": expected a number or a tensor for ",
             name, ", got ", type_name(object), ".");
  return value.to_double();
}

void convert(const char* optimizer, const char* name, PyObject* object, double& to) {
  to = number_of(optimizer, name, object);
}
// A tensor without history is a number like any other.
void convert(const char* optimizer, const char* name, PyObject* object, OptimValue& to) {
  if (is_tensor(object) && is_grad_enabled() && as_tensor(object).requires_grad()) {
    to = OptimValue(reshape(as_tensor(object), {}));
  } else {
    to = OptimValue(number_of(optimizer, name, object));
  }
}

// What Rule::read asks for the options of a group.
struct Options {
  const char* optimizer;
  PyObject* group;

  PyObject* get(const char* name) const {
    PyObject* value = find(group, key_of(name));
    if (!value) {
      PyErr_Format(PyExc_KeyError, "%s: a parameter group has no '%s'.", optimizer, name);
      throw_python_error();
    }
    return value;
  }
  void operator()(const char* name, bool& to) const {
    int truth = PyObject_IsTrue(get(name));
    if (truth < 0) throw_python_error();
    to = truth;
  }
  template <class K>
  void operator()(const char* name, K& to) const {
    convert(optimizer, name, get(name), to);
  }
  template <class K>
  void operator()(const char* name, K& first, K& second) const {
    PyObject* pair = get(name);
    check_type((PyTuple_Check(pair) || PyList_Check(pair)) && PySequence_Fast_GET_SIZE(pair) == 2,
               optimizer, ": expected two numbers for ", name, ", got ", type_name(pair), ".");
    convert(optimizer, name, PySequence_Fast_GET_ITEM(pair, 0), first);
    convert(optimizer, name, PySequence_Fast_GET_ITEM(pair, 1), second);
  }
};

// The dicts of parameters that have no state yet. They join the optimiser's when everything has
// been checked, so that a step that fails leaves no trace.
class NewStates {
 public:
  NewStates(PyObject* optimizer, PyObject* state) : optimizer_(optimizer), state_(state) {}

  // The state of p, borrowed, and whether it starts now: where it is empty, or lacks `first`.
  std::pair<PyObject*, bool> of(const Tensor& p, PyObject* group, const char* first) {
    PyObject* own = find(state_, p.get());
    check_type(!own || PyDict_Check(own), "the state of a parameter must be a dict.");
    PyObject* value = own && first ? find(own, key_of(first)) : nullptr;
    if (own && (first ? value && value != Py_None : PyDict_Size(own) > 0)) return {own, false};
    for (auto& [tensor, dict] : items_)
      if (tensor.is_same(p)) return {dict.ptr(), false};
    nb::object made = attribute(optimizer_, "_new_state")(p, nb::handle(group));
    check_type(PyDict_Check(made.ptr()), "a new state must be a dict.");
    items_.emplace_back(p, std::move(made));
    return {items_.back().second.ptr(), true};
  }
  void join() {
    for (auto& [p, dict] : items_) {
      PyObject* own = find(state_, p.get());
      if ((own ? PyDict_Update(own, dict.ptr()) : PyDict_SetItem(state_, p.get(), dict.ptr())) < 0)
        throw_python_error();
    }
  }

 private:
  PyObject *optimizer_, *state_;
  std::vector<std::pair<Tensor, nb::object>> items_;
};

Tensor tensor_in(PyObject* own, const char* name, const char* optimizer, OptimPlace place) {
  PyObject* value = find(own, key_of(name));
  if (!value) {
    PyErr_Format(PyExc_KeyError, "%s: the state of parameter %lld of group %lld has no '%s'.",
                 optimizer, static_cast<long long>(place.index),
                 static_cast<long long>(place.group), name);
    throw_python_error();
  }
  check_type(is_tensor(value), optimizer, ": expected a tensor as state '", name, "' of ", place,
             ", got ", type_name(value), ".");
  return as_tensor(value);
}

// f(group, its number) for the groups of an optimiser.
template <class F>
void for_each_group(PyObject* groups, F f) {
  check_type(PyList_Check(groups), "param_groups must be a list, got ", type_name(groups), ".");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); ++i) {
    PyObject* group = PyList_GET_ITEM(groups, i);
    nb::object kept = nb::borrow(group);  // whatever Python code does to the list meanwhile
    check_type(PyDict_Check(group), "a parameter group must be a dict, got ", type_name(group),
               ".");
    f(group, i);
  }
}

// f(tensor, its number) for the parameters of a group.
template <class F>
void for_each_param(PyObject* group, F f) {
  PyObject* params = find(group, key_of("params"));
  check_type(params && (PyList_Check(params) || PyTuple_Check(params)),
             "the params of a parameter group must be a list.");
  nb::object kept = nb::borrow(params);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(params); ++i) {
    PyObject* p = PySequence_Fast_GET_ITEM(params, i);
    check_type(is_tensor(p), "the params of a parameter group must be tensors, got ", type_name(p),
               ".");
    f(static_cast<TensorImpl*>(p), i);
  }
}

// One parameter of a step that is composed of operations.
template <template <class> class Rule>
void compose(OptimUpdate& update, const Options& options, bool is_differentiable) {
  GradModeGuard guard(is_differentiable);
  Rule<OptimValue> rule;
  rule.read(options);
  if constexpr (rule.kNumNumbers == 0)
    rule.is_first = reinterpret_cast<const Rule<double>*>(update.rule)->is_first;
  // States of one number have no history: steps are counted, not differentiated.
  OptimValue numbers[OptimUpdate::kMaxNumbers];
  for (int i = 0; i < rule.kNumNumbers; ++i)
    numbers[i] = OptimValue(item(update.numbers[i]).to_double());
  rule.begin(numbers);
  OptimRow row(update);
  rule.update(row);
  row.store(update);
  NoGradGuard no_grad;
  for (int i = 0; i < rule.kNumNumbers; ++i) fill_(update.numbers[i], numbers[i].number());
}

template <template <class> class Rule>
void step(const cpu::OptimTable::Row& kernels, PyObject* optimizer) {
  using Numeric = Rule<double>;
  static_assert(sizeof(Numeric) <= sizeof(OptimUpdate::rule));
  struct Composed {
    OptimUpdate update;
    Options options;
    bool is_differentiable;
  };
  const char* name = type_name(optimizer);
  nb::object groups = attribute(optimizer, "param_groups"), state = attribute(optimizer, "state");
  check_type(PyDict_Check(state.ptr()), name, ": its state must be a dict.");
  NewStates new_states(optimizer, state.ptr());
  std::vector<OptimUpdate> updates;
  std::vector<Composed> composed;

  for_each_group(groups.ptr(), [&](PyObject* group, int64_t group_nr) {
    Options options = {name, group};
    Numeric rule;
    rule.read(options);
    bool is_differentiable = false;
    if (find(group, key_of("differentiable"))) options("differentiable", is_differentiable);
    GradModeGuard guard(is_differentiable);
    for_each_param(group, [&](TensorImpl* p, int64_t index) {
      if (!p->meta || !p->meta->grad) return;
      OptimUpdate update;
      OptimPlace place = {group_nr, index};
      update.param = Tensor::borrow(p);
      update.grad = Tensor::borrow(p->meta->grad);
      if (Numeric::kNumNumbers || rule.has_state(0)) {
        const char* first = Numeric::kNumNumbers ? nullptr : Numeric::kStates[0];
        auto [own, is_new] = new_states.of(update.param, group, first);
        if constexpr (Numeric::kNumNumbers == 0) rule.is_first = is_new;
        for (int i = 0; i < Numeric::kNumNumbers; ++i)
          update.numbers[i] = tensor_in(own, Numeric::kNumbers[i], name, place);
        for (int i = 0; i < Numeric::kNumStates; ++i)
          if (rule.has_state(i))
            update.states[i] = tensor_in(own, Numeric::kStates[i], name, place);
      }
      std::memcpy(update.rule, &rule, sizeof(rule));
      check_optim_update(name, place, update);
      if (is_differentiable || !update.param.is_cpu()) {
        composed.push_back({std::move(update), options, is_differentiable});
      } else {
        updates.push_back(std::move(update));
      }
    });
  });

  new_states.join();
  NoGradGuard guard;
  run_optim_updates(
      kernels, [](void* rule, double* numbers) { static_cast<Numeric*>(rule)->begin(numbers); },
      updates);
  for (Composed& one : composed) compose<Rule>(one.update, one.options, one.is_differentiable);
}

// A gradient that has a history loses it first: the next step is not part of the last.
void zero_grads(PyObject* groups, bool set_to_none) {
  for_each_group(groups, [&](PyObject* group, int64_t) {
    for_each_param(group, [&](TensorImpl* p, int64_t) {
      if (!p->meta || !p->meta->grad) return;
      if (set_to_none) {
        Py_DECREF(std::exchange(p->meta->grad, nullptr));
        return;
      }
      Tensor grad = Tensor::borrow(p->meta->grad);
      if (grad.requires_grad()) {
        grad = alias(grad);
        Py_DECREF(std::exchange(p->meta->grad, Tensor(grad).release()));
      }
      NoGradGuard guard;
      zero_(grad);
    });
  });
}

}  // namespace

FACULA_BINDINGS {
#define FACULA_BIND(Rule, name)                                         \
  m.def(                                                                \
      "_" #name "_step",                                                \
      [](nb::handle optimizer) {                                        \
        step<math::Rule>(cpu::get_optim_table().name, optimizer.ptr()); \
      },                                                                \
      "optimizer"_a);
  FACULA_OPTIM_RULES(FACULA_BIND)
#undef FACULA_BIND
  m.def(
      "_zero_grads",
      [](nb::handle groups, bool set_to_none) { zero_grads(groups.ptr(), set_to_none); },
      "param_groups"_a, "set_to_none"_a);
}

}  // namespace facula
