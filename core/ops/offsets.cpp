#include "ops/offsets.h"

#include <algorithm>
#include <numeric>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "ops/elementwise.h"

namespace facula {

namespace {

constexpr int64_t kGrain = 32768;

// In a target whose elements do not share memory, those that differ in a dimension along which it
// advances never meet in one place: such a dimension is cut into pieces for the threads. Along the
// others the writes keep their order.
void run_apart(const Walk& walk, Loop loop, const void* params) {
  int axis = -1;
  for (int d = 0; d < walk.n_dims; ++d) {
    if (walk.strides[0][d] != 0 && (axis < 0 || walk.sizes[d] > walk.sizes[axis])) axis = d;
  }
  if (axis < 0 || walk.numel <= kGrain) return run_cpu_in_order(walk, loop, params);
  int64_t others = walk.numel / walk.sizes[axis];
  // At least a few cache lines, lest two threads write to the same one.
  int64_t grain = std::max<int64_t>(axis == 0 ? 256 : 1, kGrain / others);
  parallel_for(walk.sizes[axis], grain, [&](int64_t begin, int64_t end) {
    Walk piece = walk;
    piece.sizes[axis] = end - begin;
    piece.numel = others * (end - begin);
    for (int i = 0; i < walk.n_operands; ++i) piece.data[i] += begin * walk.strides[i][axis];
    run_cpu_in_order(piece, loop, params);
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

}  // namespace

Tensor offsets_of(const char* op, const Places& places) {
  const Tensor& index = places.index;
  int64_t size = places.size, stride = places.stride;
  Tensor offsets = empty(index.sizes(), DType::Int64);
  int64_t* to = offsets.data_as<int64_t>();
  const int64_t* from = to;
  if (index.dtype() == DType::Int64 && index.is_contiguous() && index.is_cpu()) {
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
             " is outside a dimension of size ", size, ".");
      to[i] = (value < 0 ? value + size : value) * stride;
    }
  });
  return offsets;
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

}  // namespace

Tensor weighted_positions(const Tensor& x, const std::vector<Dims>& weights) {
  NoGradGuard guard;
  Tensor in = contiguous(x);
  int64_t numel = in.numel(), n_pieces = ceil_div(numel, kGrain);
  // x is read once: another thread may be writing to it.
  Scratch<uint64_t> bits(ceil_div(numel, 64));
  std::vector<int64_t> ends(n_pieces);
  parallel_for(n_pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ends[i] =
          cpu::find_nonzero(in.dtype(), in.data() + i * kGrain * in.itemsize(),
                            std::min(kGrain, numel - i * kGrain), bits.data() + i * kGrain / 64);
  });
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  int64_t n = ends.empty() ? 0 : ends.back();
  Tensor out = empty({static_cast<int64_t>(weights.size()), n}, DType::Int64);
  cpu::Positions positions = merged_positions(x.sizes(), weights);
  positions.out = out.data_as<int64_t>();
  positions.row_step = n;
  parallel_for(n_pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      cpu::write_positions(positions, bits.data(), i * kGrain, std::min((i + 1) * kGrain, numel),
                           i ? ends[i - 1] : 0);
  });
  return out;
}

Tensor restrided(const Tensor& x, const Dims& sizes, const Dims& strides) {
  Tensor y = alias(x);
  set_geometry(y, sizes, strides, x.offset());
  return y;
}

void read_at(const char* op, const Tensor& out, const Tensor& x, Places places) {
  places.index = to_dtype(places.index, DType::Int64);
  Walk walk = make_walk(op, out, {x, places.index});
  walk.keeps_places = true;
  with_bounds(op, x, places, [&](const cpu::IndexBounds& bounds) {
    run_cpu(walk, cpu::read_at_loop(out.dtype()), &bounds);
  });
}

void write_at(const char* op, const Tensor& target, const Tensor& values, Places places,
              WriteMode mode, bool is_apart) {
  check_not_implemented(
      !is_complex(target.dtype()) || (mode != WriteMode::AMin && mode != WriteMode::AMax), op,
      ": not defined for ", target, ".");
  places.index = to_dtype(places.index, DType::Int64);
  Walk walk = make_walk(op, target, {values, places.index});
  Loop loop = cpu::write_at_loop(target.dtype(), mode);
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
