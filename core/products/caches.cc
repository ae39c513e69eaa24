#include "products/caches.h"

#include <unistd.h>

#include <algorithm>

#include "products/tuning.h"

namespace facula {
namespace {

// The fractions below were measured with an L2 of 1 MiB and a part of L3 of 32 MiB for each core's
// neighbourhood. Virtual machines report the L3 of the whole socket and more (here 320 MiB), so
// larger caches than these are not believed.
constexpr int64_t kMeasuredL2 = int64_t{1} << 20, kMeasuredL3 = int64_t{32} << 20;
constexpr int64_t kLeastL2 = kMeasuredL2 / 4, kLeastL3 = kMeasuredL3 / 8;

// `name` is one of sysconf's, which answers 0 or -1 where it does not know.
int64_t cache_bytes(int name, int64_t least, int64_t most) {
  int64_t nbytes = name < 0 ? 0 : sysconf(name);
  return nbytes <= 0 ? most : std::clamp(nbytes, least, most);
}

CacheCuts make_cuts() {
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  constexpr int l2_name = _SC_LEVEL2_CACHE_SIZE, l3_name = _SC_LEVEL3_CACHE_SIZE;
#else
  constexpr int l2_name = -1, l3_name = -1;
#endif
  int64_t l2 = cache_bytes(l2_name, kLeastL2, kMeasuredL2);
  int64_t l3 = cache_bytes(l3_name, kLeastL3, kMeasuredL3);
  constexpr int64_t row_bytes = tuning::kSliceOfK * 4;  // of packed floats
  constexpr int64_t panel = tuning::kTileVectors * 16;  // columns
  CacheCuts cuts;
  constexpr int64_t unit = tuning::kTileRows * tuning::kShortTileRows;  // rows
  cuts.block_rows = l3 * 9 / 32 / row_bytes / unit * unit;
  cuts.block_cols = l3 * 15 / 32 / row_bytes / panel * panel;
  cuts.tile_cols = std::max<int64_t>(1, l2 * 3 / 4 / (panel * row_bytes)) * panel;
  cuts.numel_small_a = l2 * 5 / 32;
  cuts.numel_in_place = l2 * 3 / 32;
  cuts.window_bytes = l2 * 7 / 16;
  return cuts;
}

}  // namespace

const CacheCuts& cache_cuts() {
  static const CacheCuts cuts = make_cuts();
  return cuts;
}

}  // namespace facula
