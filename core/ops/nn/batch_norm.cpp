// Normalisation per channel (dim 1) over everything else, or over each sample. Weights and biases
// may be undefined: 1 and 0.
#include <cmath>

#include "base/integers.h"
#include "base/parallel.h"
#include "ops/nn/norm_parts.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

using namespace norm;

namespace {

View channel_view(const Tensor& x) {
  View view{x.sizes(), {0}, {0}, Dims(x.sizes().size(), 1)};
  for (int64_t d = 2; d < x.dim(); ++d) view.over.push_back(d);
  view.shared = view.over;
  view.weight_sizes[1] = x.size(1);
  return view;
}

// How the channels lie in memory: as runs of `inner` elements, one of each channel per sample, or
// as columns of a matrix, `spread` neighbouring columns for each channel.
struct ChannelLayout {
  int64_t n_samples, n_channels, inner;
  MemoryFormat format;
  bool is_columns;
  int64_t spread, n_columns, n_rows;
  explicit ChannelLayout(const Tensor& x)
      : n_samples(x.size(0)), n_channels(x.size(1)), inner(1), format(format_of(x)) {
    for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
    for (MemoryFormat other : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
      if (!x.is_contiguous() && x.is_contiguous(other)) format = other;
    bool is_last = format != MemoryFormat::Contiguous;
    // Many short runs cost a call each; samples are then the rows of a matrix.
    bool is_short = inner == 1 || (inner < 48 && n_samples >= 16);
    is_columns = is_last || is_short;
    spread = is_last ? 1 : inner;
    n_columns = n_channels * spread;
    n_rows = n_samples * inner / spread;
  }
  int64_t count() const { return n_samples * inner; }  // elements of a channel
  int64_t row_offset(int64_t sample, int64_t channel) const {
    return (sample * n_channels + channel) * inner;
  }
  // The matrix is cut into blocks of this many rows.
  int64_t block() const { return std::max<int64_t>(16, kGrain / n_columns); }
  int64_t n_blocks() const { return ceil_div(n_rows, block()); }
  int64_t block_rows(int64_t i) const { return std::min(block(), n_rows - i * block()); }
};

// Joins the moments of runs of equal length.
cpu::Moments join(const std::vector<cpu::Moments>& runs, int64_t length) {
  double mean = 0, squares = 0;
  for (const cpu::Moments& run : runs) mean += run.mean / static_cast<double>(runs.size());
  for (const cpu::Moments& run : runs) {
    double distance = run.mean - mean;
    squares += run.squares + distance * distance * static_cast<double>(length);
  }
  return {mean, squares};
}

// f(block, offset of its first element, number of rows) for the blocks of a matrix.
template <class F>
void for_blocks(const ChannelLayout& layout, const F& f) {
  parallel_for(layout.n_blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      f(i, i * layout.block() * layout.n_columns, layout.block_rows(i));
    }
  });
}

// f(part, channel, number of rows) for the parts that the blocks have for each column.
template <class Part, class F>
void for_parts(const ChannelLayout& layout, const std::vector<Part>& parts, const F& f) {
  const Part* part = parts.data();
  for (int64_t i = 0; i < layout.n_blocks(); ++i) {
    double n_rows = static_cast<double>(layout.block_rows(i));
    for (int64_t c = 0; c < layout.n_channels; ++c)
      for (int64_t k = 0; k < layout.spread; ++k) f(*part++, c, n_rows);
  }
}

struct ChannelStatistics {
  Doubles mean, rstd, squares;
  explicit ChannelStatistics(int64_t n)
      : mean(static_cast<size_t>(n)), rstd(static_cast<size_t>(n)) {}
};

// y from x. Statistics are taken from x unless it is `given` some. A channel is mapped right after
// its sums, while it is in the cache.
void run_batch_norm(const ChannelLayout& layout, const Tensor& x, const Tensor& y,
                    const Doubles& weight, const Doubles& bias, double eps, bool is_given,
                    ChannelStatistics& s) {
  const cpu::NormKernels& k = kernels_of(x);
  const char* from = x.data();
  char* to = y.data();
  int64_t size = x.itemsize();
  if (!is_given) s.squares.resize(s.mean.size());
  auto finish = [&](int64_t c, cpu::Moments m) {
    s.mean[c] = m.mean;
    s.squares[c] = m.squares;
    s.rstd[c] = 1 / std::sqrt(m.squares / static_cast<double>(layout.count()) + eps);
  };
  auto map_of = [&](int64_t c) { return cpu::NormMap{s.mean[c], weight[c] * s.rstd[c], bias[c]}; };
  if (!layout.is_columns) {
    parallel_for(layout.n_channels, rows_of_task(layout.count()), [&](int64_t begin, int64_t end) {
      std::vector<cpu::Moments> parts(layout.n_samples);
      for (int64_t c = begin; c < end; ++c) {
        if (!is_given) {
          for (int64_t n = 0; n < layout.n_samples; ++n)
            parts[n] = k.row_moments(from + layout.row_offset(n, c) * size, layout.inner);
          finish(c, join(parts, layout.inner));
        }
        for (int64_t n = 0; n < layout.n_samples; ++n) {
          int64_t at = layout.row_offset(n, c) * size;
          k.row_map(to + at, from + at, layout.inner, map_of(c));
        }
      }
    });
    return;
  }
  int64_t n_columns = layout.n_columns, spread = layout.spread;
  if (!is_given) {
    std::vector<cpu::Moments> parts(layout.n_blocks() * n_columns);
    for_blocks(layout, [&](int64_t i, int64_t at, int64_t n_rows) {
      k.column_moments(&parts[i * n_columns], from + at * size, n_rows, n_columns);
    });
    double n = static_cast<double>(layout.count());
    for_parts(layout, parts, [&](const cpu::Moments& part, int64_t c, double n_rows) {
      s.mean[c] += part.mean * (n_rows / n);
    });
    for_parts(layout, parts, [&](const cpu::Moments& part, int64_t c, double n_rows) {
      double distance = part.mean - s.mean[c];
      s.squares[c] += part.squares + distance * distance * n_rows;
    });
    for (int64_t c = 0; c < layout.n_channels; ++c) finish(c, {s.mean[c], s.squares[c]});
  }
  std::vector<cpu::NormMap> maps(n_columns);
  for (int64_t j = 0; j < n_columns; ++j) maps[j] = map_of(j / spread);
  for_blocks(layout, [&](int64_t, int64_t at, int64_t n_rows) {
    k.column_map(to + at * size, from + at * size, n_rows, n_columns, maps.data());
  });
}

// gx may be undefined. Without `is_training` the statistics are constants.
void run_batch_norm_backward(const ChannelLayout& layout, const Tensor& g, const Tensor& x,
                             const Tensor& gx, const Doubles& weight, const ChannelStatistics& s,
                             bool is_training, bool needs_sums, std::vector<cpu::GradSums>& sums) {
  const cpu::NormKernels& k = kernels_of(x);
  const char *grad = g.data(), *from = x.data();
  char* to = gx.defined() ? gx.data() : nullptr;
  int64_t size = x.itemsize();
  auto map_of = [&](int64_t c) {
    double scale = weight[c] * s.rstd[c];
    if (!is_training) return cpu::GradMap{0, scale, 0, 0};
    double n = static_cast<double>(layout.count());
    return cpu::GradMap{s.mean[c], scale, -scale * s.rstd[c] * s.rstd[c] * sums[c].dot / n,
                        -scale * sums[c].sum / n};
  };
  if (!layout.is_columns) {
    parallel_for(layout.n_channels, rows_of_task(layout.count()), [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t n = 0; needs_sums && n < layout.n_samples; ++n) {
          int64_t at = layout.row_offset(n, c) * size;
          cpu::GradSums part = k.row_sums(grad + at, from + at, layout.inner, s.mean[c]);
          sums[c].sum += part.sum;
          sums[c].dot += part.dot;
        }
        for (int64_t n = 0; to && n < layout.n_samples; ++n) {
          int64_t at = layout.row_offset(n, c) * size;
          k.row_grad(to + at, grad + at, from + at, layout.inner, map_of(c));
        }
      }
    });
    return;
  }
  int64_t n_columns = layout.n_columns, spread = layout.spread;
  if (needs_sums) {
    Doubles means(n_columns);
    for (int64_t j = 0; j < n_columns; ++j) means[j] = s.mean[j / spread];
    std::vector<cpu::GradSums> parts(layout.n_blocks() * n_columns);
    for_blocks(layout, [&](int64_t i, int64_t at, int64_t n_rows) {
      k.column_sums(&parts[i * n_columns], grad + at * size, from + at * size, n_rows, n_columns,
                    means.data());
    });
    for_parts(layout, parts, [&](const cpu::GradSums& part, int64_t c, double) {
      sums[c].sum += part.sum;
      sums[c].dot += part.dot;
    });
  }
  if (!to) return;
  std::vector<cpu::GradMap> maps(n_columns);
  for (int64_t j = 0; j < n_columns; ++j) maps[j] = map_of(j / spread);
  for_blocks(layout, [&](int64_t, int64_t at, int64_t n_rows) {
    k.column_grad(to + at * size, grad + at * size, from + at * size, n_rows, n_columns,
                  maps.data());
  });
}

cuda::ChannelNorm channels_on_gpu(const ChannelLayout& layout, const Tensor& x,
                                  const Tensor& weight, const Tensor& bias,
                                  const Tensor& statistics, double eps, bool is_training) {
  bool is_last = layout.format != MemoryFormat::Contiguous;
  auto dense = [](const Tensor& t) { return t.defined() ? contiguous(t) : t; };
  return {is_last ? layout.count() : layout.n_samples,
          layout.n_channels,
          is_last ? 1 : layout.inner,
          x,
          dense(weight),
          dense(bias),
          statistics,
          eps,
          is_training};
}

TensorList batch_norm_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                               const Tensor& bias, const Tensor& statistics, bool is_training,
                               double eps, Needs need) {
  if (wants_history(grad, input, weight)) {
    View view = channel_view(input);
    DType wide = wide_dtype(input.dtype());
    Statistics s;
    if (is_training) {
      s = statistics_of(to_dtype(input, wide), view.over, eps, true);
    } else {
      s = {to_dtype(reshape(select(statistics, 0, 0), view.weight_sizes), wide),
           to_dtype(reshape(select(statistics, 0, 1), view.weight_sizes), wide)};
    }
    return composed_backward(grad, input, weight, bias, view, s, is_training, need);
  }
  ChannelLayout layout(input);
  Tensor x = contiguous(input, layout.format), g = contiguous(grad, layout.format);
  int64_t n = layout.n_channels;
  if (!x.is_cpu()) {
    TensorList grads(3);
    if (need[0]) grads[0] = empty(x.sizes(), x.dtype(), x.device(), layout.format);
    if (need[1]) grads[1] = empty({n}, weight.dtype(), x.device());
    if (need[2]) grads[2] = empty({n}, bias.dtype(), x.device());
    cuda::batch_norm_backward(channels_on_gpu(layout, x, weight, {}, statistics, eps, is_training),
                              g, grads[0], grads[1], grads[2]);
    return grads;
  }
  ChannelStatistics s(n);
  const double* saved = statistics.data_as<double>();
  s.mean.assign(saved, saved + n);
  s.rstd.assign(saved + n, saved + 2 * n);
  Tensor gx = need[0] ? empty(x.sizes(), x.dtype(), x.device(), layout.format) : Tensor();
  std::vector<cpu::GradSums> sums(n);
  bool needs_sums = is_training || need[1] || need[2];
  run_batch_norm_backward(layout, g, x, gx, doubles_of(weight, n, 1), s, is_training, needs_sums,
                          sums);
  TensorList grads{gx, {}, {}};
  Doubles values(n);
  if (need[1]) {
    for (int64_t c = 0; c < n; ++c) values[c] = sums[c].dot * s.rstd[c];
    grads[1] = tensor_of(values, {n}, weight.dtype());
  }
  if (need[2]) {
    for (int64_t c = 0; c < n; ++c) values[c] = sums[c].sum;
    grads[2] = tensor_of(values, {n}, bias.dtype());
  }
  return grads;
}

// running += (value - running) * momentum, in double.
void update_running(const Tensor& running, const Doubles& values, double momentum) {
  if (!running.defined()) return;
  visit_numbers(running, [&](int64_t i, auto& number) {
    using T = std::decay_t<decltype(number)>;
    double before = static_cast<double>(number);
    number = T(static_cast<Wide<T>>(momentum * values[i] + (1 - momentum) * before));
  });
  bump_version(running);
}

void check_writable_statistics(const char* op, const Tensor& running) {
  check(!running.defined() || !has_internal_overlap(running), op,
        ": expected running statistics with a place for each element, got ", running,
        ", where elements share places. Clone them before the call.");
}

void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      bool training) {
  check_floating("batch_norm", x);
  check(x.dim() >= 2, "batch_norm: expected an input (N, C, *), got ", x, ".");
  for (const Tensor& running : {running_mean, running_var})
    if (training) check_writable_statistics("batch_norm", running);
  check(training || running_mean.defined(),
        "batch_norm: expected running_mean in evaluation mode, got None.");
  check(training || running_var.defined(),
        "batch_norm: expected running_var in evaluation mode, got None.");
}

// Where there is nothing to do.
std::pair<Tensor, Tensor> composed_batch_norm(const Tensor& x, const Tensor& weight,
                                              const Tensor& bias, const Tensor& running_mean,
                                              const Tensor& running_var, bool training,
                                              double momentum, double eps) {
  View view = channel_view(x);
  DType wide = wide_dtype(x.dtype());
  Tensor input = to_dtype(x, wide);
  Statistics s;
  if (training && x.numel() > 0) {
    s = statistics_of(input, view.over, eps, true);
    NoGradGuard guard;
    auto update = [&](const Tensor& running, const Tensor& value) {
      if (!running.defined()) return;
      copy_into(running, lerp(to_dtype(running, wide), reshape(value, running.sizes()), momentum));
      bump_version(running);
    };
    update(running_mean, s.mean);
    update(running_var, var(input, view.over, 1));
  } else if (training) {
    s = {zeros(view.weight_sizes, wide, x.device()), full(view.weight_sizes, 1, wide, x.device())};
  } else {
    s = {reshape(to_dtype(running_mean, wide), view.weight_sizes),
         rsqrt(reshape(to_dtype(running_var, wide), view.weight_sizes) + eps)};
  }
  Tensor y = to_dtype(composed_norm(input, weight, bias, view, s), x.dtype());
  NoGradGuard guard;
  return {y, stack({reshape(s.mean, {x.size(1)}), reshape(s.rstd, {x.size(1)})})};
}

// The result, and the means and inverse standard deviations that it was made with.
std::pair<Tensor, Tensor> batch_norm_and_statistics(const Tensor& input, const Tensor& weight,
                                                    const Tensor& bias, const Tensor& running_mean,
                                                    const Tensor& running_var, bool training,
                                                    double momentum, double eps) {
  check_batch_norm(input, running_mean, running_var, training);
  int64_t n = input.size(1);
  check_per_channel("batch_norm", "running_mean", running_mean, input, n);
  check_per_channel("batch_norm", "running_var", running_var, input, n);
  check_per_channel("batch_norm", "weight", weight, input, n);
  check_per_channel("batch_norm", "bias", bias, input, n);
  check_parameters("batch_norm", input,
                   {{"weight", weight},
                    {"bias", bias},
                    {"running_mean", running_mean},
                    {"running_var", running_var}});
  if (input.numel() == 0)
    return composed_batch_norm(input, weight, bias, running_mean, running_var, training, momentum,
                               eps);
  ChannelLayout layout(input);
  Tensor x;
  {
    NoGradGuard guard;
    x = contiguous(input, layout.format);
  }
  Tensor y = empty(x.sizes(), x.dtype(), x.device(), layout.format), statistics;
  if (x.is_cpu()) {
    ChannelStatistics s(n);
    if (!training) {
      s.mean = doubles_of(running_mean);
      s.rstd = doubles_of(running_var);
      for (double& value : s.rstd) value = 1 / std::sqrt(value + eps);
    }
    run_batch_norm(layout, x, y, doubles_of(weight, n, 1), doubles_of(bias, n, 0), eps, !training,
                   s);
    if (training) {
      update_running(running_mean, s.mean, momentum);
      for (double& value : s.squares) value /= static_cast<double>(layout.count() - 1);
      update_running(running_var, s.squares, momentum);
    }
    s.mean.insert(s.mean.end(), s.rstd.begin(), s.rstd.end());
    statistics = tensor_of(s.mean, {2, n});
  } else {
    NoGradGuard guard;
    statistics = empty({2, n}, DType::Float64, x.device());
    cuda::batch_norm(channels_on_gpu(layout, x, weight, bias, statistics, eps, training),
                     running_mean, running_var, momentum, y);
    for (const Tensor& running : {running_mean, running_var})
      if (training && running.defined()) bump_version(running);
  }
  y = record("NativeBatchNormBackward0", y, {input, weight, bias},
             [x = save(input), w = save(weight), b = save(bias), s = save(statistics), training,
              eps](const Tensor& g, Needs need) {
               return batch_norm_backward(g, x, w, b, s, training, eps, need);
             });
  return {y, statistics};
}

// In training the running statistics, where they are given, move by `momentum` towards those of the
// batch; otherwise they are used.
Tensor batch_norm(const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                  const OptionalTensor& running_mean, const OptionalTensor& running_var,
                  bool training, double momentum, double eps, bool) {
  return batch_norm_and_statistics(input, weight, bias, running_mean, running_var, training,
                                   momentum, eps)
      .first;
}

NormResult native_batch_norm(const Tensor& input, const OptionalTensor& weight,
                             const OptionalTensor& bias, const OptionalTensor& running_mean,
                             const OptionalTensor& running_var, bool training, double momentum,
                             double eps) {
  auto [y, statistics] = batch_norm_and_statistics(input, weight, bias, running_mean, running_var,
                                                   training, momentum, eps);
  DType dtype = input.dtype();
  for (const Tensor& parameter : {weight, bias, running_mean, running_var})
    if (parameter.defined()) dtype = parameter.dtype();
  NoGradGuard guard;
  auto row = [&](int64_t i) {
    return training ? cast_to(select(statistics, 0, i), dtype) : empty({0}, dtype, input.device());
  };
  return {y, row(0), row(1)};
}

// Per channel of each sample.
Tensor instance_norm(const Tensor& x, const OptionalTensor& weight, const OptionalTensor& bias,
                     const OptionalTensor& running_mean, const OptionalTensor& running_var,
                     bool use_input_stats, double momentum, double eps, bool) {
  check(use_input_stats || (running_mean.defined() && running_var.defined()),
        "instance_norm: expected running_mean and running_var where use_input_stats is False, got "
        "None.");
  check(x.dim() >= 2, "instance_norm: expected an input (N, C, *), got ", x, ".");
  int64_t n = x.size(0), n_channels = x.size(1);
  for (const auto& [name, tensor] :
       std::initializer_list<std::pair<const char*, TensorRef>>{{"running_mean", running_mean},
                                                                {"running_var", running_var},
                                                                {"weight", weight},
                                                                {"bias", bias}})
    check_per_channel("instance_norm", name, *tensor, x, n_channels);
  // The channels of all samples side by side are those of one.
  auto repeated = [&](const Tensor& t) { return t.defined() ? repeat(t, {n}) : t; };
  Dims sizes = x.sizes();
  sizes[0] = 1;
  sizes[1] = n * n_channels;
  Tensor mean_of_each = repeated(running_mean), var_of_each = repeated(running_var);
  Tensor y = batch_norm(reshape(contiguous(x), sizes), repeated(weight), repeated(bias),
                        mean_of_each, var_of_each, use_input_stats, momentum, eps, false);
  for (const Tensor& running : {running_mean, running_var})
    if (use_input_stats) check_writable_statistics("instance_norm", running);
  auto update = [&](const Tensor& running, const Tensor& of_each) {
    if (!use_input_stats || !running.defined() || n == 0) return;
    NoGradGuard guard;
    copy_into(running, mean(reshape(of_each, {n, n_channels}), {0}));
    bump_version(running);
  };
  update(running_mean, mean_of_each);
  update(running_var, var_of_each);
  return reshape(y, x.sizes());
}

}  // namespace

FACULA_BINDINGS {
  m.def("batch_norm", &batch_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
        "running_mean"_a.none(), "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a,
        "cudnn_enabled"_a,
        R"(Channels (dimension 1) brought to mean 0 and variance 1, then scaled and shifted.

In training mean and variance are those of the batch, and the running ones move towards them by
``momentum``; otherwise the running ones are used.
    input: the samples, floating point, with channels as dimension 1.
    weight: a factor for each channel, or None for 1.
    bias: a summand for each channel, or None for 0.
    running_mean: means of the channels that are used, and moved in training, or None.
    running_var: variances of the channels that are used, and moved in training, or None.
    training: whether the statistics are those of the batch.
    momentum: how far running statistics move to those of the batch.
    eps: what is added to the variance, against a division by zero.
    cudnn_enabled: has no effect.

Shape:
    input ``(N, C, *)``, all else ``(C,)``; result as the input.
    >>> x = facula.tensor([[1.0], [3.0]])
    >>> facula.batch_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[-1.],
            [ 1.]]))"_doc);
  m.def("native_batch_norm", &native_batch_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
        "running_mean"_a.none(), "running_var"_a.none(), "training"_a, "momentum"_a, "eps"_a,
        R"(``batch_norm`` with the means and the inverse standard deviations of the batch.
    input: the samples, floating point, with channels as dimension 1.
    weight: a factor for each channel, or None for 1.
    bias: a summand for each channel, or None for 0.
    running_mean: means of the channels that are used, and moved in training, or None.
    running_var: variances of the channels that are used, and moved in training, or None.
    training: whether the statistics are those of the batch.
    momentum: how far running statistics move to those of the batch.
    eps: what is added to the variance, against a division by zero.
    >>> x = facula.tensor([[1.0], [3.0]])
    >>> facula.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)[1]
    tensor([2.]))"_doc);
  m.def("instance_norm", &instance_norm, "input"_a, "weight"_a.none(), "bias"_a.none(),
        "running_mean"_a.none(), "running_var"_a.none(), "use_input_stats"_a, "momentum"_a, "eps"_a,
        "cudnn_enabled"_a,
        R"(Channels (dimension 1) of each sample brought to mean 0 and variance 1.
    input: the samples, floating point, with channels as dimension 1.
    weight: a factor for each channel, or None for 1.
    bias: a summand for each channel, or None for 0.
    running_mean: means of the channels, which are used where ``use_input_stats`` is False and moved
        where it is True; or None.
    running_var: variances of the channels, which are used where ``use_input_stats`` is False and
        moved where it is True; or None.
    use_input_stats: whether the statistics are those of each sample.
    momentum: how far running statistics move to those of the batch.
    eps: what is added to the variance, against a division by zero.
    cudnn_enabled: has no effect.

Shape:
    input ``(N, C, *)``, all else ``(C,)``; result as the input.
    >>> x = facula.tensor([[[1.0, 3.0]]])
    >>> facula.instance_norm(x, None, None, None, None, True, 0.1, 0.0, False)
    tensor([[[-1.,  1.]]]))"_doc);
}

}  // namespace facula
