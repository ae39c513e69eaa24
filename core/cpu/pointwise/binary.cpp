#include "cpu/pointwise/binary_kernel.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Internal: the lists may have an operation of the same name.
namespace {

#define BINARY FACULA_BINARY_KERNEL
#define BINARY_FLOAT(name, kinds, formula)
#include "tables/binary.def"
#undef BINARY

}  // namespace

extern const BinaryTable binary_table;
const BinaryTable binary_table = {{
#define BINARY(name, kinds, formula) dtype_row<name##_kernel>(),
#define BINARY_FLOAT(name, kinds, formula)
#include "tables/binary.def"
#undef BINARY
}};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
