// Cuts that follow the caches of this machine. None of them decides the order of a sum, nor
// chooses between ways that would round differently: results have the same bits whatever they are.
#pragma once
#include <cstdint>

namespace facula {

struct CacheCuts {
  // ---- of a product of matrices, see Note [Blocked product]
  int64_t block_rows;      // of A and
  int64_t block_cols;      // of B, whose packed slices of k are 9/32 and 15/32 of L3
  int64_t tile_cols;       // of B that meet all of A before the next come: 3/4 of L2
  int64_t numel_small_a;   // of a slice of A that stays in L2 while B passes by
  int64_t numel_in_place;  // of a B whose rows come from L2, beside A and C, as fast as packed ones
  // ---- of a convolution
  int64_t window_bytes;  // of packed windows that meet all weights: 7/16 of L2
};
const CacheCuts& cache_cuts();

}  // namespace facula
