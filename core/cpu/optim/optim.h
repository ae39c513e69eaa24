// One step of an optimiser over arrays of elements: the parameter, its gradient, the states.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"
#include "math/optim.h"

namespace facula::cpu {

// `rule` is the rule of math/optim.h over double, begun. Arrays of states not in use may be null.
using OptimKernel = void (*)(char* const* arrays, const void* rule, int64_t n);

struct OptimTable {
  using Row = std::array<OptimKernel, kNumDTypes>;
#define FACULA_MEMBER(Rule, name) Row name;
  FACULA_OPTIM_RULES(FACULA_MEMBER)
#undef FACULA_MEMBER
};

FACULA_KERNEL_TABLE(OptimTable, optim_table)

}  // namespace facula::cpu
