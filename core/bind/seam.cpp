#include "bind/seam.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "autograd/operations.h"
#include "bind/autocast.h"
#include "bind/bind.h"
#include "bind/sparse.h"
#include "tensor/modes.h"

namespace facula::seam {

std::atomic<int64_t> n_users{0};
std::atomic<int64_t> n_transforms{0};

namespace {

std::atomic<bool> uses_dispatch{false};

struct Mode {
  PyObject* object;    // owned
  PyObject* composed;  // of a transform: the set of composed operations it has rules for; owned

  bool is_transform() const { return composed != nullptr; }
};

struct ThisThread {
  std::vector<Mode> modes;  // the innermost is the last
  Disabled disabled = Disabled::Nothing;
  PyObject* counts = nullptr;  // a dict, owned; null if nobody counts
  int n_levels = 0;
  std::vector<Watcher*> watchers;
  bool is_watching = false;  // a watcher is at work
  bool is_resumed = false;   // the next entry is that of a call which has entered before
  bool is_below = false;     // __torch_dispatch__ is not asked
};
thread_local ThisThread this_thread;

PyObject* torch_function;                      // "__torch_function__", interned
PyObject* disabled_function;                   // what a class has there that overrides nothing
PyObject* torch_dispatch;                      // "__torch_dispatch__", interned
PyObject* disabled_dispatch;                   // what Tensor has there
std::unordered_set<PyObject*> for_modes_only;  // functions that take any object as data

// ---- who overrides

bool is_plain(PyTypeObject* type) {
  return type == tensor_type || type == &PyFloat_Type || type == &PyLong_Type ||
         type == &PyBool_Type || type == Py_TYPE(Py_None) || type == &PyUnicode_Type ||
         type == &PyComplex_Type;
}

// Kept: a handler may take them out of the list that they were found in.
using Objects = std::vector<nb::object>;

// Left to right, one of each type, subclasses before the classes that they are made of.
void add_overriding(PyObject* object, Objects& found) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_plain(type) || !overrides(type)) return;
  for (const nb::object& other : found)
    if (Py_TYPE(other.ptr()) == type) return;
  auto place = found.begin();
  while (place != found.end() && !PyType_IsSubtype(type, Py_TYPE(place->ptr()))) ++place;
  found.insert(place, nb::borrow(object));
}

Objects overriding(const Arguments& args) {
  Objects found;
  size_t n = args.n + (args.names ? PyTuple_GET_SIZE(args.names) : 0);
  for (size_t i = 0; i < n; ++i) {
    PyObject* arg = args.values[i];
    bool is_list = PyTuple_Check(arg) || PyList_Check(arg);
    // A named tuple of values may stand for one tensor.
    bool is_plain_list = PyTuple_CheckExact(arg) || PyList_CheckExact(arg);
    if (!is_list || (!is_plain_list && overrides(Py_TYPE(arg)))) {
      add_overriding(arg, found);
      continue;
    }
    // Lists of tensors are short, lists of numbers need not be.
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k) {
      PyObject* part = PySequence_Fast_GET_ITEM(arg, k);
      if (PyLong_Check(part) || PyFloat_Check(part)) break;
      add_overriding(part, found);
    }
  }
  return found;
}

// ---- asking them

nb::object function_of(const Operation& operation) {
  if (operation.function) return nb::borrow(operation.function);
  auto attribute = [&] { return nb::handle(tensor_type->tp_dict)[operation.attribute]; };
  if (!operation.accessor) return attribute();
  // Kept: whoever looks at a property of a sparse tensor asks for it.
  static auto* accessors = new std::map<std::pair<const char*, const char*>, nb::object>;
  nb::object& accessor = (*accessors)[{operation.attribute, operation.accessor}];
  if (!accessor.is_valid()) accessor = attribute().attr(operation.accessor);
  return accessor;
}

nb::object ask(PyObject* whom, const nb::tuple& told, bool warns_of_method) {
  nb::object handler = nb::steal(PyObject_GetAttr(whom, torch_function));
  if (!handler.is_valid()) throw nb::python_error();
  if (warns_of_method && PyMethod_Check(handler.ptr()) &&
      PyMethod_GET_SELF(handler.ptr()) == whom &&
      PyErr_WarnEx(PyExc_UserWarning,
                   "Defining your `__torch_function__` as a plain method is deprecated and will be "
                   "an error in future, please define it as a classmethod.",
                   1))
    throw nb::python_error();
  Level level;  // no Python frame, which would be counted, need lie between a handler and the next
  nb::object answer = nb::steal(PyObject_Call(handler.ptr(), told.ptr(), nullptr));
  if (!answer.is_valid()) throw nb::python_error();
  return answer;
}

[[noreturn]] void fail_all(nb::handle function, PyObject* mode, const Objects& asked) {
  DisabledGuard guard(Disabled::All);  // the first import of a module is nobody's operation
  nb::object name = nb::module_::import_("facula.overrides").attr("resolve_name")(function);
  std::string text = "Multiple dispatch failed for '";
  text += nb::str(name.is_none() ? nb::repr(function) : name).c_str();
  text += "'; all __torch_function__ handlers returned NotImplemented:\n";
  if (mode) text += std::string("\n  - mode object ") + nb::repr(nb::handle(mode)).c_str();
  for (const nb::object& object : asked)
    text += std::string(is_tensor(object.ptr()) ? "\n  - tensor subclass " : "\n  - object of ") +
            nb::repr(object.type()).c_str();
  fail(ErrorKind::Type, text);
}

// How many of the modes count for an operation: the innermost of those is asked. 0: none is.
size_t n_asked_modes(const Operation& operation) {
  const std::vector<Mode>& modes = this_thread.modes;
  bool sees_transforms_only = operation.is_private || this_thread.disabled == Disabled::All;
  for (size_t n = modes.size(); n > 0; --n) {
    const Mode& mode = modes[n - 1];
    if (!mode.is_transform()) {
      if (sees_transforms_only) continue;
      return n;
    }
    // Without a rule the transform waits for the parts, and no mode further out may see the whole.
    bool is_asked = !operation.is_composed ||
                    (operation.function && PySet_Contains(mode.composed, operation.function) > 0);
    return is_asked ? n : 0;
  }
  return 0;
}

// A user's function that asks by itself: transforms see what it does, not the function.
constexpr Operation kOtherFunction{.is_composed = true};

// The mode that is asked, which is out of the way meanwhile, with those inside of it.
class AskedMode {
 public:
  explicit AskedMode(size_t n_asked) {
    std::vector<Mode>& modes = this_thread.modes;
    away_.assign(modes.begin() + static_cast<ptrdiff_t>(n_asked) - 1, modes.end());
    modes.resize(n_asked - 1);
  }
  ~AskedMode() { this_thread.modes.insert(this_thread.modes.end(), away_.begin(), away_.end()); }
  AskedMode(const AskedMode&) = delete;
  PyObject* get() const { return away_.front().object; }

 private:
  std::vector<Mode> away_;
};

// Asks the last of `n_asked` modes, then the objects. `told` is what __torch_function__ is called
// with: the function, the types of the objects, the arguments, and those by name if there are any.
PyObject* dispatch(const nb::tuple& told, const Objects& found, size_t n_asked) {
  PyObject* mode = nullptr;
  if (n_asked > 0) {
    AskedMode asked(n_asked);
    mode = asked.get();
    nb::object answer = ask(mode, told, /*warns_of_method=*/false);
    if (!answer.is(Py_NotImplemented)) return answer.release().ptr();
  }
  for (const nb::object& object : found) {
    nb::object answer = ask(object.ptr(), told, /*warns_of_method=*/true);
    if (!answer.is(Py_NotImplemented)) return answer.release().ptr();
  }
  fail_all(told[0], mode, found);
}

nb::tuple types_of(const Objects& objects) {
  nb::list types;
  for (const nb::object& object : objects) types.append(object.type());
  return nb::tuple(types);
}

// The types with Tensor among them, if an argument is one: in its place, but behind subclasses.
nb::tuple with_plain_tensors(const nb::tuple& types, const Arguments& args, const Objects& found) {
  size_t n = args.n + (args.names ? static_cast<size_t>(PyTuple_GET_SIZE(args.names)) : 0);
  for (size_t i = 0; i < n; ++i) {
    if (Py_TYPE(args.values[i]) != tensor_type) continue;
    nb::object plain = nb::make_tuple(nb::handle(reinterpret_cast<PyObject*>(tensor_type)));
    bool is_first = !is_tensor(found[0].ptr()) && args.values[0] == args.values[i];
    return nb::tuple(is_first ? plain + nb::object(types) : nb::object(types) + plain);
  }
  return types;
}

nb::tuple tuple_of(const Arguments& args) {
  nb::tuple positional = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(args.n)));
  if (!positional.is_valid()) throw nb::python_error();
  for (size_t i = 0; i < args.n; ++i)
    PyTuple_SET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(args.values[i]));
  return positional;
}

PyObject* dispatch(const Operation& operation, const Arguments& args, const Objects& found,
                   size_t n_asked) {
  nb::object function = function_of(operation);
  nb::tuple types = found.empty() && operation.is_unary
                        ? nb::make_tuple(nb::handle(args.values[0]).type())
                        : types_of(found);
  if (operation.is_composed && !found.empty()) types = with_plain_tensors(types, args, found);
  if (!args.names && !operation.is_composed)
    return dispatch(nb::make_tuple(function, types, tuple_of(args)), found, n_asked);
  auto [positional, named] = unpack(args);
  return dispatch(nb::make_tuple(function, types, positional, named), found, n_asked);
}

bool count(const Operation& operation) {
  return guarded([&]() -> PyObject* {
           nb::object name;
           if (operation.function) {
             name = nb::getattr(operation.function, "__qualname__");
           } else {
             std::string text = std::string("Tensor.") + operation.attribute;
             if (operation.accessor) text += std::string(".") + operation.accessor;
             name = nb::str(text.c_str());
           }
           nb::dict counts = nb::borrow<nb::dict>(this_thread.counts);
           counts[name] = nb::cast<int64_t>(counts.get(name, nb::int_(0))) + 1;
           return Py_None;
         }) != nullptr;
}

}  // namespace

Unpacked unpack(const Arguments& args) {
  nb::dict named;
  for (Py_ssize_t i = 0; args.names && i < PyTuple_GET_SIZE(args.names); ++i)
    named[nb::handle(PyTuple_GET_ITEM(args.names, i))] = nb::handle(args.values[args.n + i]);
  return {tuple_of(args), named};
}

bool overrides(PyTypeObject* type) {
  PyObject* found = _PyType_Lookup(type, torch_function);
  return found && found != disabled_function && type != tensor_type;
}

bool dispatches(PyTypeObject* type) {
  PyObject* found = _PyType_Lookup(type, torch_dispatch);
  return found && found != disabled_dispatch;
}

Disabled disabled() noexcept { return this_thread.disabled; }
void set_disabled(Disabled value) noexcept { this_thread.disabled = value; }

Level::Level() {
  constexpr int kMaxLevels = 300;
  if (this_thread.n_levels >= kMaxLevels) {
    PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded in __torch_function__");
    throw nb::python_error();
  }
  ++this_thread.n_levels;
}
Level::~Level() { --this_thread.n_levels; }

nb::object call_without_subclasses(nb::handle function, nb::handle args, nb::handle kwargs) {
  bool has_names = kwargs.is_valid() && !kwargs.is_none();
  check_type(!has_names || PyDict_Check(kwargs.ptr()),
             "__torch_function__: expected a dict or None as kwargs, got ",
             has_names ? Py_TYPE(kwargs.ptr())->tp_name : "", ".");
  DisabledGuard guard(Disabled::Subclasses);
  nb::tuple positional = args.is_valid() ? nb::tuple(args) : nb::tuple();
  nb::object result = nb::steal(
      PyObject_Call(function.ptr(), positional.ptr(), has_names ? kwargs.ptr() : nullptr));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

void add_class() {
  static const bool added = (++n_users, true);
  (void)added;
}

void use_dispatch() {
  static const bool added = (++n_users, ++n_transforms, uses_dispatch = true);
  (void)added;
}

PyObject* resume(PyObject* function, const Arguments& args) noexcept {
  this_thread.is_resumed = true;
  PyObject* result = PyObject_Vectorcall(function, args.values, args.n, args.names);
  this_thread.is_resumed = false;  // in case that the function never entered
  return result;
}

void add_watcher(Watcher* watcher) {
  this_thread.watchers.push_back(watcher);
  ++n_users;
}

bool remove_watcher(Watcher* watcher) {
  auto& all = this_thread.watchers;
  auto at = std::find(all.begin(), all.end(), watcher);
  if (at == all.end()) return false;
  all.erase(at);
  --n_users;
  return true;
}

namespace {

// What those who do not take calls need to know of an operation, found when they first meet it.
struct Known {
  nb::object function;
  PyObject* name;  // owned
  autocast::Policies policies;
};

// As PyTorch names operations internally: "add", also for the method; "linalg_inv", "fft_fft".
std::string internal_name(nb::handle function) {
  std::string name = nb::str(nb::getattr(function, "__name__", nb::str(""))).c_str();
  if (name.rfind("__", 0) != 0 && name.rfind('_', 0) == 0) name.erase(0, 1);
  std::string module = nb::str(nb::getattr(function, "__module__", nb::str(""))).c_str();
  for (const char* room : {"linalg", "fft"})
    if (module.rfind(std::string("facula.") + room, 0) == 0) return room + ("_" + name);
  return name;
}

const Known& known(const Operation& operation) {
  static auto* all = new std::unordered_map<const void*, Known>;
  const void* key = operation.function ? static_cast<const void*>(operation.function)
                                       : static_cast<const void*>(operation.attribute);
  auto place = all->find(key);
  if (place != all->end()) return place->second;
  nb::object function = function_of(operation);
  std::string name = internal_name(function);
  return (*all)[key] = {function, PyUnicode_InternFromString(name.c_str()),
                        autocast::policies_of(name)};
}

// Tells the watchers of the beginning and the end of a call. Those who come meanwhile hear nothing,
// those who leave nothing more.
class Watched {
 public:
  Watched(const Known& what, const Arguments& args) : args_(args), told_(this_thread.watchers) {
    tell([&](Watcher& watcher) { watcher.begin(what.name, args); });
  }
  void end(PyObject* result) {
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    try {
      tell([&](Watcher& watcher) { watcher.end(args_, result); });
    } catch (...) {  // its error takes the place of the answer
      for (PyObject* object : {type, error, traceback, result}) Py_XDECREF(object);
      throw;
    }
    PyErr_Restore(type, error, traceback);
  }

 private:
  template <class F>
  void tell(F&& f) {
    this_thread.is_watching = true;
    struct Reset {
      ~Reset() { this_thread.is_watching = false; }
    } reset;
    for (Watcher* watcher : told_) {
      const auto& all = this_thread.watchers;
      if (std::find(all.begin(), all.end(), watcher) != all.end()) f(*watcher);
    }
  }
  const Arguments& args_;
  std::vector<Watcher*> told_;
};

// False if the call can go on as it is.
bool perform(const Operation& operation, const Arguments& args, bool is_watched,
             PyObject*& result) {
  const Known& what = known(operation);
  auto call_cast = [&] {
    return autocast::is_on() &&
           autocast::call(what.policies, what.function.ptr(), operation.is_composed, args, result);
  };
  if (!is_watched) return call_cast();
  Watched watched(what, args);
  if (!call_cast()) result = resume(what.function.ptr(), args);
  watched.end(result);
  return true;
}

// ---- volatile, of PyTorch before 0.4

std::atomic<bool> uses_volatile{false};

bool is_in_place(const Operation& operation) {
  if (!operation.function) return std::strcmp(operation.attribute, "__setitem__") == 0;
  std::string name = nb::str(nb::getattr(operation.function, "__name__", nb::str(""))).c_str();
  bool is_operator = name.size() > 3 && name.compare(0, 3, "__i") == 0;
  return !name.empty() && (name.back() == '_' && (name[0] != '_' || is_operator));
}

// Whether the results are volatile because an argument is, be it one that has no gradient, such as
// an index or a mask.
bool spreads_volatile(const Operation& operation, const Arguments& args) {
  bool is_any = false;
  auto look = [&](PyObject* object) {
    is_any |= is_tensor(object) && as_tensor(object)->is_volatile;
  };
  const size_t n = args.n + (args.names ? PyTuple_GET_SIZE(args.names) : 0);
  for (size_t i = 0; i < n; ++i) {
    PyObject* arg = args.values[i];
    look(arg);
    if (!PyTuple_Check(arg) && !PyList_Check(arg)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k) {
      PyObject* part = PySequence_Fast_GET_ITEM(arg, k);
      if (PyLong_Check(part) || PyFloat_Check(part)) break;
      look(part);
    }
  }
  // A leaf that wants a gradient is not written to: the operation itself says so.
  return is_any && !(is_tensor(args.values[0]) && as_tensor(args.values[0]).is_leaf() &&
                     as_tensor(args.values[0]).requires_grad() && is_in_place(operation));
}

void make_volatile(PyObject* result) {
  if (is_tensor(result)) {
    Tensor x = as_tensor(result);
    if (!x.is_leaf() && !x.is_view()) {
      nb::object cut = nb::borrow(result).attr("detach_")();
      (void)cut;
    }
    x->is_volatile = true;
    x->requires_grad = false;
  } else if (PyTuple_Check(result) || PyList_Check(result)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(result); ++k)
      make_volatile(PySequence_Fast_GET_ITEM(result, k));
  }
}

}  // namespace

namespace {

// ---- lazy views

std::atomic<int64_t> n_lazy{0};  // tensors with marks

[[maybe_unused]] const bool is_counting = [] {
  count_lazy = [](int64_t change) {
    n_lazy += change;
    n_users += change;
    n_transforms += change;
  };
  return true;
}();

// The operations of tables/lazy.def, which take tensors with marks: by name until functions are
// bound, then also as objects.
const std::unordered_set<std::string>& names_for_lazy() {
  static auto* names = new std::unordered_set<std::string>{
#define LAZY(name) name,
#include "tables/lazy.def"
#undef LAZY
  };
  return *names;
}
std::unordered_set<PyObject*> functions_for_lazy;

bool takes_lazy(const Operation& operation) {
  if (operation.is_composed || operation.accessor) return true;
  if (operation.function) return functions_for_lazy.count(operation.function) > 0;
  return names_for_lazy().count(operation.attribute) > 0;
}

// The arguments of a call with copies in the place of tensors with marks. What is written to a copy
// is written to the tensor when the call is over.
class Copies {
 public:
  explicit Copies(const Arguments& args) {
    size_t n = args.n + (args.names ? static_cast<size_t>(PyTuple_GET_SIZE(args.names)) : 0);
    for (size_t i = 0; i < n; ++i) values_.push_back(copied(args.values[i]));
    for (const nb::object& value : values_) pointers_.push_back(value.ptr());
  }
  bool is_empty() const { return copies_.empty(); }
  PyObject* const* values() const { return pointers_.data(); }

  // The result, with the tensors in it that stood for others as those.
  nb::object finish(nb::object result) {
    for (Copy& copy : copies_)
      if (copy.of.version() != copy.version) write_back(copy);
    if (Tensor* own = find(result.ptr())) return nb::steal(wrap(*own));
    if (PyTuple_Check(result.ptr()) && Py_REFCNT(result.ptr()) == 1)
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result.ptr()); ++i)
        if (Tensor* own = find(PyTuple_GET_ITEM(result.ptr(), i))) {
          Py_DECREF(PyTuple_GET_ITEM(result.ptr(), i));
          PyTuple_SET_ITEM(result.ptr(), i, wrap(*own));
        }
    return result;
  }

 private:
  struct Copy {
    Tensor lazy, of;
    uint32_t version;
  };

  // A list may hold itself: what lies deeper than operations look is left to them.
  nb::object copied(PyObject* value, int depth = 0) {
    constexpr int kDeepest = 64;
    if (is_tensor(value)) {
      Tensor x = as_tensor(value);
      return x.is_lazy() ? nb::steal(wrap(copy_of(x))) : nb::borrow(value);
    }
    bool is_list = PyList_Check(value) || PyTuple_Check(value);
    if (!is_list || depth == kDeepest) return nb::borrow(value);
    // Of lists without such tensors nothing is made anew. Lists of numbers are passed by.
    std::vector<nb::object> parts;
    bool is_same = true;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i) {
      PyObject* part = PySequence_Fast_GET_ITEM(value, i);
      if (PyLong_Check(part) || PyFloat_Check(part)) return nb::borrow(value);
      parts.push_back(copied(part, depth + 1));
      is_same &= parts.back().ptr() == part;
    }
    if (is_same) return nb::borrow(value);
    nb::list list;
    for (const nb::object& part : parts) list.append(part);
    return PyList_Check(value) ? nb::object(list) : nb::object(nb::tuple(list));
  }

  Tensor copy_of(const Tensor& x) {
    for (const Copy& known : copies_)
      if (known.lazy.is_same(x)) return known.of;
    Tensor copy = graph::operations.clone_with_history(x);
    copies_.push_back({x, copy, copy.version()});
    return copy;
  }

  void write_back(Copy& copy) {
    if (copy.of.sizes() != copy.lazy.sizes())  // out= that was too small
      graph::operations.resize(copy.lazy, copy.of.sizes());
    graph::operations.copy(copy.lazy, copy.of);
  }

  Tensor* find(PyObject* object) {
    for (Copy& copy : copies_)
      if (copy.of.get() == object) return &copy.lazy;
    return nullptr;
  }

  std::vector<Copy> copies_;
  std::vector<nb::object> values_;
  std::vector<PyObject*> pointers_;
};

// ---- __torch_dispatch__

bool is_dispatching(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return !is_plain(type) && is_tensor(object) && dispatches(type);
}

bool any_dispatching(const Arguments& args) {
  size_t n = args.n + (args.names ? static_cast<size_t>(PyTuple_GET_SIZE(args.names)) : 0);
  for (size_t i = 0; i < n; ++i) {
    PyObject* arg = args.values[i];
    if (is_dispatching(arg)) return true;
    if (!PyTuple_Check(arg) && !PyList_Check(arg)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(arg); ++k) {
      PyObject* part = PySequence_Fast_GET_ITEM(arg, k);
      // A long list of numbers is not walked along; an index has numbers beside tensors.
      if (PyList_Check(arg) && (PyLong_Check(part) || PyFloat_Check(part))) break;
      if (is_dispatching(part)) return true;
    }
  }
  return false;
}

bool enter_dispatch(const Operation& operation, const Arguments& args, PyObject*& result) noexcept {
  if (this_thread.is_below || !any_dispatching(args)) return false;
  result = guarded([&] {
    Level level;
    nb::object function = function_of(operation);
    auto [positional, named] = unpack(args);
    return nb::module_::import_("facula._library._dispatch")
        .attr("ask_classes")(function, positional, named)
        .release()
        .ptr();
  });
  return true;
}

// The end of every entry: an operation that knows nothing of marks is called with copies.
bool enter_lazy(const Operation& operation, const Arguments& args, PyObject*& result) noexcept {
  if (n_lazy == 0 || takes_lazy(operation)) return false;
  bool is_taken = true;
  result = guarded([&]() -> PyObject* {
    Copies copies(args);
    if (copies.is_empty()) {
      is_taken = false;
      return nullptr;
    }
    nb::object function = function_of(operation);
    PyObject* answer = resume(function.ptr(), {copies.values(), args.n, args.names});
    return answer ? copies.finish(nb::steal(answer)).release().ptr() : nullptr;
  });
  return is_taken;
}

}  // namespace

bool enter(const Operation& operation, const Arguments& args, PyObject*& result) noexcept {
  result = nullptr;
  ThisThread& here = this_thread;
  if (here.is_resumed) {
    here.is_resumed = false;
    return enter_lazy(operation, args, result);
  }
  if (here.counts && !operation.is_private && !count(operation)) return true;
  size_t n_asked = here.modes.empty() ? 0 : n_asked_modes(operation);
  Objects found;
  const Arguments& asked = operation.asks_first_only ? Arguments{args.values, 1} : args;
  bool asks_all = here.disabled == Disabled::Nothing && !operation.is_private &&
                  !for_modes_only.count(operation.function);
  bool asks_sparse = sparse_type && here.disabled != Disabled::All && !operation.is_private;
  if (asks_all || asks_sparse) found = overriding(asked);
  if (!asks_all && !found.empty()) {
    // Passed by are those who override an operation; a sparse tensor has no other one.
    auto is_other = [](const nb::object& object) { return Py_TYPE(object.ptr()) != sparse_type; };
    found.erase(std::remove_if(found.begin(), found.end(), is_other), found.end());
  }
  if (!found.empty() || n_asked > 0) {
    bool is_sparse_only = n_asked == 0 && found.size() == 1 && found[0].type().is(sparse_type);
    if (!is_sparse_only) {
      result = guarded([&] { return dispatch(operation, args, found, n_asked); });
      return true;
    }
    bool is_taken = true;
    result = guarded([&]() -> PyObject* {
      nb::object function = function_of(operation);
      PyObject* answer = nullptr;
      is_taken = sparse::call_rule(function.ptr(), args, answer);
      if (is_taken || operation.accessor) return answer;
      DisabledGuard guard(Disabled::All);
      is_taken = true;
      return resume(function.ptr(), args);
    });
    return is_taken;
  }
  if (uses_dispatch && enter_dispatch(operation, args, result)) return true;
  const bool is_seen = !operation.accessor && !operation.is_private;
  const bool is_watched = !here.watchers.empty() && !here.is_watching;
  const bool is_performed = is_seen && (is_watched || autocast::is_on());
  const bool is_volatile = is_seen && uses_volatile && spreads_volatile(operation, args);
  if (!is_performed && !is_volatile) return enter_lazy(operation, args, result);
  bool is_taken = true;
  result = guarded([&] {
    PyObject* answer = nullptr;
    if (!is_volatile) {
      is_taken = perform(operation, args, is_watched, answer);
      return answer;
    }
    NoGradGuard guard;
    if (!is_performed || !perform(operation, args, is_watched, answer))
      answer = resume(known(operation).function.ptr(), args);
    if (answer) make_volatile(answer == Py_None ? args.values[0] : answer);
    return answer;
  });
  return is_taken || enter_lazy(operation, args, result);
}

void use_volatile() {
  if (!uses_volatile) ++n_users;
  uses_volatile = true;
}

bool ask_foreign(const Operation& operation, const Arguments& args, PyObject*& result) noexcept {
  if (this_thread.disabled != Disabled::Nothing || for_modes_only.count(operation.function))
    return false;
  // Looking up attributes would clear the error.
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  Objects found = overriding(args);
  if (found.empty()) {
    PyErr_Restore(type, error, traceback);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  result = guarded([&] { return dispatch(operation, args, found, 0); });
  return true;
}

bool call_older_form(PyObject* function, const Arguments& args, PyObject*& result) noexcept {
  PyObject *type, *error, *traceback;
  PyErr_Fetch(&type, &error, &traceback);
  bool is_older = false;
  result = guarded([&]() -> PyObject* {
    nb::object today;
    {
      DisabledGuard guard(Disabled::All);  // looking at the arguments is nobody's operation
      auto [positional, named] = unpack(args);
      today = nb::module_::import_("facula._ops._older_forms")
                  .attr("translated")(nb::handle(function), positional, named);
    }
    if (today.is_none()) return nullptr;
    is_older = true;
    return PyObject_Call(function, nb::object(today[0]).ptr(), nb::object(today[1]).ptr());
  });
  if (!is_older && !PyErr_Occurred()) {
    PyErr_Restore(type, error, traceback);
    return false;
  }
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(traceback);
  return true;
}

namespace {

// ---- bound functions: NumPy's names of arguments, axis= and keepdims=, for dim= and keepdim=, and
// a sentence that says which argument does not fit

PyObject *axis, *keepdims, *dim, *keepdim;  // interned

bool is(PyObject* name, PyObject* interned) {
  return name == interned || PyUnicode_Compare(name, interned) == 0;
}

PyObject* usual_name(PyObject* name) {
  return is(name, axis) ? dim : is(name, keepdims) ? keepdim : name;
}

// The number of arguments may have two flags: Python's, and nanobind's for methods.
size_t without_flags(size_t n_args) {
  return n_args & ~(PY_VECTORCALL_ARGUMENTS_OFFSET | PY_VECTORCALL_ARGUMENTS_OFFSET >> 1);
}

// Arguments that fit no signature make nanobind list the signatures: that text becomes a sentence.
PyObject* explain(const Arguments& args) {
  return guarded([&]() -> PyObject* {
    DisabledGuard guard(Disabled::All);  // looking at the arguments is nobody's operation
    nb::python_error error;
    nb::str text(error.value());
    if (!std::strstr(text.c_str(), "(): incompatible function arguments")) throw error;
    auto [positional, named] = unpack(args);
    nb::object explained = nb::module_::import_("facula._ops._arguments")
                               .attr("explain")(text, nb::list(positional), named);
    PyErr_SetObject(explained.type().ptr(), explained.ptr());
    return nullptr;
  });
}

// The bound functions share a handful of entry points; each gets one of ours in front.
constexpr size_t kMaxEntries = 8;
std::array<vectorcallfunc, kMaxEntries> originals;

bool has_other_name(PyObject* names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (usual_name(PyTuple_GET_ITEM(names, i)) != PyTuple_GET_ITEM(names, i)) return true;
  return false;
}

nb::object usual_names(PyObject* names) {
  nb::object usual = nb::steal(PyTuple_New(PyTuple_GET_SIZE(names)));
  for (Py_ssize_t i = 0; usual.is_valid() && i < PyTuple_GET_SIZE(names); ++i)
    PyTuple_SET_ITEM(usual.ptr(), i, Py_NewRef(usual_name(PyTuple_GET_ITEM(names, i))));
  return usual;
}

// The rest of a call, apart from what all calls do: those must not pay for its stack and registers.
[[gnu::cold, gnu::noinline]] PyObject* fail_to_call(PyObject* function, const Arguments& args,
                                                    bool may_be_foreign) {
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  PyObject* result;
  if (may_be_foreign && ask_foreign({function}, args, result)) return result;
  if (call_older_form(function, args, result)) return result;
  return explain(args);
}

[[gnu::noinline]] PyObject* call_by_usual_names(vectorcallfunc original, PyObject* function,
                                                const Arguments& args, size_t n_args,
                                                bool may_be_foreign) {
  nb::object usual = usual_names(args.names);
  if (!usual.is_valid()) return nullptr;
  PyObject* result = original(function, args.values, n_args, usual.ptr());
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  if (may_be_foreign && ask_foreign({function}, args, result)) return result;
  return explain({args.values, args.n, usual.ptr()});
}

[[gnu::cold, gnu::noinline]] PyObject* call_used(vectorcallfunc original, PyObject* function,
                                                 PyObject* const* args, size_t n_args,
                                                 PyObject* names, bool is_private) {
  const Arguments given{args, without_flags(n_args), names};
  Operation operation{function};
  operation.is_private = is_private;
  PyObject* result;
  if (enter(operation, given, result)) return result;
  if (names && has_other_name(names))
    return call_by_usual_names(original, function, given, n_args, false);
  result = original(function, args, n_args, names);
  return result ? result : fail_to_call(function, given, false);
}

// A function that does not enter would take the memory of a sparse tensor for its elements.
[[gnu::cold, gnu::noinline]] bool is_given_sparse(PyObject* function, const Arguments& args) {
  if (disabled() == Disabled::All) return false;  // facula.sparse itself
  for (const nb::object& object : overriding(args)) {
    if (Py_TYPE(object.ptr()) != sparse_type) continue;
    PyErr_Format(PyExc_NotImplementedError,
                 "%S is not implemented for sparse tensors. Use tensor.to_dense() first.",
                 nb::object(nb::getattr(function, "__name__")).ptr());
    return true;
  }
  return false;
}

// Whom a bound function is known to at the seam. A private one computes with tensors as well, a
// state does not; either may look at no elements, which sparse tensors do not have.
enum class Entry { Operation, Private, PrivateForAnyLayout, State, StateForAnyLayout };

template <size_t I, Entry kind>
PyObject* call(PyObject* function, PyObject* const* args, size_t n_args, PyObject* names) {
  constexpr bool is_operation = kind == Entry::Operation;
  if (is_operation && is_used())
    return call_used(originals[I], function, args, n_args, names, /*is_private=*/false);
  if ((kind == Entry::Private || kind == Entry::State) &&
      __builtin_expect(sparse_type != nullptr, false) &&
      is_given_sparse(function, {args, without_flags(n_args), names}))
    return nullptr;
  if ((kind == Entry::Private || kind == Entry::PrivateForAnyLayout) && is_transformed())
    return call_used(originals[I], function, args, n_args, names, /*is_private=*/true);
  if (names && has_other_name(names))
    return call_by_usual_names(originals[I], function, {args, without_flags(n_args), names}, n_args,
                               is_operation);
  PyObject* result = originals[I](function, args, n_args, names);
  return result ? result
                : fail_to_call(function, {args, without_flags(n_args), names}, is_operation);
}

template <Entry kind, size_t... I>
constexpr std::array<vectorcallfunc, kMaxEntries> make_entries(std::index_sequence<I...>) {
  return {call<I, kind>...};
}
constexpr auto indices = std::make_index_sequence<kMaxEntries>();
constexpr auto operations = make_entries<Entry::Operation>(indices);
constexpr auto privates = make_entries<Entry::Private>(indices);
constexpr auto privates_for_any_layout = make_entries<Entry::PrivateForAnyLayout>(indices);
constexpr auto others = make_entries<Entry::State>(indices);
constexpr auto others_for_any_layout = make_entries<Entry::StateForAnyLayout>(indices);

// Names of functions that compute nothing with tensors: see def_state().
std::unordered_set<std::string>& states() {
  static std::unordered_set<std::string> names;
  return names;
}

bool takes_tensors(nb::handle function) {
  nb::str signatures(nb::repr(function.attr("__nb_signature__")));
  return std::strstr(signatures.c_str(), "Tensor") != nullptr;
}

void put_in_front_of(nb::handle names_to_functions, nb::handle kind) {
  for (auto [name, function] : nb::borrow<nb::dict>(names_to_functions)) {
    PyTypeObject* type = Py_TYPE(function.ptr());
    if (!nb::handle(reinterpret_cast<PyObject*>(type)).is(kind)) continue;
    auto& entry = *reinterpret_cast<vectorcallfunc*>(reinterpret_cast<char*>(function.ptr()) +
                                                     type->tp_vectorcall_offset);
    size_t i = 0;
    while (i < kMaxEntries && originals[i] && originals[i] != entry) ++i;
    check(i < kMaxEntries, "seam: nanobind has more entry points than expected.");
    originals[i] = entry;
    // The name that users know: functions of nn.functional have an underscore in the core only.
    std::string text = nb::str(function.attr("__name__")).c_str();
    bool is_private = text[0] == '_';
    bool is_state = states().count(text) || (is_private && !takes_tensors(function));
    bool is_for_all = sparse::is_allowed_in(text);
    if (names_for_lazy().count(text)) functions_for_lazy.insert(function.ptr());
    entry = (is_state      ? (is_for_all ? others_for_any_layout : others)
             : !is_private ? operations
             : is_for_all  ? privates_for_any_layout
                           : privates)[i];
  }
}

// To isinstance() bound functions are builtin functions, as PyTorch's are: packages ask inspect.
void call_builtin(PyTypeObject* type) {
  static PyGetSetDef name = {
      "__class__",
      [](PyObject*, void*) { return Py_NewRef(reinterpret_cast<PyObject*>(&PyCFunction_Type)); },
      nullptr, nullptr, nullptr};
  nb::object property = nb::steal(PyDescr_NewGetSet(type, &name));
  if (!property.is_valid() || PyDict_SetItemString(type->tp_dict, "__class__", property.ptr()))
    throw nb::python_error();
  PyType_Modified(type);
}

}  // namespace

void mark_state(const char* name) { states().insert(name); }

void put_in_front(nb::module_& m) {
  axis = PyUnicode_InternFromString("axis");
  keepdims = PyUnicode_InternFromString("keepdims");
  dim = PyUnicode_InternFromString("dim");
  keepdim = PyUnicode_InternFromString("keepdim");
  nb::object function = m.attr("add");
  put_in_front_of(m.attr("__dict__"), function.type());
  call_builtin(reinterpret_cast<PyTypeObject*>(function.type().ptr()));
  nb::object methods = nb::borrow(reinterpret_cast<PyTypeObject*>(m.attr("Tensor").ptr())->tp_dict);
  put_in_front_of(methods, methods["add"].type());
  for (const char* name : {"tensor", "as_tensor", "asarray"})
    for_modes_only.insert(m.attr(name).ptr());
  disabled_function = m.attr("_disabled_torch_function_impl").ptr();
  disabled_dispatch = m.attr("_disabled_torch_dispatch_impl").ptr();
}

namespace {

struct CountOperations {
  PyObject* before = nullptr;  // owned
};

class BelowGuard {
 public:
  BelowGuard() : before_(this_thread.is_below) { this_thread.is_below = true; }
  ~BelowGuard() { this_thread.is_below = before_; }
  BelowGuard(const BelowGuard&) = delete;

 private:
  bool before_;
};

template <Disabled value>
struct DisableContext {
  Disabled before = Disabled::Nothing;
};

template <Disabled value>
void bind_disable(nb::module_& m, const char* name, const char* doc) {
  nb::class_<DisableContext<value>>(m, name, doc)
      .def(nb::init<>())
      .def("__enter__",
           [](DisableContext<value>& self) {
             self.before = disabled();
             if (value > self.before) set_disabled(value);
           })
      .def("__exit__",
           [](DisableContext<value>& self, const nb::args&) { set_disabled(self.before); });
}

}  // namespace

FACULA_BINDINGS {
  torch_function = PyUnicode_InternFromString("__torch_function__");
  torch_dispatch = PyUnicode_InternFromString("__torch_dispatch__");
  m.def(
      "_disabled_torch_function_impl",
      [](nb::handle func, nb::handle types, nb::handle args, nb::handle kwargs) {
        return call_without_subclasses(func, args, kwargs);
      },
      "func"_a, "types"_a, "args"_a = nb::tuple(), "kwargs"_or_none,
      "As ``__torch_function__`` of a class: it overrides nothing.");
  bind_disable<Disabled::Subclasses>(
      m, "_DisableTorchFunctionSubclass",
      "A context in which ``__torch_function__`` of arguments is not asked.");
  bind_disable<Disabled::All>(
      m, "_DisableTorchFunction",
      "A context in which neither modes nor ``__torch_function__`` of arguments are asked.");
  m.def(
      "_disabled_torch_dispatch_impl",
      [](nb::handle func, nb::handle types, nb::handle args, nb::handle kwargs) {
        BelowGuard guard;
        return call_without_subclasses(func, args, kwargs);
      },
      "func"_a, "types"_a, "args"_a = nb::tuple(), "kwargs"_or_none,
      "As ``__torch_dispatch__`` of a class: operations take its objects for their memory.");
  m.def(
      "_resume",
      [](nb::handle function, const nb::tuple& args, const nb::dict& kwargs) {
        this_thread.is_resumed = true;
        nb::object result = nb::steal(PyObject_Call(function.ptr(), args.ptr(), kwargs.ptr()));
        this_thread.is_resumed = false;  // in case that the function never entered
        if (!result.is_valid()) throw nb::python_error();
        return result;
      },
      "function"_a, "args"_a, "kwargs"_a,
      "Calls an operation that has entered; those that it is composed of enter.");
  for (const char* name : {"_disabled_torch_function_impl", "_disabled_torch_dispatch_impl",
                           "_resume", "_has_torch_function", "_handle_torch_function"})
    sparse::allow_in(name);
  m.def("_is_torch_function_enabled", [] { return disabled() == Disabled::Nothing; });
  m.def("_is_torch_function_all_disabled", [] { return disabled() == Disabled::All; });
  m.def(
      "_seam_users", [] { return n_users.load(); }, "0 while operations enter without a look.");
  m.def("_has_torch_function", [](const nb::args& args) {
    if (n_asked_modes(kOtherFunction) > 0) return true;
    if (disabled() != Disabled::Nothing) return false;
    for (nb::handle arg : args)
      if (overrides(Py_TYPE(arg.ptr()))) return true;
    return false;
  });

  m.def(
      "_handle_torch_function",
      [](nb::handle function, const nb::tuple& relevant, nb::handle args, nb::handle kwargs) {
        Objects found;
        for (nb::handle object : relevant) add_overriding(object.ptr(), found);
        return nb::steal(dispatch(nb::make_tuple(function, types_of(found), args, kwargs), found,
                                  n_asked_modes(kOtherFunction)));
      },
      "function"_a, "relevant_args"_a, "args"_a, "kwargs"_a);
  m.def("_is_operation", [](nb::handle function) {
    auto entry = PyVectorcall_Function(function.ptr());
    return std::find(operations.begin(), operations.end(), entry) != operations.end();
  });

  m.def("_push_torch_function_mode", [](nb::handle mode) {
    this_thread.modes.push_back({mode.inc_ref().ptr(), nullptr});
    ++n_users;
  });
  m.def(
      "_push_transform",
      [](nb::handle transform, nb::handle composed) {
        check_type(PyAnySet_Check(composed.ptr()), "_push_transform: expected a set.");
        this_thread.modes.push_back({transform.inc_ref().ptr(), composed.inc_ref().ptr()});
        ++n_users;
        ++n_transforms;
      },
      "transform"_a, "composed"_a,
      "Adds a mode that must not miss anything, with the composed operations it has rules for.");
  m.def(
      "_pop_torch_function_mode",
      [] {
        check(!this_thread.modes.empty(), "TorchFunctionMode: no mode is active.");
        Mode mode = this_thread.modes.back();
        this_thread.modes.pop_back();
        --n_users;
        if (mode.is_transform()) --n_transforms;
        Py_XDECREF(mode.composed);
        return nb::steal(mode.object);
      },
      "Takes the innermost mode or transform away.");
  m.def("_torch_function_modes", [] {
    nb::list modes;
    for (const Mode& mode : this_thread.modes)
      if (!mode.is_transform()) modes.append(nb::handle(mode.object));
    return modes;
  });
  m.def("_transforms", [] {
    nb::list transforms;
    for (const Mode& mode : this_thread.modes)
      if (mode.is_transform()) transforms.append(nb::handle(mode.object));
    return transforms;
  });

  nb::class_<CountOperations>(m, "_count_operations", R"(Counts the operations that enter, by name.
    >>> with facula._core._count_operations() as counts:
    ...     x = facula.ones(2) + 1
    >>> counts
    {'ones': 1, 'Tensor.add': 1})"_doc)
      .def(nb::init<>())
      .def("__enter__",
           [](CountOperations& self) {
             nb::dict counts;
             self.before = std::exchange(this_thread.counts, counts.inc_ref().ptr());
             ++n_users;
             return counts;
           })
      .def("__exit__", [](CountOperations& self, const nb::args&) {
        Py_XDECREF(std::exchange(this_thread.counts, std::exchange(self.before, nullptr)));
        --n_users;
      });
}

}  // namespace facula::seam
