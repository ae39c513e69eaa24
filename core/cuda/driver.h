// The CUDA driver (libcuda), opened at first use. Declared here are the few functions that are
// used, so that building needs no CUDA toolkit.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace facula::cuda {

using Result = int;  // CUresult
constexpr Result kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kNotReady = 600;
using DevicePointer = uint64_t;

struct Driver {
  Result (*init)(unsigned flags);
  Result (*version)(int* version);  // 1000 * major + 10 * minor, of CUDA
  Result (*device_count)(int* count);
  Result (*device_get)(int* device, int index);
  Result (*device_name)(char* name, int length, int device);
  Result (*device_memory)(size_t* nbytes, int device);
  Result (*device_bus_id)(char* text, int length, int device);
  Result (*device_attribute)(int* value, int attribute, int device);
  Result (*primary_context_retain)(void** context, int device);
  Result (*context_get_current)(void** context);
  Result (*context_set_current)(void* context);
  Result (*context_synchronize)();
  Result (*memory_info)(size_t* n_free, size_t* n_total);
  Result (*memory_allocate)(DevicePointer* data, size_t nbytes);
  Result (*memory_free)(DevicePointer data);
  Result (*host_memory_allocate)(void** data, size_t nbytes, unsigned flags);
  Result (*host_memory_free)(void* data);
  Result (*copy_to_device)(DevicePointer to, const void* from, size_t nbytes, void* stream);
  Result (*copy_to_host)(void* to, DevicePointer from, size_t nbytes, void* stream);
  Result (*copy_on_device)(DevicePointer to, DevicePointer from, size_t nbytes, void* stream);
  Result (*copy_between)(DevicePointer to, void* to_context, DevicePointer from, void* from_context,
                         size_t nbytes, void* stream);
  Result (*stream_create)(void** stream, unsigned flags, int priority);
  Result (*stream_priorities)(int* least, int* greatest);
  Result (*can_access_peer)(int* can, int device, int peer);
  Result (*stream_synchronize)(void* stream);
  Result (*stream_query)(void* stream);
  Result (*stream_wait_event)(void* stream, void* event, unsigned flags);
  Result (*stream_begin_capture)(void* stream, int mode);
  Result (*stream_end_capture)(void* stream, void** graph);
  Result (*graph_instantiate)(void** executable, void* graph, unsigned long long flags);
  Result (*graph_launch)(void* executable, void* stream);
  Result (*graph_exec_destroy)(void* executable);
  Result (*graph_destroy)(void* graph);
  Result (*event_create)(void** event, unsigned flags);
  Result (*event_destroy)(void* event);
  Result (*event_record)(void* event, void* stream);
  Result (*event_query)(void* event);
  Result (*event_synchronize)(void* event);
  Result (*event_elapsed)(float* milliseconds, void* start, void* end);
  Result (*module_load)(void** module, const void* image);
  Result (*module_function)(void** function, void* module, const char* name);
  Result (*launch)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** arguments, void** extra);
  Result (*error_name)(Result error, const char** text);
  Result (*error_text)(Result error, const char** text);
};

// Why the driver cannot be used, or nothing: no library, no device, all of them hidden, a failed
// start. Found out once.
const std::string& driver_problem();
// Fails with driver_problem() if there is one.
const Driver& driver();

// Raises for a failed call: what was being done, the driver's name of the error and its
// explanation.
void check_result(Result result, const char* what);

}  // namespace facula::cuda
