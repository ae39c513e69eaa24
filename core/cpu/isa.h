// Kernels are compiled once per instruction set (FACULA_ISA names it) and picked at import. Each
// file defines one table of functions, `const XTable x_table`, in the namespace of its instruction
// set; FACULA_KERNEL_TABLE declares them and the function that picks one.
#pragma once

#ifndef FACULA_ISA
#define FACULA_ISA baseline
#endif

// For lambdas, whose calls must know the constants that they get.
#define FACULA_INLINE __attribute__((always_inline))

namespace facula::cpu {

inline namespace FACULA_ISA {}  // namespace FACULA_ISA

enum class Isa { Baseline, Avx2, Avx512 };
Isa isa();  // the best that both the machine and FACULA_CPU_CAPABILITY (baseline, avx2, avx512)
            // allow
const char* isa_name();

#if defined(__x86_64__)
#define FACULA_KERNEL_TABLE(Table, name)                               \
  namespace baseline {                                                 \
  extern const Table name;                                             \
  }                                                                    \
  namespace avx2 {                                                     \
  extern const Table name;                                             \
  }                                                                    \
  namespace avx512 {                                                   \
  extern const Table name;                                             \
  }                                                                    \
  inline const Table& get_##name() {                                   \
    static const Table& table = isa() == Isa::Avx512 ? avx512::name    \
                                : isa() == Isa::Avx2 ? avx2::name      \
                                                     : baseline::name; \
    return table;                                                      \
  }
#else
#define FACULA_KERNEL_TABLE(Table, name) \
  namespace baseline {                   \
  extern const Table name;               \
  }                                      \
  inline const Table& get_##name() { return baseline::name; }
#endif

}  // namespace facula::cpu
