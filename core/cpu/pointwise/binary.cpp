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

}  // namespace FACULA_ISA
}  // namespace facula::cpu
