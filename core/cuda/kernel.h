// Kernels that are templates of core/cuda/kernels/: compiled for the dtypes they meet, at first
// use.
#pragma once
#include <initializer_list>
#include <unordered_map>

#include "base/device.h"
#include "base/dtype.h"
#include "base/integers.h"
#include "cuda/program.h"

namespace facula::cuda {

// A set of dtypes, as bits.
using DTypes = uint32_t;
constexpr DTypes only(DType dtype) { return DTypes(1) << static_cast<int>(dtype); }
constexpr DTypes kAllDTypes = (DTypes(1) << kNumComputedDTypes) - 1;
constexpr DTypes kComplexDTypes = only(DType::Complex64) | only(DType::Complex128);
constexpr DTypes kRealDTypes = kAllDTypes & ~kComplexDTypes;
constexpr DTypes kFloatDTypes =
    only(DType::Float16) | only(DType::BFloat16) | only(DType::Float32) | only(DType::Float64);
// Elements that are moved, not computed with, are told apart by their size alone.
constexpr DTypes kWordDTypes = only(DType::UInt8) | only(DType::Int16) | only(DType::Int32) |
                               only(DType::Int64) | only(DType::Complex128);
DType word_dtype(int64_t nbytes);

// The name of a dtype's type in kernels.
const char* type_name(DType dtype);
// The same, and of uint16, uint32 and uint64.
const char* integer_name(DType dtype);

constexpr int kKernelThreads = 256;

// Whether kernels may read so many bytes at once there, the most that they do unless it is said.
inline bool is_aligned(const void* data, int64_t nbytes = 16) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(nbytes) == 0;
}

class KernelTemplate {
 public:
  KernelTemplate(const char* file, const char* function, const char* arguments,
                 std::initializer_list<DTypes> allowed);
  KernelTemplate(const KernelTemplate&) = delete;
  KernelTemplate& operator=(const KernelTemplate&) = delete;

 protected:
  using Types = std::initializer_list<DType>;
  // Blocks that have kKernelThreads threads.
  void run(Device device, Types dtypes, Grid grid, const void* arguments) const;

 private:
  static void list_programs(std::vector<Program>& programs);
  std::string text(const DType* dtypes, const std::string& suffix) const;
  // The name that profilers show.
  std::string entry() const { return std::string(function_) + "_kernel"; }

  const char *file_, *function_, *arguments_;
  std::vector<DTypes> allowed_;                         // by type parameter
  mutable std::unordered_map<uint64_t, void*> loaded_;  // guarded by the interpreter lock
};

template <class Arguments>
class Kernel : public KernelTemplate {
 public:
  using KernelTemplate::KernelTemplate;
  void operator()(Device device, Types dtypes, Grid grid, const Arguments& arguments) const {
    run(device, dtypes, grid, &arguments);
  }
  // A thread to each of n elements, if there are any.
  void for_each(Device device, Types dtypes, int64_t n, const Arguments& arguments) const {
    if (n > 0) run(device, dtypes, {ceil_div(n, kKernelThreads), 1}, &arguments);
  }
};

// name_kernel: the function `name` of kernels/FILE. It takes one struct, Arguments, and is a
// template over a type for each set of dtypes that follows.
#define FACULA_KERNEL(name, file, Arguments, ...) \
  const Kernel<Arguments> name##_kernel(file, #name, #Arguments, {__VA_ARGS__});

}  // namespace facula::cuda
