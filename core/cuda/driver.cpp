#include "cuda/driver.h"

#include <cstdlib>

#include "base/error.h"
#include "cuda/library.h"

namespace facula::cuda {

namespace {

struct Loaded {
  Driver driver{};
  std::string problem;
};

void load_functions(const Library& library, Driver& d) {
  library.load(d.init, "cuInit");
  library.load(d.version, "cuDriverGetVersion");
  library.load(d.device_count, "cuDeviceGetCount");
  library.load(d.device_get, "cuDeviceGet");
  library.load(d.device_name, "cuDeviceGetName");
  library.load(d.device_memory, "cuDeviceTotalMem_v2");
  library.load(d.device_bus_id, "cuDeviceGetPCIBusId");
  library.load(d.device_attribute, "cuDeviceGetAttribute");
  library.load(d.primary_context_retain, "cuDevicePrimaryCtxRetain");
  library.load(d.context_get_current, "cuCtxGetCurrent");
  library.load(d.context_set_current, "cuCtxSetCurrent");
  library.load(d.context_synchronize, "cuCtxSynchronize");
  library.load(d.memory_info, "cuMemGetInfo_v2");
  library.load(d.memory_allocate, "cuMemAlloc_v2");
  library.load(d.memory_free, "cuMemFree_v2");
  library.load(d.host_memory_allocate, "cuMemHostAlloc");
  library.load(d.host_memory_free, "cuMemFreeHost");
  library.load(d.copy_to_device, "cuMemcpyHtoDAsync_v2");
  library.load(d.copy_to_host, "cuMemcpyDtoHAsync_v2");
  library.load(d.copy_on_device, "cuMemcpyDtoDAsync_v2");
  library.load(d.copy_between, "cuMemcpyPeerAsync");
  library.load(d.stream_create, "cuStreamCreateWithPriority");
  library.load(d.stream_priorities, "cuCtxGetStreamPriorityRange");
  library.load(d.can_access_peer, "cuDeviceCanAccessPeer");
  library.load(d.stream_synchronize, "cuStreamSynchronize");
  library.load(d.stream_query, "cuStreamQuery");
  library.load(d.stream_wait_event, "cuStreamWaitEvent");
  library.load(d.stream_begin_capture, "cuStreamBeginCapture_v2");
  library.load(d.stream_end_capture, "cuStreamEndCapture");
  library.load(d.graph_instantiate, "cuGraphInstantiateWithFlags");
  library.load(d.graph_launch, "cuGraphLaunch");
  library.load(d.graph_exec_destroy, "cuGraphExecDestroy");
  library.load(d.graph_destroy, "cuGraphDestroy");
  library.load(d.event_create, "cuEventCreate");
  library.load(d.event_destroy, "cuEventDestroy_v2");
  library.load(d.event_record, "cuEventRecord");
  library.load(d.event_query, "cuEventQuery");
  library.load(d.event_synchronize, "cuEventSynchronize");
  library.load(d.event_elapsed, "cuEventElapsedTime");
  library.load(d.module_load, "cuModuleLoadData");
  library.load(d.module_function, "cuModuleGetFunction");
  library.load(d.launch, "cuLaunchKernel");
  library.load(d.error_name, "cuGetErrorName");
  library.load(d.error_text, "cuGetErrorString");
}

std::string describe(const Driver& d, Result result) {
  const char *name = nullptr, *text = nullptr;
  d.error_name(result, &name);
  d.error_text(result, &text);
  return std::string(name ? name : "unknown error") + " (" +
         (text ? text : std::to_string(result)) + ")";
}

Loaded load_driver() {
  Loaded loaded;
  Library library = Library::open_system("libcuda.so.1");
  if (!library.is_open()) {
    loaded.problem = "found no NVIDIA driver on your system (libcuda.so.1 could not be opened)";
    return loaded;
  }
  try {
    load_functions(library, loaded.driver);
  } catch (const Error& error) {
    loaded.problem = error.what();
    return loaded;
  }
  int count = 0;
  Result result = loaded.driver.init(0);
  if (result == kSuccess) result = loaded.driver.device_count(&count);
  if (result == kNoDevice || (result == kSuccess && count == 0)) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    loaded.problem = visible ? "CUDA_VISIBLE_DEVICES=" + std::string(visible) +
                                   " hides all GPUs, or there is none"
                             : "the NVIDIA driver sees no GPU";
  } else if (result != kSuccess) {
    loaded.problem = "the NVIDIA driver did not start: " + describe(loaded.driver, result);
  }
  return loaded;
}

const Loaded& loaded_driver() {
  static const Loaded loaded = load_driver();
  return loaded;
}

}  // namespace

const std::string& driver_problem() { return loaded_driver().problem; }

const Driver& driver() {
  const Loaded& loaded = loaded_driver();
  check(loaded.problem.empty(), "cuda: ", loaded.problem,
        ". Use device='cpu', or ask facula.cuda.is_available() first.");
  return loaded.driver;
}

void check_result(Result result, const char* what) {
  if (__builtin_expect(result == kSuccess, 1)) return;
  fail(result == kOutOfMemory ? ErrorKind::OutOfMemory : ErrorKind::Runtime, "cuda: ", what,
       " failed: ", describe(driver(), result),
       ". Kernels run after their launch; with CUDA_LAUNCH_BLOCKING=1 the error is raised where it "
       "happens.");
}

}  // namespace facula::cuda
