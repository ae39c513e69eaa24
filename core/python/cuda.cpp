// NVIDIA GPUs: devices, streams, events and memory, for facula/cuda.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "cuda/cuda.h"

#include "base/parallel.h"
#include "bind/bind.h"
#include "cuda/allocator.h"
#include "cuda/device.h"
#include "cuda/library.h"
#include "cuda/program.h"

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
  m.def("_cuda_current_stream", [](int device) { return address(cuda::current_stream(device)); });
  m.def("_cuda_set_stream",
        [](int device, uint64_t stream) { cuda::set_current_stream(device, pointer(stream)); });
  m.def("_cuda_stream_create", [](int device) {
    constexpr unsigned does_not_wait_for_default = 1;
    cuda::enter(device);
    void* stream = nullptr;
    check_result(driver().stream_create(&stream, does_not_wait_for_default), "cuStreamCreate");
    return address(stream);
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
  m.def("_cuda_event_create", [](int device, bool enable_timing) {
    constexpr unsigned disable_timing = 2;
    cuda::enter(device);
    void* event = nullptr;
    check_result(driver().event_create(&event, enable_timing ? 0 : disable_timing),
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

void bind_memory(nb::module_& m) {
  m.def("_cuda_memory", [](int device) {
    AllocatorStats stats = cuda::allocator_of(device).stats();
    return std::make_tuple(stats.allocated_bytes, stats.peak_allocated_bytes, stats.reserved_bytes);
  });
  m.def("_cuda_reset_peak", [](int device) { cuda::allocator_of(device).reset_peak(); });
  m.def("_cuda_empty_cache", [] {
    for (int i = 0; i < cuda::device_count(); ++i) cuda::allocator_of(i).empty_cache();
  });
  m.def("_cuda_mem_get_info", [](int device) {
    size_t n_free = 0, n_total = 0;
    cuda::enter(device);
    check_result(driver().memory_info(&n_free, &n_total), "cuMemGetInfo");
    return std::make_tuple(n_free, n_total);
  });
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
  bind_streams(m);
  bind_memory(m);
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
