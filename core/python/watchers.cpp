// Those who watch operations and nodes without taking part: the profiler's recorder, and functions
// of Python.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "autograd/node.h"
#include "autograd/watch.h"
#include "base/allocator.h"
#include "bind/bind.h"
#include "bind/seam.h"
#include "cuda/allocator.h"
#include "cuda/device.h"

namespace facula {

namespace {

int64_t now_ns() {  // of the clock that time.perf_counter_ns reads
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// ---- arguments without the tensors in them, which must not be kept alive

nb::object describe(PyObject* object) {
  if (is_tensor(object)) {
    Tensor x = as_tensor(object);
    return nb::make_tuple(nb::steal(size_object(x.sizes())), nb::borrow(dtype_object(x.dtype())));
  }
  if (PyTuple_Check(object) || PyList_Check(object)) {
    seam::Level level;  // a list may hold itself
    nb::list items;
    for (nb::handle item : nb::handle(object)) items.append(describe(item.ptr()));
    return items;
  }
  DType dtype;
  const bool is_plain = PyBool_Check(object) || PyLong_CheckExact(object) ||
                        PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) ||
                        dtype_from_object(object, dtype);
  return is_plain ? nb::borrow(object) : nb::none();
}

// The positional ones in a list, those by name in a dict.
nb::object describe(const seam::Arguments& args) {
  nb::list positional;
  nb::dict named;
  for (size_t i = 0; i < args.n; ++i) positional.append(describe(args.values[i]));
  for (Py_ssize_t i = 0; args.names && i < PyTuple_GET_SIZE(args.names); ++i)
    named[nb::handle(PyTuple_GET_ITEM(args.names, i))] = describe(args.values[args.n + i]);
  return nb::make_tuple(positional, named);
}

bool holds_tensor(PyObject* object) {
  if (is_tensor(object)) return true;
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  for (nb::handle item : nb::handle(object))
    if (is_tensor(item.ptr())) return true;
  return false;
}

// The Python frames from the innermost on, each as (code, line).
nb::object python_stack() {
  nb::list frames;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame) {
    nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    frames.append(nb::make_tuple(code, PyFrame_GetLineNumber(frame)));
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  return frames;
}

// ---- the recorder

enum class Kind { Operation, Node, Region };

struct Event {
  nb::object name;
  Kind kind;
  int64_t start_ns, end_ns = -1;
  int64_t parent;  // the place of the event that it happened in; -1 for none
  int64_t sequence_nr = -1;
  int64_t cpu_bytes = 0, cuda_bytes = 0;  // at the beginning, then the difference
  nb::object inputs = nb::none(), outputs = nb::none(), stack = nb::none();
};

// Records what one thread does: the one that started it. Owned by Python, and by that thread until
// it stops it.
class Recorder : public seam::Watcher, public NodeWatcher {
 public:
  Recorder(bool shapes, bool memory, bool cuda_memory, bool stacks)
      : has_shapes_(shapes), has_memory_(memory), has_cuda_(cuda_memory), has_stacks_(stacks) {}
  Recorder(const Recorder&) = delete;

  void start();
  void stop();
  nb::list events() const;

  void begin(PyObject* name, const seam::Arguments& args) override {
    Event& event = open(nb::borrow(name), Kind::Operation);
    calls_.push_back(open_.back());
    if (has_shapes_) event.inputs = describe(args);
  }
  void end(const seam::Arguments&, PyObject* result) override {
    if (calls_.empty()) return;  // began before the recorder did
    const int64_t at = calls_.back();
    calls_.pop_back();
    if (events_[at].end_ns >= 0) return;  // ended with a region that it began in
    close_from(at + 1);
    // A question about a tensor that computes nothing, such as x.dim(), is not worth a line.
    if (result && !holds_tensor(result) && at + 1 == static_cast<int64_t>(events_.size()) &&
        !reads_value(events_.back().name)) {
      events_.pop_back();
      open_.pop_back();
      return;
    }
    if (has_shapes_ && result) events_[at].outputs = describe(result);
    close_from(at);
  }
  void begin(const Node& node) override {
    std::string outer = std::string("autograd::engine::evaluate_function: ") + node.name;
    const auto first = static_cast<int64_t>(events_.size());
    for (const std::string& name : {outer, std::string(node.name)})
      open(nb::str(name.c_str()), Kind::Node).sequence_nr = static_cast<int64_t>(node.sequence_nr);
    calls_.push_back(first);
  }
  void end() noexcept override {
    if (calls_.empty()) return;
    close_from(calls_.back());
    calls_.pop_back();
  }

  // A region of the user's; the answer is its handle, which no other recorder has.
  int64_t begin_region(nb::handle name, nb::handle args) {
    Event& event = open(nb::borrow(name), Kind::Region);
    event.inputs = nb::borrow(args);
    return first_handle_ + static_cast<int64_t>(events_.size()) - 1;
  }
  void end_region(int64_t handle) {
    const int64_t at = handle - first_handle_;
    if (at < 0 || at >= static_cast<int64_t>(events_.size()) || events_[at].end_ns >= 0) return;
    close_from(at);
  }

  static thread_local Recorder* current;

 private:
  Event& open(nb::object name, Kind kind);
  void close(int64_t at) noexcept;
  // Whatever began inside of an event and has not ended, ends with it.
  void close_from(int64_t at) noexcept {
    while (!open_.empty() && open_.back() >= at) close(open_.back());
  }
  static bool reads_value(const nb::object& name) {
    for (const char* other : {"item", "__bool__", "__float__", "__int__", "__index__", "tolist"})
      if (PyUnicode_CompareWithASCIIString(name.ptr(), other) == 0) return true;
    return false;
  }
  int64_t cuda_bytes() const noexcept;

  bool has_shapes_, has_memory_, has_cuda_, has_stacks_;
  int64_t first_handle_ = 0;
  std::vector<Event> events_;
  std::vector<int64_t> open_;   // places of the events that have not ended, the innermost last
  std::vector<int64_t> calls_;  // of these the operations and nodes
  NodeWatcher* before_ = nullptr;
};
thread_local Recorder* Recorder::current = nullptr;

int64_t Recorder::cuda_bytes() const noexcept {
  int64_t sum = 0;
  for (int i = 0; has_cuda_ && i < cuda::device_count(); ++i)
    sum += cuda::allocator_of(i).stats().allocated_bytes;
  return sum;
}

Event& Recorder::open(nb::object name, Kind kind) {
  const int64_t parent = open_.empty() ? -1 : open_.back();
  open_.push_back(static_cast<int64_t>(events_.size()));
  Event& event = events_.emplace_back();
  event.name = std::move(name);
  event.kind = kind;
  event.parent = parent;
  if (has_stacks_) event.stack = python_stack();
  if (has_memory_) {
    event.cpu_bytes = cpu_allocator().stats().allocated_bytes;
    event.cuda_bytes = cuda_bytes();
  }
  event.start_ns = now_ns();
  return event;
}

void Recorder::close(int64_t at) noexcept {
  Event& event = events_[at];
  event.end_ns = now_ns();
  if (has_memory_) {
    event.cpu_bytes = cpu_allocator().stats().allocated_bytes - event.cpu_bytes;
    event.cuda_bytes = cuda_bytes() - event.cuda_bytes;
  }
  open_.pop_back();
}

void Recorder::start() {
  check(!current, "profile: a profiler is already enabled on this thread. Leave its block first.");
  static std::atomic<int64_t> next_handle{0};
  constexpr int64_t kHandles = int64_t(1) << 32;  // more than the events of a recorder
  first_handle_ = next_handle.fetch_add(kHandles);
  current = this;
  seam::add_watcher(this);
  before_ = watch_nodes(this);
}

void Recorder::stop() {
  check(current == this, "profile: expected to be stopped in the thread that started it.");
  close_from(0);
  current = nullptr;
  seam::remove_watcher(this);
  watch_nodes(before_);
}

nb::list Recorder::events() const {
  nb::list all;
  for (const Event& e : events_)
    all.append(nb::make_tuple(e.name, static_cast<int>(e.kind), e.start_ns, e.end_ns, e.parent,
                              e.sequence_nr, e.cpu_bytes, e.cuda_bytes, e.inputs, e.outputs,
                              e.stack));
  return all;
}

// ---- functions of Python

// Calls before(name, args, kwargs) and, if the operation did not raise, after(name, args, kwargs,
// result), for the operations whose names are in a set; each of the three may be None.
class Observer : public seam::Watcher {
 public:
  Observer(nb::object after, nb::object before, nb::object names)
      : after_(std::move(after)), before_(std::move(before)), names_(std::move(names)) {}
  void begin(PyObject* name, const seam::Arguments& args) override {
    const bool is_wanted = names_.is_none() || PySet_Contains(names_.ptr(), name) == 1;
    under_way_.push_back(is_wanted ? nb::borrow(name) : nb::object());
    if (!is_wanted || before_.is_none()) return;
    auto [positional, named] = seam::unpack(args);
    before_(nb::handle(name), positional, named);
  }
  void end(const seam::Arguments& args, PyObject* result) override {
    if (under_way_.empty()) return;  // began before the observer did
    nb::object name = std::move(under_way_.back());
    under_way_.pop_back();
    if (!name.is_valid() || !result || after_.is_none()) return;
    auto [positional, named] = seam::unpack(args);
    after_(name, positional, named, nb::handle(result));
  }

 private:
  nb::object after_, before_, names_;
  std::vector<nb::object> under_way_;  // names of the operations, null for those not wanted
};

}  // namespace

FACULA_BINDINGS {
  nb::class_<Recorder>(m, "_Recorder", "Records the operations and nodes that a thread runs.")
      .def(nb::init<bool, bool, bool, bool>(), "shapes"_a, "memory"_a, "cuda_memory"_a, "stacks"_a)
      .def("start",
           [](nb::handle self) {
             nb::cast<Recorder&>(self).start();
             self.inc_ref();
           })
      .def("stop",
           [](nb::handle self) {
             nb::cast<Recorder&>(self).stop();
             self.dec_ref();  // the caller has another one
           })
      .def("events", &Recorder::events,
           "Tuples: name, kind (0 operation, 1 node, 2 region), start and end in ns, place of the "
           "parent, sequence number, bytes on CPU and CUDA, inputs, outputs, stack.");
  m.def("_is_recording", [] { return Recorder::current != nullptr; });
  m.def(
      "_begin_region",
      [](nb::handle name, nb::handle args) {
        return Recorder::current ? Recorder::current->begin_region(name, args) : -1;
      },
      "name"_a, "args"_a.none());
  m.def(
      "_end_region",
      [](int64_t handle) {
        if (Recorder::current && handle >= 0) Recorder::current->end_region(handle);
      },
      "handle"_a);
  nb::class_<Observer>(m, "_Observer", "Calls functions before and after operations.")
      .def(nb::init<nb::object, nb::object, nb::object>(), "after"_a.none(), "before"_or_none,
           "names"_or_none)
      .def("start",
           [](nb::handle self) {
             seam::add_watcher(&nb::cast<Observer&>(self));
             self.inc_ref();  // the thread's
           })
      .def("stop", [](nb::handle self) {
        if (seam::remove_watcher(&nb::cast<Observer&>(self))) self.dec_ref();
      });
}

}  // namespace facula
