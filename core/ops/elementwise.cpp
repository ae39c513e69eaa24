#include "ops/elementwise.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/copy.h"
#include "cuda/cuda.h"

namespace facula {

namespace {

// Enough elements to pay for waking another thread. Also the size of a piece, so results never
// depend on the threads.
constexpr int64_t kGrain = 32768;
constexpr int64_t kShortRow = 96;  // elements whose loop takes less time than its call
constexpr int64_t kTile = 1024;    // elements that are brought together for one call
constexpr int64_t kTileSide = 32;

// How the dimensions of operands lie in memory: dimension numbers from the fastest to the slowest.
// Walks that read transposed inputs then go along memory, and results take the inputs' order.
// `strides[k]` may be null (operand ignored).
void order_dims(int n_dims, const int64_t* sizes, const int64_t* const* strides, int n_operands,
                int* order) {
  for (int i = 0; i < n_dims; ++i) order[i] = n_dims - 1 - i;
  // 1: a is slower than b, so they must be swapped; -1: in order; 0: this operand cannot tell.
  auto compare = [&](int a, int b) {
    for (int k = 0; k < n_operands; ++k) {
      if (!strides[k]) continue;
      int64_t sa = strides[k][a], sb = strides[k][b];
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sa > sb) return 1;
      if (sizes[a] > sizes[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n_dims; ++i) {
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
}

void set_broadcast_strides(const Tensor& x, const Dims& shape, int64_t* strides, int64_t unit) {
  size_t n = shape.size(), missing = n - x.dim();
  for (size_t i = 0; i < n; ++i)
    strides[i] = i < missing || (x.sizes()[i - missing] == 1 && shape[i] != 1)
                     ? 0
                     : x.strides()[i - missing] * unit;
}

// Orders the dimensions for memory and merges neighbours that continue each other in every operand.
void merge_dims(Walk& walk, const Dims& shape, const int64_t (*strides)[kMaxDims]) {
  int n = static_cast<int>(shape.size());
  const int64_t* rows[kMaxOperands];
  for (int i = 0; i < walk.n_operands; ++i) rows[i] = strides[i];
  int order[kMaxDims];
  order_dims(n, shape.data(), rows, walk.n_operands, order);
  int m = 0;
  for (int j = 0; j < n; ++j) {
    int d = order[j];
    if (shape[d] == 1) continue;
    bool merge = m > 0;
    for (int i = 0; i < walk.n_operands && merge; ++i)
      merge = strides[i][d] == walk.strides[i][m - 1] * walk.sizes[m - 1];
    if (merge) {
      walk.sizes[m - 1] *= shape[d];
    } else {
      walk.sizes[m] = shape[d];
      for (int i = 0; i < walk.n_operands; ++i) walk.strides[i][m] = strides[i][d];
      ++m;
    }
  }
  if (m == 0) {
    walk.sizes[0] = walk.numel;  // 1, or 0 if a size is 0
    for (int i = 0; i < walk.n_operands; ++i) walk.strides[i][0] = 0;
    m = 1;
  }
  walk.n_dims = m;
}

// Numbers of the CPU that go with tensors of another device.
void mark_host_operands(Walk& walk, const Tensor* const* operands) {
  for (int i = 1; i < walk.n_operands; ++i)
    if (operands[i]->device() != walk.device) walk.strides[i][0] = cuda::kHostStride;
}

}  // namespace

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  const Dims& big = a.size() >= b.size() ? a : b;
  const Dims& small = a.size() >= b.size() ? b : a;
  Dims shape = big;
  size_t missing = big.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i) {
    int64_t& size = shape[i + missing];
    if (size == 1) {
      size = small[i];
    } else {
      check(small[i] == 1 || small[i] == size, op, ": the shapes ", a, " and ", b,
            " cannot be broadcast together: dimension ", i + missing, " has sizes ",
            a.size() >= b.size() ? size : small[i], " and ", a.size() >= b.size() ? small[i] : size,
            ". Sizes must be equal, or one of them 1.");
    }
  }
  return shape;
}

bool is_expandable_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  size_t missing = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i + missing] && from[i] != 1) return false;
  return true;
}

Walk make_walk(const char* op, const Tensor& out, std::initializer_list<TensorRef> inputs) {
  Walk walk;
  walk.n_operands = 1 + static_cast<int>(inputs.size());
  walk.numel = out.numel();
  walk.device = out.device();
  walk.data[0] = out.data();
  walk.item_bytes[0] = out.itemsize();
  const Tensor* operands[kMaxOperands] = {&out};
  bool flat = out.is_contiguous(), has_host_operands = false;
  int k = 1;
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    check(x.device() == out.device() || (x.is_cpu() && x.dim() == 0), op,
          ": expected tensors on one device, got ", x, " and ", out,
          ". Move one with .to(device).");
    has_host_operands = has_host_operands || x.device() != out.device();
    operands[k] = &x;
    walk.item_bytes[k] = x.itemsize();
    walk.data[k++] = x.data();
    flat = flat && (x.numel() == 1 || (x.is_contiguous() && x.numel() == out.numel()));
  }
  if (flat) {
    walk.n_dims = 1;
    walk.sizes[0] = walk.numel;
    for (int i = 0; i < walk.n_operands; ++i)
      walk.strides[i][0] =
          operands[i]->numel() == 1 && walk.numel != 1 ? 0 : operands[i]->itemsize();
    if (has_host_operands) mark_host_operands(walk, operands);
    return walk;
  }
  int64_t strides[kMaxOperands][kMaxDims];
  for (int i = 0; i < walk.n_operands; ++i)
    set_broadcast_strides(*operands[i], out.sizes(), strides[i], operands[i]->itemsize());
  merge_dims(walk, out.sizes(), strides);
  if (has_host_operands) mark_host_operands(walk, operands);
  return walk;
}

Walk make_walk(const Tensor& out, char* input, const Dims& input_strides) {
  Walk walk;
  walk.n_operands = 2;
  walk.numel = out.numel();
  walk.device = out.device();
  walk.data[0] = out.data();
  walk.data[1] = input;
  walk.item_bytes[0] = walk.item_bytes[1] = out.itemsize();
  int64_t strides[kMaxOperands][kMaxDims];
  for (int64_t i = 0; i < out.dim(); ++i) {
    strides[0][i] = out.stride(i) * out.itemsize();
    strides[1][i] = input_strides[i] * out.itemsize();
  }
  merge_dims(walk, out.sizes(), strides);
  return walk;
}

Tensor empty_for(const Dims& shape, DType dtype, std::initializer_list<TensorRef> inputs) {
  Device device;
  bool all_contiguous = true, all_same = true;
  const Tensor* first = nullptr;
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    if (!x.is_cpu()) device = x.device();
    if (x->is_wrapped_number || (x.dim() == 0 && !shape.empty())) continue;
    if (x.sizes() != shape) {
      all_contiguous = all_same = false;
      continue;
    }
    all_contiguous = all_contiguous && x.is_contiguous();
    if (!first) first = &x;
    all_same = all_same && x.strides() == first->strides();
  }
  if (all_contiguous || shape.size() <= 1) return empty(shape, dtype, device);
  if (all_same && first &&
      (first->numel() == 0 || is_non_overlapping_and_dense(first->sizes(), first->strides())))
    return empty_strided(shape, first->strides(), dtype, device);
  int n = static_cast<int>(shape.size()), k = 0;
  int64_t strides[kMaxOperands][kMaxDims];
  const int64_t* rows[kMaxOperands];
  for (const TensorRef& input : inputs) {
    set_broadcast_strides(*input, shape, strides[k], 1);
    rows[k] = strides[k];
    ++k;
  }
  int order[kMaxDims];
  order_dims(n, shape.data(), rows, k, order);
  Dims out(n);
  int64_t step = 1;
  for (int j = 0; j < n; ++j) {
    out[order[j]] = step;
    step *= shape[order[j]];
  }
  // Strides of dimensions of size 0 and 1 are those of a dense tensor, too.
  if (checked_numel(shape) == 0) out = contiguous_strides(shape);
  return empty_strided(shape, out, dtype, device);
}

namespace {

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

// Whether operands are to be brought together before a kernel sees them: their rows are short, or
// have gaps that it would have to step over.
bool wants_tiles(const Walk& walk) {
  if (walk.keeps_places || walk.numel < kShortRow) return false;
  return (walk.n_dims > 1 && walk.sizes[0] < kShortRow) || has_gaps(walk);
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
  if (goes_past_caches(walk)) {
    return parallel_for(walk.numel, kGrain, [&](int64_t begin, int64_t end) {
      run_line_past_caches(walk, loop, params, begin, end);
    });
  }
  wants_tiles(walk) ? run_tiles(walk, loop, params) : run_pieces(walk, loop, params, kGrain);
}

void run_cpu_in_order(const Walk& walk, Loop loop, const void* params) {
  check_on_cpu(walk);
  if (walk.numel <= kGrain) return run_pieces(walk, loop, params, walk.numel);
  run_blocking([&] { run_pieces(walk, loop, params, walk.numel); });
}

DType result_type(std::initializer_list<TensorRef> inputs) {
  // In the order of priority: tensors with dimensions, 0-d tensors, Python numbers.
  int found[3] = {-1, -1, -1};
  for (const TensorRef& input : inputs) {
    const Tensor& x = *input;
    DType dtype = x.dtype();
    int rank = x.dim() > 0 ? 0 : 1;
    if (x->is_wrapped_number) {
      rank = 2;
      if (is_complex(dtype)) dtype = to_complex_dtype(get_default_dtype());
      if (is_floating(dtype)) dtype = get_default_dtype();
    }
    found[rank] = found[rank] < 0
                      ? static_cast<int>(dtype)
                      : static_cast<int>(promote_types(static_cast<DType>(found[rank]), dtype));
  }
  auto category = [](DType t) {
    return is_complex(t) ? 3 : is_floating(t) ? 2 : t == DType::Bool ? 0 : 1;
  };
  // A lower rank changes the result only by a higher category.
  auto combine = [&](int higher, int lower) {
    if (higher < 0) return lower;
    if (lower < 0) return higher;
    DType h = static_cast<DType>(higher), l = static_cast<DType>(lower);
    if (category(l) <= category(h)) return higher;
    if (is_complex(l) && is_floating(h)) return static_cast<int>(to_complex_dtype(h));
    return static_cast<int>(promote_types(h, l));
  };
  return static_cast<DType>(combine(combine(found[0], found[1]), found[2]));
}

void check_no_partial_overlap(const char* op, const Tensor& out, const Tensor& input) {
  if (out.storage() != input.storage() || out.numel() == 0 || input.numel() == 0) return;
  if (out.offset() == input.offset() && out.itemsize() == input.itemsize() &&
      out.sizes() == input.sizes() && out.strides() == input.strides())
    return;
  auto extent = [](const Tensor& x) {
    int64_t last = 0;
    for (int64_t i = 0; i < x.dim(); ++i) last += (x.size(i) - 1) * x.stride(i);
    return (last + 1) * x.itemsize();
  };
  bool apart =
      out.data() >= input.data() + extent(input) || input.data() >= out.data() + extent(out);
  bool dense = is_non_overlapping_and_dense(out.sizes(), out.strides()) &&
               is_non_overlapping_and_dense(input.sizes(), input.strides());
  check(apart || !dense, op,
        ": the input and the tensor written to share some of their elements. Pass the clone() of "
        "one.");
}

void check_cpu(const char* op, const Tensor& x) {
  check_not_implemented(x.is_cpu(), op, ": not available on ", x.device(), " yet, got ", x,
                        ". Move it with .cpu() first.");
}

void check_same_device(const char* op, std::initializer_list<TensorRef> inputs) {
  const Tensor* first = nullptr;
  for (const TensorRef& input : inputs) {
    if (!input->defined()) continue;
    if (!first) first = input.tensor;
    check(input->device() == first->device(), op, ": expected tensors on one device, got ", *first,
          " and ", *input, ". Move one with .to(device).");
  }
}

}  // namespace facula
