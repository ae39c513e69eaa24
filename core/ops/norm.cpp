#include "ops/norm.h"

#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "base/parallel.h"
#include "cpu/norm.h"
#include "ops/apply.h"
#include "ops/ops.h"
#include "ops/reduction.h"

namespace facula {

namespace {

constexpr int64_t kNormGrain = 32768;  // elements of a task

int64_t tasks_of(int64_t n_elements) { return std::max<int64_t>(1, kNormGrain / n_elements); }

const cpu::NormKernels& kernels_of(const Tensor& x) {
  return cpu::get_norm_table().kernels[static_cast<int>(x.dtype())];
}

void check_floating(const char* op, const Tensor& x) {
  check_not_implemented(is_floating(x.dtype()), op, ": expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
}

// Parameters are of the input's dtype, or all float32 for one of 16 bits.
DType check_parameters(const char* op, const Tensor& x,
                       std::initializer_list<std::pair<const char*, TensorRef>> parameters) {
  DType dtype = x.dtype();
  bool is_first = true;
  for (const auto& [name, tensor] : parameters) {
    if (!tensor->defined()) continue;
    check_same_device(op, {x, *tensor});
    bool is_mixed = item_size(x.dtype()) == 2 && tensor->dtype() == DType::Float32;
    check(tensor->dtype() == (is_first && is_mixed ? DType::Float32 : dtype), op,
          ": mixed dtype: expected ", name, " to be ", dtype, ", got ", tensor->dtype(), ".");
    dtype = tensor->dtype();
    is_first = false;
  }
  return dtype;
}

void check_per_channel(const char* op, const char* name, const Tensor& parameter, const Tensor& x,
                       int64_t n_channels) {
  check(!parameter.defined() || (parameter.dim() == 1 && parameter.numel() == n_channels), op,
        ": expected ", name, " of ", n_channels, " elements, one per channel (dim 1) of the input ",
        x, ", got ", parameter.defined() ? parameter.sizes() : Dims(), ".");
}

using Doubles = std::vector<double>;

// Of a vector; read and written in place, without tensors on the way.
template <class F>
void visit_numbers(const Tensor& x, const F& f) {
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      for (int64_t i = 0; i < x.numel(); ++i) f(i, x.data_as<T>()[i * x.stride(0)]);
  });
}
Doubles doubles_of(const Tensor& x) {
  Doubles values(x.numel());
  visit_numbers(x, [&](int64_t i, auto& number) { values[i] = static_cast<double>(number); });
  return values;
}
// One for each channel.
Doubles doubles_of(const Tensor& x, int64_t n, double otherwise) {
  return x.defined() ? doubles_of(x) : Doubles(static_cast<size_t>(n), otherwise);
}
Tensor tensor_of(const Doubles& values, const Dims& sizes, DType dtype = DType::Float64) {
  Tensor y = empty(sizes, DType::Float64);
  std::copy(values.begin(), values.end(), y.data_as<double>());
  return cast_to(y, dtype);
}

// ---- by tensor operations: what is differentiated again, and devices without kernels

// How an input is seen: dimensions that share statistics, those that share a weight, and the
// weight's shape there.
struct View {
  Dims sizes;
  Dims over, shared;
  Dims weight_sizes;
};

struct Statistics {
  Tensor mean, rstd;  // an undefined mean is 0
};

Statistics statistics_of(const Tensor& x, const Dims& over, double eps, bool is_centered) {
  if (!is_centered) return {{}, rsqrt(mean(x * x, over, true) + eps)};
  auto [variance, center] = var_mean(x, over, 0, true);
  return {center, rsqrt(variance + eps)};
}

Tensor centered(const Tensor& x, const Statistics& s) { return s.mean.defined() ? x - s.mean : x; }

Tensor composed_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const View& view,
                     const Statistics& s) {
  Tensor y = centered(x, s) * s.rstd;
  if (weight.defined()) y = y * reshape(to_dtype(weight, x.dtype()), view.weight_sizes);
  if (bias.defined()) y = y + reshape(to_dtype(bias, x.dtype()), view.weight_sizes);
  return y;
}

Tensor sum_over(const Tensor& x, const Dims& dims) { return dims.empty() ? x : sum(x, dims); }

// The gradients of input, weight and bias. Statistics that do not come from x are constants.
TensorList composed_backward(const Tensor& grad, const Tensor& input, const Tensor& weight,
                             const Tensor& bias, const View& view, const Statistics& s,
                             bool is_from_input, Needs need) {
  DType wide = s.rstd.dtype();
  Tensor x = to_dtype(reshape(input, view.sizes), wide),
         g = to_dtype(reshape(grad, view.sizes), wide);
  Tensor normal = centered(x, s) * s.rstd;
  TensorList grads(3);
  if (need[0]) {
    Tensor upstream = weight.defined() ? g * reshape(to_dtype(weight, wide), view.weight_sizes) : g;
    Tensor along = upstream;
    if (is_from_input) {
      along = along - normal * mean(upstream * normal, view.over, true);
      if (s.mean.defined()) along = along - mean(upstream, view.over, true);
    }
    grads[0] = to_dtype(reshape(along * s.rstd, input.sizes()), input.dtype());
  }
  if (need[1])
    grads[1] = to_dtype(reshape(sum_over(g * normal, view.shared), weight.sizes()), weight.dtype());
  if (need[2]) grads[2] = to_dtype(reshape(sum_over(g, view.shared), bias.sizes()), bias.dtype());
  return grads;
}

bool wants_history(const Tensor& g, const Tensor& x, const Tensor& weight) {
  return is_grad_enabled() &&
         (g.requires_grad() || x.requires_grad() || (weight.defined() && weight.requires_grad()));
}

// ---- batch_norm

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
      : n_samples(x.size(0)), n_channels(x.size(1)), inner(1), format(MemoryFormat::Contiguous) {
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
  int64_t block() const { return std::max<int64_t>(16, kNormGrain / 4 / n_columns); }
  int64_t n_blocks() const { return (n_rows + block() - 1) / block(); }
  int64_t block_rows(int64_t i) const { return std::min(block(), n_rows - i * block()); }
};

// Joins the moments of parts: part(i) and size(i).
template <class Part, class Size>
cpu::Moments join(int64_t n_parts, const Part& part, const Size& size) {
  double total = 0, mean = 0, squares = 0;
  for (int64_t i = 0; i < n_parts; ++i) {
    total += size(i);
    mean += part(i).mean * size(i);
  }
  mean /= total;
  for (int64_t i = 0; i < n_parts; ++i) {
    double distance = part(i).mean - mean;
    squares += part(i).squares + distance * distance * size(i);
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
    parallel_for(layout.n_channels, tasks_of(layout.count()), [&](int64_t begin, int64_t end) {
      std::vector<cpu::Moments> parts(layout.n_samples);
      for (int64_t c = begin; c < end; ++c) {
        if (!is_given) {
          for (int64_t n = 0; n < layout.n_samples; ++n)
            parts[n] = k.row_moments(from + layout.row_offset(n, c) * size, layout.inner);
          finish(c, join(
                        layout.n_samples, [&](int64_t n) { return parts[n]; },
                        [&](int64_t) { return static_cast<double>(layout.inner); }));
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
    for (int64_t c = 0; c < layout.n_channels; ++c)
      finish(c,
             join(
                 layout.n_blocks() * spread,
                 [&](int64_t i) { return parts[i / spread * n_columns + c * spread + i % spread]; },
                 [&](int64_t i) { return static_cast<double>(layout.block_rows(i / spread)); }));
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
    parallel_for(layout.n_channels, tasks_of(layout.count()), [&](int64_t begin, int64_t end) {
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
    for (size_t i = 0; i < parts.size(); ++i) {
      sums[i % n_columns / spread].sum += parts[i].sum;
      sums[i % n_columns / spread].dot += parts[i].dot;
    }
  }
  if (!to) return;
  std::vector<cpu::GradMap> maps(n_columns);
  for (int64_t j = 0; j < n_columns; ++j) maps[j] = map_of(j / spread);
  for_blocks(layout, [&](int64_t, int64_t at, int64_t n_rows) {
    k.column_grad(to + at * size, grad + at * size, from + at * size, n_rows, n_columns,
                  maps.data());
  });
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

void check_writable_statistics(const Tensor& running) {
  check(!has_internal_overlap(running),
        "batch_norm: more than one element of the written-to tensor, running statistics ", running,
        ", refers to a single memory location. Clone it before the call.");
}

void check_batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                      bool training) {
  check_floating("batch_norm", x);
  check(x.dim() >= 2, "batch_norm: expected an input (N, C, *), got ", x, ".");
  for (const Tensor& running : {running_mean, running_var})
    if (training && running.defined()) check_writable_statistics(running);
  check(training || running_mean.defined(),
        "batch_norm: running_mean must be defined in evaluation mode.");
  check(training || running_var.defined(),
        "batch_norm: running_var must be defined in evaluation mode.");
}

// Where there are no kernels, or nothing to do.
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
  if (!input.is_cpu() || input.numel() == 0)
    return composed_batch_norm(input, weight, bias, running_mean, running_var, training, momentum,
                               eps);
  ChannelLayout layout(input);
  Tensor x;
  {
    NoGradGuard guard;
    x = contiguous(input, layout.format);
  }
  ChannelStatistics s(n);
  if (!training) {
    s.mean = doubles_of(running_mean);
    s.rstd = doubles_of(running_var);
    for (double& value : s.rstd) value = 1 / std::sqrt(value + eps);
  }
  Tensor y = empty(x.sizes(), x.dtype(), x.device(), layout.format);
  run_batch_norm(layout, x, y, doubles_of(weight, n, 1), doubles_of(bias, n, 0), eps, !training, s);
  if (training) {
    update_running(running_mean, s.mean, momentum);
    for (double& value : s.squares) value /= static_cast<double>(layout.count() - 1);
    update_running(running_var, s.squares, momentum);
  }
  Doubles both = s.mean;
  both.insert(both.end(), s.rstd.begin(), s.rstd.end());
  Tensor statistics = tensor_of(both, {2, n});
  y = record("NativeBatchNormBackward0", y, {input, weight, bias},
             [x = save(input), w = save(weight), b = save(bias), s = save(statistics), training,
              eps](const Tensor& g, Needs need) {
               return batch_norm_backward(g, x, w, b, s, training, eps, need);
             });
  return {y, statistics};
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps) {
  return batch_norm_and_statistics(input, weight, bias, running_mean, running_var, training,
                                   momentum, eps)
      .first;
}

NormResult native_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             const Tensor& running_mean, const Tensor& running_var, bool training,
                             double momentum, double eps) {
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

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps) {
  check(use_input_stats || (running_mean.defined() && running_var.defined()),
        "instance_norm: expected running_mean and running_var to be defined when use_input_stats "
        "is false.");
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
                        mean_of_each, var_of_each, use_input_stats, momentum, eps);
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

// ---- group_norm

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

// The order of memory that results have.
MemoryFormat format_of(const Tensor& x) {
  if (x.is_contiguous()) return MemoryFormat::Contiguous;
  for (MemoryFormat format : {MemoryFormat::ChannelsLast, MemoryFormat::ChannelsLast3d})
    if (x.is_contiguous(format)) return format;
  return MemoryFormat::Contiguous;
}

void run_group_norm(const GroupLayout& l, const Tensor& x, const Tensor& y, const Tensor& weight,
                    const Tensor& bias, double eps, Doubles& means, Doubles& rstds) {
  const cpu::NormKernels& k = kernels_of(x);
  Doubles scales = doubles_of(weight, l.n_channels, 1), shifts = doubles_of(bias, l.n_channels, 0);
  bool has_affine = weight.defined() || bias.defined();
  const char* from = x.data();
  char* to = y.data();
  int64_t size = x.itemsize();
  parallel_for(l.n_all(), tasks_of(l.count()), [&](int64_t begin, int64_t end) {
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
  Tensor gx = need[0] ? empty(x.sizes(), x.dtype(), x.device()) : Tensor();
  const cpu::NormKernels& k = kernels_of(x);
  Doubles scales = doubles_of(weight, l.n_channels, 1);
  const double *means = statistics.data_as<double>(), *rstds = means + l.n_all();
  std::vector<cpu::GradSums> sums(l.n_samples * l.n_channels);
  const char *upstream = g.data(), *from = x.data();
  char* to = need[0] ? gx.data() : nullptr;
  int64_t size = x.itemsize();
  double n = static_cast<double>(l.count());
  parallel_for(l.n_all(), tasks_of(l.count()), [&](int64_t begin, int64_t end) {
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
  TensorList grads{gx, {}, {}};
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

}  // namespace

NormResult native_group_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                             int64_t n, int64_t n_channels, int64_t inner, int64_t num_groups,
                             double eps) {
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
  if (!input.is_cpu()) {
    View view = group_view(layout);
    Tensor x = to_dtype(reshape(input, view.sizes), wide_dtype(input.dtype()));
    Statistics s = statistics_of(x, view.over, eps, true);
    Tensor y = composed_norm(x, weight, bias, view, s);
    return {to_dtype(reshape(y, input.sizes()), input.dtype()), detach(reshape(s.mean, groups)),
            detach(reshape(s.rstd, groups))};
  }
  Tensor y;
  Doubles means(layout.n_all()), rstds(layout.n_all());
  if (input.numel() == 0) {
    y = empty_like(input);
  } else {
    NoGradGuard guard;
    Tensor x = contiguous(input);
    y = empty(x.sizes(), x.dtype(), x.device());
    run_group_norm(layout, x, y, weight, bias, eps, means, rstds);
    y = contiguous(y, format_of(input));
  }
  Doubles both = means;
  both.insert(both.end(), rstds.begin(), rstds.end());
  Tensor statistics = tensor_of(both, {2, n, num_groups});
  y = record("NativeGroupNormBackward0", y, {input, weight, bias},
             [x = save(input), w = save(weight), b = save(bias), s = save(statistics), layout, eps](
                 const Tensor& g, Needs need) {
               return group_norm_backward(layout, g, x, w, b, s, eps, need);
             });
  return {y, tensor_of(means, groups, dtype), tensor_of(rstds, groups, dtype)};
}

Tensor group_norm(const Tensor& x, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check(x.dim() >= 2, "group_norm: expected an input (N, C, *), got ", x, ".");
  int64_t inner = 1;
  for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
  return native_group_norm(x, weight, bias, x.size(0), x.size(1), inner, num_groups, eps)[0];
}

// ---- layer_norm and rms_norm

namespace {

void check_last_dims(const char* op, const Tensor& x, const Dims& shape) {
  check(!shape.empty(), op, ": expected normalized_shape to have at least one dimension, got ().");
  int64_t n = static_cast<int64_t>(shape.size());
  bool fits = x.dim() >= n;
  for (int64_t d = 0; fits && d < n; ++d) fits = x.size(x.dim() - n + d) == shape[d];
  check(fits, op, ": expected an input whose last dimensions are normalized_shape ", shape,
        ", got ", x, ".");
}

void check_shape(const char* op, const char* name, const Tensor& parameter, const Dims& shape) {
  check(!parameter.defined() || parameter.sizes() == shape, op, ": expected ", name,
        " of the shape of normalized_shape ", shape, ", got ",
        parameter.defined() ? parameter.sizes() : Dims(), ".");
}

View last_view(const Tensor& x, const Dims& shape) {
  View view{x.sizes(), {}, {}, shape};
  int64_t n_leading = x.dim() - static_cast<int64_t>(shape.size());
  for (int64_t d = 0; d < x.dim(); ++d) (d < n_leading ? view.shared : view.over).push_back(d);
  return view;
}

// Weights in the type that kernels compute in.
Tensor wide_parameter(const Tensor& parameter, DType wide) {
  return parameter.defined() ? contiguous(cast_to(parameter, wide)) : parameter;
}
char* data_or_null(const Tensor& x) { return x.defined() ? x.data() : nullptr; }

int64_t numel_of(const Dims& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

TensorList layer_norm_backward(const Tensor& grad, const Tensor& input, const Dims& shape,
                               const Tensor& weight, const Tensor& bias, const Tensor& mean,
                               const Tensor& rstd, double eps, Needs need) {
  if (input.numel() == 0 || wants_history(grad, input, weight)) {
    View view = last_view(input, shape);
    Tensor x = to_dtype(input, rstd.dtype());
    return composed_backward(grad, input, weight, bias, view,
                             statistics_of(x, view.over, eps, mean.defined()), true, need);
  }
  Tensor x = contiguous(input), g = contiguous(grad);
  Tensor w = wide_parameter(weight, rstd.dtype());
  int64_t n = numel_of(shape), n_rows = x.numel() / n;
  // Each block of rows has its own sums for weight and bias, which are joined in order.
  int64_t block = std::max<int64_t>(8, kNormGrain / 2 / n);
  int64_t n_blocks = (n_rows + block - 1) / block;
  auto sums = [&](bool wanted) { return wanted ? empty({n_blocks, n}, rstd.dtype()) : Tensor(); };
  Tensor gx = need[0] ? empty(x.sizes(), x.dtype()) : Tensor();
  Tensor gw = sums(need[1]), gb = sums(need[2]);
  cpu::LayerNorm norm{n, eps, data_or_null(w), nullptr, data_or_null(mean), rstd.data()};
  const char *upstream = g.data(), *from = x.data();
  char *to = data_or_null(gx), *to_weight = data_or_null(gw), *to_bias = data_or_null(gb);
  int64_t row_bytes = n * rstd.itemsize();
  auto kernel = kernels_of(x).layer_norm_backward;
  parallel_for(n_blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernel(norm, to, upstream, from, to_weight ? to_weight + i * row_bytes : nullptr,
             to_bias ? to_bias + i * row_bytes : nullptr, i * block,
             std::min(n_rows, (i + 1) * block));
  });
  auto joined = [&](const Tensor& parts, const Tensor& parameter) {
    return cast_to(reshape(sum(parts, {0}), shape), parameter.dtype());
  };
  return {gx, need[1] ? joined(gw, weight) : Tensor(), need[2] ? joined(gb, bias) : Tensor()};
}

// With means, or without them.
NormResult norm_of_rows(const char* node, const Tensor& input, const Dims& shape,
                        const Tensor& weight, const Tensor& bias, double eps, bool is_centered) {
  DType wide = wide_dtype(input.dtype());
  View view = last_view(input, shape);
  if (!input.is_cpu()) {
    Tensor x = to_dtype(input, wide);
    Statistics s = statistics_of(x, view.over, eps, is_centered);
    return {to_dtype(composed_norm(x, weight, bias, view, s), input.dtype()),
            is_centered ? detach(s.mean) : Tensor(), detach(s.rstd)};
  }
  Dims per_row = input.sizes();
  for (int64_t d : view.over) per_row[d] = 1;
  Tensor mean = is_centered ? zeros(per_row, wide) : Tensor(), rstd, y;
  if (input.numel() == 0) {
    rstd = full(per_row, std::numeric_limits<double>::quiet_NaN(), wide);
    y = empty(input.sizes(), input.dtype());
  } else {
    rstd = empty(per_row, wide);
    NoGradGuard guard;
    Tensor x = contiguous(input);
    y = empty(x.sizes(), x.dtype());
    Tensor w = wide_parameter(weight, wide), b = wide_parameter(bias, wide);
    int64_t n = numel_of(shape);
    cpu::LayerNorm norm{n, eps, data_or_null(w), data_or_null(b), data_or_null(mean), rstd.data()};
    auto kernel = kernels_of(x).layer_norm;
    const char* from = x.data();
    char* to = y.data();
    parallel_for(x.numel() / n, tasks_of(n),
                 [&](int64_t begin, int64_t end) { kernel(norm, to, from, begin, end); });
  }
  y = record(node, y, {input, weight, bias},
             [shape, eps, x = save(input), w = save(weight), b = save(bias), mean = save(mean),
              rstd = save(rstd)](const Tensor& g, Needs need) {
               return layer_norm_backward(g, x, shape, w, b, mean, rstd, eps, need);
             });
  return {y, mean, rstd};
}

}  // namespace

NormResult native_layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                             const Tensor& bias, double eps) {
  check_last_dims("layer_norm", x, shape);
  check_shape("layer_norm", "weight", weight, shape);
  check_shape("layer_norm", "bias", bias, shape);
  check_floating("layer_norm", x);
  DType dtype = check_parameters("layer_norm", x, {{"weight", weight}, {"bias", bias}});
  NormResult result = norm_of_rows("NativeLayerNormBackward0", x, shape, weight, bias, eps, true);
  for (int i : {1, 2}) result[i] = cast_to(result[i], dtype);
  return result;
}

Tensor layer_norm(const Tensor& x, const Dims& shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return native_layer_norm(x, shape, weight, bias, eps)[0];
}

Tensor rms_norm(const Tensor& x, const Dims& shape, const Tensor& weight,
                std::optional<double> eps) {
  check_last_dims("rms_norm", x, shape);
  check_shape("rms_norm", "weight", weight, shape);
  check_not_implemented(is_differentiable(x.dtype()),
                        "rms_norm: expected a floating-point input, got ", x,
                        ". Convert it with input.float().");
  bool is_double = x.dtype() == DType::Float64 || x.dtype() == DType::Complex128;
  double least = is_double ? std::numeric_limits<double>::epsilon()
                           : static_cast<double>(std::numeric_limits<float>::epsilon());
  if (is_complex(x.dtype())) {
    View view = last_view(x, shape);
    return composed_norm(contiguous(x), weight, {}, view,
                         statistics_of(x, view.over, eps.value_or(least), false));
  }
  return norm_of_rows("FusedRmsNormBackward0", x, shape, weight, {}, eps.value_or(least), false)[0];
}

}  // namespace facula
