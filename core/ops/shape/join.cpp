// Copies that move elements and change none: joined, flipped, rolled, repeated.
#include <algorithm>
#include <cstring>

#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/dims_method.h"
#include "cpu/shape/copy.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "tensor/format.h"

namespace facula {

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

// The memory format that all of the tensors have, else contiguous.
MemoryFormat joined_format(const TensorList& tensors) {
  std::optional<MemoryFormat> format;
  for (const Tensor& x : tensors) {
    if (is_skipped(x)) continue;
    if (!format) format = format_of(x);
    if (*format != format_of(x)) return MemoryFormat::Contiguous;
  }
  return format.value_or(MemoryFormat::Contiguous);
}

// Lines of a tensor: its last dimensions, dense, one line a fixed step after the other.
struct Lines {
  const char* data;
  int64_t nbytes, step;
  int64_t start = 0;  // in a line that they are part of
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

// True where the lines of y are made of lines of the parts, neither so long that threads should
// share one nor single elements, and have been written: all that belongs to one line before the
// next. A view of y and a walk for each part would take longer than most of them: 64 images of 12
// kB take 19 us instead of 25.
bool join_lines(const Tensor& y, const TensorList& parts, int64_t dim) {
  constexpr int64_t kShortest = 16, kLongest = 262144, kPiece = 65536;  // bytes
  // Not bool: bytes that are more than 0 and 1 become 1 in copies.
  if (!y.is_cpu() || !y.is_contiguous() || y.dtype() == DType::Bool || y.numel() == 0) return false;
  std::vector<Lines> lines;
  lines.reserve(parts.size());
  int64_t nbytes = 0, n_parts = static_cast<int64_t>(parts.size());
  for (const Tensor& x : parts) {
    std::optional<Lines> from = lines_of(x, dim);
    if (!from || x.dtype() != y.dtype() || x.storage() == y.storage() || from->nbytes > kLongest)
      return false;
    from->start = nbytes;
    nbytes += from->nbytes;
    lines.push_back(*from);
  }
  if (nbytes < kShortest * n_parts) return false;
  int64_t n_lines = y.numel() * y.itemsize() / nbytes, grain = kPiece * n_parts / nbytes;
  char* to = y.data();
  auto copy = cpu::get_copy_table().line;
  parallel_for(n_lines * n_parts, grain, [&](int64_t begin, int64_t end) {
    int64_t line = begin / n_parts, part = begin % n_parts;
    for (int64_t i = begin; i < end; ++i) {
      const Lines& from = lines[part];
      copy(to + line * nbytes + from.start, from.data + line * from.step, from.nbytes);
      if (++part < n_parts) continue;
      part = 0;
      ++line;
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
            ", got ", x.sizes(), " at position ", i, "; only dimension ", dim,
            " may differ. (Sizes of tensors must match except in dimension ", dim, ".)");
    sizes[dim] += x.size(dim);
  }
  DType dtype = joined_dtype(tensors);
  Tensor y = can_join_in(out, sizes, dtype, tensors)
                 ? out
                 : empty(sizes, dtype, model->device(), joined_format(tensors));
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

// A place for the tensors of a stack, in their memory format: as if they were joined along `dim`,
// which is cut in two afterwards. Behind the last dimension there is none to join along.
Tensor empty_stack(const TensorList& tensors, int64_t dim) {
  const Tensor& x = tensors[0];
  int64_t n = static_cast<int64_t>(tensors.size());
  Dims sizes = x.sizes(), joined = x.sizes();
  sizes.insert(dim, n);
  DType dtype = joined_dtype(tensors);
  if (dim == x.dim() || joined_format(tensors) == MemoryFormat::Contiguous)
    return empty(sizes, dtype, x.device());
  joined[dim] *= n;
  Dims strides = channels_last_strides(joined);
  strides.insert(dim, x.size(dim) * strides[dim]);
  return empty_strided(sizes, strides, dtype, x.device());
}

Tensor stack(const TensorList& tensors, int64_t dim) {
  check(!tensors.empty(), "stack: expected at least one tensor.");
  dim = wrap_dim("stack", dim, tensors[0].dim() + 1);
  const Dims& shape = tensors[0].sizes();
  for (size_t i = 0; i < tensors.size(); ++i)
    check(tensors[i].sizes() == shape, "stack: expected tensors of one shape, got ", shape, " and ",
          tensors[i].sizes(), " at position ", i, ". (stack expects each tensor to be equal size)");
  Tensor y;
  {
    NoGradGuard guard;
    TensorList rows;
    for (const Tensor& x : tensors) rows.push_back(unsqueeze(x, dim));
    y = cat(rows, dim, empty_stack(tensors, dim));
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
  // x read backwards: from its last element with negative steps, which a tensor cannot have but a
  // walk can.
  Dims strides = x.strides();
  char* start = x.address();
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!flipped[d] || x.numel() == 0) continue;
    start += (x.size(d) - 1) * strides[d] * x.itemsize();
    strides[d] = -strides[d];
  }
  // Bools as they are, also those that are more than 0 and 1.
  copy_elements(make_walk(y, start, strides), x.dtype() == DType::Bool ? DType::UInt8 : x.dtype());
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

Tensor roll(const Tensor& x, const Dims& shifts, const Dims& dims) {
  check(!shifts.empty(), "roll: `shifts` required.");
  if (dims.empty() && shifts.size() == 1)
    return reshape(roll(reshape(x, {-1}), shifts, {0}), x.sizes());
  check(shifts.size() == dims.size(), "roll: expected a shift for each dimension, got ", shifts,
        " and ", dims, ".");
  // As in PyTorch, a dimension by which nothing moves ends the memory format.
  MemoryFormat format = format_of(x);
  Dims by_dim(x.dim(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    check_index(x.dim() > 0, "roll: dim ", dims[i],
                " was given, but the tensor has no dimensions.");
    int64_t dim = wrap_dim("roll", dims[i], x.dim()), size = x.size(dim);
    if (size == 0) continue;
    if (shifts[i] % size == 0) format = MemoryFormat::Contiguous;
    by_dim[dim] = (by_dim[dim] + shifts[i] % size + size) % size;
  }
  Tensor y = empty(x.sizes(), x.dtype(), x.device(), format);
  {
    NoGradGuard guard;
    copy_rolled(y, x, by_dim, 0);
  }
  Dims back = shifts;
  for (int64_t& s : back) s = -s;
  return record("RollBackward0", y, {x},
                [back, dims](const Tensor& g) { return roll(g, back, dims); });
}

}  // namespace

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

namespace {

Tensor tile(const Tensor& x, const Dims& repeats) {
  Dims full = repeats;
  while (static_cast<int64_t>(full.size()) < x.dim()) full.insert(0, 1);
  return repeat(x, full);
}

// The arguments of cat and stack: a tuple or list of tensors.
TensorList tensors_from(const char* op, nb::handle object) {
  check_type(PyTuple_Check(object.ptr()) || PyList_Check(object.ptr()), op,
             ": expected a tuple or list of tensors, got ", Py_TYPE(object.ptr())->tp_name, ".");
  TensorList tensors;
  for (nb::handle item : object) {
    check_type(is_tensor(item.ptr()), op, ": expected Tensor as element ", tensors.size(),
               " of the list, got ", Py_TYPE(item.ptr())->tp_name, ".");
    tensors.push_back(as_tensor(item.ptr()));
  }
  return tensors;
}

Tensor joined_into(const char* op, const TensorList& tensors, const Tensor& result,
                   const Out& out) {
  if (!out) return result;
  for (const Tensor& x : tensors) check_apart(op, result, out, {x});
  check_type(can_cast(result.dtype(), out->dtype()), op, ": the result, ", result,
             ", can't be cast to the dtype of out, ", out->dtype(), ".");
  return into_out(op, result, *out);
}

void bind_joins(nb::module_& m) {
  for (const char* name : {"cat", "concat", "concatenate"})
    m.def(
        name,
        [](nb::handle tensors, int64_t dim, const Out& out) {
          TensorList parts = tensors_from("cat", tensors);
          return joined_into("cat", parts, cat(parts, dim, out.value_or(Tensor())), out);
        },
        "tensors"_a, "dim"_a = 0, nb::kw_only(), "out"_or_none,
        R"(The tensors one after the other along a dimension.
    tensors: a tuple or list of tensors.
    dim: the dimension to join along.
    out: where to put the result.
    >>> facula.cat([facula.zeros(1), facula.ones(2)])
    tensor([0., 1., 1.]))"_doc);
  m.def(
      "stack",
      [](nb::handle tensors, int64_t dim, const Out& out) {
        TensorList parts = tensors_from("stack", tensors);
        return joined_into("stack", parts, stack(parts, dim), out);
      },
      "tensors"_a, "dim"_a = 0, nb::kw_only(), "out"_or_none,
      R"(The tensors, all of one shape, along a new dimension.
    tensors: a tuple or list of tensors.
    dim: the place of the new dimension.
    out: where to put the result.
    >>> facula.stack([facula.tensor([1, 2]), facula.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_joins(m);
  const char* flip_doc = R"(A copy with the order of elements reversed along ``dims``.
    input: any tensor.
    dims: the dimensions to reverse.
    >>> facula.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1]))"_doc;
  m.def("flip", with_lists(&flip), "input"_a, "dims"_a, flip_doc);
  def_dims_method("flip", "dims", &flip, flip_doc);
  def_op(
      m, "roll",
      [](const Tensor& x, const Dims& shifts, std::optional<Dims> dims) {
        return roll(x, shifts, dims.value_or(Dims{}));
      },
      "shifts"_a, "dims"_or_none,
      R"(A copy with elements shifted along dimensions; what leaves at the end enters at the beginning.
    input: any tensor.
    shifts: the number of places to shift by, one for each dimension.
    dims: the dimensions to shift along; without them, the flattened elements are shifted.
    >>> facula.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2]))"_doc);
  def_dims_method("repeat", "repeats", &repeat,
                  R"(Copies of the tensor along each dimension.
    repeats: the number of copies along each dimension; the last one is that of the last dimension.
    >>> facula.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]]))"_doc);
  const char* tile_doc =
      R"(Copies of the tensor along each dimension; counts missing at the front are 1.
    input: any tensor.
    dims: the number of copies along each dimension.
    >>> facula.tile(facula.tensor([[1], [2]]), (2,))
    tensor([[1, 1],
            [2, 2]]))"_doc;
  m.def("tile", with_lists(&tile), "input"_a, "dims"_a, tile_doc);
  def_dims_method("tile", "dims", &tile, tile_doc);
}

}  // namespace facula
