// How the losses of elements or rows become a result.
#pragma once
#include <cstdint>

#include "base/error.h"

namespace facula {

enum class Reduction { None, Mean, Sum };

// PyTorch's numbers.
inline Reduction reduction_of(int64_t number) {
  check_value(number >= 0 && number <= 2, "reduction: expected 0, 1 or 2, got ", number, ".");
  return static_cast<Reduction>(number);
}

}  // namespace facula
