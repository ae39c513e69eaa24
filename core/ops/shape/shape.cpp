#include "ops/shape/shape.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/shape/copy_line.h"
#include "ops/ops.h"
#include "ops/result.h"

namespace facula {

Tensor flatten(const Tensor& x, int64_t start_dim, int64_t end_dim) {
  start_dim = wrap_dim("flatten", start_dim, x.dim());
  end_dim = wrap_dim("flatten", end_dim, x.dim());
  check(start_dim <= end_dim, "flatten: expected start_dim not after end_dim, got ", start_dim,
        " and ", end_dim, ".");
  if (x.dim() == 0) return reshape(x, {1});
  if (start_dim == end_dim) return x;
  Dims sizes;
  int64_t joined = 1;
  for (int64_t i = 0; i < x.dim(); ++i) {
    if (i < start_dim || i > end_dim) {
      sizes.push_back(x.size(i));
    } else {
      joined *= x.size(i);
      if (i == end_dim) sizes.push_back(joined);
    }
  }
  return reshape(x, sizes);
}

Tensor movedim(const Tensor& x, const Dims& source, const Dims& destination) {
  check(source.size() == destination.size(),
        "movedim: expected as many dimensions in source as in destination, got ", source, " and ",
        destination, ".");
  Dims order(x.dim(), -1);
  bool taken[kMaxDims] = {};
  for (size_t i = 0; i < source.size(); ++i) {
    int64_t from = wrap_dim("movedim", source[i], x.dim()),
            to = wrap_dim("movedim", destination[i], x.dim());
    if (x.dim() == 0) return alias_view(x);
    check(!taken[from], "movedim: expected each dimension once in source, got ", source, ".");
    check(order[to] < 0, "movedim: expected each dimension once in destination, got ", destination,
          ".");
    taken[from] = true;
    order[to] = from;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    if (d >= 0) continue;
    while (taken[next]) ++next;
    d = next++;
  }
  return permute(x, order);
}

Tensor diagonal(const Tensor& x, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t d1 = wrap_dim("diagonal", dim1, x.dim()), d2 = wrap_dim("diagonal", dim2, x.dim());
  check(d1 != d2, "diagonal: expected two dimensions that differ, got ", dim1, " and ", dim2, ".");
  int64_t start = x.offset(), n;
  if (offset >= 0) {
    n = std::max<int64_t>(std::min(x.size(d1), x.size(d2) - offset), 0);
    if (n > 0) start += offset * x.stride(d2);
  } else {
    n = std::max<int64_t>(std::min(x.size(d1) + offset, x.size(d2)), 0);
    if (n > 0) start -= offset * x.stride(d1);
  }
  Dims sizes = x.sizes(), strides = x.strides();
  int64_t step = strides[d1] + strides[d2];
  sizes.erase(std::max(d1, d2));
  strides.erase(std::max(d1, d2));
  sizes.erase(std::min(d1, d2));
  strides.erase(std::min(d1, d2));
  sizes.push_back(n);
  strides.push_back(step);
  Tensor y = make_view(x, sizes, strides, start);
  return record("DiagonalBackward0", y, {x}, [in = x.sizes(), offset, d1, d2](const Tensor& g) {
    Tensor whole = zeros(in, g.dtype(), g.device());
    Tensor piece = diagonal(whole, offset, d1, d2);
    copy_(piece, g);
    return whole;
  });
}

Tensor unfold(const Tensor& x, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim("unfold", dim, x.dim());
  int64_t length = x.dim() == 0 ? 1 : x.size(dim);
  check(size >= 0, "unfold: expected size of at least 0, got ", size, ".");
  check(size <= length, "unfold: expected size of at most ", length, ", that of dimension ", dim,
        ", got ", size, ".");
  check(step > 0, "unfold: expected step of at least 1, got ", step, ".");
  Dims sizes = x.sizes(), strides = x.strides();
  sizes.push_back(size);
  strides.push_back(x.dim() == 0 ? 1 : strides[dim]);
  if (x.dim() > 0) {
    sizes[dim] = (length - size) / step + 1;
    strides[dim] *= step;
  }
  Tensor y = make_view(x, sizes, strides, x.offset());
  return record("UnfoldBackward0", y, {x}, [in = x.sizes(), dim, size, step](const Tensor& g) {
    // Windows may overlap: add what each position of a window got, the first window first.
    Tensor whole = zeros(in, g.dtype(), g.device());
    if (in.empty()) return reshape(g, in);
    int64_t n = g.size(dim);
    for (int64_t k = size - 1; k >= 0; --k) {
      Tensor piece = slice(whole, dim, k, k + (n - 1) * step + 1, step);
      add_(piece, select(g, -1, k));
    }
    return whole;
  });
}

namespace {

// Views that leave one function together: none of them may be written to in place while gradients
// are recorded.
void record_pieces(const char* node, const Tensor& x, const TensorList& pieces, int64_t dim,
                   bool keeps_dim) {
  for (const Tensor& piece : pieces)
    if (piece.is_view() && piece->view_kind == ViewKind::Plain)
      piece->view_kind = ViewKind::OneOfMany;
  std::vector<Dims> sizes;
  for (const Tensor& piece : pieces) sizes.push_back(piece.sizes());
  record_all(node, pieces, {x}, [sizes, dim, keeps_dim](const TensorList& gs, Needs) -> TensorList {
    TensorList parts = gs;
    const Tensor* some = nullptr;
    for (const Tensor& g : gs)
      if (g.defined()) some = &g;
    for (size_t i = 0; i < parts.size(); ++i)
      if (!parts[i].defined()) parts[i] = zeros(sizes[i], some->dtype(), some->device());
    return {keeps_dim ? cat(parts, dim) : stack(parts, dim)};
  });
}

Tensor piece_of(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  Dims sizes = x.sizes();
  sizes[dim] = length;
  return make_view(x, sizes, x.strides(), x.offset() + start * x.stride(dim));
}

TensorList cut(const Tensor& x, const Dims& sizes, int64_t dim) {
  TensorList pieces;
  int64_t start = 0;
  for (int64_t size : sizes) {
    pieces.push_back(piece_of(x, dim, start, size));
    start += size;
  }
  return pieces;
}

// Names of views are those of unsafe pieces without the prefix.
const char* name_of(const char* unsafe_name, Pieces kind) {
  return unsafe_name + (kind == Pieces::Unsafe ? 0 : std::strlen("unsafe_"));
}

// The sizes of pieces of `split_size`, the last of which may be smaller; wraps dim.
Dims equal_sizes(const char* op, const Tensor& x, int64_t split_size, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  dim = wrap_dim(op, dim, x.dim());
  check(split_size >= 0, op, ": expected split_size of at least 0, got ", split_size, ".");
  int64_t size = x.size(dim);
  check(split_size > 0 || size == 0, op, ": a dimension of size ", size,
        " has no pieces of size 0.");
  int64_t n = split_size == 0 ? 1 : std::max<int64_t>(ceil_div(size, split_size), 1);
  Dims sizes(n, split_size);
  sizes.back() = size - (n - 1) * split_size;
  return sizes;
}

// Raises unless the sizes add up to that of x; wraps dim.
void check_sizes(const char* op, const Tensor& x, const Dims& split_sizes, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  dim = wrap_dim(op, dim, x.dim());
  int64_t total = 0;
  for (int64_t size : split_sizes) {
    check(size >= 0, op, ": expected sizes of at least 0, got ", split_sizes, ".");
    // More than the dimension has is as wrong as any other sum, and cannot overflow.
    total += std::min(size, x.size(dim) + 1 - std::min(total, x.size(dim)));
  }
  check(total == x.size(dim), op, ": expected sizes that add up to ", x.size(dim),
        ", the size of dimension ", dim, ", got ", split_sizes, ".");
}

// The sizes of `chunks` pieces; wraps dim.
Dims chunk_sizes(const char* op, const Tensor& x, int64_t chunks, int64_t& dim) {
  check(x.dim() > 0, op, ": expected a tensor of at least one dimension, got a 0-d one.");
  check(chunks > 0, op, ": expected chunks of at least 1, got ", chunks, ".");
  dim = wrap_dim(op, dim, x.dim());
  int64_t size = ceil_div(x.size(dim), chunks);
  return size == 0 ? Dims(chunks, 0) : equal_sizes(op, x, size, dim);
}

// Unsafe pieces of x's memory are tensors of their own to autograd: each may be written to in
// place, and nothing finds out that the others or x were read before.
TensorList recorded_cut(Pieces kind, bool is_equal, const Tensor& x, const Dims& sizes,
                        int64_t dim) {
  TensorList pieces = cut(x, sizes, dim);
  bool is_unsafe = kind == Pieces::Unsafe;
  if (is_unsafe)
    for (Tensor& piece : pieces) piece = alias_uncounted(piece);
  const char* equal = is_unsafe ? "UnsafeSplitBackward0" : "SplitBackward0";
  const char* other = is_unsafe ? "UnsafeSplitWithSizesBackward0" : "SplitWithSizesBackward0";
  record_pieces(is_equal ? equal : other, x, pieces, dim, true);
  return pieces;
}

}  // namespace

TensorList split(const Tensor& x, int64_t split_size, int64_t dim, Pieces kind) {
  Dims sizes = equal_sizes(name_of("unsafe_split", kind), x, split_size, dim);
  return recorded_cut(kind, true, x, sizes, dim);
}

TensorList split(const Tensor& x, const Dims& split_sizes, int64_t dim, Pieces kind) {
  check_sizes(name_of("unsafe_split_with_sizes", kind), x, split_sizes, dim);
  return recorded_cut(kind, false, x, split_sizes, dim);
}

TensorList chunk(const Tensor& x, int64_t chunks, int64_t dim, Pieces kind) {
  Dims sizes = chunk_sizes(name_of("unsafe_chunk", kind), x, chunks, dim);
  return recorded_cut(kind, x.size(dim) != 0, x, sizes, dim);
}

TensorList unbind(const Tensor& x, int64_t dim) {
  check_index(x.dim() > 0, "unbind: a 0-d tensor has no dimension ", dim, ".");
  dim = wrap_dim("unbind", dim, x.dim());
  Dims sizes = x.sizes(), strides = x.strides();
  sizes.erase(dim);
  strides.erase(dim);
  TensorList pieces;
  for (int64_t i = 0; i < x.size(dim); ++i)
    pieces.push_back(make_view(x, sizes, strides, x.offset() + i * x.stride(dim)));
  if (!pieces.empty()) record_pieces("UnbindBackward0", x, pieces, dim, false);
  return pieces;
}

namespace {

// A 1-d tensor without elements goes with anything, as in PyTorch.
bool is_skipped(const Tensor& x) { return x.dim() == 1 && x.size(0) == 0; }

DType joined_dtype(const TensorList& tensors) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& x : tensors) dtype = promote_types(dtype, x.dtype());
  return dtype;
}

bool can_join_in(const Tensor& out, const Dims& sizes, DType dtype, const TensorList& tensors) {
  return out.defined() && !out.requires_grad() &&
         std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& x) {
           return can_hold(out, sizes, dtype, is_grad_enabled(), {x});
         });
}

bool all_channels_last(const TensorList& tensors) {
  for (const Tensor& x : tensors)
    if (!is_skipped(x) && (x.is_contiguous() || !x.is_contiguous(MemoryFormat::ChannelsLast)))
      return false;
  return true;
}

// Lines of a tensor: its last dimensions, dense, one line a fixed step after the other.
struct Lines {
  const char* data;
  int64_t nbytes, step;
};

// The dimensions from `dim` on as lines, if they are that.
std::optional<Lines> lines_of(const Tensor& x, int64_t dim) {
  int64_t line = 1, step = 0, end = -1;  // where the next slower dimension has to start
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    if (d >= dim) {
      if (x.size(d) != 1 && x.stride(d) != line) return {};
      line *= x.size(d);
    } else if (x.size(d) != 1) {
      if (end >= 0 && x.stride(d) != end) return {};
      if (end < 0) step = x.stride(d);
      end = x.stride(d) * x.size(d);
    }
  }
  return Lines{x.data(), line * x.itemsize(), step * x.itemsize()};
}

// True where the lines of y are made of lines of the parts, neither long nor single elements, and
// have been written: all that belongs to one line before the next.
bool join_lines(const Tensor& y, const TensorList& parts, int64_t dim) {
  constexpr int64_t kShortest = 16, kLongest = 8192, kPiece = 65536;  // bytes
  // Not bool: bytes that are more than 0 and 1 become 1 in copies.
  if (!y.is_cpu() || !y.is_contiguous() || y.dtype() == DType::Bool || y.numel() == 0) return false;
  std::vector<Lines> lines;
  int64_t nbytes = 0;
  for (const Tensor& x : parts) {
    std::optional<Lines> from = lines_of(x, dim);
    if (!from || x.dtype() != y.dtype() || x.storage() == y.storage()) return false;
    nbytes += from->nbytes;
    lines.push_back(*from);
  }
  if (nbytes < kShortest * static_cast<int64_t>(parts.size()) || nbytes > kLongest) return false;
  parallel_for(y.numel() * y.itemsize() / nbytes, kPiece / nbytes, [&](int64_t begin, int64_t end) {
    char* to = y.data() + begin * nbytes;
    for (int64_t i = begin; i < end; ++i) {
      for (const Lines& from : lines) {
        cpu::copy_line(to, from.data + i * from.step, from.nbytes);
        to += from.nbytes;
      }
    }
  });
  return true;
}

// True where y has been written as pairs of elements, one of each part: the parts are one tensor,
// whose last dimension has the distance between them as its stride.
bool join_pairs(const Tensor& y, const TensorList& parts, int64_t dim) {
  if (parts.size() != 2 || !y.is_cpu() || y.stride(dim) != 1 || y.numel() == 0) return false;
  for (const Tensor& x : parts)
    if (x.size(dim) != 1 || x.dtype() != y.dtype() || x.storage() == y.storage()) return false;
  Tensor a = contiguous(parts[0]), b = contiguous(parts[1]);
  int64_t distance = reinterpret_cast<intptr_t>(b.data()) - reinterpret_cast<intptr_t>(a.data());
  if (a.strides() != b.strides() || distance % y.itemsize() != 0) return false;
  Dims strides = a.strides();
  strides[dim] = distance / y.itemsize();
  copy_elements(make_walk(y, a.data(), strides), y.dtype());
  return true;
}

// Writes the parts, one behind the other along dim, to y.
void join(const Tensor& y, const TensorList& parts, int64_t dim) {
  if (join_lines(y, parts, dim) || join_pairs(y, parts, dim)) return;
  int64_t start = 0;
  for (const Tensor& x : parts) {
    copy_into(piece_of(y, dim, start, x.size(dim)), x);
    start += x.size(dim);
  }
}

}  // namespace

Tensor cat(const TensorList& tensors, int64_t dim, const Tensor& out) {
  check_value(!tensors.empty(), "cat: expected at least one tensor.");
  const Tensor* model = nullptr;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i].dim() > 0,
          "cat: expected tensors of at least one dimension, got a 0-d one at position ", i,
          ". Use stack() for those.");
    check(tensors[i].device() == tensors[0].device(), "cat: expected tensors on one device, got ",
          tensors[0], " and ", tensors[i], " at position ", i, ".");
    if (!model && !is_skipped(tensors[i])) model = &tensors[i];
  }
  if (!model) model = &tensors[0];
  dim = wrap_dim("cat", dim, model->dim());
  Dims sizes = model->sizes();
  sizes[dim] = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& x = tensors[i];
    if (is_skipped(x)) continue;
    check(x.dim() == model->dim(), "cat: expected tensors of as many dimensions, got ",
          model->dim(), " and ", x.dim(), " at position ", i, ".");
    for (int64_t d = 0; d < x.dim(); ++d)
      check(d == dim || x.size(d) == sizes[d], "cat: expected size ", sizes[d], " in dimension ", d,
            ", got ", x.sizes(), " at position ", i, "; only dimension ", dim, " may differ.");
    sizes[dim] += x.size(dim);
  }
  DType dtype = joined_dtype(tensors);
  MemoryFormat format = model->dim() == 4 && all_channels_last(tensors) ? MemoryFormat::ChannelsLast
                                                                        : MemoryFormat::Contiguous;
  Tensor y =
      can_join_in(out, sizes, dtype, tensors) ? out : empty(sizes, dtype, model->device(), format);
  Dims lengths;
  {
    NoGradGuard guard;
    TensorList parts;
    for (const Tensor& x : tensors) {
      lengths.push_back(is_skipped(x) ? 0 : x.size(dim));
      if (lengths.back()) parts.push_back(x);
    }
    join(y, parts, dim);
  }
  std::vector<Dims> shapes;
  std::vector<DType> dtypes;
  for (const Tensor& x : tensors) {
    shapes.push_back(x.sizes());
    dtypes.push_back(x.dtype());
  }
  record_all("CatBackward0", {y}, tensors,
             [lengths, shapes, dtypes, dim](const TensorList& gs, Needs need) -> TensorList {
               TensorList out(lengths.size());
               int64_t start = 0;
               for (size_t i = 0; i < lengths.size(); ++i) {
                 if (need[i]) {
                   Tensor part = shapes[i].size() == 1 && shapes[i][0] == 0
                                     ? zeros(shapes[i], gs[0].dtype(), gs[0].device())
                                     : narrow(gs[0], dim, start, lengths[i]);
                   if (is_complex(part.dtype()) && !is_complex(dtypes[i])) part = real(part);
                   out[i] = to_dtype(part, dtypes[i]);
                 }
                 start += lengths[i];
               }
               return out;
             });
  return y;
}

Tensor stack(const TensorList& tensors, int64_t dim) {
  check(!tensors.empty(), "stack: expected at least one tensor.");
  dim = wrap_dim("stack", dim, tensors[0].dim() + 1);
  const Dims& shape = tensors[0].sizes();
  for (size_t i = 0; i < tensors.size(); ++i)
    check(tensors[i].sizes() == shape, "stack: expected tensors of one shape, got ", shape, " and ",
          tensors[i].sizes(), " at position ", i, ".");
  Tensor y;
  {
    NoGradGuard guard;
    TensorList rows;
    for (const Tensor& x : tensors) rows.push_back(unsqueeze(x, dim));
    y = cat(rows, dim);
  }
  std::vector<DType> dtypes;
  for (const Tensor& x : tensors) dtypes.push_back(x.dtype());
  record_all("StackBackward0", {y}, tensors,
             [dtypes, dim](const TensorList& gs, Needs need) -> TensorList {
               TensorList out(dtypes.size());
               for (size_t i = 0; i < dtypes.size(); ++i) {
                 if (!need[i]) continue;
                 Tensor part = select(gs[0], dim, static_cast<int64_t>(i));
                 if (is_complex(part.dtype()) && !is_complex(dtypes[i])) part = real(part);
                 out[i] = to_dtype(part, dtypes[i]);
               }
               return out;
             });
  return y;
}

Tensor flip(const Tensor& x, const Dims& dims) {
  bool flipped[kMaxDims] = {};
  for (int64_t d : dims) {
    int64_t dim = wrap_dim("flip", d, x.dim());
    check(!flipped[dim], "flip: expected each dimension once, got ", dims, ".");
    flipped[dim] = true;
  }
  Tensor y = empty_like(x);
  check_cpu("flip", x);
  // x read backwards: from its last element with negative steps, which a tensor cannot have but a
  // walk can.
  Dims strides = x.strides();
  char* start = x.data();
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!flipped[d] || x.numel() == 0) continue;
    start += (x.size(d) - 1) * strides[d] * x.itemsize();
    strides[d] = -strides[d];
  }
  copy_elements(make_walk(y, start, strides), x.dtype());
  return record("FlipBackward0", y, {x}, [dims](const Tensor& g) { return flip(g, dims); });
}

namespace {

// x with what is before and behind a cut exchanged in each dimension from `dim` on.
void copy_rolled(const Tensor& y, const Tensor& x, const Dims& shifts, int64_t dim) {
  while (dim < x.dim() && shifts[dim] == 0) ++dim;
  if (dim == x.dim()) return copy_into(y, x);
  int64_t shift = shifts[dim], rest = x.size(dim) - shift;
  Tensor head = piece_of(x, dim, 0, rest), tail = piece_of(x, dim, rest, shift);
  if (std::all_of(shifts.begin() + dim + 1, shifts.end(), [](int64_t s) { return s == 0; }))
    return join(y, {tail, head}, dim);
  copy_rolled(piece_of(y, dim, 0, shift), tail, shifts, dim + 1);
  copy_rolled(piece_of(y, dim, shift, rest), head, shifts, dim + 1);
}

}  // namespace

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  check(!shifts.empty(), "roll: `shifts` required.");
  if (dims.empty() && shifts.size() == 1)
    return reshape(roll(reshape(x, {-1}), shifts, {0}), x.sizes());
  check(shifts.size() == dims.size(), "roll: expected a shift for each dimension, got ", shifts,
        " and ", dims, ".");
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  {
    NoGradGuard guard;
    Dims by_dim(x.dim(), 0);
    for (size_t i = 0; i < dims.size(); ++i) {
      check_index(x.dim() > 0, "roll: dim ", dims[i],
                  " was given, but the tensor has no dimensions.");
      int64_t dim = wrap_dim("roll", dims[i], x.dim()), size = x.size(dim);
      if (size) by_dim[dim] = (by_dim[dim] + shifts[i] % size + size) % size;
    }
    copy_rolled(y, x, by_dim, 0);
  }
  Dims back = shifts;
  for (int64_t& s : back) s = -s;
  return record("RollBackward0", y, {x},
                [back, dims](const Tensor& g) { return roll(g, back, dims); });
}

Tensor repeat(const Tensor& x, const Dims& repeats) {
  check(static_cast<int64_t>(repeats.size()) >= x.dim(), "repeat: expected at least ", x.dim(),
        " numbers for ", x, ", got ", repeats, ".");
  size_t missing = repeats.size() - x.dim();
  Dims sizes(repeats.size()), blocks, spread;
  for (size_t i = 0; i < repeats.size(); ++i) {
    int64_t size = i < missing ? 1 : x.sizes()[i - missing];
    check(repeats[i] >= 0, "repeat: expected numbers of at least 0, got ", repeats, ".");
    sizes[i] = repeats[i] * size;
    blocks.push_back(repeats[i]);
    blocks.push_back(size);
    spread.push_back(1);
    spread.push_back(size);
  }
  checked_numel(sizes);
  Tensor y;
  if (blocks.size() <= kMaxDims) {
    NoGradGuard guard;
    y = reshape(clone(expand(reshape(x, spread), blocks), MemoryFormat::Contiguous), sizes);
    y = alias(y);
  }
  check(y.defined(), "repeat: at most ", kMaxDims / 2, " dimensions can be repeated.");
  return record("RepeatBackward0", y, {x}, [in = x.sizes(), blocks](const Tensor& g) {
    if (blocks.empty()) return g;
    // New dimensions first, as in PyTorch: half-precision sums are rounded in between.
    size_t missing = blocks.size() / 2 - in.size();
    Dims added, repeated, rest(blocks.begin() + 2 * missing, blocks.end());
    for (size_t i = 0; i < missing; ++i) added.push_back(static_cast<int64_t>(i));
    for (size_t i = 0; i < in.size(); ++i) repeated.push_back(static_cast<int64_t>(2 * i));
    Tensor part = added.empty() ? g : sum(g, added);
    return repeated.empty() ? part : sum(reshape(part, rest), repeated);
  });
}

Tensor tile(const Tensor& x, const Dims& repeats) {
  Dims full = repeats;
  while (static_cast<int64_t>(full.size()) < x.dim()) full.insert(0, 1);
  return repeat(x, full);
}

namespace {

template <bool keep_lower>
Tensor triangle(const char* op, const char* node, const Tensor& x, int64_t diagonal) {
  check(x.dim() >= 2, op, ": expected an input of at least 2 dimensions, got ", x, ".");
  check_cpu(op, x);
  Tensor y = empty(x.sizes(), x.dtype(), x.device());
  int64_t rows = x.size(-2), cols = x.size(-1), size = x.itemsize();
  diagonal = std::clamp(diagonal, -rows, cols);  // beyond, it says no more, and sums overflow
  {
    // The rectangle that holds what is kept.
    NoGradGuard guard;
    int64_t row = keep_lower ? std::max<int64_t>(-diagonal, 0) : 0;
    int64_t col = keep_lower ? 0 : std::max<int64_t>(diagonal, 0);
    int64_t n_rows = (keep_lower ? rows : std::clamp<int64_t>(cols - diagonal, 0, rows)) - row;
    int64_t n_cols = (keep_lower ? std::clamp<int64_t>(rows + diagonal, 0, cols) : cols) - col;
    auto kept = [&](const Tensor& t) {
      return piece_of(piece_of(t, t.dim() - 2, row, n_rows), t.dim() - 1, col, n_cols);
    };
    copy_into(kept(y), kept(x));
  }
  constexpr int64_t kPiece = 32768;
  parallel_for(cols ? y.numel() / cols : 0,
               std::max<int64_t>(kPiece / std::max<int64_t>(cols, 1), 1),
               [&](int64_t begin, int64_t end) {
                 char* line = y.data() + begin * cols * size;
                 int64_t row = begin % rows;
                 for (int64_t r = begin; r < end;
                      ++r, line += cols * size, row = row + 1 == rows ? 0 : row + 1) {
                   // Columns [0, edge) are on or below the diagonal.
                   int64_t edge =
                       std::min(std::max<int64_t>(row + diagonal + (keep_lower ? 1 : 0), 0), cols);
                   if (keep_lower && edge < cols)
                     std::memset(line + edge * size, 0, (cols - edge) * size);
                   if (!keep_lower && edge > 0) std::memset(line, 0, edge * size);
                 }
               });
  return record(node, y, {x}, [diagonal](const Tensor& g) {
    return keep_lower ? tril(g, diagonal) : triu(g, diagonal);
  });
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  return triangle<true>("tril", "TrilBackward0", x, diagonal);
}
Tensor triu(const Tensor& x, int64_t diagonal) {
  return triangle<false>("triu", "TriuBackward0", x, diagonal);
}

Tensor diag(const Tensor& x, int64_t offset) {
  check(x.dim() == 1 || x.dim() == 2, "diag: expected an input of 1 or 2 dimensions, got ", x, ".");
  if (x.dim() == 2) return clone(diagonal(x, offset));
  int64_t n = x.size(0) + std::abs(offset);
  Tensor y = zeros({n, n}, x.dtype(), x.device());
  Tensor line = diagonal(y, offset);
  copy_(line, x);
  return y;
}

}  // namespace facula
