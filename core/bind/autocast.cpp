#include "bind/autocast.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/node.h"
#include "autograd/operations.h"
#include "bind/bind.h"

namespace facula::autocast {

thread_local uint8_t active = 0;

namespace {

constexpr int kNumDevices = 2;
constexpr const char* kDeviceNames[kNumDevices] = {"cpu", "cuda"};

// A weight in the chosen dtype. The weight is kept too: its address is the key.
struct Cached {
  Tensor weight, cast;
  uint32_t version = 0;
  const char* data = nullptr;  // of the weight, which `weight.data = x` changes
};
using Cache = std::unordered_map<TensorImpl*, Cached>;

struct ThisThread {
  uint8_t enabled = 0;    // a bit for each DeviceType
  uint8_t suspended = 0;  // the same: inside a call that was cast for, as a whole
  DType dtypes[kNumDevices] = {DType::BFloat16, DType::Float16};
  uint8_t lists[kNumDevices] = {0, 1};  // whose policies a device follows; its own but in tests
  bool is_cache_enabled = true;
  int n_nested = 0;
  struct Before {
    int device;
    bool enabled, is_cache_enabled;
    DType dtype;
  };
  std::vector<Before> blocks;  // what the blocks that have begun put back
  // Not freed with the thread, which ends without the interpreter lock.
  Cache* cache = nullptr;

  void update() { active = enabled & ~suspended; }
};
thread_local ThisThread here;

uint8_t bit(int device) { return static_cast<uint8_t>(1 << device); }

class Suspend {
 public:
  explicit Suspend(int device) : before_(here.suspended) {
    here.suspended |= bit(device);
    here.update();
  }
  ~Suspend() {
    here.suspended = before_;
    here.update();
  }
  Suspend(const Suspend&) = delete;

 private:
  uint8_t before_;
};

const std::unordered_map<std::string, Policies>& table() {
  static const auto* rows = new std::unordered_map<std::string, Policies>{
#define AUTOCAST(name, cpu, cuda) {name, {{Policy::cpu, Policy::cuda}}},
#include "tables/autocast.def"
  };
  return *rows;
}

// ---- casts

bool is_eligible(PyObject* object, int device) {
  if (!is_tensor(object)) return false;
  const auto* x = static_cast<TensorImpl*>(object);
  return static_cast<int>(x->device.type) == device && is_floating(x->dtype) &&
         x->dtype != DType::Float64;
}

// Weights are used in every step of a loop, and cast once. An entry is of use as long as nothing
// was written to its weight, and where a graph is wanted only if it has one.
Tensor cast_weight(const Tensor& weight, DType to) {
  if (!here.cache) here.cache = new Cache;
  Cached& entry = (*here.cache)[weight.get()];
  const bool is_usable = entry.cast.defined() && entry.cast.dtype() == to &&
                         entry.version == weight.version() && entry.data == weight.address() &&
                         (!is_grad_enabled() || entry.cast.requires_grad());
  if (!is_usable)
    entry = {weight, graph::operations.to_dtype(weight, to), weight.version(), weight.address()};
  return entry.cast;
}

Tensor cast(const Tensor& x, DType to, int device) {
  const bool is_weight = to == here.dtypes[device] && x.dtype() == DType::Float32 &&
                         here.is_cache_enabled && x->requires_grad && x.is_leaf() && !x.is_view();
  return is_weight ? cast_weight(x, to) : graph::operations.to_dtype(x, to);
}

// Whether the object is a tensor to cast, or a list or tuple that has one. Most calls have none,
// and should not pay for more.
bool is_cast(PyObject* object, DType to, int device) {
  if (is_eligible(object, device)) return static_cast<TensorImpl*>(object)->dtype != to;
  if (!PyTuple_CheckExact(object) && !PyList_CheckExact(object)) return false;
  seam::Level level;  // a list may hold itself
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (PyLong_Check(item) || PyFloat_Check(item)) return false;
    if (is_cast(item, to, device)) return true;
  }
  return false;
}

// The object with its tensors cast, also those of a list or tuple.
nb::object cast_object(PyObject* object, DType to, int device) {
  if (!is_cast(object, to, device)) return nb::borrow(object);
  if (is_tensor(object)) return nb::steal(wrap(cast(as_tensor(object), to, device)));
  seam::Level level;
  nb::list items;
  for (nb::handle item : nb::handle(object)) items.append(cast_object(item.ptr(), to, device));
  return PyTuple_CheckExact(object) ? nb::object(nb::tuple(items)) : nb::object(items);
}

// ---- what a policy does with arguments

size_t count(const seam::Arguments& args) {
  return args.n + (args.names ? static_cast<size_t>(PyTuple_GET_SIZE(args.names)) : 0);
}

PyObject* named(const seam::Arguments& args, const char* name) {
  for (Py_ssize_t i = 0; args.names && i < PyTuple_GET_SIZE(args.names); ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(args.names, i), name) == 0)
      return args.values[args.n + i] == Py_None ? nullptr : args.values[args.n + i];
  return nullptr;
}

bool has_dtype(const seam::Arguments& args) {
  if (named(args, "dtype")) return true;
  DType dtype;
  for (size_t i = 1; i < args.n; ++i)
    if (!PyType_Check(args.values[i]) && dtype_from_object(args.values[i], dtype)) return true;
  return false;
}

// By its place or by its name; null if there is none.
PyObject* argument(const seam::Arguments& args, size_t place, const char* name) {
  return args.n > place ? args.values[place] : named(args, name);
}

bool is_mode(const seam::Arguments& args, size_t place, const char* value) {
  PyObject* mode = argument(args, place, "mode");
  return mode && PyUnicode_Check(mode) && PyUnicode_CompareWithASCIIString(mode, value) == 0;
}

// reflect of up to two dimensions, replicate of any.
bool reads_border(const seam::Arguments& args) {
  PyObject* pad = argument(args, 1, "pad");
  return is_mode(args, 2, "replicate") ||
         (is_mode(args, 2, "reflect") && pad && PySequence_Check(pad) && PySequence_Size(pad) < 6);
}

// The sizes of packed batches come after the data, where otherwise the state is.
bool is_packed(const seam::Arguments& args) {
  return args.n > 1 && is_tensor(args.values[1]) && !is_floating(as_tensor(args.values[1]).dtype());
}

// Of the first of several states, as the LSTM has them.
DType state_dtype(const seam::Arguments& args, int device) {
  if (count(args) == 0) return DType::Float32;  // the operation refuses it
  const size_t place = is_packed(args) ? 2 : 1;
  PyObject* state = args.n > place ? args.values[place] : args.values[0];
  if ((PyTuple_Check(state) || PyList_Check(state)) && PySequence_Fast_GET_SIZE(state))
    state = PySequence_Fast_GET_ITEM(state, 0);
  if (!is_tensor(state)) state = args.values[0];  // a cell without a state
  return is_eligible(state, device) ? as_tensor(state).dtype() : DType::Float32;
}

void widen(PyObject* object, int device, DType& widest) {
  if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
    seam::Level level;
    for (nb::handle item : nb::handle(object)) {
      if (PyLong_Check(item.ptr()) || PyFloat_Check(item.ptr())) return;
      widen(item.ptr(), device, widest);
    }
    return;
  }
  if (!is_eligible(object, device)) return;
  DType dtype = static_cast<TensorImpl*>(object)->dtype;
  check(dtype == DType::Float32 || dtype == here.dtypes[device], "autocast: expected tensors of ",
        DType::Float32, " or ", here.dtypes[device], " together, got ", dtype,
        " (Unexpected floating ScalarType in at::autocast::prioritize).");
  if (dtype == DType::Float32) widest = dtype;
}

DType widest_dtype(const seam::Arguments& args, int device) {
  DType widest = here.dtypes[device];
  for (size_t i = 0; i < count(args); ++i) widen(args.values[i], device, widest);
  return widest;
}

// How many of the arguments are cast, and to what.
struct Plan {
  size_t n;
  DType to;
};

Plan plan(Policy policy, const seam::Arguments& args, int device) {
  const size_t all = count(args);
  switch (policy) {
    case Policy::Nothing:
    case Policy::AsGiven:
      return {0, DType::Float32};
    case Policy::Lower:
      return {all, here.dtypes[device]};
    case Policy::Float:
      return {all, DType::Float32};
    case Policy::FloatUnlessDtype:
      return {has_dtype(args) ? 0 : size_t(all > 0), DType::Float32};
    case Policy::FloatPadding:
      return {reads_border(args) ? all : 0, DType::Float32};
    case Policy::FloatResampling:
      return {is_mode(args, 3, "area") ? 0 : all, DType::Float32};
    case Policy::FloatUnlessIndices:
      return {argument(args, 6, "return_indices") == Py_True ? 0 : all, DType::Float32};
    case Policy::LowerUnlessPacked:
      if (!is_packed(args)) return {all, here.dtypes[device]};
      [[fallthrough]];
    case Policy::LikeState:
      return {all, state_dtype(args, device)};
    case Policy::Promote:
      return {all, widest_dtype(args, device)};
    case Policy::Banned:
      break;
  }
  fail(ErrorKind::Runtime,
       "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: "
       "logarithms of probabilities overflow in 16 bits. Leave out the sigmoid before the loss and "
       "use binary_cross_entropy_with_logits or BCEWithLogitsLoss, which compute both at once, or "
       "compute the loss in float32 in a block with autocast(enabled=False).");
}

bool is_listed(const Policies& policies, int device) {
  return active & bit(device) && policies.of[here.lists[device]] != Policy::Nothing;
}

}  // namespace

Policies policies_of(const std::string& name) {
  auto row = table().find(name);
  return row == table().end() ? Policies() : row->second;
}

bool call(const Policies& policies, PyObject* function, bool is_composed,
          const seam::Arguments& args, PyObject*& result) {
  // out= fixes the dtype of the result: the caller knows what they want.
  if (named(args, "out")) return false;
  // With autocast on for two devices, that of the first tensor to cast counts.
  int device = -1;
  Plan way;
  bool is_other = false;
  for (int next = kNumDevices - 1; next >= 0 && !is_other; --next) {
    if (!is_listed(policies, next)) continue;
    device = next;
    way = plan(policies.of[here.lists[device]], args, device);
    for (size_t i = 0; i < way.n && !is_other; ++i)
      is_other = is_cast(args.values[i], way.to, device);
  }
  if (device < 0) return false;
  // What is composed enters operations, which must not be cast for one by one.
  if (!is_other && !is_composed) return false;
  std::vector<nb::object> values;
  std::vector<PyObject*> pointers(args.values, args.values + count(args));
  for (size_t i = 0; i < way.n && is_other; ++i) {
    values.push_back(cast_object(args.values[i], way.to, device));
    pointers[i] = values.back().ptr();
  }
  Suspend suspend(device);
  result = seam::resume(function, {pointers.data(), args.n, args.names});
  return true;
}

namespace {

int device_number(const std::string& name) {
  for (int device = 0; device < kNumDevices; ++device)
    if (name == kDeviceNames[device]) return device;
  fail(ErrorKind::Runtime, "autocast: expected device_type 'cpu' or 'cuda', got '", name,
       "' (unsupported autocast device_type).");
}

// Programs ask for every kind of device that PyTorch casts for; there are none of these here.
constexpr const char* kDevicesElsewhere[] = {"hpu", "ipu", "maia", "mps", "mtia", "xla", "xpu"};

bool is_enabled(const std::string& name) {
  for (const char* other : kDevicesElsewhere)
    if (name == other) return false;
  return (here.enabled & bit(device_number(name))) != 0;
}

void set_enabled(int device, bool on) {
  const bool was_user = here.enabled != 0;
  here.enabled =
      static_cast<uint8_t>(on ? here.enabled | bit(device) : here.enabled & ~bit(device));
  here.update();
  if (was_user != (here.enabled != 0)) seam::n_users += was_user ? -1 : 1;
}

void clear_cache() {
  if (here.cache) delete std::exchange(here.cache, nullptr);
}

void enter_block(int device, bool on, DType dtype, bool is_cache_enabled) {
  here.blocks.push_back(
      {device, (here.enabled & bit(device)) != 0, here.is_cache_enabled, here.dtypes[device]});
  set_enabled(device, on);
  here.dtypes[device] = dtype;
  here.is_cache_enabled = is_cache_enabled;
  ++here.n_nested;
}

void leave_block() {
  check(!here.blocks.empty(), "autocast: left a block that was not entered.");
  const auto before = here.blocks.back();
  here.blocks.pop_back();
  if (--here.n_nested == 0) clear_cache();
  set_enabled(before.device, before.enabled);
  here.dtypes[before.device] = before.dtype;
  here.is_cache_enabled = before.is_cache_enabled;
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "_enter_autocast",
      [](const std::string& device_type, bool enabled, DType dtype, bool cache_enabled) {
        enter_block(device_number(device_type), enabled, dtype, cache_enabled);
      },
      "device_type"_a, "enabled"_a, "dtype"_a, "cache_enabled"_a);
  m.def("_exit_autocast", &leave_block);
  m.def("_is_autocast_available", [](const std::string& device_type) {
    for (const char* name : kDeviceNames)
      if (device_type == name) return true;
    return false;
  });
  def_state(m, "is_autocast_enabled", &is_enabled, "device_type"_a = "cuda",
            R"(Whether autocast is on in this thread for a kind of device.
    device_type: the kind of device, ``"cpu"`` or ``"cuda"``; for PyTorch's other kinds it is off.
    >>> with facula.autocast("cpu"):
    ...     facula.is_autocast_enabled("cpu")
    True)"_doc);
  def_state(
      m, "set_autocast_enabled",
      [](const std::string& device_type, bool enabled) {
        set_enabled(device_number(device_type), enabled);
      },
      "device_type"_a, "enabled"_a,
      R"(Switches autocast on or off for a kind of device, in this thread.
    device_type: the kind of device, ``"cpu"`` or ``"cuda"``.
    enabled: whether operations are cast for from now on.
    >>> facula.set_autocast_enabled("cpu", True)
    >>> (facula.ones(2, 2) @ facula.ones(2, 2)).dtype
    torch.bfloat16
    >>> facula.set_autocast_enabled("cpu", False))"_doc);
  def_state(
      m, "set_autocast_enabled", [](bool enabled) { set_enabled(1, enabled); }, "enabled"_a);
  def_state(
      m, "get_autocast_dtype",
      [](const std::string& device_type) { return here.dtypes[device_number(device_type)]; },
      "device_type"_a, R"(The dtype that autocast chooses where 16 bits are enough.
    device_type: the kind of device, ``"cpu"`` or ``"cuda"``.
    >>> facula.get_autocast_dtype("cpu"), facula.get_autocast_dtype("cuda")
    (torch.bfloat16, torch.float16))"_doc);
  def_state(
      m, "set_autocast_dtype",
      [](const std::string& device_type, DType dtype) {
        here.dtypes[device_number(device_type)] = dtype;
      },
      "device_type"_a, "dtype"_a, R"(Sets the dtype that autocast chooses where 16 bits are enough.
    device_type: the kind of device, ``"cpu"`` or ``"cuda"``.
    dtype: the dtype, ``facula.bfloat16`` or ``facula.float16``.
    >>> facula.set_autocast_dtype("cpu", facula.bfloat16))"_doc);
  def_state(
      m, "is_autocast_cache_enabled", [] { return here.is_cache_enabled; },
      R"(Whether autocast keeps the weights that it has cast until its outermost block ends.
    >>> facula.is_autocast_cache_enabled()
    True)"_doc);
  def_state(
      m, "set_autocast_cache_enabled", [](bool enabled) { here.is_cache_enabled = enabled; },
      "enabled"_a, R"(Sets whether autocast keeps the weights that it has cast.
    enabled: whether a weight that is used again is not cast again.
    >>> facula.set_autocast_cache_enabled(True))"_doc);
  def_state(m, "clear_autocast_cache", &clear_cache, R"(Drops the weights that autocast has cast.
    >>> facula.clear_autocast_cache())"_doc);
  def_state(
      m, "autocast_increment_nesting", [] { return ++here.n_nested; },
      R"(Counts a block of autocast that begins, and returns how many have begun.
    >>> facula.autocast_increment_nesting()
    1
    >>> facula.autocast_decrement_nesting()
    0)"_doc);
  def_state(
      m, "autocast_decrement_nesting", [] { return --here.n_nested; },
      R"(Counts a block of autocast that ends, and returns how many are left.
    >>> facula.autocast_increment_nesting()
    1
    >>> facula.autocast_decrement_nesting()
    0)"_doc);
  m.def("_autocast_cache_size", [] { return here.cache ? here.cache->size() : 0; });
  m.def(
      "_set_autocast_list",
      [](const std::string& device_type, const std::string& list) {
        here.lists[device_number(device_type)] = static_cast<uint8_t>(device_number(list));
      },
      "device_type"_a, "list"_a,
      "Lets a device follow the policies of another: tests check those of GPUs where none is.");
  m.def("_autocast_names", [] {
    std::vector<std::string> names;
    for (const auto& row : table()) names.push_back(row.first);
    return names;
  });
}

}  // namespace facula::autocast
