#include "ops/index/places.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/run.h"
#include "cuda/index/places.h"
#include "ops/ops.h"
#include "walk/walk.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 32768;

// Rows that take less time than the call of a loop for them.
bool has_short_rows(const Walk& walk) {
  constexpr int64_t kShort = 4;
  return walk.n_dims > 1 && walk.sizes[0] < std::min(kShort, walk.sizes[1]);
}

// They are run through across: the first elements of all, then the second ones.
void swap_rows(Walk& walk) {
  std::swap(walk.sizes[0], walk.sizes[1]);
  for (int i = 0; i < walk.n_operands; ++i) std::swap(walk.strides[i][0], walk.strides[i][1]);
}

// In order, but for short rows at one place each: each element still gets its writes in their
// order.
void run_index_inside(Walk walk, Loop loop, const void* params) {
  bool is_one_place = walk.strides[0][0] != 0 && walk.strides[2][0] == 0;
  if (has_short_rows(walk) && is_one_place && walk.strides[2][1] != 0) swap_rows(walk);
  run_cpu_in_order(walk, loop, params);
}

// In a target whose elements do not share memory, those that differ in a dimension along which it
// advances never meet in one place: such a dimension is cut into pieces for the threads. Along the
// others the writes keep their order.
void run_apart(const Walk& walk, Loop loop, const void* params) {
  int axis = -1;
  for (int d = 0; d < walk.n_dims; ++d) {
    if (walk.strides[0][d] != 0 && (axis < 0 || walk.sizes[d] > walk.sizes[axis])) axis = d;
  }
  if (axis < 0 || walk.numel <= kGrain) return run_index_inside(walk, loop, params);
  int64_t others = walk.numel / walk.sizes[axis];
  // At least some cache lines: two threads must not write to the same one, and the copy of a piece
  // has to pay for its call.
  int64_t least = axis == 0 ? std::max<int64_t>(256, 1024 / walk.item_bytes[0]) : 1;
  int64_t grain = std::max(least, kGrain / others);
  parallel_for(walk.sizes[axis], grain, [&](int64_t begin, int64_t end) {
    Walk piece = walk;
    piece.sizes[axis] = end - begin;
    piece.numel = others * (end - begin);
    for (int i = 0; i < walk.n_operands; ++i) piece.data[i] += begin * walk.strides[i][axis];
    run_index_inside(piece, loop, params);
  });
}

// Calls run(params of the loop), which indexes x; raises if an index was out of bounds.
template <class F>
void with_bounds(const char* op, const Tensor& x, const Places& places, F run) {
  std::atomic<bool> is_outside = false;
  run(cpu::IndexBounds{places.size, places.negative_allowed ? places.size : 0,
                       places.stride * x.itemsize(), &is_outside});
  if (!is_outside) return;
  offsets_of(op, places);
  fail(places.kind, op, ": the index changed while it was read.");
}

// A number of the CPU, in any shape, that is written to another device.
Tensor on_device_of(const Tensor& target, const Tensor& values) {
  const Dims& strides = values.strides();
  if (!values.is_cpu() ||
      !std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 0; }))
    return values;
  Scalar number = item(restrided(values, {}, {}));
  return expand(full({}, number, values.dtype(), target.device()), target.sizes());
}

cuda::PlaceBounds bounds_of(const char* op, const Places& places) {
  return {op, places.kind, places.size, places.negative_allowed};
}

}  // namespace

Tensor offsets_of(const char* op, const Places& places) {
  const Tensor& index = places.index;
  int64_t size = places.size, stride = places.stride;
  if (!index.is_cpu()) {
    Tensor offsets = empty(index.sizes(), DType::Int64, index.device());
    cuda::find_offsets(offsets, contiguous(to_dtype(index, DType::Int64)), bounds_of(op, places),
                       stride);
    return offsets;
  }
  Tensor offsets = empty(index.sizes(), DType::Int64);
  int64_t* to = offsets.data_as<int64_t>();
  const int64_t* from = to;
  if (index.dtype() == DType::Int64 && index.is_contiguous()) {
    from = index.data_as<int64_t>();
  } else {
    copy_into(offsets, index);
  }
  int64_t low = places.negative_allowed ? -size : 0;
  parallel_for(offsets.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t value = from[i];  // once: another thread may be writing to it
      if (__builtin_expect(value < low || value >= size, 0))
        fail(places.kind, op, ": index ", value, " at position ", i,
             " is out of bounds for a dimension of size ", size, ".");
      to[i] = (value < 0 ? value + size : value) * stride;
    }
  });
  return offsets;
}

Places checked(const char* op, Places places) {
  // On a GPU an index is checked as it is used: one that is out of bounds is left out.
  if (places.size == INT64_MAX || !places.index.is_cpu()) return places;
  // What was expanded is looked at once.
  Dims sizes = places.index.sizes();
  for (int64_t d = 0; d < places.index.dim(); ++d)
    if (places.index.stride(d) == 0 && sizes[d] > 1) sizes[d] = 1;
  Tensor once =
      contiguous(to_dtype(restrided(places.index, sizes, places.index.strides()), DType::Int64));
  const int64_t* index = once.data_as<int64_t>();
  int64_t low = places.negative_allowed ? -places.size : 0;
  std::atomic<bool> is_outside = false;
  parallel_for(once.numel(), kGrain, [&](int64_t begin, int64_t end) {
    if (!cpu::get_index_table().are_inside(index + begin, end - begin, low, places.size))
      is_outside = true;
  });
  if (is_outside) offsets_of(op, places);  // says which
  places.index = expand(once, places.index.sizes());
  return places;
}

namespace {

// Dimensions that continue each other in all the weights become one.
cpu::Positions merged_positions(const Dims& sizes, const std::vector<Dims>& weights) {
  cpu::Positions p{};
  p.n_rows = static_cast<int>(weights.size());
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    if (sizes[d] == 1) continue;
    bool continues = p.n_dims > 0;
    for (int j = 0; j < p.n_rows && continues; ++j)
      continues = weights[j][d] == p.weights[p.n_dims - 1][j] * p.sizes[p.n_dims - 1];
    if (continues) {
      p.sizes[p.n_dims - 1] *= sizes[d];
      continue;
    }
    p.sizes[p.n_dims] = sizes[d];
    for (const Dims& row : weights) p.weights[p.n_dims].push_back(row[d]);
    ++p.n_dims;
  }
  if (p.n_dims > 0) return p;
  p.n_dims = 1;
  p.sizes[0] = 1;
  p.weights[0].resize(p.n_rows);
  return p;
}

Tensor weighted_positions_on_cuda(const Tensor& x, const std::vector<Dims>& weights) {
  Tensor places = cuda::find_nonzero(contiguous(to_dtype(x, DType::Bool)));
  int64_t n_rows = static_cast<int64_t>(weights.size()), n = places.numel();
  Tensor out = empty({n_rows, n}, DType::Int64, x.device());
  for (int64_t j = 0; j < n_rows; ++j)
    cuda::sum_positions(out.address_as<int64_t>() + j * n, places, x.sizes(), weights[j]);
  return out;
}

}  // namespace

Tensor weighted_positions(const Tensor& x, const std::vector<Dims>& weights) {
  NoGradGuard guard;
  if (!x.is_cpu()) return weighted_positions_on_cuda(x, weights);
  Tensor in = contiguous(x);
  int64_t numel = in.numel(), n_pieces = ceil_div(numel, kGrain);
  // x is read once: another thread may be writing to it.
  Scratch<uint64_t> bits(ceil_div(numel, 64));
  std::vector<int64_t> ends(n_pieces);
  auto find = kernel_of(cpu::get_index_table().find_nonzero, in.dtype());
  parallel_for(n_pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ends[i] = find(in.data() + i * kGrain * in.itemsize(), std::min(kGrain, numel - i * kGrain),
                     bits.data() + i * kGrain / 64);
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  int64_t n = ends.empty() ? 0 : ends.back();
  Tensor out = empty({static_cast<int64_t>(weights.size()), n}, DType::Int64);
  cpu::Positions positions = merged_positions(x.sizes(), weights);
  positions.out = out.data_as<int64_t>();
  positions.row_step = n;
  parallel_for(n_pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      cpu::get_index_table().write_positions(positions, bits.data(), i * kGrain,
                                             std::min((i + 1) * kGrain, numel),
                                             i ? ends[i - 1] : 0);
  });
  return out;
}

Tensor restrided(const Tensor& x, const Dims& sizes, const Dims& strides) {
  Tensor y = alias(x);
  set_geometry(y, sizes, strides, x.offset());
  return y;
}

namespace {

// The only dimension of the walk along which the index advances, or -1.
int index_axis(const Walk& walk) {
  int axis = -1;
  for (int d = 0; d < walk.n_dims; ++d) {
    if (walk.strides[2][d] == 0) continue;
    if (axis >= 0) return -1;
    axis = d;
  }
  return axis;
}

// Planes of two dimensions. Dense rows at one place each are copied as they are.
void read_planes(const Walk& walk, DType dtype, bool is_dense, const cpu::IndexBounds& bounds) {
  const cpu::IndexTable& kernels = cpu::get_index_table();
  int64_t n = walk.sizes[0], n_rows = walk.sizes[1];
  int64_t rows = std::min(n_rows, std::max<int64_t>(1, kGrain / n)),
          strips = ceil_div(n_rows, rows);
  int64_t n_strips = walk.numel / (n * n_rows) * strips;
  parallel_for(n_strips, ceil_div(kGrain, n * rows), [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      int64_t row = strip % strips * rows, count = std::min(rows, n_rows - row);
      char* data[3];
      int64_t strides[3], row_strides[3];
      for (int i = 0; i < 3; ++i) {
        strides[i] = walk.strides[i][0];
        row_strides[i] = walk.strides[i][1];
        data[i] = walk.data[i] + row * row_strides[i];
        int64_t rest = strip / strips;
        for (int d = 2; d < walk.n_dims; ++d) {
          data[i] += rest % walk.sizes[d] * walk.strides[i][d];
          rest /= walk.sizes[d];
        }
      }
      if (is_dense) {
        kernels.read_lines(data, row_strides, count, n * item_size(dtype), bounds);
      } else {
        kernels.read_rows[static_cast<int>(carrier(dtype))](data, strides, row_strides, n, count,
                                                            bounds);
      }
    }
  });
}

// The slices of x at the places, whole tensors in any order of memory.
void read_slices(const Walk& walk, int axis, DType dtype, const cpu::IndexBounds& bounds) {
  Walk slice = walk;
  slice.n_operands = 2;
  slice.numel = walk.numel / walk.sizes[axis];
  slice.n_dims = 0;
  for (int d = 0; d < walk.n_dims; ++d) {
    if (d == axis) continue;
    slice.sizes[slice.n_dims] = walk.sizes[d];
    for (int i = 0; i < 2; ++i) slice.strides[i][slice.n_dims] = walk.strides[i][d];
    ++slice.n_dims;
  }
  int64_t grain = std::max<int64_t>(1, kGrain / slice.numel);
  parallel_for(walk.sizes[axis], grain, [&](int64_t begin, int64_t end) {
    Walk piece = slice;
    for (int64_t i = begin; i < end; ++i) {
      int64_t place;
      std::memcpy(&place, walk.data[2] + i * walk.strides[2][axis], sizeof(place));
      if (place < 0) place += bounds.wrap;
      if (place < 0 || place >= bounds.size) return bounds.is_outside->store(true);
      piece.data[0] = walk.data[0] + i * walk.strides[0][axis];
      piece.data[1] = walk.data[1] + i * walk.strides[1][axis] + place * bounds.step;
      copy_elements(piece, dtype);
    }
  });
}

// The order of memory of x, which is indexed along one dimension, for a tensor of this shape; none
// where `other`, what is read from or written to it, goes along memory as well.
std::optional<Dims> order_of(const Tensor& other, const Tensor& x, const Places& places) {
  constexpr int64_t kFew = 4096, kFar = 128;
  const Tensor& index = places.index;
  if (places.size == INT64_MAX || index.dim() != other.dim() || other.numel() < kFew) return {};
  Dims steps = x.strides(), order;
  int64_t last = -1;  // the fastest dimension of other
  bool has_axis = false;
  for (int64_t d = 0; d < other.dim(); ++d) {
    if (other.size(d) == 1) continue;
    if (index.size(d) != 1 && index.stride(d) != 0) {
      if (has_axis) return {};
      has_axis = true;
      steps[d] = places.stride;
    }
    if (steps[d] == 0 || other.stride(d) == 0) return {};
    if (last < 0 || other.stride(d) <= other.stride(last)) last = d;
    order.push_back(d);
  }
  if (order.empty() || steps[last] * x.itemsize() < kFar) return {};
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return steps[a] < steps[b]; });
  if (order[0] == last) return {};
  Dims strides(other.dim(), 1);
  int64_t step = 1;
  for (int64_t d : order) {
    strides[d] = step;
    step *= other.size(d);
  }
  return strides;
}

}  // namespace

void read_at(const char* op, const Tensor& out, const Tensor& x, Places places) {
  places.index = to_dtype(places.index, DType::Int64);
  if (!x.is_cpu()) return cuda::read_at(out, x, places.index, bounds_of(op, places), places.stride);
  if (std::optional<Dims> strides = order_of(out, x, places)) {
    // Two passes along memory cost less than one across it.
    Tensor y = empty_strided(out.sizes(), *strides, out.dtype(), out.device());
    read_at(op, y, x, places);
    return copy_into(out, y);
  }
  Walk walk = make_walk(op, out, {x, places.index});
  walk.keeps_places = true;
  if (walk.numel == 0) return;
  constexpr int64_t kLongSlice = 1024, kShortRow = 64;
  int64_t item = out.itemsize();
  int axis = index_axis(walk);
  bool is_dense = axis > 0 && walk.strides[0][0] == item && walk.strides[1][0] == item;
  bool has_slices = axis > 0 && walk.n_dims > 2 && walk.numel / walk.sizes[axis] >= kLongSlice;
  if (axis >= 0 && !is_dense && !has_slices && has_short_rows(walk)) swap_rows(walk);
  with_bounds(op, x, places, [&](const cpu::IndexBounds& bounds) {
    if (has_slices) return read_slices(walk, axis, out.dtype(), bounds);
    bool has_lines = is_dense && walk.n_dims == 2;
    if (has_lines || (walk.n_dims > 1 && walk.strides[2][0] != 0 && walk.sizes[0] <= kShortRow))
      return read_planes(walk, out.dtype(), has_lines, bounds);
    run_cpu(walk, cpu::get_index_table().read_at[static_cast<int>(carrier(out.dtype()))], &bounds);
  });
}

void write_at(const char* op, const Tensor& target, const Tensor& values, Places places,
              WriteMode mode, bool is_apart) {
  check_not_implemented(
      !is_complex(target.dtype()) || (mode != WriteMode::AMin && mode != WriteMode::AMax), op,
      ": not defined for ", target, ".");
  places.index = to_dtype(places.index, DType::Int64);
  if (!target.is_cpu())
    return cuda::write_at(target, on_device_of(target, values), places.index, bounds_of(op, places),
                          places.stride, static_cast<IndexWrite>(mode), places.is_distinct,
                          is_apart);
  if (std::optional<Dims> strides = order_of(values, target, places)) {
    // As in read_at().
    Tensor ordered = empty_strided(values.sizes(), *strides, values.dtype(), values.device());
    copy_into(ordered, values);
    return write_at(op, target, ordered, places, mode, is_apart);
  }
  Walk walk = make_walk(op, target, {values, places.index});
  DType moved = mode == WriteMode::Set ? carrier(target.dtype()) : target.dtype();
  Loop loop = kernel_of(cpu::get_index_table().write_at[static_cast<int>(mode)], moved);
  with_bounds(op, target, places, [&](const cpu::IndexBounds& bounds) {
    is_apart ? run_apart(walk, loop, &bounds) : run_cpu_in_order(walk, loop, &bounds);
  });
}

Tensor copy_of(const Tensor& x, MemoryFormat format) {
  NoGradGuard guard;
  return clone(x, format);
}

void check_source(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const Tensor& source, ErrorKind wrong_number) {
  check(x.dtype() == source.dtype(), op, ": expected self and source of one dtype, got ", x,
        " and ", source, ".");
  check(source.dim() == x.dim() || (x.dim() <= 1 && source.dim() <= 1), op,
        ": expected a source with ", x.dim(), " dimensions, got ", source, ".");
  check_index(index.dim() <= 1, op, ": expected an index of at most one dimension, got ", index,
              ".");
  if (source.dim() == 0) {
    check_index(index.numel() == 1, op, ": expected one index for a 0-d source, got ", index, ".");
    return;
  }
  if (source.size(dim) != index.numel())
    fail(wrong_number, op, ": expected an index for each of the ", source.size(dim),
         " entries of source, got ", index.numel(), ".");
  for (int64_t d = 0; d < std::min(x.dim(), source.dim()); ++d)
    check(d == dim || x.size(d) == source.size(d), op, ": source ", source.sizes(),
          " does not match self ", x.sizes(), " at dimension ", d, ".");
}

}  // namespace facula
