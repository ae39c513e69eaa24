// Discrete Fourier transforms. There are three: of complex numbers, from real numbers (to the half
// of the result that is not redundant, or to all of it), and from a half back to real numbers. Each
// is linear, so that its derivative is its adjoint: the transform in the other direction with the
// same factor.
#include "cpu/fft/fft.h"

#include <cmath>
#include <numeric>
#include <optional>
#include <string>

#include "autograd/node.h"
#include "bind/bind.h"
#include "cuda/fft/fft.h"
#include "ops/ops.h"
#include "ops/shape/pad.h"

namespace facula {

namespace {

// What a transform of n points together is multiplied with: 1, 1 / sqrt(n) or 1 / n.
enum class Factor { One, Root, Inverse };

double value_of(Factor factor, int64_t n) {
  auto points = static_cast<double>(n);
  return factor == Factor::One ? 1 : factor == Factor::Root ? 1 / std::sqrt(points) : 1 / points;
}

int64_t n_points(const Tensor& x, const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= x.size(d);
  return n;
}

// ---- one dimension after the other

// The dimensions but one, largest step first; neighbours that are one in both are merged.
template <class T>
void set_lines(cpu::FftJob<T>& job, const Tensor& source, const Tensor& result, int64_t dim) {
  int64_t a = is_complex(source.dtype()) ? 2 : 1, b = is_complex(result.dtype()) ? 2 : 1;
  Dims order;
  for (int64_t d = 0; d < result.dim(); ++d)
    if (d != dim && result.size(d) != 1) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t x, int64_t y) { return result.stride(x) > result.stride(y); });
  for (int64_t d : order) {
    int64_t size = result.size(d), from = a * source.stride(d), to = b * result.stride(d);
    if (!job.sizes.empty() && job.source_steps.back() == size * from &&
        job.result_steps.back() == size * to) {
      job.sizes.back() *= size;
      job.source_steps.back() = from;
      job.result_steps.back() = to;
    } else {
      job.sizes.push_back(size);
      job.source_steps.push_back(from);
      job.result_steps.push_back(to);
    }
  }
}

struct Direction {
  cpu::FftForm form = cpu::FftForm::Complex;
  bool is_inverse = false;
};

template <class T>
void transform(const Tensor& source, const Tensor& result, int64_t dim, int64_t n,
               Direction direction, double factor) {
  cpu::FftJob<T> job;
  job.form = direction.form;
  job.is_inverse = direction.is_inverse;
  job.is_source_complex = is_complex(source.dtype());
  job.n = n;
  job.n_out = result.size(dim);
  job.factor = static_cast<T>(factor);
  job.source = source.data_as<T>();
  job.result = result.data_as<T>();
  job.source_step = (is_complex(source.dtype()) ? 2 : 1) * source.stride(dim);
  job.result_step = (is_complex(result.dtype()) ? 2 : 1) * result.stride(dim);
  set_lines(job, source, result, dim);
  cpu::run_fft(job);
}

// cuFFT takes lines that are the same step apart, all of them.
void run_on_gpu(cuda::FftKind kind, const Tensor& source, const Tensor& result, int64_t dim,
                int64_t n, bool is_inverse) {
  cpu::FftJob<float> steps;  // in real numbers
  set_lines(steps, source, result, dim);
  if (steps.sizes.size() > 1) {
    Tensor from = contiguous(transpose(source, dim, -1)), to_lines = transpose(result, dim, -1);
    Tensor to = empty(to_lines.sizes(), result.dtype(), result.device());
    run_on_gpu(kind, from, to, to.dim() - 1, n, is_inverse);
    copy_into(to_lines, to);
    return;
  }
  int64_t a = is_complex(source.dtype()) ? 2 : 1, b = is_complex(result.dtype()) ? 2 : 1;
  bool is_one = steps.sizes.empty();
  cuda::run_fft({kind, to_real_dtype(source.dtype()) == DType::Float64, is_inverse, n,
                 is_one ? 1 : steps.sizes[0], source.address(), source.stride(dim),
                 is_one ? n : steps.source_steps[0] / a, result.address(), result.stride(dim),
                 is_one ? n : steps.result_steps[0] / b},
                result.device());
}

void transform_on_gpu(const Tensor& source, const Tensor& result, int64_t dim, int64_t n,
                      Direction direction, double factor) {
  NoGradGuard guard;
  if (!is_complex(result.dtype())) {
    // A copy, as it is overwritten. What has no twin in the other half is real.
    Tensor half = clone(source), parts = view_as_real(half);
    Tensor first = select(narrow(parts, dim, 0, 1), -1, 1);
    fill_(first, 0);
    Tensor middle = select(narrow(parts, dim, n / 2, 1), -1, 1);
    if (n % 2 == 0) fill_(middle, 0);
    run_on_gpu(cuda::FftKind::ToReal, half, result, dim, n, true);
  } else if (is_complex(source.dtype())) {
    run_on_gpu(cuda::FftKind::Complex, source, result, dim, n, direction.is_inverse);
  } else if (result.size(dim) == n) {
    run_on_gpu(cuda::FftKind::Complex, to_dtype(source, result.dtype()), result, dim, n,
               direction.is_inverse);
  } else {
    run_on_gpu(cuda::FftKind::FromReal, source, result, dim, n, false);
  }
  if (factor != 1) copy_into(result, result * factor);
}

// Of the lines along a dimension; n points each.
void transform(const Tensor& source, const Tensor& result, int64_t dim, int64_t n,
               Direction direction, double factor) {
  if (result.numel() == 0 || result.is_meta()) return;
  if (result.device().is_cuda()) return transform_on_gpu(source, result, dim, n, direction, factor);
  if (to_real_dtype(source.dtype()) == DType::Float32) {
    transform<float>(source, result, dim, n, direction, factor);
  } else {
    transform<double>(source, result, dim, n, direction, factor);
  }
}

// Whatever the order of dims, the one with the smallest step is transformed first and lies
// innermost in the result, as in PyTorch's; `last`, if it is a dimension, is always innermost.
struct Layout {
  Dims dims;     // to transform, the innermost last
  Dims strides;  // of the result
};

Layout layout_for(const Tensor& x, const Dims& sizes, const Dims& dims, int64_t last) {
  auto is_in = [](const Dims& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  Layout layout;
  Dims order;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (!is_in(dims, d)) order.push_back(d);
  for (int64_t d : dims)
    if (d != last) layout.dims.push_back(d);
  auto is_outer = [&](int64_t a, int64_t b) { return x.stride(a) > x.stride(b); };
  std::stable_sort(order.begin(), order.end(), is_outer);
  std::stable_sort(layout.dims.begin(), layout.dims.end(), is_outer);
  if (last >= 0) layout.dims.push_back(last);
  for (int64_t d : layout.dims) order.push_back(d);
  layout.strides = Dims(sizes.size());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    layout.strides[order[i]] = step;
    step *= std::max<int64_t>(sizes[order[i]], 1);
  }
  return layout;
}

Tensor c2c(const Tensor& x, const Dims& dims, Factor factor, bool is_forward) {
  Layout layout = layout_for(x, x.sizes(), dims, -1);
  Tensor y = empty_strided(x.sizes(), layout.strides, x.dtype(), x.device());
  if (dims.empty()) copy_into(y, x);
  for (size_t i = layout.dims.size(); i-- > 0;) {
    int64_t d = layout.dims[i];
    transform(i + 1 == layout.dims.size() ? x : y, y, d, x.size(d),
              {cpu::FftForm::Complex, !is_forward},
              i == 0 ? value_of(factor, n_points(x, dims)) : 1);
  }
  return record("FftC2CBackward0", y, {x}, [dims, factor, is_forward](const Tensor& g) {
    return c2c(g, dims, factor, !is_forward);
  });
}

// 1 for what has no twin in the other half: the first, and of an even n the last.
Tensor counts(const Tensor& half, int64_t dim, int64_t n, double inside) {
  NoGradGuard guard;
  Dims sizes(half.dim(), 1);
  sizes[dim] = half.size(dim);
  Tensor result = full(sizes, inside, to_real_dtype(half.dtype()), half.device());
  Tensor first = narrow(result, dim, 0, 1), middle = narrow(result, dim, n / 2, 1);
  fill_(first, 1);
  if (n % 2 == 0) fill_(middle, 1);
  return result;
}

Tensor r2c(const Tensor& x, const Dims& dims, Factor factor);

Tensor c2r(const Tensor& x, const Dims& dims, Factor factor, int64_t n) {
  int64_t last = dims.back();
  double value = value_of(factor, n_points(x, dims) / x.size(last) * n);
  Layout layout = layout_for(x, x.sizes(), dims, last);
  Tensor middle = x;
  if (dims.size() > 1) {
    middle = empty_strided(x.sizes(), layout.strides, x.dtype(), x.device());
    for (size_t i = 0; i + 1 < layout.dims.size(); ++i) {
      int64_t d = layout.dims[i];
      transform(i == 0 ? x : middle, middle, d, x.size(d), {cpu::FftForm::Complex, true}, 1);
    }
  }
  Dims sizes = x.sizes();
  sizes[last] = n;
  Tensor y = empty_strided(sizes, layout_for(x, sizes, dims, last).strides,
                           to_real_dtype(x.dtype()), x.device());
  transform(middle, y, last, n, {n % 2 ? cpu::FftForm::HalfOdd : cpu::FftForm::HalfEven}, value);
  return record("FftC2RBackward0", y, {x}, [dims, factor, n](const Tensor& g) {
    Tensor half = r2c(g, dims, factor);
    return half * counts(half, dims.back(), n, 2);
  });
}

// Real numbers, without gaps between neighbours in memory: across those each would be gathered by
// itself.
Tensor without_gaps(const Tensor& x) {
  NoGradGuard guard;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.stride(d) == 1 && x.size(d) > 1) return x;
  return contiguous(x);
}

Tensor r2c(const Tensor& x, const Dims& dims, Factor factor) {
  int64_t last = dims.back(), n = x.size(last);
  double value = value_of(factor, n_points(x, dims));
  Dims sizes = x.sizes();
  sizes[last] = n / 2 + 1;
  Layout layout = layout_for(x, sizes, dims, last);
  Tensor y = empty_strided(sizes, layout.strides, to_complex_dtype(x.dtype()), x.device());
  transform(without_gaps(x), y, last, n, {n % 2 ? cpu::FftForm::Complex : cpu::FftForm::RealEven},
            dims.size() == 1 ? value : 1);
  for (size_t i = layout.dims.size() - 1; i-- > 0;) {
    int64_t d = layout.dims[i];
    transform(y, y, d, x.size(d), {}, i == 0 ? value : 1);
  }
  return record("FftR2CBackward0", y, {x}, [dims, factor, n](const Tensor& g) {
    // c2r counts all but the ends twice, for the half that was left out.
    return c2r(g * counts(g, dims.back(), n, 0.5), dims, factor, n);
  });
}

// Also the redundant half.
Tensor r2c_full(const Tensor& x, int64_t dim, Factor factor) {
  Layout layout = layout_for(x, x.sizes(), {dim}, -1);
  Tensor y = empty_strided(x.sizes(), layout.strides, to_complex_dtype(x.dtype()), x.device());
  transform(without_gaps(x), y, dim, x.size(dim), {}, value_of(factor, x.size(dim)));
  return record("FftR2CBackward0", y, {x},
                [dim, factor](const Tensor& g) { return real(c2c(g, {dim}, factor, false)); });
}

// ---- arguments

using Sizes = std::optional<Dims>;
using Norm = std::optional<std::string>;

// x in a dtype that can be transformed.
Tensor promoted(const std::string& op, const Tensor& x) {
  DType dtype = x.dtype();
  if (dtype == DType::Float32 || dtype == DType::Float64 || is_complex(dtype)) return x;
  check(!is_floating(dtype), op, ": Unsupported dtype ", dtype, "; convert with input.float().");
  return to_dtype(x, get_default_dtype());
}

void refuse_complex(const std::string& op, const Tensor& x) {
  check(!is_complex_kind(x.dtype()), op, ": expected a real input, got ", x.dtype(), ".");
}

Factor factor_of(const std::string& op, const Norm& norm, bool is_forward) {
  if (!norm || *norm == "backward") return is_forward ? Factor::One : Factor::Inverse;
  if (*norm == "ortho") return Factor::Root;
  check(*norm == "forward", op, ": Invalid normalization mode: \"", *norm,
        "\"; expected \"backward\", \"ortho\" or \"forward\".");
  return is_forward ? Factor::Inverse : Factor::One;
}

// The dimensions to transform, and the numbers of points in them.
struct Lines {
  Dims dims, sizes;
};

Lines lines_of(const std::string& op, const Tensor& x, const Sizes& s, const Sizes& dim,
               bool is_line) {
  check_type(!is_line || (dim && dim->size() == 1), op, ": expected one dimension as dim.");
  Lines lines;
  if (dim) {
    check_index(dim->empty() || x.dim() > 0, op, ": dim ", *dim,
                " is out of range for a tensor without any.");
    for (int64_t d : *dim) {
      check_index(-x.dim() <= d && d < x.dim(), op, ": dim ", d, " is out of range for ", x.sizes(),
                  ".");
      d = d < 0 ? d + x.dim() : d;
      check(std::find(lines.dims.begin(), lines.dims.end(), d) == lines.dims.end(), op,
            ": FFT dims must be unique, got ", *dim, ".");
      lines.dims.push_back(d);
    }
    check(!s || s->size() == lines.dims.size(), op,
          ": dim and shape arguments must have the same length, got ", *dim, " and ", *s, ".");
  } else {
    int64_t n_dims = s ? static_cast<int64_t>(s->size()) : x.dim();
    check(n_dims <= x.dim(), op, ": Got shape with ", n_dims, " values but input tensor only has ",
          x.dim(), " dimensions.");
    for (int64_t d = x.dim() - n_dims; d < x.dim(); ++d) lines.dims.push_back(d);
  }
  for (size_t i = 0; i < lines.dims.size(); ++i) {
    // Among several sizes -1 stands for what is there.
    int64_t size = s && (is_line || (*s)[i] != -1) ? (*s)[i] : x.size(lines.dims[i]);
    check(size >= 1, op, ": Invalid number of data points (", size, ") specified.");
    lines.sizes.push_back(size);
  }
  return lines;
}

Lines half_lines_of(const std::string& op, const Tensor& x, const Sizes& s, const Sizes& dim,
                    bool is_line) {
  Lines lines = lines_of(op, x, s, dim, is_line);
  check(!lines.dims.empty(), op, ": must transform at least one axis, got none.");
  return lines;
}

// x, cut or padded with zeros at the end of some dimensions.
Tensor resized(Tensor x, const Lines& lines) {
  Dims missing(2 * x.dim(), 0);
  bool is_short = false;
  for (size_t i = 0; i < lines.dims.size(); ++i) {
    int64_t d = lines.dims[i], more = lines.sizes[i] - x.size(d);
    if (more < 0) x = narrow(x, d, 0, lines.sizes[i]);
    if (more > 0) missing[2 * (x.dim() - d) - 1] = more, is_short = true;
  }
  return is_short ? constant_pad_nd(x, missing, 0) : x;
}

// ---- operations: from complex or real points to as many, from real points to half of them, and
// from a half to real points; forward or inverse. The functions of one dimension look at the dtype
// first, those of several at the dimensions.

Tensor fft_complex(const Tensor& input, const std::string& op, const Sizes& s, const Sizes& dim,
                   const Norm& norm, bool is_forward, bool is_line) {
  Tensor x = is_line ? promoted(op, input) : input;
  Lines lines = lines_of(op, x, s, dim, is_line);
  Factor factor = factor_of(op, norm, is_forward);
  if (is_line && !is_complex(x.dtype())) {
    Tensor y = r2c_full(resized(x, lines), lines.dims[0], factor);
    return is_forward ? y : conj_view(y);
  }
  x = promoted(op, x);
  x = to_dtype(x, to_complex_dtype(x.dtype()));
  return c2c(resized(x, lines), lines.dims, factor, is_forward);
}

Tensor fft_to_half(const Tensor& input, const std::string& op, const Sizes& s, const Sizes& dim,
                   const Norm& norm, bool is_forward, bool is_line) {
  if (is_line || is_forward) refuse_complex(op, input);
  Tensor x = is_line ? promoted(op, input) : input;
  Lines lines = half_lines_of(op, x, s, dim, is_line);
  Factor factor = factor_of(op, norm, is_forward);
  refuse_complex(op, x);
  x = resized(promoted(op, x), lines);
  if (is_forward) return r2c(x, lines.dims, factor);
  Dims others = lines.dims;
  others.resize(others.size() - 1);
  Tensor half = r2c(x, {lines.dims.back()}, factor);
  return others.empty() ? conj_view(half) : c2c(conj(half), others, factor, false);
}

Tensor fft_from_half(const Tensor& input, const std::string& op, const Sizes& s, const Sizes& dim,
                     const Norm& norm, bool is_forward, bool is_line) {
  Tensor x = is_line ? promoted(op, input) : input;
  Lines lines = half_lines_of(op, x, s, dim, is_line);
  x = promoted(op, x);
  bool is_given = s && !s->empty() && s->back() != -1;
  int64_t n = is_given ? lines.sizes.back() : 2 * (x.size(lines.dims.back()) - 1);
  check(n >= 1, op, ": Invalid number of data points (", n, ") specified; pass its size.");
  lines.sizes.back() = n / 2 + 1;
  Tensor half = resized(to_dtype(x, to_complex_dtype(x.dtype())), lines);
  Factor factor = factor_of(op, norm, is_forward);
  return c2r(is_forward ? conj(half) : half, lines.dims, factor, n);
}

}  // namespace

FACULA_BINDINGS {
  auto def = [&](const char* name, auto f) {
    m.def(name, f, "input"_a, "op"_a, "s"_a.none(), "dim"_a.none(), "norm"_a.none(), "is_forward"_a,
          "is_line"_a);
  };
  def("_fft_complex", &fft_complex);
  def("_fft_to_half", &fft_to_half);
  def("_fft_from_half", &fft_from_half);
}

}  // namespace facula
