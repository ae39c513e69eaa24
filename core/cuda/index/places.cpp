#include "cuda/index/places.h"

#include <algorithm>

#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/kernels/scatter.h"
#include "cuda/reduce/scan.h"
#include "cuda/reduce/sort.h"
#include "cuda/shape.h"
#include "tensor/backend.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(find_places, "index.h", OffsetsArguments)
FACULA_KERNEL(read_at, "index.h", ReadArguments, kWordDTypes)
FACULA_KERNEL(write_at, "index.h", WriteArguments, kAllDTypes)
constexpr DTypes kNumberDTypes = only(DType::Int32) | only(DType::Int64);
FACULA_KERNEL(make_keys, "index.h", KeyArguments, kNumberDTypes)
FACULA_KERNEL(write_segments, "index.h", SegmentArguments, kAllDTypes, kNumberDTypes, kNumberDTypes)
FACULA_KERNEL(write_row_segments, "index.h", SegmentArguments, kAllDTypes, kNumberDTypes,
              kNumberDTypes)
FACULA_KERNEL(write_tile, "scatter.h", TileWriteArguments, kAllDTypes)
FACULA_KERNEL(count_nonzero, "index.h", FindArguments)
FACULA_KERNEL(list_nonzero, "index.h", FindArguments)
FACULA_KERNEL(sum_positions, "index.h", PositionArguments)
FACULA_KERNEL(count_bins, "index.h", CountArguments, only(DType::Float32) | only(DType::Float64))
FACULA_KERNEL(count_numbers, "index.h", CountArguments)
FACULA_KERNEL(search_sorted, "index.h", SearchArguments, kRealDTypes & ~only(DType::Bool))
FACULA_KERNEL(clear_triangle, "index.h", TriangleArguments, kWordDTypes)
FACULA_KERNEL(list_triangle, "index.h", TriangleListArguments, kNumberDTypes)
FACULA_KERNEL(make_range, "index.h", RangeArguments, kRealDTypes & ~only(DType::Bool))
FACULA_KERNEL(make_evenly_spaced, "index.h", SpacedArguments, kAllDTypes & ~only(DType::Bool))

// So few elements that may meet are written one after the other by one thread; with many that
// cannot meet, so are more.
constexpr int64_t kFewMeet = 32, kSomeMeet = 1024, kManyApart = 32768;

IndexBounds bounds_of(const Tensor& index, const PlaceBounds& b) {
  Fault* fault = index.is_meta() ? nullptr : fault_of(index.device().index);
  return {b.size, b.negative_allowed ? b.size : 0, index.address(),
          b.op,   static_cast<int>(b.kind),        fault};
}

// Runs of bytes that are copied together become elements of up to 16 bytes. Returns their size.
int64_t widen(Walk& walk, int64_t item, int64_t step) {
  if (walk.strides[2][0] != 0 || walk.strides[0][0] != item || walk.strides[1][0] != item)
    return item;
  while (item < 16) {
    int64_t wide = 2 * item;
    bool fits = walk.sizes[0] % 2 == 0 && step % wide == 0;
    for (int i = 0; i < 2; ++i) {
      fits = fits && reinterpret_cast<uintptr_t>(walk.data[i]) % wide == 0;
      for (int d = 1; d < walk.n_dims; ++d) fits = fits && walk.strides[i][d] % wide == 0;
    }
    if (!fits) return item;
    walk.sizes[0] /= 2;
    walk.numel /= 2;
    walk.strides[0][0] = walk.strides[1][0] = item = wide;
  }
  return item;
}

constexpr int kY = 0, kX = 1, kIndex = 2;

void write_sorted(const Tensor& y, const Walk& walk, const IndexBounds& bounds, int64_t step,
                  IndexWrite mode) {
  auto is_free = [&](int d) { return walk.strides[kY][d] != 0; };
  auto is_outer = [&](int d) { return is_free(d) && walk.strides[kIndex][d] != 0; };
  auto is_inner = [&](int d) { return is_free(d) && walk.strides[kIndex][d] == 0; };
  auto is_serial = [&](int d) { return !is_free(d); };
  KeyArguments k{};
  k.index = walk.data[kIndex];
  k.bounds = bounds;
  k.outer = shape_of<1>(walk, {kIndex}, is_outer);
  k.serial = shape_of<1>(walk, {kIndex}, is_serial);
  int64_t n = k.outer.numel * k.serial.numel;
  bool has_inner = false;
  for (int d = 0; d < walk.n_dims; ++d) has_inner = has_inner || is_inner(d);
  // Offsets, not indices: below the number of elements.
  if (bounds.size == INT64_MAX) k.bounds.size = y.storage()->nbytes() / y.itemsize();
  if (!has_inner && k.serial.numel <= kSortTile && k.bounds.size < UINT32_MAX) {
    TileWriteArguments t{walk.data[kY], walk.data[kX], k.index, step, mode, k.bounds, {}, {}};
    t.outer = shape_of<3>(walk, {kY, kX, kIndex}, is_outer);
    t.serial = shape_of<2>(walk, {kX, kIndex}, is_serial);
    return write_tile_kernel(y.device(), {y.dtype()}, {k.outer.numel, 1}, t);
  }
  DigitSorter sorter(y.device(), n, k.outer.numel * k.bounds.size + 1);
  k.keys = sorter.keys();
  make_keys_kernel.for_each(y.device(), {sorter.key_dtype()}, n, k);
  if (k.bounds.size == 0) return;  // there is no place, which the keys have reported
  sorter.sort_keys();
  SegmentArguments s{};
  s.y = walk.data[kY];
  s.x = walk.data[kX];
  s.keys = sorter.sorted_keys();
  s.order = sorter.order();
  s.n_keys = n;
  s.size = k.bounds.size;
  s.step = step;
  s.mode = mode;
  s.outer = shape_of<2>(walk, {kY, kX}, is_outer);
  s.inner = shape_of<2>(walk, {kY, kX}, is_inner);
  s.serial = shape_of<1>(walk, {kX}, is_serial);
  s.n_parts = ceil_div(s.inner.numel, kSegmentColumns * kSegmentStep);
  std::initializer_list<DType> dtypes = {y.dtype(), sorter.key_dtype(), sorter.order_dtype()};
  static_assert(kSegmentStep == kKernelThreads, "a thread of a block for each column of a step");
  if (s.inner.numel >= kSegmentStep)
    return write_row_segments_kernel(y.device(), dtypes, {n * s.n_parts, 1}, s);
  write_segments_kernel.for_each(y.device(), dtypes, n * s.inner.numel, s);
}

}  // namespace

void find_offsets(const Tensor& offsets, const Tensor& index, const PlaceBounds& bounds,
                  int64_t stride) {
  find_places_kernel.for_each(index.device(), {}, index.numel(),
                              {offsets.address_as<int64_t>(), index.address_as<int64_t>(),
                               index.numel(), stride, bounds_of(index, bounds)});
}

void read_at(const Tensor& y, const Tensor& x, const Tensor& index, const PlaceBounds& bounds,
             int64_t stride) {
  check_same_device(bounds.op, {y, x, index});
  Walk walk = make_walk(bounds.op, y, {x, index});
  if (walk.numel == 0) return;
  ReadArguments a{};
  a.step = stride * x.itemsize();
  int64_t item = widen(walk, x.itemsize(), a.step);
  a.y = walk.data[kY];
  a.x = walk.data[kX];
  a.index = walk.data[kIndex];
  a.bounds = bounds_of(index, bounds);
  a.shape = shape_of<3>(walk, {kY, kX, kIndex}, [](int) { return true; });
  read_at_kernel.for_each(y.device(), {word_dtype(item)}, walk.numel, a);
}

void write_at(const Tensor& y, const Tensor& x, const Tensor& index, const PlaceBounds& bounds,
              int64_t stride, IndexWrite mode, bool is_distinct, bool is_apart) {
  check_same_device(bounds.op, {y, x, index});
  Walk walk = make_walk(bounds.op, y, {x, index});
  if (walk.numel == 0) return;
  bool is_number = true;
  for (int d = 0; d < walk.n_dims; ++d)
    is_number = is_number && (walk.strides[kX][d] == 0 || walk.sizes[d] == 1);
  bool in_any_order = is_distinct || (mode == IndexWrite::Set && is_number);
  auto is_free = [&](int d) { return in_any_order || (is_apart && walk.strides[kY][d] != 0); };
  WriteArguments a{};
  a.y = walk.data[kY];
  a.x = walk.data[kX];
  a.index = walk.data[kIndex];
  a.step = stride * y.itemsize();
  a.mode = mode;
  a.bounds = bounds_of(index, bounds);
  a.free = shape_of<3>(walk, {kY, kX, kIndex}, is_free);
  a.serial = shape_of<2>(walk, {kX, kIndex}, [&](int d) { return !is_free(d); });
  // write_at() rounds after each element: many sums of half precision would stop growing.
  bool is_rounded = mode == IndexWrite::Add && is_reduced_float(y.dtype());
  bool is_short = a.serial.numel <= kFewMeet ||
                  (a.serial.numel <= kSomeMeet && a.free.numel >= kManyApart && !is_rounded);
  if (!is_short && is_apart) return write_sorted(y, walk, a.bounds, a.step, mode);
  write_at_kernel.for_each(y.device(), {y.dtype()}, a.free.numel, a);
}

Tensor find_nonzero(const Tensor& mask) {
  Device device = mask.device();
  int64_t n_tiles = ceil_div(mask.numel(), kFindTile), total = 0;
  if (n_tiles == 0) return empty({0}, DType::Int64, device);
  // One more, for the sum of all.
  Tensor counts = empty({n_tiles + 1}, DType::Int64, device);
  FindArguments a{reinterpret_cast<const uint8_t*>(mask.address()), counts.address_as<int64_t>(),
                  nullptr, mask.numel()};
  count_nonzero_kernel(device, {}, {n_tiles, 1}, a);
  sum_before(device, a.counts, n_tiles + 1);
  backend_of(device).copy_bytes(&total, Device(), a.counts + n_tiles, device, sizeof(total));
  Tensor places = empty({total}, DType::Int64, device);
  a.places = places.address_as<int64_t>();
  if (total > 0) list_nonzero_kernel(device, {}, {n_tiles, 1}, a);
  return places;
}

void sum_positions(int64_t* sums, const Tensor& places, const Dims& sizes, const Dims& weights) {
  PositionArguments a{};
  a.places = places.address_as<int64_t>();
  a.sums = sums;
  a.n = places.numel();
  int64_t n_dims = static_cast<int64_t>(sizes.size());
  check(n_dims <= kShapeDims, "cuda: positions of more than ", kShapeDims,
        " dimensions are not available.");
  a.shape.n_dims = static_cast<int>(n_dims);
  for (int64_t d = 0; d < n_dims; ++d) {
    a.shape.sizes[d] = sizes[n_dims - 1 - d];
    a.shape.strides[0][d] = weights[n_dims - 1 - d];
  }
  sum_positions_kernel.for_each(places.device(), {}, a.n, a);
}

namespace {

// Blocks that fill a GPU, with enough elements each to be worth the counts of its own.
Grid count_grid(int64_t numel) {
  constexpr int64_t kElementsPerBlock = 16 * kKernelThreads, kMostBlocks = 1024;
  return {std::min(ceil_div(numel, kElementsPerBlock), kMostBlocks), 1};
}

}  // namespace

void count_bins(const Tensor& x, double low, double high, const Tensor& counts) {
  if (x.numel() > 0)
    count_bins_kernel(
        x.device(), {x.dtype()}, count_grid(x.numel()),
        {x.address(), counts.address_as<int64_t>(), x.numel(), counts.numel(), low, high});
}

void count_numbers(const Tensor& x, const Tensor& counts) {
  if (x.numel() > 0)
    count_numbers_kernel(
        x.device(), {}, count_grid(x.numel()),
        {x.address(), counts.address_as<int64_t>(), x.numel(), counts.numel(), 0, 0});
}

void search_sorted(const Tensor& places, const Tensor& ordered, const Tensor& values,
                   int64_t line_size, int64_t width, bool is_right) {
  search_sorted_kernel.for_each(values.device(), {values.dtype()}, values.numel(),
                                {ordered.address(), values.address(), places.address_as<int64_t>(),
                                 line_size, width, values.numel(), is_right});
}

void make_range(const Tensor& y, Scalar start, Scalar step) {
  make_range_kernel.for_each(
      y.device(), {y.dtype()}, y.numel(),
      {y.address(), y.numel(), start.to_int(), step.to_int(), start.to_double(), step.to_double()});
}

void make_evenly_spaced(const Tensor& y, int64_t n_from_first, Complex128 first, Complex128 last,
                        Complex128 step) {
  make_evenly_spaced_kernel.for_each(y.device(), {y.dtype()}, y.numel(),
                                     {y.address(),
                                      y.numel(),
                                      n_from_first,
                                      {first.real(), first.imag()},
                                      {last.real(), last.imag()},
                                      {step.real(), step.imag()}});
}

void clear_triangle(const Tensor& y, int64_t diagonal, bool keeps_lower) {
  clear_triangle_kernel.for_each(
      y.device(), {word_dtype(y.itemsize())}, y.numel(),
      {y.address(), y.numel(), y.size(-2), y.size(-1), diagonal, keeps_lower});
}

void list_triangle(const Tensor& y, const math::Triangle& triangle) {
  list_triangle_kernel.for_each(y.device(), {y.dtype()}, y.size(1),
                                {y.address(), y.size(1), triangle});
}

}  // namespace facula::cuda
