// Picks the instruction set of the kernels.
#include <cstdlib>
#include <cstring>

#include "cpu/isa.h"

namespace facula::cpu {

namespace {
Isa detect() {
#if defined(__x86_64__)
  Isa best = Isa::Baseline;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = Isa::Avx2;
  if (best == Isa::Avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    best = Isa::Avx512;
  if (const char* wish = std::getenv("FACULA_CPU_CAPABILITY")) {
    if (!std::strcmp(wish, "baseline")) return Isa::Baseline;
    if (!std::strcmp(wish, "avx2") && best == Isa::Avx512) return Isa::Avx2;
  }
  return best;
#else
  return Isa::Baseline;
#endif
}
}  // namespace

Isa isa() {
  static const Isa chosen = detect();
  return chosen;
}

const char* isa_name() {
  switch (isa()) {
    case Isa::Avx512:
      return "avx512";
    case Isa::Avx2:
      return "avx2";
    default:
      return "baseline";
  }
}

}  // namespace facula::cpu
