#include "cpu/pointwise/binary_kernel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define BINARY FACULA_BINARY_ROW
#define BINARY_KERNEL FACULA_BINARY_KERNEL
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"

}  // namespace

extern const BinaryTable binary_table;
const BinaryTable binary_table = {{
#define BINARY(name, ...) dtype_row<name##_kernel>(),
#define BINARY_KERNEL BINARY
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"
}};

namespace {

template <class T>
void complex_loop(char** data, const int64_t* strides, int64_t n, const void*) {
  map2<std::complex<T>, T>(data, strides, n, [](T a, T b) { return std::complex<T>(a, b); });
}

}  // namespace

extern const ComplexTable complex_table;
const ComplexTable complex_table = [] {
  ComplexTable table = {};
  table.loops[static_cast<int>(DType::Float32)] = complex_loop<float>;
  table.loops[static_cast<int>(DType::Float64)] = complex_loop<double>;
  return table;
}();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
