#include "ops/shape/copy.h"

#include "autograd/node.h"
#include "base/integers.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/python_error.h"
#include "cpu/run.h"
#include "cpu/shape/copy.h"
#include "cpu/shape/stored_cast.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "tensor/backend.h"

namespace facula {

namespace {

bool is_dense_line(const Walk& walk, int64_t size) {
  return walk.strides[0][0] == size && walk.strides[1][0] == size;
}

// Makes one element of innermost pairs that lie together in both operands, or of as many elements
// as a number has bytes, and returns its size: there are kernels for numbers that lie across each
// other. 1M complex numbers, transposed, as pairs: 0.3 ms instead of 3.4.
int64_t join_short_rows(Walk& walk, int64_t size) {
  int64_t joined = size * walk.sizes[0];
  bool is_number = joined == 2 || joined == 4 || joined == 8;
  if (walk.n_dims <= 2 || !is_number || !is_dense_line(walk, size)) return size;
  uintptr_t places = 0;
  for (int i = 0; i < 2; ++i) {
    places |= reinterpret_cast<uintptr_t>(walk.data[i]);
    for (int d = 1; d < walk.n_dims; ++d) places |= walk.strides[i][d];
  }
  if (places % joined != 0) return size;
  walk.numel /= walk.sizes[0];
  --walk.n_dims;
  for (int d = 0; d < walk.n_dims; ++d) {
    walk.sizes[d] = walk.sizes[d + 1];
    for (int i = 0; i < 2; ++i) walk.strides[i][d] = walk.strides[i][d + 1];
  }
  return joined;
}

// Elements of `size` bytes, as they are: planes of the innermost dimension and one more, in which
// the input is dense if it is dense in any.
void copy_planes(Walk walk, int64_t size) {
  size = join_short_rows(walk, size);
  int64_t* steps = walk.strides[1];
  for (int d = 2; d < walk.n_dims && steps[0] != size && steps[1] != size; ++d) {
    if (steps[d] != size) continue;
    std::swap(walk.sizes[1], walk.sizes[d]);
    for (int i = 0; i < 2; ++i) std::swap(walk.strides[i][1], walk.strides[i][d]);
  }
  constexpr int64_t kPiece = 32768, kSquare = 64;
  int64_t n = walk.sizes[0], n_rows = walk.sizes[1];
  int64_t rows = std::min(n_rows, ceil_div(ceil_div(kPiece, n), kSquare) * kSquare);
  int64_t strips = ceil_div(n_rows, rows), n_strips = walk.numel / (n * n_rows) * strips;
  auto kernel = cpu::get_copy_table().by_size[__builtin_ctzll(size)];
  parallel_for(n_strips, ceil_div(kPiece, rows * n), [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip) {
      int64_t row = strip % strips * rows, rest = strip / strips;
      char* base[2];
      for (int i = 0; i < 2; ++i) base[i] = walk.data[i] + row * walk.strides[i][1];
      for (int d = 2; d < walk.n_dims; ++d) {
        int64_t at = rest % walk.sizes[d];
        rest /= walk.sizes[d];
        for (int i = 0; i < 2; ++i) base[i] += at * walk.strides[i][d];
      }
      kernel({base[0], base[1], n, std::min(rows, n_rows - row), walk.strides[0][0],
              walk.strides[1][0], walk.strides[0][1], walk.strides[1][1]});
    }
  });
}

// The same for one dimension, with steps.
void copy_line(const Walk& walk, int64_t size) {
  constexpr int64_t kPiece = 32768;
  int64_t to_step = walk.strides[0][0], from_step = walk.strides[1][0];
  auto kernel = cpu::get_copy_table().by_size[__builtin_ctzll(size)];
  parallel_for(walk.numel, kPiece, [&](int64_t begin, int64_t end) {
    kernel({walk.data[0] + begin * to_step, walk.data[1] + begin * from_step, end - begin, 1,
            to_step, from_step, 0, 0});
  });
}

Loop cast_loop(DType from, DType to) {
  if (from == to) from = to = carrier(to);
  if (is_stored_only(from) || is_stored_only(to)) return cpu::stored_cast(from, to);
  return cpu::get_cast_table().loops[static_cast<int>(from)][static_cast<int>(to)];
}

}  // namespace

void copy_elements(const Walk& walk, DType dtype) {
  if (walk.numel == 0) return;
  if (!walk.device.is_cpu()) return cuda::run_cast(dtype, dtype, walk);
  // Not bool: bytes that are more than 0 and 1 become 1 on the way.
  int64_t size = item_size(dtype);
  if (dtype != DType::Bool && walk.n_dims > 1) return copy_planes(walk, size);
  if (dtype != DType::Bool && walk.n_dims == 1 && !is_dense_line(walk, size))
    return copy_line(walk, size);
  run_cpu(walk, cast_loop(dtype, dtype));
}

namespace {

// Both on one device, any dtypes and layouts.
void cast_on_device(const Tensor& dst, const Tensor& src) {
  Walk walk = make_walk("copy_", dst, {src});
  if (dst.dtype() == src.dtype()) return copy_elements(walk, dst.dtype());
  if (!walk.device.is_cpu()) return cuda::run_cast(src.dtype(), dst.dtype(), walk);
  run_cpu(walk, cast_loop(src.dtype(), dst.dtype()));
}

void check_has_elements(const Tensor& dst, const Tensor& src) {
  check_not_implemented(!src.is_meta() || dst.is_meta(),
                        "Cannot copy out of meta tensor; no data!");
}

// Between devices bytes travel contiguous and unconverted; layout and dtype change on the source's
// side first.
void copy_across(const Tensor& dst, const Tensor& src) {
  check_has_elements(dst, src);
  if (dst.is_meta()) return;
  Tensor from = contiguous(to_dtype(expand(src, dst.sizes()), dst.dtype()));
  Tensor to = dst.is_contiguous() ? dst : empty(dst.sizes(), dst.dtype(), dst.device());
  Backend& backend = backend_of(dst.is_cpu() ? src.device() : dst.device());
  backend.copy_bytes(to.address(), to.device(), from.address(), from.device(),
                     to.numel() * to.itemsize());
  if (!to.is_same(dst)) cast_on_device(dst, to);
}

// x, whose elements differ from its memory as the marks say, as the memory that they come from;
// or memory as the elements: both are the same way.
Tensor turned(const Tensor& x, uint8_t marks) {
  if (x.dtype() == DType::Complex32)  // which is only stored
    return to_dtype(turned(to_dtype(x, DType::Complex64), marks), DType::Complex32);
  Tensor y = x;
  if (marks & kLazyConj) y = conj(y);
  return marks & kLazyNeg ? neg(y) : y;
}

// The memory of a tensor with marks as a tensor without.
Tensor memory_of(const Tensor& x) {
  Tensor y = alias(x);
  set_lazy(y, 0);
  return y;
}

// The one place where elements are not what lies in memory. See Note [Lazy views].
void copy_lazy(const Tensor& dst, const Tensor& src) {
  NoGradGuard guard;
  Tensor to = memory_of(dst), from = memory_of(src);
  if (dst->lazy == src->lazy && dst.dtype() == src.dtype()) return copy_into(to, from);
  copy_into(to, turned(to_dtype(turned(from, src->lazy), dst.dtype()), dst->lazy));
}

}  // namespace

void copy_into(const Tensor& dst, const Tensor& src) {
  check(is_expandable_to(src.sizes(), dst.sizes()), "copy_: a tensor of shape ", src.sizes(),
        " cannot be broadcast to the shape ", dst.sizes(), " that it is copied into.");
  if (dst.is_same(src)) return;
  if (dst.numel() == 0) return check_has_elements(dst, src);
  if (dst.is_lazy() || src.is_lazy()) return copy_lazy(dst, src);
  NoGradGuard guard;
  // A number of the CPU is passed to the kernel that fills with it.
  bool is_fill = src.is_cpu() && src.dim() == 0;
  if (dst.device() != src.device() && !is_fill) return copy_across(dst, src);
  // A copy between overlapping pieces of one storage (x[1:] = x[:-1]) reads everything before it
  // writes.
  bool is_same_place = dst.address() == src.address() && dst.itemsize() == src.itemsize() &&
                       dst.sizes() == src.sizes() && dst.strides() == src.strides();
  bool may_overlap = dst.storage() == src.storage() && !is_same_place;
  cast_on_device(dst, may_overlap ? clone(src) : src);
}

Tensor& copy_(Tensor& dst, const Tensor& src) {
  check_inplace("copy_", dst);
  check_no_partial_overlap("copy_", dst, src);
  bool is_recorded = is_grad_enabled() && (dst.requires_grad() || src.requires_grad()) &&
                     is_differentiable(dst.dtype());
  if (is_recorded) check_recorded_write("copy_", dst);
  copy_into(dst, src);
  bump_version(dst);
  if (!is_recorded) return dst;
  Tensor y = record(
      "CopyBackwards", alias(dst), {dst, src},
      [device = src.device(), dtype = src.dtype()](const Tensor& g, Needs need) -> TensorList {
        Tensor to_src;
        if (need[1]) {
          Tensor r = is_complex(g.dtype()) && !is_complex(dtype) ? real(g) : g;
          to_src = to(r, device, dtype, false);
        }
        return {need[0] ? zeros(g.sizes(), g.dtype(), g.device()) : Tensor(), to_src};
      });
  rebase_history(dst, y);
  return dst;
}

namespace {

TensorList fill_backward(const Tensor& g, Needs need) {
  return {need[0] ? zeros(g.sizes(), g.dtype(), g.device()) : Tensor(),
          need[1] ? sum(g) : Tensor()};
}

Tensor& write_value(const char* op, const char* node, Tensor& x, const Tensor& value) {
  check(value.dim() == 0, op, ": only a 0-dimensional value tensor is supported, got one with ",
        value.dim(), " dimensions.");
  if (value->is_wrapped_number) {
    check_writable(op, x);  // also an expanded tensor: all its elements become the same
  } else {
    check_inplace(op, x);  // PyTorch makes the exception for numbers only
  }
  if (value->is_wrapped_number) {
    check_fits(op, "value", item(value), x.dtype());
  } else {
    check(is_complex_kind(x.dtype()) || !is_complex_kind(value.dtype()), op,
          ": a complex value does not fit into ", x.dtype(), ".");
  }
  bool is_recorded = is_grad_enabled() && (x.requires_grad() || value.requires_grad()) &&
                     is_differentiable(x.dtype());
  if (is_recorded) check_recorded_write(op, x);
  copy_into(x, value);
  bump_version(x);
  if (is_recorded) rebase_history(x, record(node, alias(x), {x, value}, fill_backward));
  return x;
}

}  // namespace

Tensor& fill_(Tensor& x, const Tensor& value) {
  return write_value("fill_", value->is_wrapped_number ? "FillBackward2" : "FillBackward3", x,
                     value);
}

static Tensor fill(const Tensor& x, const Tensor& value) {
  Tensor y = empty_like(x);
  {
    NoGradGuard guard;
    fill_(y, value);
  }
  return record(value->is_wrapped_number ? "FillBackward0" : "FillBackward1", y, {x, value},
                fill_backward);
}

Tensor& fill_(Tensor& x, Scalar value) { return fill_(x, wrapped_number(value)); }
Tensor& zero_(Tensor& x) { return write_value("zero_", "ZeroBackward0", x, wrapped_number(0)); }

Tensor full(const Dims& sizes, Scalar value, DType dtype, Device device) {
  check_fits("full", "fill_value", value, dtype);
  Tensor x = empty(sizes, dtype, device);
  copy_into(x, scalar_tensor(value, dtype));
  return x;
}

Tensor empty_like(const Tensor& x, DType dtype, Device device, MemoryFormat format) {
  if (format != MemoryFormat::Preserve) return empty(x.sizes(), dtype, device, format);
  if (x.is_contiguous()) return empty(x.sizes(), dtype, device);
  if (is_non_overlapping_and_dense(x.sizes(), x.strides()))
    return empty_strided(x.sizes(), x.strides(), dtype, device);
  Tensor y = empty_for(x.sizes(), dtype, {x});
  return y.device() == device ? y : empty_strided(x.sizes(), y.strides(), dtype, device);
}

Tensor empty_like(const Tensor& x) { return empty_like(x, x.dtype(), x.device()); }

Tensor clone(const Tensor& x, MemoryFormat format) {
  Tensor y = empty_like(x, x.dtype(), x.device(), format);
  copy_into(y, x);
  return record("CloneBackward0", y, {x}, [](const Tensor& g) { return g; });
}

Tensor clone_with_history(const Tensor& x) {
  Tensor y = empty_like(x);
  copy_into(y, x);
  Edge edge = gradient_edge(x);
  attach_edge(y, edge);
  release_node(edge.node);
  return y;
}

Tensor contiguous(const Tensor& x, MemoryFormat format) {
  if (x.is_contiguous(format)) return x;
  check(format != MemoryFormat::Preserve,
        "contiguous: expected contiguous_format or a channels_last format, got preserve_format.");
  return clone(x, format);
}

bool has_nan(const Tensor& x) {
  if (!is_differentiable(x.dtype()) || x.is_meta()) return false;
  NoGradGuard guard;
  Tensor flat = contiguous(
      to(x, Device{}, is_complex(x.dtype()) ? DType::Complex128 : DType::Float64, false));
  int64_t n = flat.numel() * (is_complex(x.dtype()) ? 2 : 1);
  const double* values = flat.data_as<double>();
  for (int64_t i = 0; i < n; ++i)
    if (values[i] != values[i]) return true;
  return false;
}

Tensor cast_to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (x.dim() == 0 && x.is_cpu()) return scalar_tensor(item(x), dtype);
  Tensor y = empty_like(x, dtype, x.device());
  copy_into(y, x);
  return y;
}

FACULA_BINDINGS {
  def_op(
      m, "clone",
      [](const Tensor& x, std::optional<MemoryFormat> format) {
        return clone(x, format.value_or(MemoryFormat::Preserve));
      },
      nb::kw_only(), "memory_format"_or_none,
      R"(A copy of the tensor, through which gradients flow back.
    input: any tensor.
    memory_format: the order of the copy's elements in memory; None for that of the input.
    >>> facula.clone(facula.tensor([1, 2]))
    tensor([1, 2]))"_doc);
  def_method("contiguous", &contiguous, "memory_format"_a = MemoryFormat::Contiguous,
             R"(The tensor itself if it is contiguous, else a copy that is.
    memory_format: the order of elements in memory that is wanted.
    >>> facula.zeros(2, 3).t().contiguous().stride()
    (2, 1))"_doc);
  def_method(
      "copy_",
      [](Tensor x, const Operand& src, bool non_blocking) {
        NonBlockingGuard guard(non_blocking);
        return copy_(x, src);
      },
      "other"_a, "non_blocking"_a = false,
      R"(Copies the elements of another tensor, or a number, into this one.
    other: what is copied; it broadcasts to the shape of this tensor.
    non_blocking: whether a copy between pinned memory and a GPU goes on beside what follows.
    >>> facula.zeros(2, 2).copy_(facula.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]]))"_doc);
  def_op(
      m, "fill_", [](Tensor x, const Operand& value) { return fill_(x, value.tensor); }, "value"_a,
      R"(Writes one value into all elements.
    input: what is changed.
    value: a number, or a tensor of one element.
    >>> facula.fill_(facula.zeros(2), 3)
    tensor([3., 3.]))"_doc);
  m.def(
      "fill", [](const Tensor& x, const Operand& value) { return fill(x, value.tensor); },
      "input"_a, "value"_a, R"(A tensor of the form of ``input``, filled with one value.
    input: the tensor whose shape, dtype and device the result has.
    value: a number, or a tensor of one element.
    >>> facula.fill(facula.zeros(2), 3)
    tensor([3., 3.]))"_doc);
  def_op(
      m, "zero_", [](Tensor x) { return zero_(x); }, R"(Writes 0 into all elements.
    input: what is changed.
    >>> facula.zero_(facula.ones(2))
    tensor([0., 0.]))"_doc);
}

}  // namespace facula
