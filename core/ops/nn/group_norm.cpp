// Normalisation per group of channels of each sample.
#include <cmath>

#include "base/integers.h"
#include "base/parallel.h"
#include "ops/nn/norm_parts.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

using namespace norm;

namespace {

struct GroupLayout {
  int64_t n_samples, n_channels, inner, n_groups;
  int64_t channels() const { return n_channels / n_groups; }  // of a group
  int64_t count() const { return channels() * inner; }        // elements of a group
  int64_t n_all() const { return n_samples * n_groups; }      // groups of all samples
};

View group_view(const GroupLayout& l) {
  return {{l.n_samples, l.n_groups, l.channels(), l.inner},
          {2, 3},
          {0, 3},
          {1, l.n_groups, l.channels(), 1}};
}

void run_group_norm(const GroupLayout& l, const Tensor& x, const Tensor& y, const Tensor& weight,
                    const Tensor& bias, double eps, Doubles& means, Doubles& rstds) {
  const cpu::NormKernels& k = kernels_of(x);
  Doubles scales = doubles_of(weight, l.n_channels, 1), shifts = doubles_of(bias, l.n_channels, 0);
  bool has_affine = weight.defined() || bias.defined();
  const char* from = x.data();
  char* to = y.data();
  int64_t size = x.itemsize();
  parallel_for(l.n_all(), rows_of_task(l.count()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = i * l.count() * size;
      cpu::Moments m = k.row_moments(from + at, l.count());
      means[i] = m.mean;
      rstds[i] = 1 / std::sqrt(m.squares / static_cast<double>(l.count()) + eps);
      if (!has_affine) {
        k.row_map(to + at, from + at, l.count(), {m.mean, rstds[i], 0});
        continue;
      }
      int64_t first = i % l.n_groups * l.channels();
      for (int64_t c = first; c < first + l.channels(); ++c, at += l.inner * size)
        k.row_map(to + at, from + at, l.inner, {m.mean, scales[c] * rstds[i], shifts[c]});
    }
  });
}

// The same where the channels of a place lie together: samples are matrices with a column for each,
// which are cut into blocks of rows.
void run_group_norm_columns(const GroupLayout& l, const Tensor& x, const Tensor& y,
                            const Tensor& weight, const Tensor& bias, double eps, Doubles& means,
                            Doubles& rstds) {
  const cpu::NormKernels& k = kernels_of(x);
  Doubles scales = doubles_of(weight, l.n_channels, 1), shifts = doubles_of(bias, l.n_channels, 0);
  const char* from = x.data();
  char* to = y.data();
  int64_t block = std::max<int64_t>(16, kGrain / l.n_channels), n_blocks = ceil_div(l.inner, block);
  auto rows_of = [&](int64_t i) { return std::min(block, l.inner - i % n_blocks * block); };
  // f(block of all samples, its first byte)
  auto for_blocks = [&](const auto& f) {
    parallel_for(l.n_samples * n_blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t row = i / n_blocks * l.inner + i % n_blocks * block;
        f(i, row * l.n_channels * x.itemsize());
      }
    });
  };
  std::vector<cpu::Moments> parts(l.n_samples * n_blocks * l.n_channels);
  for_blocks([&](int64_t i, int64_t at) {
    k.column_moments(&parts[i * l.n_channels], from + at, rows_of(i), l.n_channels);
  });
  std::vector<cpu::NormMap> maps(l.n_samples * l.n_channels);
  for (int64_t group = 0; group < l.n_all(); ++group) {
    int64_t sample = group / l.n_groups, first = group % l.n_groups * l.channels();
    double n = static_cast<double>(l.count()), mean = 0, squares = 0;
    auto for_parts = [&](const auto& f) {
      for (int64_t i = sample * n_blocks; i < (sample + 1) * n_blocks; ++i)
        for (int64_t c = first; c < first + l.channels(); ++c)
          f(parts[i * l.n_channels + c], static_cast<double>(rows_of(i)));
    };
    for_parts([&](const cpu::Moments& m, double n_rows) { mean += m.mean * (n_rows / n); });
    for_parts([&](const cpu::Moments& m, double n_rows) {
      squares += m.squares + (m.mean - mean) * (m.mean - mean) * n_rows;
    });
    means[group] = mean;
    rstds[group] = 1 / std::sqrt(squares / n + eps);
    for (int64_t c = first; c < first + l.channels(); ++c)
      maps[sample * l.n_channels + c] = {mean, scales[c] * rstds[group], shifts[c]};
  }
  for_blocks([&](int64_t i, int64_t at) {
    k.column_map(to + at, from + at, rows_of(i), l.n_channels, &maps[i / n_blocks * l.n_channels]);
  });
}

// The groups of all samples as rows. `statistics` (2, samples, groups), of the wide dtype.
cuda::RowNorm rows_on_gpu(const GroupLayout& l, const Tensor& x, const Tensor& weight,
                          const Tensor& bias, const Tensor& statistics, double eps) {
  DType wide = statistics.dtype();
  return {l.count(),
          l.n_groups,
          l.inner,
          eps,
          x,
          dense_parameter(weight, wide),
          dense_parameter(bias, wide),
          select(statistics, 0, 0),
          select(statistics, 0, 1)};
}

TensorList group_norm_backward(const GroupLayout& l, const Tensor& grad, const Tensor& input,
                               const Tensor& weight, const Tensor& bias, const Tensor& statistics,
                               double eps, Needs need) {
  if (input.numel() == 0 || wants_history(grad, input, weight)) {
    View view = group_view(l);
    Tensor x = to_dtype(reshape(input, view.sizes), wide_dtype(input.dtype()));
    return composed_backward(grad, input, weight, bias, view,
                             statistics_of(x, view.over, eps, true), true, need);
  }
  Tensor x = contiguous(input), g = contiguous(grad);
  if (!x.is_cpu())
    return row_norm_gradients(rows_on_gpu(l, x, weight, {}, statistics, eps), g, weight, bias,
                              need);
  Tensor gx = need[0] ? empty(x.sizes(), x.dtype(), x.device()) : Tensor();
  const cpu::NormKernels& k = kernels_of(x);
  Doubles scales = doubles_of(weight, l.n_channels, 1);
  const double *means = statistics.data_as<double>(), *rstds = means + l.n_all();
  std::vector<cpu::GradSums> sums(l.n_samples * l.n_channels);
  const char *upstream = g.data(), *from = x.data();
  char* to = need[0] ? gx.data() : nullptr;
  int64_t size = x.itemsize();
  double n = static_cast<double>(l.count());
  parallel_for(l.n_all(), rows_of_task(l.count()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i * l.channels(), channel = i % l.n_groups * l.channels();
      double sum = 0, dot = 0;
      for (int64_t j = 0; j < l.channels(); ++j) {
        int64_t at = (first + j) * l.inner * size;
        sums[first + j] = k.row_sums(upstream + at, from + at, l.inner, means[i]);
        sum += sums[first + j].sum * scales[channel + j];
        dot += sums[first + j].dot * scales[channel + j];
      }
      double rstd = rstds[i];
      for (int64_t j = 0; to && j < l.channels(); ++j) {
        int64_t at = (first + j) * l.inner * size;
        k.row_grad(
            to + at, upstream + at, from + at, l.inner,
            {means[i], scales[channel + j] * rstd, -rstd * rstd * rstd * dot / n, -rstd * sum / n});
      }
    }
  });
  // What the layer before it has to read lies as its own result does.
  TensorList grads{need[0] ? contiguous(gx, format_of(input)) : gx, {}, {}};
  auto reduced = [&](const auto& term, DType dtype) {
    Doubles values(l.n_channels, 0.0);
    for (int64_t i = 0; i < l.n_samples * l.n_channels; ++i) values[i % l.n_channels] += term(i);
    return tensor_of(values, {l.n_channels}, dtype);
  };
  if (need[1])
    grads[1] =
        reduced([&](int64_t i) { return sums[i].dot * rstds[i / l.channels()]; }, weight.dtype());
  if (need[2]) grads[2] = reduced([&](int64_t i) { return sums[i].sum; }, bias.dtype());
  return grads;
}

NormResult normalize_groups(const Tensor& input, const OptionalTensor& weight,
                            const OptionalTensor& bias, int64_t n, int64_t n_channels,
                            int64_t inner, int64_t num_groups, double eps) {
  check(num_groups > 0 && n_channels % num_groups == 0,
        "group_norm: expected the number of channels to be divisible by num_groups=", num_groups,
        ", got ", n_channels, " channels in an input ", input, ".");
  int64_t numel = 0;
  bool fits = n >= 0 && n_channels >= 0 && inner >= 0 &&
              !__builtin_mul_overflow(n, n_channels, &numel) &&
              !__builtin_mul_overflow(numel, inner, &numel) && numel == input.numel();
  check(fits, "group_norm: expected an input of ", n, " * ", n_channels, " * ", inner,
        " elements, got ", input, ".");
  check_per_channel("group_norm", "weight", weight, input, n_channels);
  check_per_channel("group_norm", "bias", bias, input, n_channels);
  check_floating("group_norm", input);
  DType dtype = check_parameters("group_norm", input, {{"weight", weight}, {"bias", bias}});
  GroupLayout layout{n, n_channels, inner, num_groups};
  Dims groups{n, num_groups};
  Tensor y, statistics;
  if (input.numel() == 0) {
    y = empty_like(input);
    statistics = zeros({2, n, num_groups}, wide_dtype(input.dtype()), input.device());
  } else {
    NoGradGuard guard;
    // The numbers may describe the input as another one than it is.
    bool is_as_told = input.dim() >= 2 && input.size(0) == n && input.size(1) == n_channels;
    MemoryFormat format =
        input.is_cpu() && is_as_told ? format_of(input) : MemoryFormat::Contiguous;
    Tensor x = contiguous(input, format);
    y = empty(x.sizes(), x.dtype(), x.device(), format);
    if (x.is_cpu()) {
      Doubles means(layout.n_all()), rstds(layout.n_all());
      auto run = format == MemoryFormat::Contiguous ? run_group_norm : run_group_norm_columns;
      run(layout, x, y, weight, bias, eps, means, rstds);
      means.insert(means.end(), rstds.begin(), rstds.end());
      statistics = tensor_of(means, {2, n, num_groups});
    } else {
      statistics = empty({2, n, num_groups}, wide_dtype(x.dtype()), x.device());
      cuda::row_norm(rows_on_gpu(layout, x, weight, bias, statistics, eps), y);
    }
    y = contiguous(y, format_of(input));
  }
  y = record("NativeGroupNormBackward0", y, {input, weight, bias},
             [x = save(input), w = save(weight), b = save(bias), s = save(statistics), layout, eps](
                 const Tensor& g, Needs need) {
               return group_norm_backward(layout, g, x, w, b, s, eps, need);
             });
  auto row = [&](int64_t i) { return cast_to(reshape(select(statistics, 0, i), groups), dtype); };
  return {y, row(0), row(1)};
}

// The statistics with their derivatives, which group_norm() has no use for.
NormResult native_group_norm(const Tensor& x, const OptionalTensor& weight,
                             const OptionalTensor& bias, int64_t n, int64_t n_channels,
                             int64_t inner, int64_t num_groups, double eps) {
  NormResult result = normalize_groups(x, weight, bias, n, n_channels, inner, num_groups, eps);
  if (!is_grad_enabled() || !x.requires_grad()) return result;
  auto& [y, average, rstd] = result;
  Tensor rows =
      to_dtype(reshape(x, {n, num_groups, n_channels / num_groups * inner}), wide_dtype(x.dtype()));
  if (x.numel() == 0) {  // the mean of nothing would be NaN
    average = rstd = to_dtype(sum(rows, {2}), average.dtype());
    return result;
  }
  Tensor mean_of_rows = mean(rows, {2}, /*keepdim=*/true);
  Tensor variance = mean(square(rows - mean_of_rows), {2}, /*keepdim=*/false);
  average = to_dtype(squeeze(mean_of_rows, 2), average.dtype());
  rstd = to_dtype(rsqrt(variance + eps), rstd.dtype());
  return result;
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const OptionalTensor& weight,
                  const OptionalTensor& bias, double eps, bool) {
  check_index(x.dim() >= 2, "group_norm: expected an input (N, C, *), got ", x, ".");
  int64_t inner = 1;
  for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
  return std::get<0>(
      normalize_groups(x, weight, bias, x.size(0), x.size(1), inner, num_groups, eps));
}

}  // namespace

FACULA_BINDINGS {
  m.def("group_norm", &group_norm, "input"_a, "num_groups"_a, "weight"_or_none, "bias"_or_none,
        "eps"_a = 1e-5, "cudnn_enabled"_a = true,
        R"(Groups of channels (dimension 1) of each sample brought to mean 0 and variance 1.
    input: the samples, floating point, with channels as dimension 1.
    num_groups: the number of groups, which divides that of the channels.
    weight: a factor for each channel, or None for 1.
    bias: a summand for each channel, or None for 0.
    eps: what is added to the variance, against a division by zero.
    cudnn_enabled: has no effect.

Shape:
    input ``(N, C, *)``, weight and bias ``(C,)``; result as the input.
    >>> facula.group_norm(facula.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]]))"_doc);
  m.def("native_group_norm", &native_group_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
        "N"_a, "C"_a, "HxW"_a, "group"_a, "eps"_a,
        R"(``group_norm`` with the means and the inverse standard deviations of the groups.
    input: the samples, floating point, with channels as dimension 1.
    weight: a factor for each channel, or None for 1.
    bias: a summand for each channel, or None for 0.
    N: the number of samples.
    C: the number of channels.
    HxW: the number of elements of a channel.
    group: the number of groups, which divides that of the channels.
    eps: what is added to the variance, against a division by zero.
    >>> facula.native_group_norm(facula.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1]
    tensor([[2.]]))"_doc);
}

}  // namespace facula
