// Arithmetic of sizes.
#pragma once
#include <cstdint>

namespace facula {

// Static: each instruction set has a copy of its own.
[[maybe_unused]] static constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace facula
