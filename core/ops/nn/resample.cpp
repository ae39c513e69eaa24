// Images of another size.
#include <array>
#include <cmath>
#include <memory>

#include "autograd/node.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "cpu/nn/resample.h"
#include "cuda/nn/nn.h"
#include "ops/ops.h"
#include "tensor/format.h"

namespace facula {

namespace {

constexpr int64_t kResampleGrain = 16384;  // products of a task

// Along one dimension, result o is the sum of weight[k] * x[index[k]] over k in
// [begin[o], begin[o + 1]).
struct Taps {
  int64_t in = 1;
  int64_t out = 1;
  std::vector<int32_t> begin = {0, 1};
  std::vector<int32_t> index = {0};
  std::vector<double> weight = {1.0};

  void add(int64_t at, double w) {
    index.push_back(static_cast<int32_t>(at));
    weight.push_back(w);
  }
  void end_result() { begin.push_back(static_cast<int32_t>(index.size())); }
  int64_t n_uniform() const {
    for (int64_t o = 0; o < out; ++o)
      if (begin[o + 1] - begin[o] != begin[1]) return 0;
    return begin[1];
  }
};

Taps no_taps(int64_t in, int64_t out) { return {in, out, {0}, {}, {}}; }

// The derivative is the same operation with the taps turned around.
Taps transposed(const Taps& taps) {
  Taps turned = no_taps(taps.out, taps.in);
  turned.begin.assign(taps.in + 1, 0);
  for (int32_t i : taps.index) ++turned.begin[i + 1];
  for (int64_t i = 0; i < taps.in; ++i) turned.begin[i + 1] += turned.begin[i];
  turned.index.resize(taps.index.size());
  turned.weight.resize(taps.index.size());
  std::vector<int32_t> next(turned.begin.begin(), turned.begin.end() - 1);
  for (int64_t o = 0; o < taps.out; ++o)
    for (int32_t k = taps.begin[o]; k < taps.begin[o + 1]; ++k) {
      int32_t at = next[taps.index[k]]++;
      turned.index[at] = static_cast<int32_t>(o);
      turned.weight[at] = taps.weight[k];
    }
  return turned;
}

// Fewer than three dimensions are three of which the first have size 1.
struct Plan {
  const char* node;
  int n;
  MemoryFormat format;
  bool is_pick;
  std::array<Taps, 3> axes;
};
using SharedPlan = std::shared_ptr<const Plan>;

// ---- where results lie in the input. T is the precision in which PyTorch computes it: an element
// half way between two is found the same.

template <class T>
T pace_of(int64_t in, int64_t out, bool align_corners, double scale) {
  if (align_corners) return out > 1 ? static_cast<T>(in - 1) / static_cast<T>(out - 1) : T(0);
  return scale > 0 ? static_cast<T>(1.0 / scale) : static_cast<T>(in) / static_cast<T>(out);
}

// As an integer from low to high; a NaN is low. Infinite and huge places come of tiny scales.
template <class T>
int64_t whole(T place, int64_t low, int64_t high) {
  if (!(place > static_cast<T>(low))) return low;
  return place < static_cast<T>(high) ? static_cast<int64_t>(place) : high;
}

Taps nearest_taps(int64_t in, int64_t out, double scale, bool is_exact) {
  Taps taps = no_taps(in, out);
  float pace = pace_of<float>(in, out, false, scale);
  for (int64_t o = 0; o < out; ++o) {
    float place = (static_cast<float>(o) + (is_exact ? 0.5f : 0.0f)) * pace;
    taps.add(whole(std::floor(place), 0, in - 1), 1.0);
    taps.end_result();
  }
  return taps;
}

template <class T>
T place_of(int64_t o, T pace, bool align_corners) {
  return align_corners ? pace * static_cast<T>(o) : pace * (static_cast<T>(o) + T(0.5)) - T(0.5);
}

template <class T>
Taps linear_taps(int64_t in, int64_t out, bool align_corners, double scale) {
  Taps taps = no_taps(in, out);
  T pace = pace_of<T>(in, out, align_corners, scale);
  for (int64_t o = 0; o < out; ++o) {
    T place = std::max(place_of(o, pace, align_corners), T(0));
    int64_t first = whole(place, 0, in - 1);
    T part = std::clamp(place - static_cast<T>(first), T(0), T(1));
    taps.add(first, T(1) - part);
    taps.add(std::min(first + 1, in - 1), part);
    taps.end_result();
  }
  return taps;
}

// The cubic kernel of slope `a` at distance x.
template <class T>
T cubic(T x, T a) {
  x = std::abs(x);
  if (x < T(1)) return ((a + T(2)) * x - (a + T(3))) * x * x + T(1);
  if (x < T(2)) return ((a * x - T(5) * a) * x + T(8) * a) * x - T(4) * a;
  return T(0);
}

template <class T>
Taps cubic_taps(int64_t in, int64_t out, bool align_corners, double scale) {
  Taps taps = no_taps(in, out);
  T pace = pace_of<T>(in, out, align_corners, scale);
  for (int64_t o = 0; o < out; ++o) {
    T place = place_of(o, pace, align_corners), first = std::floor(place);
    int64_t at = whole(first, -2, in + 1);
    for (int64_t k = -1; k <= 2; ++k)
      taps.add(std::clamp<int64_t>(at + k, 0, in - 1),
               cubic(place - first - static_cast<T>(k), T(-0.75)));
    taps.end_result();
  }
  return taps;
}

// ---- with antialias, the kernel grows with the distance of the results

template <class T>
T sinc(T x) {
  if (x == T(0)) return T(1);
  x *= static_cast<T>(3.14159265358979323846);
  return std::sin(x) / x;
}

template <class T>
T kernel_at(const std::string& mode, T x) {
  if (mode == "bilinear") return std::max(T(1) - std::abs(x), T(0));
  if (mode == "bicubic") return cubic(x, T(-0.5));
  return std::abs(x) < T(3) ? sinc(x) * sinc(x / T(3)) : T(0);
}

template <class T>
Taps smooth_taps(const std::string& mode, int64_t in, int64_t out, bool align_corners,
                 double scale) {
  Taps taps = no_taps(in, out);
  T pace = pace_of<T>(in, out, align_corners, scale), width = std::max(pace, T(1));
  T support = width * (mode == "bilinear" ? T(1) : mode == "bicubic" ? T(2) : T(3));
  for (int64_t o = 0; o < out; ++o) {
    T center = pace * (static_cast<T>(o) + T(0.5));
    int64_t low = whole(center - support + T(0.5), 0, in);
    int64_t high = whole(center + support + T(0.5), 0, in);
    T total = T(0);
    for (int64_t i = low; i < high; ++i)
      total += kernel_at(mode, (static_cast<T>(i) - center + T(0.5)) / width);
    for (int64_t i = low; i < high; ++i) {
      T w = kernel_at(mode, (static_cast<T>(i) - center + T(0.5)) / width);
      taps.add(i, total != T(0) ? w / total : w);
    }
    taps.end_result();
  }
  return taps;
}

// Whether the ratio of the sizes counts, whatever ratio the caller gave, as in PyTorch's kernels
// for this case.
bool is_scale_ignored(const Plan& plan, const std::string& mode, bool antialias, bool is_bytes,
                      int64_t in, int64_t out) {
  if (mode == "nearest") {
    bool is_channels_last = plan.format != MemoryFormat::Contiguous;
    return (is_channels_last || (is_bytes && plan.n == 2)) && (out == in || out == 2 * in);
  }
  return out == in && mode != "nearest-exact" && (mode != "bicubic" || antialias || is_bytes);
}

template <class T>
Taps taps_of(const std::string& mode, bool antialias, int64_t in, int64_t out, bool align_corners,
             double scale) {
  if (mode == "nearest" || mode == "nearest-exact")
    return nearest_taps(in, out, scale, mode == "nearest-exact");
  if (antialias) return smooth_taps<T>(mode, in, out, align_corners, scale);
  if (mode == "bicubic") return cubic_taps<T>(in, out, align_corners, scale);
  return linear_taps<T>(in, out, align_corners, scale);
}

// ---- running the kernels

// The weights as integers in units of 2^-precision that 16 bits can hold; those of one element
// joined. Bytes are resampled so in PyTorch, as in Pillow.
Taps fixed_point(const Taps& taps, int& precision) {
  Taps joined = no_taps(taps.in, taps.out);
  double most = 0;
  for (int64_t o = 0; o < taps.out; ++o) {
    for (int32_t k = taps.begin[o]; k < taps.begin[o + 1]; ++k)
      if (k > taps.begin[o] && taps.index[k] == taps.index[k - 1])
        joined.weight.back() += taps.weight[k];
      else
        joined.add(taps.index[k], taps.weight[k]);
    joined.end_result();
  }
  for (double w : joined.weight) most = std::max(most, w);
  precision = 0;
  while (precision < 22 && most * (int64_t(1) << (precision + 1)) + 0.5 < (1 << 15)) ++precision;
  for (double& w : joined.weight)
    w = std::trunc(w * (int64_t(1) << precision) + (w < 0 ? -0.5 : 0.5));
  return joined;
}

template <class T>
std::array<std::vector<T>, 3> weights_as(const std::array<Taps, 3>& axes) {
  std::array<std::vector<T>, 3> weights;
  for (int i = 0; i < 3; ++i) weights[i].assign(axes[i].weight.begin(), axes[i].weight.end());
  return weights;
}

template <class T>
void run(const Plan& plan, const std::array<Taps, 3>& axes, const Tensor& x, const Tensor& y) {
  std::array<Taps, 3> used = axes;
  cpu::ResampleShape shape = {};
  bool is_fixed = x.dtype() == DType::UInt8 && !plan.is_pick;
  if (is_fixed)
    for (int i = 0; i < 3; ++i) used[i] = fixed_point(axes[i], shape.precision[i]);
  std::array<std::vector<T>, 3> weights = weights_as<T>(used);
  shape.inner = plan.format == MemoryFormat::Contiguous ? 1 : x.size(1);
  shape.n_in = 1;
  shape.is_pick = plan.is_pick;
  int64_t n_taps = 1;
  for (int i = 0; i < 3; ++i) {
    const Taps& t = used[i];
    shape.axes[i] = {t.in, t.out, t.begin.data(), t.index.data(), weights[i].data(), t.n_uniform()};
    shape.n_in *= t.in;
    n_taps *= static_cast<int64_t>(t.index.size()) / t.out + 1;
  }
  const cpu::ResampleTable& table = cpu::get_resample_table();
  cpu::ResampleKernel kernel = is_fixed ? table.fixed : table.rows[static_cast<int>(x.dtype())];
  int64_t per_task =
      is_fixed ? used[0].out * used[1].out * used[2].out * shape.inner : used[2].out * shape.inner;
  char* to = y.data();
  const char* from = x.data();
  parallel_for(y.numel() / per_task, std::max<int64_t>(1, kResampleGrain / (per_task * n_taps)),
               [&](int64_t begin, int64_t end) { kernel(to, from, shape, begin, end); });
}

Tensor run_resample(const Plan& plan, const std::array<Taps, 3>& axes, const Tensor& input) {
  NoGradGuard guard;
  Dims sizes = input.sizes();
  for (int i = 0; i < plan.n; ++i) sizes[input.dim() - plan.n + i] = axes[3 - plan.n + i].out;
  Tensor y = empty(sizes, input.dtype(), input.device(), plan.format);
  if (y.numel() == 0) return y;
  Tensor x = contiguous(input, plan.format);
  if (!x.is_cpu()) {
    std::array<TapAxis, 3> taps;
    for (int i = 0; i < 3; ++i)
      taps[i] = {axes[i].in, axes[i].out, axes[i].begin.data(), axes[i].index.data(),
                 axes[i].weight.data()};
    cuda::resample(taps, plan.is_pick, plan.format == MemoryFormat::Contiguous ? 1 : x.size(1), x,
                   y);
  } else if (x.dtype() == DType::Float64)
    run<double>(plan, axes, x, y);
  else if (x.dtype() == DType::UInt8)
    run<int32_t>(plan, axes, x, y);
  else
    run<float>(plan, axes, x, y);
  return y;
}

Tensor turn(const SharedPlan& plan, const Tensor& x, bool is_backward);

Tensor recorded(const SharedPlan& plan, const Tensor& y, const Tensor& x, bool is_backward) {
  return record(plan->node, y, {x},
                [plan, is_backward](const Tensor& g) { return turn(plan, g, !is_backward); });
}

Tensor turn(const SharedPlan& plan, const Tensor& x, bool is_backward) {
  if (!is_backward) return recorded(plan, run_resample(*plan, plan->axes, x), x, false);
  Plan sums = *plan;
  sums.is_pick = false;
  for (Taps& taps : sums.axes) taps = transposed(taps);
  return recorded(plan, run_resample(sums, sums.axes, x), x, true);
}

struct ModeNames {
  const char* mode;
  bool antialias;
  const char* nodes[3];  // by the number of dimensions; null: there is none
};
constexpr ModeNames kModes[] = {
    {"nearest",
     false,
     {"UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0", "UpsampleNearest3DBackward0"}},
    {"nearest-exact",
     false,
     {"UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0",
      "UpsampleNearestExact3DBackward0"}},
    {"linear", false, {"UpsampleLinear1DBackward0", nullptr, nullptr}},
    {"bilinear", false, {nullptr, "UpsampleBilinear2DBackward0", nullptr}},
    {"bilinear", true, {nullptr, "UpsampleBilinear2DAaBackward0", nullptr}},
    {"bicubic", false, {nullptr, "UpsampleBicubic2DBackward0", nullptr}},
    {"bicubic", true, {nullptr, "UpsampleBicubic2DAaBackward0", nullptr}},
    {"lanczos", true, {nullptr, "UpsampleLanczos2DAaBackward0", nullptr}},
    {"trilinear", false, {nullptr, nullptr, "UpsampleTrilinear3DBackward0"}}};

const char* node_of(const std::string& mode, bool antialias, int n) {
  for (const ModeNames& names : kModes)
    if (mode == names.mode && antialias == names.antialias) return names.nodes[n - 1];
  return nullptr;
}

// x (batch, channels, 1 to 3 dimensions) with `sizes` in place of the last ones. `mode` is nearest,
// nearest-exact, linear, bilinear, trilinear, bicubic or lanczos; `scales` are the ratios that the
// caller gave, where they count rather than those of the sizes, 0 otherwise.
Tensor resample(const Tensor& x, const std::string& mode, bool antialias, const Dims& sizes,
                bool align_corners, const std::vector<double>& scales) {
  int n = static_cast<int>(sizes.size());
  check(n >= 1 && n <= 3 && x.dim() == n + 2 && scales.size() == sizes.size(),
        "interpolate: expected an input of ", n + 2, " dimensions for the size ", sizes, ", got ",
        x, ".");
  const char* node = node_of(mode, antialias, n);
  check_not_implemented(node != nullptr, "interpolate: mode '", mode, "' is not one for ", n,
                        " dimensions, got ", x, ".");
  constexpr int64_t kMost = INT32_MAX;
  for (int i = 0; i < n; ++i)
    check(x.size(i + 2) > 0 && sizes[i] > 0 && x.size(i + 2) < kMost && sizes[i] < kMost,
          "interpolate: input and result must have sizes from 1 to 2^31, got ", x, " and the size ",
          sizes, ".");
  Dims result = x.sizes();
  for (int i = 0; i < n; ++i) result[i + 2] = sizes[i];
  // Memory that cannot be had is refused before the weights are made.
  if (checked_numel(result) > 1 << 28) empty(result, x.dtype(), x.device());
  check(x.size(1) > 0, "interpolate: expected an input with channels, got ", x, ".");
  bool is_pick = mode == "nearest" || mode == "nearest-exact";
  bool has_bytes = is_pick || n == 2;
  check_not_implemented(is_floating(x.dtype()) || (has_bytes && x.dtype() == DType::UInt8),
                        "interpolate: mode '", mode, "' is not implemented for ", x,
                        ". Convert it with input.float().");
  check_not_implemented(x.is_cpu() || is_pick || is_floating(x.dtype()), "interpolate: mode '",
                        mode, "' is not implemented for ", x, " on ", x.device(),
                        ". Convert it with input.float().");

  auto plan = std::make_shared<Plan>(Plan{node, n, format_of(x), is_pick, {}});
  bool is_wide = x.dtype() == DType::Float64 || x.dtype() == DType::UInt8;
  for (int i = 0; i < n; ++i) {
    auto make = is_wide ? taps_of<double> : taps_of<float>;
    bool is_bytes = x.dtype() == DType::UInt8;
    bool is_ignored = is_scale_ignored(*plan, mode, antialias, is_bytes, x.size(i + 2), sizes[i]);
    plan->axes[3 - n + i] =
        make(mode, antialias, x.size(i + 2), sizes[i], align_corners, is_ignored ? 0 : scales[i]);
  }
  return turn(plan, x, false);
}

}  // namespace

FACULA_BINDINGS {
  m.def("_resample", &resample, "input"_a, "mode"_a, "antialias"_a, "size"_a, "align_corners"_a,
        "scales"_a);
}

}  // namespace facula
