// Copies of elements that keep their dtype, two dimensions at a time.
#pragma once
#include <array>
#include <cstdint>

#include "cpu/isa.h"

namespace facula::cpu {

// Rows of n elements. Steps from element to element and from row to row are in bytes.
struct Plane {
  char* to;
  const char* from;
  int64_t n, n_rows;
  int64_t to_step, from_step;
  int64_t to_row, from_row;
};

struct CopyTable {
  std::array<void (*)(Plane), 5> by_size;  // for elements of 1, 2, 4, 8 and 16 bytes
  void (*line)(char* to, const char* from, int64_t nbytes);
  // nbytes to an address that is a multiple of 64, past the caches; null where the machine has no
  // such stores. Other threads may see them only after the fence.
  void (*past_caches)(char* to, const char* from, int64_t nbytes);
  void (*fence)();
};
FACULA_KERNEL_TABLE(CopyTable, copy_table)

}  // namespace facula::cpu
