#include "cpu/reduce/reduce_walk.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/pointwise/loop_tables.h"
#include "cpu/shape/copy.h"
#include "walk/walk.h"

namespace facula::cpu {

namespace {

// Elements in a piece of work for one thread.
constexpr int64_t kPiece = 32768;
// With so many independent results there is work for every thread without cutting the reductions
// themselves.
constexpr int64_t kEnoughTasks = 32;
constexpr int kMaxLevels = 52;
// Shorter runs than this are gathered, or reduced column by column, rather than each given to a
// kernel.
constexpr int64_t kShortRun = 32;
// The same for rows that a kernel takes many of at once.
constexpr int64_t kShortDenseRun = 8;
// Shorter runs of one reduction are taken many at once.
constexpr int64_t kGroupedRun = 256;

struct Axis {
  int64_t size;
  int64_t stride;      // bytes of x
  int64_t out_stride;  // elements of the results; kept dimensions only
};

struct Job {
  const ReduceKernel* kernel;
  const ReduceParams* params;
  const char* data;
  int64_t item_bytes;
  int64_t wide_bytes;
  Loop load;
  bool is_wide;         // x needs no conversion
  Axis kept[kMaxDims];  // the innermost first
  Axis reduced[kMaxDims];
  int n_kept = 0;
  int n_reduced = 0;
  int64_t n_out = 1;
  int64_t n_in = 1;  // elements, or runs of them, to one result
  // Runs that are taken many at once: see group_short_runs().
  Axis run = {1, 0, 0};
  bool keeps_order;
  char* values;
  int64_t value_bytes;   // of the kernel's results
  int64_t out_bytes;     // of the tensor's
  bool is_stored_as_is;  // these are the same
  Loop store;
  char* seconds;  // 8 bytes each; null if there are none
  Loop store_seconds;
};

// Joins the chunks of a reduction as the digits of a binary counter are carried: chunk 0 with 1, 2
// with 3, their results, and so on. The tree depends on the number of chunks only, and errors grow
// with its height.
class Tree {
 public:
  // `memory` holds n_levels(n_chunks) + 1 times n accumulators.
  Tree(const ReduceKernel& kernel, int64_t n, char* memory)
      : kernel_(kernel),
        n_(n),
        bytes_(n * kernel.accumulator_bytes),
        incoming_(memory),
        memory_(memory) {}

  static int n_levels(int64_t n_chunks) {
    int levels = 1;
    while (n_chunks >>= 1) ++levels;
    return levels;
  }

  // Where the accumulators of the next chunk are to be written before push().
  char* incoming() const { return incoming_; }
  void push() {
    int level = 0;
    for (; (count_ >> level) & 1; ++level) {
      kernel_.combine(slots_[level], incoming_, n_);
      std::swap(slots_[level], incoming_);
    }
    if (level == n_used_) {
      slots_[level] = memory_ + (level + 1) * bytes_;
      ++n_used_;
    }
    std::swap(slots_[level], incoming_);
    ++count_;
  }
  // The whole reduction. At least one chunk was pushed.
  const char* result() {
    char* total = nullptr;
    for (int level = 0; level < n_used_; ++level) {
      if (!((count_ >> level) & 1)) continue;
      if (total) kernel_.combine(slots_[level], total, n_);
      total = slots_[level];
    }
    return total;
  }
  int64_t bytes() const { return bytes_; }

 private:
  const ReduceKernel& kernel_;
  int64_t n_;
  int64_t bytes_;
  char* incoming_;
  char* memory_;
  char* slots_[kMaxLevels];
  int n_used_ = 0;
  int64_t count_ = 0;
};

// A position within some axes, moved along the innermost one in runs.
class Cursor {
 public:
  Cursor(const Axis* axes, int n_axes, int64_t position) : axes_(axes), n_axes_(n_axes) {
    for (int d = 0; d < n_axes; ++d) {
      at_[d] = position % axes[d].size;
      position /= axes[d].size;
      offset_ += at_[d] * axes[d].stride;
    }
  }
  int64_t offset() const { return offset_; }
  int64_t left_in_run() const { return n_axes_ ? axes_[0].size - at_[0] : 1; }
  // Not past the end of the run.
  void advance(int64_t n) {
    if (n_axes_ == 0) return;
    at_[0] += n;
    offset_ += n * axes_[0].stride;
    for (int d = 0; at_[d] == axes_[d].size; ++d) {
      offset_ -= axes_[d].size * axes_[d].stride;
      at_[d] = 0;
      if (d + 1 == n_axes_) return;
      ++at_[d + 1];
      offset_ += axes_[d + 1].stride;
    }
  }

 private:
  const Axis* axes_;
  int n_axes_;
  int64_t at_[kMaxDims];
  int64_t offset_ = 0;
};

// n_rows rows of n elements, kReduceChunk in all at most, one behind the other and in the kernel's
// dtype.
void load_rows(const Job& job, const char* from, int64_t stride, int64_t n, int64_t row_stride,
               int64_t n_rows, char* to) {
  int64_t size = job.item_bytes;
  auto copy = get_copy_table().by_size[__builtin_ctzll(size)];
  if (job.is_wide) return copy({to, from, n, n_rows, size, stride, n * size, row_stride});
  int64_t strides[2] = {job.wide_bytes, size};
  if (stride == size && (n_rows == 1 || row_stride == n * size)) {
    char* data[2] = {to, const_cast<char*>(from)};
    return job.load(data, strides, n * n_rows, nullptr);
  }
  constexpr int64_t kLongRow = 64;  // elements that pay for a call
  if (stride == size && n >= kLongRow) {
    for (int64_t row = 0; row < n_rows; ++row) {
      char* data[2] = {to + row * n * job.wide_bytes, const_cast<char*>(from) + row * row_stride};
      job.load(data, strides, n, nullptr);
    }
    return;
  }
  // Rows, or parts of one, are brought together before they are converted.
  constexpr int64_t kPackBytes = 16384;
  alignas(64) char packed[kPackBytes];
  int64_t width = std::min(n, kPackBytes / size),
          height = width < n ? 1 : kPackBytes / (width * size);
  for (int64_t row = 0; row < n_rows; row += height) {
    for (int64_t column = 0; column < n; column += width) {
      int64_t w = std::min(width, n - column), h = std::min(height, n_rows - row);
      copy({packed, from + row * row_stride + column * stride, w, h, size, stride, w * size,
            row_stride});
      char* data[2] = {to + (row * n + column) * job.wide_bytes, packed};
      job.load(data, strides, w * h, nullptr);
    }
  }
}

// ---- one result after another

// Where elements lie in short runs, many runs are taken at once: the first elements of all, then
// the second ones, and so on.
void group_short_runs(Job& job) {
  if (job.keeps_order || job.n_reduced < 2 || job.reduced[0].size >= kGroupedRun ||
      job.reduced[1].size < job.reduced[0].size)
    return;
  job.run = job.reduced[0];
  job.n_in /= job.run.size;
  --job.n_reduced;
  std::copy_n(job.reduced + 1, job.n_reduced, job.reduced);
}

// n runs that need not be loaded: place by place, then the places are joined.
void reduce_runs(const Job& job, const char* base, int64_t n, char* accumulator) {
  const ReduceKernel& kernel = *job.kernel;
  alignas(16) char places[kGroupedRun * kMaxAccumulatorBytes];
  kernel.columns(base, job.reduced[0].stride / job.item_bytes, n, job.run.size, 0, places,
                 *job.params);
  for (int64_t left = job.run.size; left > 1; left -= left / 2)
    kernel.combine(places, places + (left - left / 2) * kernel.accumulator_bytes, left / 2);
  std::memcpy(accumulator, places, kernel.accumulator_bytes);
}

// Elements, or runs, [begin, end) of the reduction that starts at `base`.
void reduce_row(const Job& job, const char* base, int64_t begin, int64_t end, char* accumulator) {
  const ReduceKernel& kernel = *job.kernel;
  bool is_direct = job.is_wide && job.reduced[0].stride == job.item_bytes && job.run.size == 1;
  if (is_direct && job.n_reduced == 1 && (end - begin <= kReduceChunk || kernel.takes_long_rows))
    return kernel.rows(base + begin * job.item_bytes, 0, 1, end - begin, begin, accumulator,
                       *job.params);
  char memory[(kMaxLevels + 1) * kMaxAccumulatorBytes];
  alignas(64) char buffer[kReduceChunk * sizeof(Complex128)];
  Tree tree(kernel, 1, memory);
  Cursor cursor(job.reduced, job.n_reduced, begin);
  int64_t n_buffered = 0, chunk = kReduceChunk / job.run.size;
  bool is_grouped = job.is_wide && job.run.size > 1 && job.run.stride == job.item_bytes &&
                    job.reduced[0].stride % job.item_bytes == 0;
  for (int64_t i = begin; i < end;) {
    int64_t n = std::min({cursor.left_in_run(), end - i, chunk - n_buffered});
    if (is_grouped) {
      reduce_runs(job, base + cursor.offset(), n, tree.incoming());
      tree.push();
    } else if (is_direct && n_buffered == 0 && (n >= kShortRun * 8 || n == end - i)) {
      kernel.rows(base + cursor.offset(), 0, 1, n, i, tree.incoming(), *job.params);
      tree.push();
    } else {
      Axis inner = job.reduced[0], outer = job.run;
      inner.size = n;
      if (outer.size > 1 && outer.stride == job.item_bytes) std::swap(inner, outer);
      load_rows(job, base + cursor.offset(), inner.stride, inner.size, outer.stride, outer.size,
                buffer + n_buffered * job.run.size * job.wide_bytes);
      n_buffered += n;
      if (n_buffered == chunk || i + n == end) {
        kernel.rows(buffer, 0, 1, n_buffered * job.run.size, i + n - n_buffered, tree.incoming(),
                    *job.params);
        tree.push();
        n_buffered = 0;
      }
    }
    cursor.advance(n);
    i += n;
  }
  std::memcpy(accumulator, tree.result(), tree.bytes());
}

// Results of n accumulators, `out_stride` elements apart.
void store_results(const Job& job, const char* accumulators, int64_t n, int64_t out,
                   int64_t out_stride) {
  char* values = job.values + out * job.out_bytes;
  char* seconds = job.seconds ? job.seconds + out * 8 : nullptr;
  if (job.is_stored_as_is && out_stride == 1)
    return job.kernel->finish(accumulators, n, values, seconds, *job.params);
  alignas(64) char buffer[kReduceColumns * sizeof(Complex128)];
  int64_t second_buffer[kReduceColumns];
  for (int64_t done = 0; done < n; done += kReduceColumns) {
    int64_t m = std::min(n - done, kReduceColumns);
    job.kernel->finish(accumulators + done * job.kernel->accumulator_bytes, m, buffer,
                       second_buffer, *job.params);
    char* data[2] = {values + done * out_stride * job.out_bytes, buffer};
    int64_t strides[2] = {out_stride * job.out_bytes, job.value_bytes};
    job.store(data, strides, m, nullptr);
    if (!seconds) continue;
    char* second_data[2] = {seconds + done * out_stride * 8,
                            reinterpret_cast<char*>(second_buffer)};
    int64_t second_strides[2] = {out_stride * 8, 8};
    job.store_seconds(second_data, second_strides, m, nullptr);
  }
}

// Whether a kernel can be given many rows at once: as they are, or brought together in one step.
bool takes_many_rows(const Job& job) {
  return job.n_in <= kReduceChunk && job.n_reduced == 1 && job.n_kept > 0 && job.run.size == 1;
}

// Up to n rows from `base` on. Returns how many were taken.
int64_t reduce_many_rows(const Job& job, const char* base, int64_t n, char* accumulators) {
  int64_t stride = job.reduced[0].stride, row_stride = job.kept[0].stride;
  if (job.is_wide && stride == job.item_bytes) {
    job.kernel->rows(base, row_stride / job.item_bytes, n, job.n_in, 0, accumulators, *job.params);
    return n;
  }
  alignas(64) char buffer[kReduceChunk * sizeof(Complex128)];
  n = std::min(n, kReduceChunk / job.n_in);
  load_rows(job, base, stride, job.n_in, row_stride, n, buffer);
  job.kernel->rows(buffer, job.n_in, n, job.n_in, 0, accumulators, *job.params);
  return n;
}

void reduce_rows_whole(const Job& job, int64_t begin, int64_t end) {
  constexpr int64_t kBlock = 128;
  char accumulators[kBlock * kMaxAccumulatorBytes];
  Cursor cursor(job.kept, job.n_kept, begin);
  bool takes_many = takes_many_rows(job);
  for (int64_t out = begin; out < end; out += kBlock) {
    int64_t n = std::min(kBlock, end - out), n_taken = 1;
    for (int64_t k = 0; k < n; k += n_taken, cursor.advance(n_taken)) {
      char* accumulator = accumulators + k * job.kernel->accumulator_bytes;
      const char* base = job.data + cursor.offset();
      if (takes_many) {
        n_taken = reduce_many_rows(job, base, std::min(n - k, cursor.left_in_run()), accumulator);
      } else {
        reduce_row(job, base, 0, job.n_in, accumulator);
      }
    }
    store_results(job, accumulators, n, out, 1);
  }
}

void join_pieces(const Job& job, const char* partial, int64_t n_pieces, int64_t n,
                 std::vector<char>& memory) {
  Tree tree(*job.kernel, n, memory.data());
  for (int64_t p = 0; p < n_pieces; ++p) {
    std::memcpy(tree.incoming(), partial + p * tree.bytes(), tree.bytes());
    tree.push();
  }
  std::memmove(memory.data(), tree.result(), tree.bytes());
}

void reduce_rows(const Job& job) {
  int64_t piece = kPiece / job.run.size, grain = std::max<int64_t>(1, piece / job.n_in);
  if (job.n_out >= kEnoughTasks || job.n_in <= piece)
    return parallel_for(job.n_out, grain,
                        [&](int64_t begin, int64_t end) { reduce_rows_whole(job, begin, end); });
  int64_t n_pieces = ceil_div(job.n_in, piece), bytes = job.kernel->accumulator_bytes;
  std::vector<char> partial(job.n_out * n_pieces * bytes);
  parallel_for(job.n_out * n_pieces, 1, [&](int64_t task, int64_t) {
    int64_t out = task / n_pieces, begin = task % n_pieces * piece;
    Cursor cursor(job.kept, job.n_kept, out);
    reduce_row(job, job.data + cursor.offset(), begin, std::min(begin + piece, job.n_in),
               partial.data() + task * bytes);
  });
  std::vector<char> memory((Tree::n_levels(n_pieces) + 1) * bytes);
  for (int64_t out = 0; out < job.n_out; ++out) {
    join_pieces(job, partial.data() + out * n_pieces * bytes, n_pieces, 1, memory);
    store_results(job, memory.data(), 1, out, 1);
  }
}

// ---- many neighbouring results at once

struct ColumnBlock {
  const char* base;
  int64_t n;    // columns
  int64_t out;  // the first result
};

ColumnBlock column_block(const Job& job, int64_t block) {
  const Axis& columns = job.kept[0];
  int64_t n_blocks = ceil_div(columns.size, kReduceColumns);
  int64_t first = block % n_blocks * kReduceColumns, outer = block / n_blocks;
  ColumnBlock result = {job.data + first * columns.stride,
                        std::min(kReduceColumns, columns.size - first), first * columns.out_stride};
  for (int d = 1; d < job.n_kept; ++d) {
    int64_t at = outer % job.kept[d].size;
    outer /= job.kept[d].size;
    result.base += at * job.kept[d].stride;
    result.out += at * job.kept[d].out_stride;
  }
  return result;
}

// Rows [begin, end) of a block of columns. `memory` is that of a Tree; the result is left at its
// start.
void reduce_columns(const Job& job, const ColumnBlock& block, int64_t begin, int64_t end,
                    std::vector<char>& memory) {
  const ReduceKernel& kernel = *job.kernel;
  const Axis& rows = job.reduced[0];
  bool is_direct = job.is_wide && job.kept[0].stride == job.item_bytes &&
                   rows.stride % job.item_bytes == 0 &&
                   (job.n_reduced == 1 || rows.size >= kShortRun / 4);
  int64_t n_rows_direct = std::max(kReduceRows, kReduceChunk / block.n);
  if (is_direct && job.n_reduced == 1 && end - begin <= n_rows_direct) {
    memory.resize(block.n * kernel.accumulator_bytes);
    return kernel.columns(block.base + begin * rows.stride, rows.stride / job.item_bytes,
                          end - begin, block.n, begin, memory.data(), *job.params);
  }
  int64_t n_rows_buffered = std::max<int64_t>(1, kReduceChunk / block.n);
  memory.resize((Tree::n_levels(end - begin) + 1) * block.n * kernel.accumulator_bytes);
  alignas(64) char buffer[kReduceChunk * sizeof(Complex128)];
  Tree tree(kernel, block.n, memory.data());
  Cursor cursor(job.reduced, job.n_reduced, begin);
  for (int64_t i = begin; i < end;) {
    int64_t n;
    if (is_direct) {
      n = std::min({cursor.left_in_run(), end - i, n_rows_direct});
      kernel.columns(block.base + cursor.offset(), rows.stride / job.item_bytes, n, block.n, i,
                     tree.incoming(), *job.params);
      cursor.advance(n);
    } else {
      n = std::min(end - i, n_rows_buffered);
      for (int64_t r = 0; r < n;) {
        int64_t m = std::min(n - r, cursor.left_in_run());
        load_rows(job, block.base + cursor.offset(), job.kept[0].stride, block.n, rows.stride, m,
                  buffer + r * block.n * job.wide_bytes);
        cursor.advance(m);
        r += m;
      }
      kernel.columns(buffer, block.n, n, block.n, i, tree.incoming(), *job.params);
    }
    tree.push();
    i += n;
  }
  std::memmove(memory.data(), tree.result(), tree.bytes());
}

void reduce_all_columns(const Job& job) {
  int64_t width = std::min(job.kept[0].size, kReduceColumns);
  int64_t n_blocks = ceil_div(job.kept[0].size, kReduceColumns) * (job.n_out / job.kept[0].size);
  int64_t out_stride = job.kept[0].out_stride;
  if (n_blocks >= kEnoughTasks || job.n_in * width <= 2 * kPiece) {
    parallel_for(n_blocks, std::max<int64_t>(1, kPiece / (job.n_in * width)),
                 [&](int64_t begin, int64_t end) {
                   std::vector<char> memory;
                   for (int64_t b = begin; b < end; ++b) {
                     ColumnBlock block = column_block(job, b);
                     reduce_columns(job, block, 0, job.n_in, memory);
                     store_results(job, memory.data(), block.n, block.out, out_stride);
                   }
                 });
    return;
  }
  int64_t n_rows = std::max(kReduceRows, kPiece / width / kReduceRows * kReduceRows);
  int64_t n_pieces = ceil_div(job.n_in, n_rows), bytes = job.kernel->accumulator_bytes;
  std::vector<char> partial(n_blocks * n_pieces * width * bytes);
  parallel_for(n_blocks * n_pieces, 1, [&](int64_t task, int64_t) {
    ColumnBlock block = column_block(job, task / n_pieces);
    int64_t piece = task % n_pieces;
    std::vector<char> memory;
    reduce_columns(job, block, piece * n_rows, std::min((piece + 1) * n_rows, job.n_in), memory);
    std::memcpy(partial.data() + (task / n_pieces * n_pieces * width + piece * block.n) * bytes,
                memory.data(), block.n * bytes);
  });
  std::vector<char> memory((Tree::n_levels(n_pieces) + 1) * width * bytes);
  for (int64_t b = 0; b < n_blocks; ++b) {
    ColumnBlock block = column_block(job, b);
    join_pieces(job, partial.data() + b * n_pieces * width * bytes, n_pieces, block.n, memory);
    store_results(job, memory.data(), block.n, block.out, out_stride);
  }
}

// ---- geometry

void append(Axis* axes, int& n, Axis axis) {
  if (n > 0) {
    Axis& last = axes[n - 1];
    if (axis.stride == last.stride * last.size && axis.out_stride == last.out_stride * last.size) {
      last.size *= axis.size;
      return;
    }
  }
  axes[n++] = axis;
}

// Dimensions from the last to the first; those that continue each other in memory become one.
void set_axes(Job& job, const Tensor& x, DimMask mask) {
  int order[kMaxDims], n = 0;
  for (int64_t d = x.dim() - 1; d >= 0; --d)
    if (is_in(mask, d) && x.size(d) != 1) order[n++] = static_cast<int>(d);
  // A sum may be taken in any order: along memory is best. Indices count in the order of the
  // dimensions.
  if (!job.keeps_order)
    std::stable_sort(order, order + n, [&](int a, int b) { return x.stride(a) < x.stride(b); });
  for (int i = 0; i < n; ++i)
    append(job.reduced, job.n_reduced, {x.size(order[i]), x.stride(order[i]) * job.item_bytes, 0});
  if (n == 0) append(job.reduced, job.n_reduced, {1, job.item_bytes, 0});
  int64_t out_stride = 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    if (is_in(mask, d)) {
      job.n_in *= x.size(d);
      continue;
    }
    if (x.size(d) != 1)
      append(job.kept, job.n_kept, {x.size(d), x.stride(d) * job.item_bytes, out_stride});
    out_stride *= x.size(d);
  }
  job.n_out = out_stride;
}

// Moves the kept dimension with the shortest step to the front, where columns are taken from.
void choose_columns(Job& job) {
  int best = 0;
  for (int d = 1; d < job.n_kept; ++d)
    if (job.kept[d].stride > 0 &&
        (job.kept[best].stride == 0 || job.kept[d].stride < job.kept[best].stride))
      best = d;
  std::rotate(job.kept, job.kept + best, job.kept + best + 1);
}

bool prefers_columns(const Job& job) {
  if (job.n_kept == 0) return false;
  int64_t shortest = job.kept[0].stride, size = job.kept[0].size;
  for (int d = 1; d < job.n_kept; ++d)
    if (job.kept[d].stride > 0 && job.kept[d].stride < shortest) {
      shortest = job.kept[d].stride;
      size = job.kept[d].size;
    }
  if (job.reduced[0].stride <= job.item_bytes || shortest > job.reduced[0].stride)
    return job.n_in < (takes_many_rows(job) ? kShortDenseRun : kShortRun) && size >= kShortRun;
  // Where kernels can take rows as they lie, two columns are enough.
  bool is_direct = !job.keeps_order && shortest == job.item_bytes &&
                   (job.is_wide || job.reduced[0].stride == size * shortest);
  return size >= (is_direct ? 2 : 4);
}

Job make_job(ReduceOp op, const ReduceKernel& kernel, const Tensor& x, DimMask mask,
             DType read_dtype, const Tensor& values, const Tensor& seconds,
             const ReduceParams& params) {
  const auto& casts = get_cast_table().loops;
  Job job;
  job.kernel = &kernel;
  job.params = &params;
  job.data = x.data();
  job.item_bytes = x.itemsize();
  job.wide_bytes = item_size(read_dtype);
  job.load = casts[static_cast<int>(x.dtype())][static_cast<int>(read_dtype)];
  job.is_wide = x.dtype() == read_dtype;
  job.values = values.data();
  job.value_bytes = item_size(kernel.value_dtype);
  job.out_bytes = values.itemsize();
  job.is_stored_as_is = kernel.value_dtype == values.dtype();
  job.store = casts[static_cast<int>(kernel.value_dtype)][static_cast<int>(values.dtype())];
  job.seconds = seconds.defined() ? seconds.data() : nullptr;
  job.store_seconds =
      casts[static_cast<int>(DType::Int64)][static_cast<int>(DType::Int64)];  // 8 bytes are moved
  job.keeps_order = keeps_order(op);
  set_axes(job, x, mask);
  return job;
}

}  // namespace

void run_reduction(ReduceOp which, const Tensor& x, DimMask mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params) {
  for (DType dtype : {x.dtype(), read_dtype, values.dtype()}) check_computed(dtype);
  const auto& kernels = get_reduce_table().kernels[static_cast<int>(which)];
  bool is_widened_by_kernel =
      read_dtype == wide_dtype(x.dtype()) && !kernels[static_cast<int>(x.dtype())].is_null();
  if (is_widened_by_kernel) read_dtype = x.dtype();
  const ReduceKernel& kernel = kernels[static_cast<int>(read_dtype)];
  // The short way for small tensors: one chunk, one result.
  int64_t numel = x.numel();
  if (values.numel() == 1 && numel <= kReduceChunk && x.is_contiguous() &&
      x.dtype() == read_dtype && kernel.value_dtype == values.dtype()) {
    alignas(16) char accumulator[kMaxAccumulatorBytes];
    kernel.rows(x.data(), 0, 1, numel, 0, accumulator, params);
    return kernel.finish(accumulator, 1, values.data(),
                         seconds.defined() ? seconds.data() : nullptr, params);
  }
  if (values.numel() == 0) return;
  Job job = make_job(which, kernel, x, mask, read_dtype, values, seconds, params);
  if (job.n_in == 0) {
    char accumulator[kMaxAccumulatorBytes];
    kernel.rows(nullptr, 0, 1, 0, 0, accumulator, params);
    for (int64_t i = 0; i < job.n_out; ++i) store_results(job, accumulator, 1, i, 1);
  } else if (prefers_columns(job)) {
    choose_columns(job);
    reduce_all_columns(job);
  } else {
    group_short_runs(job);
    reduce_rows(job);
  }
}

}  // namespace facula::cpu
