// NVIDIA GPUs: devices, streams, events and memory, for facula/cuda.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "cuda/cuda.h"

#include "base/parallel.h"
#include "bind/bind.h"
#include "bind/exceptions.h"
#include "cuda/allocator.h"
#include "cuda/device.h"
#include "cuda/fft/fft.h"
#include "cuda/graph.h"
#include "cuda/library.h"
#include "cuda/pinned.h"
#include "cuda/program.h"
#include "ops/ops.h"

namespace facula {

namespace {

using cuda::check_result;
using cuda::driver;

// Where pip may have put the package `nvidia`.
std::vector<std::string> module_folders() {
  std::vector<std::string> folders;
  PyObject* path = PySys_GetObject("path");
  for (Py_ssize_t i = 0; path && PyList_Check(path) && i < PyList_GET_SIZE(path); ++i) {
    const char* folder = PyUnicode_Check(PyList_GET_ITEM(path, i))
                             ? PyUnicode_AsUTF8(PyList_GET_ITEM(path, i))
                             : nullptr;
    if (folder && *folder) folders.push_back(folder);
  }
  return folders;
}

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }
uint64_t address(void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// True, or false where work is still to be done.
bool is_done(cuda::Result result, const char* what) {
  if (result == cuda::kNotReady) return false;
  check_result(result, what);
  return true;
}

void bind_streams(nb::module_& m) {
  m.def("_cuda_current_stream",
        [](int device) { return address(cuda::current_stream(cuda::existing_device(device))); });
  m.def("_cuda_set_stream", [](int device, uint64_t stream) {
    cuda::set_current_stream(cuda::existing_device(device), pointer(stream));
  });
  m.def("_cuda_stream_create", [](int device, int priority) {
    constexpr unsigned does_not_wait_for_default = 1;
    cuda::enter(device);
    void* stream = nullptr;
    check_result(driver().stream_create(&stream, does_not_wait_for_default, priority),
                 "cuStreamCreateWithPriority");
    return address(stream);
  });
  m.def("_cuda_stream_priorities", [](int device) {
    cuda::enter(device);
    int least = 0, greatest = 0;
    check_result(driver().stream_priorities(&least, &greatest), "cuCtxGetStreamPriorityRange");
    return std::make_tuple(least, greatest);
  });
  m.def("_cuda_can_access_peer", [](int device, int peer) {
    int can = 0;
    check_result(driver().can_access_peer(&can, device, peer), "cuDeviceCanAccessPeer");
    return can != 0;
  });
  m.def("_cuda_stream_synchronize",
        [](int device, uint64_t stream) { cuda::synchronize_stream(device, pointer(stream)); });
  m.def("_cuda_stream_query", [](int device, uint64_t stream) {
    cuda::enter(device);
    return is_done(driver().stream_query(pointer(stream)), "cuStreamQuery");
  });
  m.def("_cuda_stream_wait_event", [](int device, uint64_t stream, uint64_t event) {
    cuda::enter(device);
    check_result(driver().stream_wait_event(pointer(stream), pointer(event), 0),
                 "cuStreamWaitEvent");
  });
  m.def("_cuda_event_create", [](int device, bool enable_timing, bool is_blocking) {
    constexpr unsigned sleeps_while_waiting = 1, disable_timing = 2;
    cuda::enter(device);
    void* event = nullptr;
    check_result(driver().event_create(&event, (enable_timing ? 0 : disable_timing) |
                                                   (is_blocking ? sleeps_while_waiting : 0)),
                 "cuEventCreate");
    return address(event);
  });
  m.def("_cuda_event_destroy", [](uint64_t event) { driver().event_destroy(pointer(event)); });
  m.def("_cuda_event_record", [](int device, uint64_t event, uint64_t stream) {
    cuda::enter(device);
    check_result(driver().event_record(pointer(event), pointer(stream)), "cuEventRecord");
  });
  m.def("_cuda_event_query", [](uint64_t event) {
    return is_done(driver().event_query(pointer(event)), "cuEventQuery");
  });
  m.def("_cuda_event_synchronize", [](uint64_t event) {
    cuda::Result result = cuda::kSuccess;
    run_blocking([&] { result = driver().event_synchronize(pointer(event)); });
    check_result(result, "cuEventSynchronize");
    for (int i = 0; i < cuda::device_count(); ++i) cuda::raise_fault(i);
  });
  m.def("_cuda_event_elapsed", [](uint64_t start, uint64_t end) {
    float milliseconds = 0;
    check_result(driver().event_elapsed(&milliseconds, pointer(start), pointer(end)),
                 "cuEventElapsedTime");
    return milliseconds;
  });
}

// By name: what there is now, the most there was, all that ever was; and two counts.
nb::dict stats_dict(const cuda::MemoryStats& stats) {
  nb::dict values;
  auto add = [&](const char* name, const cuda::MemoryCount& count) {
    values[name] = nb::make_tuple(count.current, count.peak, count.total);
  };
  add("allocated_bytes", stats.allocated_bytes);
  add("reserved_bytes", stats.reserved_bytes);
  add("allocation", stats.allocations);
  add("segment", stats.segments);
  values["num_alloc_retries"] = stats.n_retries;
  values["num_ooms"] = stats.n_failures;
  return values;
}

bool is_pinned(const Tensor& x) { return x.is_cpu() && cuda::is_pinned(x.storage()->data()); }

void bind_memory(nb::module_& m) {
  m.def("_cuda_memory_stats", [](int device) { return stats_dict(cuda::memory_stats(device)); });
  m.def("_cuda_reset_accumulated", &cuda::reset_accumulated_stats);
  // (address, bytes, owner, whether it is for small blocks, (bytes, whether in use) of the blocks).
  m.def("_cuda_memory_snapshot", [](int device) {
    nb::list segments;
    for (const cuda::SegmentInfo& s : cuda::memory_snapshot(device)) {
      nb::list blocks;
      for (const cuda::BlockInfo& block : s.blocks)
        blocks.append(nb::make_tuple(block.nbytes, block.is_used));
      segments.append(nb::make_tuple(reinterpret_cast<uint64_t>(s.data), s.nbytes, s.owner,
                                     s.is_small, blocks));
    }
    return segments;
  });
  m.def("_cuda_alloc", [](int device, int64_t nbytes, uint64_t stream) {
    return address(cuda::allocator_of(device).allocate(nbytes, pointer(stream)));
  });
  m.def("_cuda_free", [](int device, uint64_t data) {
    cuda::allocator_of(device).deallocate(pointer(data), 0, nullptr);
  });
  m.def("_cuda_begin_pool", [](int device, uint64_t stream, uint64_t pool) {
    cuda::hold_private(device, pool);
    cuda::begin_private(device, pointer(stream), pool);
  });
  m.def("_cuda_end_pool", [](int device, uint64_t stream, uint64_t pool) {
    cuda::end_private(device, pointer(stream));
    cuda::release_private(device, pool);
  });
  m.def("_fft_plans", [](int device) {
    return std::make_tuple(cuda::fft_plan_count(device), cuda::fft_plan_limit(device));
  });
  m.def("_set_fft_plan_limit", &cuda::set_fft_plan_limit);
  m.def("_clear_fft_plans", &cuda::clear_fft_plans);
  m.def("_cuda_set_memory_fraction", &cuda::set_memory_fraction);
  m.def("_cuda_memory_fraction", &cuda::memory_fraction);
  def_method(
      "record_stream",
      [](const Tensor& x, nb::handle stream) {
        check(x.device().is_cuda(),
              "record_stream: expected a tensor on a CUDA device, got one on ", x.device(), ".");
        uint64_t handle = 0;
        check_type(nb::try_cast(nb::getattr(stream, "cuda_stream", nb::none()), handle),
                   "record_stream: expected a facula.cuda.Stream, got ", nb::repr(stream).c_str(),
                   ".");
        cuda::record_stream(x.device().index, x.storage()->data(), pointer(handle));
      },
      "stream"_a,
      R"(Tells that another stream uses the tensor: its memory is not used again before what that
stream has to do now is done.
    stream: a :class:`facula.cuda.Stream`, other than the one on which the tensor was made.
    >>> if facula.cuda.is_available():
    ...     x = facula.ones(2, device="cuda")
    ...     x.record_stream(facula.cuda.Stream()))"_doc);
  def_method(
      "pin_memory",
      [](const Tensor& x, nb::handle) {
        check(x.is_cpu(), "pin_memory: only tensors of the CPU can be pinned, got one on ",
              x.device(), ".");
        if (is_pinned(x)) return x;
        Tensor y = empty_pinned_like(x, x.dtype());
        copy_into(y, x);
        return y;
      },
      "device"_or_none,
      R"(A copy in page-locked memory, from which copies to a GPU go on beside the CPU's work.

Raises without a GPU.
    device: accepted as in PyTorch; the memory serves all GPUs.
    >>> x = facula.ones(2)
    >>> if facula.cuda.is_available():
    ...     x = x.pin_memory().to("cuda", non_blocking=True)
    >>> x.sum().item()
    2.0)"_doc);
  def_method(
      "is_pinned", [](const Tensor& x, nb::handle) { return is_pinned(x); }, "device"_or_none,
      R"(Whether the memory is page-locked, as :meth:`pin_memory` makes it.
    device: accepted as in PyTorch.
    >>> facula.zeros(2).is_pinned()
    False)"_doc);
  m.def("_pinned_memory_stats", [] { return stats_dict(cuda::pinned_memory_stats()); });
  m.def("_reset_pinned_peak", &cuda::reset_pinned_peak);
  m.def("_reset_pinned_accumulated", &cuda::reset_pinned_accumulated);
  m.def("_cuda_reset_peak", [](int device) { cuda::allocator_of(device).reset_peak(); });
  m.def("_cuda_empty_cache", [] {
    cuda::empty_pinned_cache();
    for (int i = 0; i < cuda::device_count(); ++i) cuda::allocator_of(i).empty_cache();
  });
  m.def("_cuda_mem_get_info", [](int device) {
    size_t n_free = 0, n_total = 0;
    cuda::enter(device);
    check_result(driver().memory_info(&n_free, &n_total), "cuMemGetInfo");
    return std::make_tuple(n_free, n_total);
  });
}

void bind_graphs(nb::module_& m) {
  nb::class_<cuda::Graph>(m, "_CudaGraph")
      .def(nb::init<>())
      .def("begin", &cuda::Graph::begin)
      .def("end", &cuda::Graph::end)
      .def("replay", &cuda::Graph::replay)
      .def("reset", &cuda::Graph::reset)
      .def("pool", &cuda::Graph::pool);
  m.def("_cuda_new_pool", &cuda::new_pool);
  m.def("_cuda_is_capturing",
        [](int device) { return cuda::capturing(cuda::existing_device(device)) != nullptr; });
}

}  // namespace

FACULA_BINDINGS {
  cuda::set_package_folders(module_folders);
  cuda::register_backend();
  m.def("_cuda_unavailable_reason", &cuda::unavailable_reason);
  m.def("_cuda_device_count", &cuda::device_count);
  m.def("_cuda_current_device", [] { return cuda::resolve_device({DeviceType::CUDA, -1}).index; });
  m.def("_cuda_set_device", &cuda::set_current_device);
  m.def("_cuda_synchronize", &cuda::synchronize);
  m.def("_cuda_properties", [](int device) {
    const cuda::Properties& p = cuda::properties(device);
    return std::make_tuple(p.name, p.total_memory, p.major, p.minor, p.multi_processor_count);
  });
  m.def("_cuda_pci_bus_id", [](int device) {
    char text[32] = {};
    check_result(driver().device_bus_id(text, sizeof(text), device), "cuDeviceGetPCIBusId");
    return std::string(text);
  });
  m.attr("OutOfMemoryError") = nb::borrow(out_of_memory_error());
  bind_streams(m);
  bind_memory(m);
  bind_graphs(m);
  // For tests: the sources of the kernels, and whether they compile.
  m.def("_cuda_compiler_problem", &cuda::compiler_problem);
  m.def("_cuda_programs", [] {
    std::vector<std::tuple<std::string, DType, std::string>> list;
    for (const cuda::Program& p : cuda::all_programs())
      list.emplace_back(p.name, p.dtype, p.source);
    return list;
  });
  m.def("_cuda_compile", [](const std::string& source, int major, int minor) {
    std::string code = cuda::compile(source, major, minor);
    return nb::bytes(code.data(), code.size());
  });
}

}  // namespace facula
