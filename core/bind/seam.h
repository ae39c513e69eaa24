// The seam: every public operation enters here when Python calls it, be it a function, a method, an
// operator, a property, or composed in Python. Those who want to see operations, or to do them in
// their own way, hang on the seam: modes, subclasses of Tensor that override, foreign objects.
//
// While nobody does, an entry costs one test, is_used(). A foreign object is no user of the seam:
// it is looked for when an operation could do nothing with its arguments. Whoever asks for other
// arguments (autocast) or only wants to know (watchers) comes after those who may do the operation
// in another way.
//
// A transform (vmap, forward mode, ...) is a mode that must not miss anything that computes: it is
// asked for the private functions of the core too, also where users have switched modes off. An
// operation composed in Python is seen as what it is made of, unless the transform has a rule.
//
// Objects of a class with __torch_dispatch__ need not have elements. They are asked last, once
// there are any: for private functions too, whatever is switched off
// (facula/_library/_dispatch.py).
#pragma once
#include <atomic>

#include "bind/casters.h"

namespace facula::seam {

// Overriding classes (1 if there are any), modes, watchers, counters and autocasts of all threads,
// and tensors with marks (see Note [Lazy views] in tensor.h), for which operations get copies.
extern std::atomic<int64_t> n_users;
inline bool is_used() {
  return __builtin_expect(n_users.load(std::memory_order_relaxed) != 0, false);
}

// Transforms of all threads, and tensors with marks: those whom private functions must enter for.
extern std::atomic<int64_t> n_transforms;
inline bool is_transformed() {
  return __builtin_expect(n_transforms.load(std::memory_order_relaxed) != 0, false);
}

// An operation: the object that is called, or an attribute of Tensor, looked up only if somebody
// wants to have it.
struct Operation {
  PyObject* function = nullptr;
  const char* attribute = nullptr;
  const char* accessor = nullptr;  // "__get__" of a property, for example
  // Takes one tensor and nothing else: a mode is told its type even if that overrides nothing.
  bool is_unary = false;
  bool asks_first_only = false;  // whatever the classes of the other arguments say
  bool is_composed = false;      // in Python: PyTorch tells of plain tensors among the types
  bool is_private = false;       // transforms alone are asked
};

struct Arguments {
  PyObject* const* values;
  size_t n;                   // without those by name, which follow
  PyObject* names = nullptr;  // a tuple, or null
};

struct Unpacked {
  nanobind::tuple positional;
  nanobind::dict named;
};
Unpacked unpack(const Arguments& args);

// True if somebody took the call: then `result` is the answer, or null with a Python error set.
bool enter(const Operation& operation, const Arguments& args, PyObject*& result) noexcept;

// The same for an operation that refuses its arguments, in case that nobody was asked before: asks
// the foreign objects among them. An error that is set stays if it returns false.
bool ask_foreign(const Operation& operation, const Arguments& args, PyObject*& result) noexcept;

// For an operation that refuses its arguments: true if they have the form of an older version, as
// in add(x, 2, y) for add(x, y, alpha=2); then `result` is the answer, or null with a Python error
// set. An error that is set stays if it returns false.
bool call_older_form(PyObject* function, const Arguments& args, PyObject*& result) noexcept;

// Calls an operation that has entered, possibly with other arguments, without entering again. Null
// with a Python error set where it raises.
PyObject* resume(PyObject* function, const Arguments& args) noexcept;

// Is told of all operations of a thread, also of those that others are composed of. What it does
// itself meanwhile is nobody's operation.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void begin(PyObject* name, const Arguments& args) = 0;  // name: "add", "linalg_inv"
  virtual void end(const Arguments& args, PyObject* result) = 0;  // null: it raised an error
};
void add_watcher(Watcher* watcher);
bool remove_watcher(Watcher* watcher);  // false if it did not watch this thread

// A volatile tensor exists: from now on it is looked for among all arguments.
void use_volatile();

// A class that overrides operations exists: from now on arguments are looked at.
void add_class();
bool overrides(PyTypeObject* type);

// Whether the class has a __torch_dispatch__ of its own. Call use_dispatch() before an object of it
// exists: from now on they are looked for.
bool dispatches(PyTypeObject* type);
void use_dispatch();

// Whether subclasses, or modes too, are passed by in this thread.
enum class Disabled { Nothing, Subclasses, All };
Disabled disabled() noexcept;
void set_disabled(Disabled value) noexcept;

class DisabledGuard {
 public:
  explicit DisabledGuard(Disabled value) : before_(disabled()) {
    if (value > before_) set_disabled(value);
  }
  ~DisabledGuard() { set_disabled(before_); }
  DisabledGuard(const DisabledGuard&) = delete;

 private:
  Disabled before_;
};

// A level of calls or data inside each other, for as long as it lives; raises a RecursionError
// where there are too many. Python's own count lets more through than a stack can hold.
class Level {
 public:
  Level();
  ~Level();
  Level(const Level&) = delete;
};

// function(*args, **kwargs) as __torch_function__ was told of it, with subclasses passed by. Null
// stands for no arguments.
nanobind::object call_without_subclasses(nanobind::handle function, nanobind::handle args,
                                         nanobind::handle kwargs);

// Puts the entry in front of all functions bound so far.
void put_in_front(nanobind::module_& m);

}  // namespace facula::seam
