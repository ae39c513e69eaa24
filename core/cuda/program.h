// Kernels: CUDA C++ compiled at first use for the architecture of the device, and kept on disk by a
// hash of what was compiled.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace facula::cuda {

// A file of core/math or core/cuda/kernels, which programs may include by this name. They are part
// of the library.
struct KernelSource {
  const char* name;
  const char* text;
};
extern const KernelSource kKernelSources[];
extern const int kNumKernelSources;

// How the compiler may compute. Exact: as the CPU's kernels do, without contraction of a * b + c.
// Rounded: for 16-bit results, whose rounding hides the difference.
enum class Arithmetic { Exact, Rounded };

// Why nothing can be compiled, or nothing.
std::string compiler_problem();
// Why what is compiled would not run: the driver is older than the compiler. Else nothing.
std::string version_problem();
// The machine code of a program (or PTX, where the compiler does not know the architecture yet).
// Raises with the compiler's log.
std::string compile(const std::string& source, int major, int minor,
                    Arithmetic arithmetic = Arithmetic::Exact);

// A kernel, loaded on one device; there is one to each (program, device).
void* load_kernel(const std::string& source, const char* entry, int index,
                  Arithmetic arithmetic = Arithmetic::Exact);

// What a kernel may be compiled from, for tests: they compile all that files with kernels list. The
// number of programs before it tells the entry of one apart where several are compiled as one.
struct Program {
  std::string name;
  DType dtype;  // of the elements it works on
  std::string source;
};
struct ProgramLister {
  explicit ProgramLister(void (*list)(std::vector<Program>&));
};
std::vector<Program> all_programs();

struct Grid {
  int64_t x = 1, y = 1;
};
void launch(void* kernel, int index, Grid grid, int n_threads, const void* arguments);

}  // namespace facula::cuda
