#include "cuda/kernel.h"

#include <algorithm>

#include "base/error.h"

namespace facula::cuda {

namespace {

// By dtype, as kernels/types.h names them.
constexpr const char* kTypes[kNumDTypes] = {"bool",    "uint8_t", "int8_t",    "int16_t",
                                            "int32_t", "int64_t", "Half",      "BFloat16",
                                            "float",   "double",  "Complex64", "Complex128"};

std::vector<const KernelTemplate*>& templates() {
  static std::vector<const KernelTemplate*> list;
  return list;
}

DType nth_dtype(DTypes set, int n) {
  int dtype = 0;
  for (int at = n % __builtin_popcount(set); at > 0 || !(set >> dtype & 1); ++dtype)
    at -= set >> dtype & 1;
  return static_cast<DType>(dtype);
}

}  // namespace

const char* type_name(DType dtype) { return kernel_of(kTypes, dtype); }

const char* integer_name(DType dtype) {
  constexpr const char* names[] = {"uint16_t", "uint32_t", "uint64_t"};
  if (!is_wide_unsigned(dtype)) return type_name(dtype);
  return names[static_cast<int>(dtype) - static_cast<int>(DType::UInt16)];
}

DType word_dtype(int64_t nbytes) {
  switch (nbytes) {
    case 1:
      return DType::UInt8;
    case 2:
      return DType::Int16;
    case 4:
      return DType::Int32;
    case 8:
      return DType::Int64;
    default:
      return DType::Complex128;
  }
}

KernelTemplate::KernelTemplate(const char* file, const char* function, const char* arguments,
                               std::initializer_list<DTypes> allowed)
    : file_(file), function_(function), arguments_(arguments), allowed_(allowed) {
  static const ProgramLister lister(list_programs);
  templates().push_back(this);
}

std::string KernelTemplate::text(const DType* dtypes, const std::string& suffix) const {
  std::string types;
  for (size_t i = 0; i < allowed_.size(); ++i)
    types += std::string(i ? ", " : "<") + type_name(dtypes[i]);
  if (!types.empty()) types += ">";
  return std::string("#include \"cuda/kernels/") + file_ + "\"\nextern \"C\" __global__ void " +
         entry() + suffix + "(const facula::" + arguments_ +
         " a) {\n  using namespace facula;\n  facula::" + function_ + types + "(a);\n}\n";
}

void KernelTemplate::run(Device device, Types dtypes, Grid grid, const void* arguments) const {
  if (device.is_meta()) return;
  uint64_t key = static_cast<uint64_t>(device.index);
  for (DType dtype : dtypes) key = key << 4 | static_cast<uint64_t>(dtype);
  void*& kernel = loaded_[key];
  if (!kernel) {
    check(dtypes.size() == allowed_.size(), "cuda: ", function_, " has ", allowed_.size(),
          " types, got ", dtypes.size(), ".");
    kernel = load_kernel(text(dtypes.begin(), ""), entry().c_str(), device.index);
  }
  launch(kernel, device.index, grid, kKernelThreads, arguments);
}

// Each type parameter with each of its dtypes, but not all of one with all of another.
void KernelTemplate::list_programs(std::vector<Program>& programs) {
  for (const KernelTemplate* kernel : templates()) {
    int n = 1;
    for (DTypes set : kernel->allowed_) n = std::max(n, __builtin_popcount(set));
    for (int i = 0; i < n; ++i) {
      std::vector<DType> dtypes;
      for (DTypes set : kernel->allowed_) dtypes.push_back(nth_dtype(set, i));
      programs.push_back({kernel->function_, dtypes.empty() ? DType::UInt8 : dtypes[0],
                          kernel->text(dtypes.data(), std::to_string(programs.size()))});
    }
  }
}

}  // namespace facula::cuda
