#include "ops/shape/shape.h"

#include <cstring>

#include "autograd/node.h"
#include "base/parallel.h"
#include "bind/count.h"
#include "bind/dims_method.h"
#include "cuda/index/places.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

Tensor piece_of(const Tensor& x, int64_t dim, int64_t start, int64_t length) {
  Dims sizes = x.sizes();
  sizes[dim] = length;
  return make_view(x, sizes, x.strides(), x.offset() + start * x.stride(dim));
}

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

namespace {

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
    if (in.empty()) return size == 0 ? whole : reshape(g, in);
    int64_t n = g.size(dim);
    for (int64_t k = size - 1; k >= 0; --k) {
      Tensor piece = slice(whole, dim, k, k + (n - 1) * step + 1, step);
      add_(piece, select(g, -1, k));
    }
    return whole;
  });
}

Tensor tril(const Tensor& x, int64_t diagonal);

template <bool keep_lower>
Tensor triangle(const char* op, const char* node, const Tensor& x, int64_t diagonal,
                const Into& into) {
  check(x.dim() >= 2, op, ": expected an input of at least 2 dimensions, got ", x, ".");
  bool is_x = into.is_in_place && x.is_same(*into.tensor) && x.is_contiguous() &&
              can_hold(x, x.sizes(), x.dtype(), into.is_recording, {x});
  Tensor y = is_x ? x : empty(x.sizes(), x.dtype(), x.device());
  int64_t rows = x.size(-2), cols = x.size(-1), size = x.itemsize();
  diagonal = std::clamp(diagonal, -rows, cols);  // beyond, it says no more, and sums overflow
  if (!is_x) {
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
  if (!y.is_cpu()) {
    cuda::clear_triangle(y, diagonal, keep_lower);
  } else {
    parallel_for(
        cols ? y.numel() / cols : 0, std::max<int64_t>(kPiece / std::max<int64_t>(cols, 1), 1),
        [&](int64_t begin, int64_t end) {
          char* line = y.data() + begin * cols * size;
          int64_t row = begin % rows;
          for (int64_t r = begin; r < end;
               ++r, line += cols * size, row = row + 1 == rows ? 0 : row + 1) {
            // Columns [0, edge) are on or below the diagonal.
            int64_t edge =
                std::min(std::max<int64_t>(row + diagonal + (keep_lower ? 1 : 0), 0), cols);
            if (keep_lower && edge < cols) std::memset(line + edge * size, 0, (cols - edge) * size);
            if (!keep_lower && edge > 0) std::memset(line, 0, edge * size);
          }
        });
  }
  return record(node, y, {x}, [diagonal](const Tensor& g) {
    return keep_lower ? tril(g, diagonal) : triu(g, diagonal);
  });
}

Tensor tril_into(const Tensor& x, Count diagonal, const Into& into) {
  return triangle<true>("tril", "TrilBackward0", x, diagonal, into);
}
Tensor triu_into(const Tensor& x, Count diagonal, const Into& into) {
  return triangle<false>("triu", "TriuBackward0", x, diagonal, into);
}
Tensor tril(const Tensor& x, int64_t diagonal) { return tril_into(x, Count{diagonal}, Into{}); }

Tensor diag(const Tensor& x, int64_t offset) {
  check(x.dim() == 1 || x.dim() == 2, "diag: expected an input of 1 or 2 dimensions, got ", x, ".");
  if (x.dim() == 2) return clone(diagonal(x, offset));
  int64_t n = x.size(0) + std::abs(offset);
  Tensor y = zeros({n, n}, x.dtype(), x.device());
  Tensor line = diagonal(y, offset);
  copy_(line, x);
  return y;
}

}  // namespace

Tensor triu(const Tensor& x, int64_t diagonal) { return triu_into(x, Count{diagonal}, Into{}); }

namespace {

void bind_views(nb::module_& m) {
  def_op(m, "flatten", &flatten, "start_dim"_a = 0, "end_dim"_a = -1,
         R"(Joins the dimensions start_dim to end_dim into one; a view where strides allow.
    input: any tensor.
    start_dim: the first dimension to join.
    end_dim: the last dimension to join.
    >>> facula.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12]))"_doc);
  for (const char* name : {"movedim", "moveaxis"}) {
    def_op(m, name, with_lists(&movedim), "source"_a, "destination"_a,
           R"(A view with the dimensions ``source`` moved to the places ``destination``.
    input: any tensor.
    source: the dimensions to move, an int or several.
    destination: the places in the result, one for each dimension that moves.
    >>> facula.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2]))"_doc);
    def_op(
        m, name,
        [](const Tensor& x, int64_t source, int64_t destination) {
          return movedim(x, {source}, {destination});
        },
        "source"_a, "destination"_a);
  }
  def_op(m, "diagonal", &diagonal, "offset"_a = 0, "dim1"_a = 0, "dim2"_a = 1,
         R"(A view of the diagonal of dimensions dim1 and dim2, as the last dimension.
    input: a tensor of at least two dimensions.
    offset: which diagonal: 0 for the main one, above it if positive, below it if negative.
    dim1: the dimension of rows.
    dim2: the dimension of columns.
    >>> facula.tensor([[1, 2], [3, 4]]).diagonal()
    tensor([1, 4]))"_doc);
  def_method(
      "unfold", &unfold, "dimension"_a, "size"_a, "step"_a,
      R"(A view of all windows of ``size`` along a dimension, ``step`` apart; windows are the last dimension.
    dimension: the dimension to slide along.
    size: the length of a window.
    step: the distance of the windows.
    >>> facula.tensor([1, 2, 3, 4]).unfold(0, 2, 1)
    tensor([[1, 2],
            [2, 3],
            [3, 4]]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_views(m);
  def_op_out(m, "tril", &tril_into, "diagonal"_a = 0,
             R"(The lower triangle of matrices, zeros elsewhere.
    input: a matrix or a batch of matrices.
    diagonal: the last diagonal that is kept, 0 for the main one.
    out: where to put the result.
    >>> facula.ones(2, 2).tril()
    tensor([[1., 0.],
            [1., 1.]]))"_doc);
  def_op_out(m, "triu", &triu_into, "diagonal"_a = 0,
             R"(The upper triangle of matrices, zeros elsewhere.
    input: a matrix or a batch of matrices.
    diagonal: the first diagonal that is kept, 0 for the main one.
    out: where to put the result.
    >>> facula.ones(2, 2).triu()
    tensor([[1., 1.],
            [0., 1.]]))"_doc);
  def_in_place("tril", "tril_", &tril_into, "diagonal"_a = 0);
  def_in_place("triu", "triu_", &triu_into, "diagonal"_a = 0);
  def_op_out(m, "diag", &diag, "diagonal"_a = 0,
             R"(The diagonal of a matrix, or a matrix with the given diagonal.
    input: a matrix, or a vector.
    diagonal: which diagonal: 0 for the main one, above it if positive, below it if negative.
    out: where to put the result.
    >>> facula.diag(facula.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]]))"_doc);
}

}  // namespace facula
