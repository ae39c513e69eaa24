#include "cpu/run.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/shape/copy.h"

namespace facula {

namespace {

// Enough elements to pay for waking another thread. Also the size of a piece, so results never
// depend on the threads.
constexpr int64_t kGrain = 32768;
constexpr int64_t kShortRow = 96;  // elements whose loop takes less time than its call
constexpr int64_t kTile = 1024;    // elements that are brought together for one call
constexpr int64_t kTileSide = 32;

// Rows [begin, end) of a walk: all dimensions but the innermost, counted as one. The number of
// operands is a constant, because the steps between short rows cost as much as the rows.
template <int n_operands>
void run_rows(const Walk& walk, Loop loop, const void* params, int64_t begin, int64_t end) {
  int64_t counter[kMaxDims];
  int64_t strides[n_operands];
  char* base[n_operands];
  for (int i = 0; i < n_operands; ++i) base[i] = walk.data[i];
  int64_t rest = begin;
  for (int d = 1; d < walk.n_dims; ++d) {
    counter[d] = rest % walk.sizes[d];
    rest /= walk.sizes[d];
    for (int i = 0; i < n_operands; ++i) base[i] += counter[d] * walk.strides[i][d];
  }
  for (int i = 0; i < n_operands; ++i) strides[i] = walk.strides[i][0];
  for (int64_t row = begin; row < end; ++row) {
    char* data[n_operands];
    for (int i = 0; i < n_operands; ++i) data[i] = base[i];
    loop(data, strides, walk.sizes[0], params);
    for (int d = 1; d < walk.n_dims; ++d) {
      for (int i = 0; i < n_operands; ++i) base[i] += walk.strides[i][d];
      if (++counter[d] < walk.sizes[d]) break;
      for (int i = 0; i < n_operands; ++i) base[i] -= walk.sizes[d] * walk.strides[i][d];
      counter[d] = 0;
    }
  }
}

void run_rows(const Walk& walk, Loop loop, const void* params, int64_t begin, int64_t end) {
  static_assert(kMaxOperands == 6);
  constexpr decltype(&run_rows<1>) by_operands[] = {run_rows<1>, run_rows<2>, run_rows<3>,
                                                    run_rows<4>, run_rows<5>, run_rows<6>};
  by_operands[walk.n_operands - 1](walk, loop, params, begin, end);
}

// Elements [begin, end) of a walk of one dimension.
void run_line(const Walk& walk, Loop loop, const void* params, int64_t begin, int64_t end) {
  char* data[kMaxOperands];
  int64_t strides[kMaxOperands];
  for (int i = 0; i < walk.n_operands; ++i) {
    strides[i] = walk.strides[i][0];
    data[i] = walk.data[i] + begin * strides[i];
  }
  loop(data, strides, end - begin, params);
}

// Device memory must never be read here: an operation that forgot to ask stops with an error.
void check_on_cpu(const Walk& walk) {
  check_not_implemented(walk.device.is_cpu(), "this operation is not available on ", walk.device,
                        " yet. Move its tensors with .cpu() first.");
}

void run_pieces(const Walk& walk, Loop loop, const void* params, int64_t grain) {
  if (walk.numel == 0) return;
  if (walk.n_dims == 1) {
    if (walk.numel <= grain) return run_line(walk, loop, params, 0, walk.numel);
    return parallel_for(walk.numel, grain, [&](int64_t begin, int64_t end) {
      run_line(walk, loop, params, begin, end);
    });
  }
  int64_t inner = walk.sizes[0], n_rows = walk.numel / inner;
  if (walk.numel <= grain) return run_rows(walk, loop, params, 0, n_rows);
  parallel_for(n_rows, std::max<int64_t>(1, grain / inner),
               [&](int64_t begin, int64_t end) { run_rows(walk, loop, params, begin, end); });
}

// Whether a kernel would have to step over elements that are not its own.
bool has_gaps(const Walk& walk) {
  for (int i = 0; i < walk.n_operands; ++i)
    if (walk.strides[i][0] != 0 && walk.strides[i][0] != walk.item_bytes[i]) return true;
  return false;
}

// Whether the result is larger than most caches, so that nobody would find it there. A usual store
// reads its line first: past the caches, an addition moves three quarters of the bytes. Smaller
// ones are written faster in this way, too, but the next operation would wait for them.
bool goes_past_caches(const Walk& walk) {
  constexpr int64_t kLeastBytes = 32 << 20;
  if (walk.numel * walk.item_bytes[0] < kLeastBytes || walk.n_dims > 1 || walk.keeps_places ||
      walk.strides[0][0] == 0 || has_gaps(walk) || reinterpret_cast<uintptr_t>(walk.data[0]) % 64 ||
      !cpu::get_copy_table().past_caches)
    return false;
  // In place there is nothing to save: the line was read for its elements.
  for (int i = 1; i < walk.n_operands; ++i)
    if (walk.data[i] == walk.data[0]) return false;
  return true;
}

// As run_line(), into a block in the cache and from there to memory. A longer block would take
// more time: reading and writing would take turns.
void run_line_past_caches(const Walk& walk, Loop loop, const void* params, int64_t begin,
                          int64_t end) {
  constexpr int64_t kBlockBytes = 1024;
  alignas(64) char block[kBlockBytes];
  const cpu::CopyTable& copies = cpu::get_copy_table();
  int64_t size = walk.item_bytes[0], strides[kMaxOperands];
  for (int i = 0; i < walk.n_operands; ++i) strides[i] = walk.strides[i][0];
  for (int64_t at = begin; at < end; at += kBlockBytes / size) {
    int64_t n = std::min(kBlockBytes / size, end - at);
    char* data[kMaxOperands] = {block};
    for (int i = 1; i < walk.n_operands; ++i) data[i] = walk.data[i] + at * strides[i];
    loop(data, strides, n, params);
    copies.past_caches(walk.data[0] + at * size, block, n * size);
  }
  copies.fence();
}

// Whether so much is read past small gaps that memory is waited for. It waits longer for tiles,
// which are read in turns: 1M products of every second int64 take 1200 us in tiles, 880 us without.
bool waits_for_memory(const Walk& walk) {
  constexpr int64_t kLeastBytes = 24 << 20;
  int64_t nbytes = 0;
  for (int i = 0; i < walk.n_operands; ++i) {
    int64_t size = walk.item_bytes[i], step = walk.strides[i][0];
    bool is_dense = step == 0 || step == size;
    if (!is_dense && (i == 0 || step != 2 * size)) return false;
    nbytes += walk.numel * step;
  }
  return nbytes >= kLeastBytes;
}

// Whether operands are to be brought together before a kernel sees them: their rows are short, or
// have gaps that it would have to step over.
bool wants_tiles(const Walk& walk) {
  if (walk.keeps_places || walk.numel < kShortRow) return false;
  bool is_fill = walk.n_operands == 2 && walk.n_dims == 1 && walk.strides[1][0] == 0;
  if (is_fill) return false;
  if (walk.n_dims > 1 && walk.sizes[0] < kShortRow) return true;
  return has_gaps(walk) && !waits_for_memory(walk);
}

// One call of the loop for n_rows rows of n elements, at most kTile in all, that begin at `base`.
void run_tile(const Walk& walk, Loop loop, const void* params, char* const* base, int64_t n,
              int64_t n_rows) {
  const auto& copies = cpu::get_copy_table().by_size;
  constexpr int64_t kPage = 4096, kRoom = kTile * sizeof(Complex128) + kPage;
  // Not on the stack, which may be small in threads of the user's.
  static thread_local std::unique_ptr<char[]> memory;
  if (!memory) memory.reset(new char[kMaxOperands * kRoom]);
  // Half a page from the result, as the processor compares addresses: closer ones wait for writes.
  uintptr_t apart = (reinterpret_cast<uintptr_t>(base[0]) + kPage / 2) / 64 * 64;
  char* first = memory.get() + (apart - reinterpret_cast<uintptr_t>(memory.get())) % kPage;
  char* data[kMaxOperands];
  int64_t strides[kMaxOperands];
  for (int i = 0; i < walk.n_operands; ++i) {
    int64_t size = walk.item_bytes[i], step = walk.strides[i][0];
    int64_t row_step = n_rows > 1 ? walk.strides[i][1] : n * step;
    data[i] = base[i];
    strides[i] = step;
    if (row_step == n * step && (step == size || step == 0)) continue;
    data[i] = first + i * kRoom;
    strides[i] = size;
    if (i > 0)
      copies[__builtin_ctzll(size)]({data[i], base[i], n, n_rows, size, step, n * size, row_step});
  }
  loop(data, strides, n * n_rows, params);
  if (data[0] == base[0]) return;
  int64_t size = walk.item_bytes[0], row_step = n_rows > 1 ? walk.strides[0][1] : 0;
  copies[__builtin_ctzll(size)](
      {base[0], data[0], n, n_rows, walk.strides[0][0], size, row_step, n * size});
}

// Tiles of the two innermost dimensions: along rows, or square where an operand lies across them,
// so that the cache lines of one row are still there for the next.
void run_tiles(const Walk& walk, Loop loop, const void* params) {
  int64_t n = walk.sizes[0], n_rows = walk.n_dims > 1 ? walk.sizes[1] : 1, width = kTile;
  for (int i = 0; i < walk.n_operands && walk.n_dims > 1; ++i)
    if (walk.strides[i][1] != 0 && std::abs(walk.strides[i][1]) < std::abs(walk.strides[i][0]))
      width = kTileSide;
  width = std::min(n, width);
  int64_t height = std::min(n_rows, kTile / width);
  int64_t n_across = ceil_div(n, width), n_down = ceil_div(n_rows, height);
  int64_t n_tiles = walk.numel / (n * n_rows) * n_across * n_down;
  parallel_for(n_tiles, ceil_div(kGrain, width * height), [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      int64_t column = tile % n_across * width, row = tile / n_across % n_down * height;
      char* base[kMaxOperands];
      for (int i = 0; i < walk.n_operands; ++i) {
        base[i] = walk.data[i] + column * walk.strides[i][0];
        if (row > 0) base[i] += row * walk.strides[i][1];
        int64_t rest = tile / (n_across * n_down);
        for (int d = 2; d < walk.n_dims; ++d) {
          base[i] += rest % walk.sizes[d] * walk.strides[i][d];
          rest /= walk.sizes[d];
        }
      }
      run_tile(walk, loop, params, base, std::min(width, n - column),
               std::min(height, n_rows - row));
    }
  });
}

}  // namespace

void run_cpu(const Walk& walk, Loop loop, const void* params) {
  check_on_cpu(walk);
  check_not_implemented(loop, "not implemented for this dtype.");
  if (goes_past_caches(walk)) {
    return parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
      run_line_past_caches(walk, loop, params, begin, end);
    });
  }
  wants_tiles(walk) ? run_tiles(walk, loop, params) : run_pieces(walk, loop, params, kGrain);
}

void run_cpu_in_order(const Walk& walk, Loop loop, const void* params) {
  check_on_cpu(walk);
  check_not_implemented(loop, "not implemented for this dtype.");
  if (walk.numel <= kGrain) return run_pieces(walk, loop, params, walk.numel);
  run_blocking([&] { run_pieces(walk, loop, params, walk.numel); });
}

}  // namespace facula
