// The steps of the optimisers: all parameters in one call, or composed of operations on
// tensors. Groups and states are the optimiser's own dicts, read at every step: whatever the user
// changes in them counts.
#include <algorithm>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "autograd/node.h"
#include "autograd/operations.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "bind/sparse.h"
#include "cpu/optim/optim.h"
#include "cuda/optim/optim.h"
#include "ops/ops.h"

namespace facula {

namespace {

// One parameter and what its rule (math/optim.h) reads and writes.
struct OptimUpdate {
  static constexpr int kMaxStates = 3, kMaxNumbers = 3;
  Tensor param, grad;
  Tensor states[kMaxStates];    // undefined where the rule has none
  Tensor numbers[kMaxNumbers];  // of one element each
  alignas(
      double) unsigned char rule[kOptimRuleBytes];  // over double, with the options of the group
};

// Which parameter, in errors: "parameter 0 of group 1".
struct OptimPlace {
  int64_t group, index;
};
std::ostream& operator<<(std::ostream& out, OptimPlace place) {
  return out << "parameter " << place.index << " of group " << place.group;
}

template <class F>
void for_each_state(const OptimUpdate& update, F f) {
  for (int i = 0; i < OptimUpdate::kMaxStates; ++i)
    if (update.states[i].defined()) f(i, update.states[i]);
}

// ---- all parameters in one call

// A rule on the CPU and on GPUs.
struct OptimKernels {
  const cpu::OptimTable::Row& on_cpu;
  cuda::OptimStep on_gpu;
};

constexpr int64_t kOptimGrain = 8192;
constexpr int kMaxArrays = 2 + OptimUpdate::kMaxStates;
static_assert(kMaxArrays == kOptimArrays);

// An update as the kernel sees it: arrays of n real elements in one order.
struct Flat {
  char* arrays[kMaxArrays] = {};
  int64_t n, itemsize;
  cpu::OptimKernel kernel;  // null on a GPU
  const void* rule;
  Device device;
  DType dtype;
};

// A copy in the order of the kernel, of a tensor that is stored in another; written back at the
// end.
struct Stand {
  Tensor copy, original;
};

bool has_strides(const Tensor& x, const Dims& strides) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.stride(d) != strides[d] && x.size(d) != 1) return false;
  return true;
}

Flat flatten(const OptimKernels& kernels, const OptimUpdate& update, std::vector<Stand>& stands) {
  const Tensor& p = update.param;
  Dims strides = p.is_contiguous() || is_non_overlapping_and_dense(p.sizes(), p.strides())
                     ? p.strides()
                     : contiguous_strides(p.sizes());
  auto data = [&](const Tensor& x, bool is_written) {
    bool is_clear = x.storage() != p.storage() || x.address() == p.address();
    if (is_clear && x.dtype() == p.dtype() && has_strides(x, strides)) return x.address();
    Tensor copy = empty_strided(p.sizes(), strides, p.dtype(), p.device());
    copy_into(copy, x);
    stands.push_back({copy, is_written ? x : Tensor()});
    return copy.address();
  };
  DType dtype = to_real_dtype(p.dtype());
  Flat flat;
  flat.n = is_complex(p.dtype()) ? 2 * p.numel() : p.numel();
  flat.itemsize = item_size(dtype);
  flat.kernel = p.is_cpu() ? kernels.on_cpu[static_cast<int>(dtype)] : nullptr;
  flat.rule = update.rule;
  flat.device = p.device();
  flat.dtype = dtype;
  flat.arrays[0] = data(p, true);
  flat.arrays[1] = data(update.grad, false);
  for_each_state(update, [&](int i, const Tensor& x) { flat.arrays[2 + i] = data(x, true); });
  return flat;
}

// Elements [begin, end) of an update.
void run_flat(const Flat& flat, int64_t begin, int64_t end) {
  char* arrays[kMaxArrays];
  for (int i = 0; i < kMaxArrays; ++i)
    arrays[i] = flat.arrays[i] ? flat.arrays[i] + begin * flat.itemsize : nullptr;
  flat.kernel(arrays, flat.rule, end - begin);
}

void begin_rule(void (*begin)(void*, double*), OptimUpdate& update) {
  double numbers[OptimUpdate::kMaxNumbers];
  auto is_double = [&](int i) { return update.numbers[i].dtype() == DType::Float64; };
  int n = 0;
  for (; n < OptimUpdate::kMaxNumbers && update.numbers[n].defined(); ++n)
    numbers[n] =
        is_double(n) ? *update.numbers[n].data_as<double>() : *update.numbers[n].data_as<float>();
  begin(update.rule, numbers);
  for (int i = 0; i < n; ++i) {
    if (is_double(i)) {
      *update.numbers[i].data_as<double>() = numbers[i];
    } else {
      *update.numbers[i].data_as<float>() = static_cast<float>(numbers[i]);
    }
    bump_version(update.numbers[i]);
  }
}

// The elements of all updates, one after the other, are cut into pieces.
void run_on_cpu(const std::vector<Flat>& flats) {
  std::vector<int64_t> ends;
  ends.reserve(flats.size());
  int64_t total = 0;
  for (const Flat& flat : flats) ends.push_back(total += flat.n);
  parallel_for(total, kOptimGrain, [&](int64_t from, int64_t to) {
    size_t i = std::upper_bound(ends.begin(), ends.end(), from) - ends.begin();
    for (; from < to; ++i) {
      int64_t start = ends[i] - flats[i].n, end = std::min(to, ends[i]);
      run_flat(flats[i], from - start, end - start);
      from = end;
    }
  });
}

// In a launch for each device and dtype.
void run_on_gpus(cuda::OptimStep step, const std::vector<Flat>& flats) {
  std::map<std::pair<int8_t, DType>, std::vector<OptimSlice>> slices;
  for (const Flat& flat : flats) {
    OptimSlice slice = {};
    std::copy_n(flat.arrays, kMaxArrays, slice.arrays);
    slice.n = flat.n;
    std::memcpy(slice.rule, flat.rule, sizeof(slice.rule));
    slices[{flat.device.index, flat.dtype}].push_back(slice);
  }
  for (auto& [place, own] : slices) step({DeviceType::CUDA, place.first}, place.second, own);
}

// Updates that share no memory.
void run_together(const OptimKernels& kernels, void (*begin)(void*, double*), OptimUpdate* updates,
                  size_t n_updates) {
  std::vector<Flat> on_cpu, on_gpus;
  std::vector<Stand> stands;
  on_cpu.reserve(n_updates);
  for (size_t i = 0; i < n_updates; ++i) {
    Flat flat = flatten(kernels, updates[i], stands);
    if (flat.kernel) on_cpu.push_back(flat);
    if (flat.device.is_cuda()) on_gpus.push_back(flat);
  }
  for (size_t i = 0; i < n_updates; ++i) begin_rule(begin, updates[i]);
  run_on_cpu(on_cpu);
  if (!on_gpus.empty()) run_on_gpus(kernels.on_gpu, on_gpus);
  for (Stand& stand : stands)
    if (stand.original.defined()) copy_into(stand.original, stand.copy);
  for (size_t i = 0; i < n_updates; ++i) {
    bump_version(updates[i].param);
    for_each_state(updates[i], [](int, const Tensor& x) { bump_version(x); });
  }
}

// Whether a write to one parameter may be seen by the update of another.
bool share_memory(const std::vector<OptimUpdate>& updates) {
  if (updates.size() < 2) return false;
  std::vector<Storage*> written;
  written.reserve(updates.size());
  for (const OptimUpdate& update : updates) written.push_back(update.param.storage());
  std::sort(written.begin(), written.end());
  if (std::adjacent_find(written.begin(), written.end()) != written.end()) return true;
  return std::any_of(updates.begin(), updates.end(), [&](const OptimUpdate& update) {
    return std::binary_search(written.begin(), written.end(), update.grad.storage());
  });
}

// Raises unless the tensors of an update fit each other and may be written to.
void check_optim_update(const char* optimizer, OptimPlace place, const OptimUpdate& update) {
  const Tensor &p = update.param, &g = update.grad;
  check(is_differentiable(p.dtype()), optimizer, ": ", place, " is ", p,
        ": only floating-point and complex parameters can be optimised.");
  check(g.sizes() == p.sizes() && g.dtype() == p.dtype() && g.device() == p.device(), optimizer,
        ": ", place, " is ", p, " on ", p.device(), ", but its gradient is ", g, " on ", g.device(),
        ".");
  check_inplace(optimizer, p);
  for_each_state(update, [&](int, const Tensor& x) {
    check(x.sizes() == p.sizes() && x.device() == p.device() && can_cast(x.dtype(), p.dtype()),
          optimizer, ": ", place, " is ", p, " on ", p.device(), ", but its state is ", x, " on ",
          x.device(), ". Was the state of another optimiser loaded?");
    check_inplace(optimizer, x);
  });
  for (const Tensor& x : update.numbers)
    check(!x.defined() || (x.numel() == 1 && x.is_cpu() &&
                           (x.dtype() == DType::Float32 || x.dtype() == DType::Float64)),
          optimizer, ": ", place, " has a count of steps that is ", x,
          ": expected one float32 number on the CPU.");
}

// Runs updates that were checked before; `begin` is the rule's.
void run_optim_updates(const OptimKernels& kernels, void (*begin)(void*, double*),
                       std::vector<OptimUpdate>& updates) {
  if (!share_memory(updates)) return run_together(kernels, begin, updates.data(), updates.size());
  for (OptimUpdate& update : updates) run_together(kernels, begin, &update, 1);
}

// ---- composed of operations on tensors

// A number of a rule, or a whole tensor: what a rule is written over where it is composed of
// operations. Numbers stay numbers, so that they do not take part in type promotion.
class OptimValue {
 public:
  OptimValue() = default;
  OptimValue(double number) : number_(number) {}
  OptimValue(Tensor tensor) : tensor_(std::move(tensor)) {}
  bool is_number() const { return !tensor_.defined(); }
  double number() const { return is_number() ? number_ : item(tensor_).to_double(); }
  Tensor tensor() const { return is_number() ? wrapped_number(number_) : tensor_; }

 private:
  Tensor tensor_;
  double number_ = 0;
};

#define FACULA_VALUE_OPERATOR(op)                                                    \
  OptimValue operator op(const OptimValue& a, const OptimValue& b) {                 \
    if (a.is_number() && b.is_number()) return OptimValue(a.number() op b.number()); \
    return OptimValue(a.tensor() op b.tensor());                                     \
  }
FACULA_VALUE_OPERATOR(+)
FACULA_VALUE_OPERATOR(-)
FACULA_VALUE_OPERATOR(*)
FACULA_VALUE_OPERATOR(/)
#undef FACULA_VALUE_OPERATOR
OptimValue operator-(const OptimValue& a) { return OptimValue(0.0) - a; }
OptimValue operator<(const OptimValue& a, const OptimValue& b) {
  return lt(a.tensor(), b.tensor());
}
OptimValue operator>(const OptimValue& a, const OptimValue& b) { return b < a; }
OptimValue select(const OptimValue& mask, const OptimValue& a, const OptimValue& b) {
  return where(mask.tensor(), a.tensor(), b.tensor());
}
OptimValue max(const OptimValue& a, const OptimValue& b) { return maximum(a.tensor(), b.tensor()); }
OptimValue min(const OptimValue& a, const OptimValue& b) { return minimum(a.tensor(), b.tensor()); }
OptimValue abs(const OptimValue& a) { return abs(a.tensor()); }
OptimValue sqrt(const OptimValue& a) {
  return a.is_number() ? OptimValue(std::sqrt(a.number())) : OptimValue(sqrt(a.tensor()));
}
OptimValue raised(const OptimValue& base, const OptimValue& exponent) {
  if (base.is_number() && exponent.is_number())
    return OptimValue(std::pow(base.number(), exponent.number()));
  return pow(base.tensor(), exponent.tensor());
}
bool is_zero(const OptimValue& a) { return a.is_number() && a.number() == 0; }
double number(const OptimValue& a) { return a.number(); }

// Complex numbers are pairs of real ones to every rule.
Tensor real_view(const Tensor& x) { return is_complex(x.dtype()) ? view_as_real(x) : x; }
Tensor as_value(const Tensor& x) { return is_grad_enabled() ? clone(real_view(x)) : real_view(x); }
void store_value(const Tensor& x, const OptimValue& value) {
  Tensor destination = real_view(x);
  copy_(destination, value.tensor());
}

// The row of a rule that is composed: reads copies, since the graph may keep what it reads, and
// keeps what is new until store().
class OptimRow {
 public:
  using V = OptimValue;
  explicit OptimRow(const OptimUpdate& update)
      : param_(as_value(update.param)), grad_(as_value(update.grad)) {
    for_each_state(update, [&](int i, const Tensor& x) { states_[i] = as_value(x); });
  }
  V param() const { return param_; }
  V grad() const { return grad_; }
  V state(int i) const { return states_[i]; }
  void set_param(V v) { param_ = std::move(v); }
  void set_state(int i, V v) { states_[i] = std::move(v); }
  void store(OptimUpdate& update) const {
    store_value(update.param, param_);
    for_each_state(update, [&](int i, const Tensor& x) { store_value(x, states_[i]); });
  }

 private:
  V param_, grad_, states_[OptimUpdate::kMaxStates];
};

// ---- the dicts of an optimiser

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
  template <class Member, class... More>
  void operator()(const char* name, Member&& member, More&&... more) const {
    set(name, member);
    if constexpr (sizeof...(More) > 0) (*this)(more...);
  }

 private:
  void set(const char* name, bool& to) const {
    int truth = PyObject_IsTrue(get(name));
    if (truth < 0) throw_python_error();
    to = truth;
  }
  template <class K>
  void set(const char* name, K& to) const {
    convert(optimizer, name, get(name), to);
  }
  template <class K>
  void set(const char* name, math::Members<K>& to) const {
    PyObject* pair = get(name);
    check_type((PyTuple_Check(pair) || PyList_Check(pair)) && PySequence_Fast_GET_SIZE(pair) == 2,
               optimizer, ": expected two numbers for ", name, ", got ", type_name(pair), ".");
    convert(optimizer, name, PySequence_Fast_GET_ITEM(pair, 0), to.first);
    convert(optimizer, name, PySequence_Fast_GET_ITEM(pair, 1), to.second);
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
  check(!as_tensor(value).is_lazy(), optimizer, ": state '", name, "' of ", place,
        " is a conjugate or negated view. Use its clone().");
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

// Whether a rule has the member is_first, which says that this step made the state.
template <class Rule, class = void>
constexpr bool kAsksForFirst = false;
template <class Rule>
constexpr bool kAsksForFirst<Rule, std::void_t<decltype(Rule::is_first)>> = true;

// One parameter of a step that is itself differentiated.
template <template <class> class Rule>
void compose(OptimUpdate& update, const Options& options) {
  GradModeGuard guard(true);
  Rule<OptimValue> rule;
  rule.read(options);
  if constexpr (kAsksForFirst<Rule<double>>)
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
void step(const OptimKernels& kernels, PyObject* optimizer) {
  using Numeric = Rule<double>;
  static_assert(sizeof(Numeric) <= sizeof(OptimUpdate::rule));
  struct Composed {
    OptimUpdate update;
    Options options;
  };
  const char* name = type_name(optimizer);
  nb::object groups = attribute(optimizer, "param_groups"), state = attribute(optimizer, "state");
  check_type(PyDict_Check(state.ptr()), name, ": its state must be a dict.");
  NewStates new_states(optimizer, state.ptr());
  std::vector<OptimUpdate> updates;
  std::vector<Composed> composed;
  std::vector<nb::object> sparse_updates;  // to be called
  std::vector<std::pair<Tensor, Tensor>> lazy_params;

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
      update.grad = graph::resolved(Tensor::borrow(p->meta->grad));
      check(!is_sparse(update.param) || is_sparse(update.grad), name, ": ", place, " is a sparse ",
            update.param, ", whose gradient must be sparse too. Use facula.sparse.mm, not @.");
      if (is_sparse(update.grad)) {
        sparse_updates.push_back(
            attribute(optimizer, "_sparse_update")(update.param, nb::handle(group)));
        return;
      }
      if (Numeric::kNumNumbers || rule.has_state(0)) {
        const char* first = Numeric::kNumNumbers ? nullptr : Numeric::kStates[0];
        auto [own, is_new] = new_states.of(update.param, group, first);
        if constexpr (kAsksForFirst<Numeric>) rule.is_first = is_new;
        for (int i = 0; i < Numeric::kNumNumbers; ++i)
          update.numbers[i] = tensor_in(own, Numeric::kNumbers[i], name, place);
        for (int i = 0; i < Numeric::kNumStates; ++i)
          if (rule.has_state(i))
            update.states[i] = tensor_in(own, Numeric::kStates[i], name, place);
      }
      std::memcpy(update.rule, &rule, sizeof(rule));
      if (update.param.is_lazy()) {  // stepped as a copy, which is written back
        check(!is_differentiable, name, ": ", place,
              " is a conjugate or negated view, which a differentiable step cannot change.");
        lazy_params.emplace_back(update.param, clone(update.param));
        update.param = lazy_params.back().second;
      }
      check_optim_update(name, place, update);
      if (is_differentiable) {
        composed.push_back({std::move(update), options});
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
  for (auto& [param, copy] : lazy_params) copy_(param, copy);
  for (Composed& one : composed) compose<Rule>(one.update, one.options);
  for (nb::object& update : sparse_updates) update();
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
        grad = is_sparse(grad) ? sparse::call("detach", grad) : alias(grad);
        Py_DECREF(std::exchange(p->meta->grad, Tensor(grad).release()));
      }
      NoGradGuard guard;
      if (is_sparse(grad)) {
        sparse::call("zero_", grad);
      } else {
        zero_(grad);
      }
    });
  });
}

}  // namespace

FACULA_BINDINGS {
#define FACULA_BIND(Rule, name)                                                                   \
  m.def(                                                                                          \
      "_" #name "_step",                                                                          \
      [](nb::handle optimizer) {                                                                  \
        step<math::Rule>({cpu::get_optim_table().name, cuda::kOptimSteps.name}, optimizer.ptr()); \
      },                                                                                          \
      "optimizer"_a);
  FACULA_OPTIM_RULES(FACULA_BIND)
#undef FACULA_BIND
  m.def(
      "_zero_grads",
      [](nb::handle groups, bool set_to_none) { zero_grads(groups.ptr(), set_to_none); },
      "param_groups"_a, "set_to_none"_a);
}

}  // namespace facula
