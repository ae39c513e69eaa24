// Convolutions: by cuDNN, or by our own kernel where it is not there or refuses.
#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "cuda/cuda.h"
#include "cuda/kernel.h"
#include "cuda/nn/cudnn.h"
#include "cuda/nn/nn.h"

namespace facula::cuda {

namespace {

constexpr DTypes kConvDTypes = kAllDTypes & ~only(DType::Bool);
FACULA_KERNEL(implicit_gemm, "conv.h", ConvArguments, kConvDTypes)
FACULA_KERNEL(narrow_weight, "conv.h", NarrowArguments, only(DType::Float32))
constexpr int64_t kTile = 64;
constexpr int64_t kNarrowMostTaps = 32, kNarrowPixelsPerThread = 8, kNarrowMostPieces = 512;

// Numbers of cuDNN's enumerations.
constexpr int kConvolution = 1, kComputeType = 100, kMode = 101, kDilations = 102, kStrides = 103,
              kPostPaddings = 104, kPrePaddings = 105, kSpatialDims = 106;
constexpr int kCrossCorrelation = 1;
// By role: the operation, and its attributes.
struct OperationNumbers {
  int operation, alpha, beta, convolution, input, weight, output;
};
constexpr OperationNumbers kOperations[] = {{12, 706, 707, 708, 710, 709, 711},
                                            {11, 712, 713, 714, 716, 715, 717},
                                            {10, 700, 701, 702, 704, 703, 705}};
enum TensorId : int64_t { kInputId = 1, kWeightId, kOutputId };

using Numbers = std::vector<int64_t>;

// Two or three spatial dimensions: cuDNN knows no fewer.
int first_dim(int64_t n_spatial) { return n_spatial == 3 ? 0 : 1; }
Numbers spatial(const cpu::Spatial& values, int64_t n_spatial) {
  return Numbers(values.begin() + first_dim(n_spatial), values.end());
}

int64_t alignment_of(const Tensor& x) {
  auto address = reinterpret_cast<uintptr_t>(x.address());
  return static_cast<int64_t>(std::min<uintptr_t>(address & (~address + 1), 16));
}

// Strides by the format, not the tensor's own: those of dimensions of size 1 may be anything.
Numbers strides_of(const Numbers& sizes, MemoryFormat format) {
  Dims dims;
  for (int64_t size : sizes) dims.push_back(size);
  Dims strides =
      format == MemoryFormat::Contiguous ? contiguous_strides(dims) : channels_last_strides(dims);
  return Numbers(strides.begin(), strides.end());
}

struct Sizes {
  Numbers input, weight, output;
};
Sizes sizes_of(const cpu::ConvShape& s, int64_t n_spatial) {
  Sizes sizes{{s.n_batch, s.groups * s.in_channels},
              {s.groups * s.out_channels, s.in_channels},
              {s.n_batch, s.groups * s.out_channels}};
  auto append = [&](Numbers& to, const cpu::Spatial& values) {
    for (int64_t value : spatial(values, n_spatial)) to.push_back(value);
  };
  append(sizes.input, s.in);
  append(sizes.weight, s.kernel);
  append(sizes.output, s.out);
  return sizes;
}

struct Operands {
  const Tensor &x, &w, &y;
};

std::unique_ptr<cudnn::Plan> make_plan(ConvRole role, const cpu::ConvShape& s, int64_t n_spatial,
                                       MemoryFormat format, const Operands& t,
                                       const std::vector<cudnn::Binding>& bindings) {
  using cudnn::Descriptor;
  DType dtype = t.x.dtype();
  int type = cudnn::type_of(dtype);
  bool is_double = dtype == DType::Float64;
  Descriptor convolution(kConvolution);
  Numbers paddings = spatial(s.padding, n_spatial), after = paddings;
  // Windows may end before the padding does, or, where the output is as large as the input, after.
  for (size_t i = 0; i < after.size(); ++i) {
    size_t d = i + static_cast<size_t>(first_dim(n_spatial));
    int64_t reach = (s.out[d] - 1) * s.stride[d] + (s.kernel[d] - 1) * s.dilation[d] + 1;
    after[i] = std::max<int64_t>(after[i], reach - s.in[d] - s.padding[d]);
  }
  convolution.set(kComputeType, cudnn::kDataType,
                  cudnn::type_of(is_double ? DType::Float64 : DType::Float32));
  convolution.set(kMode, cudnn::kConvolutionMode, kCrossCorrelation);
  convolution.set(kSpatialDims, cudnn::kInt64, static_cast<int64_t>(paddings.size()));
  convolution.set(kDilations, spatial(s.dilation, n_spatial));
  convolution.set(kStrides, spatial(s.stride, n_spatial));
  convolution.set(kPrePaddings, paddings);
  convolution.set(kPostPaddings, after);
  convolution.finalize();

  Sizes sizes = sizes_of(s, n_spatial);
  auto tensor = [&](int64_t id, const Numbers& of, const Tensor& x) {
    return cudnn::tensor({id, type, of, strides_of(of, format), alignment_of(x)});
  };
  Descriptor input = tensor(kInputId, sizes.input, t.x),
             weight = tensor(kWeightId, sizes.weight, t.w),
             output = tensor(kOutputId, sizes.output, t.y);
  const OperationNumbers& numbers = kOperations[static_cast<int>(role)];
  Descriptor operation(numbers.operation);
  if (is_double) {
    operation.set(numbers.alpha, cudnn::kDouble, 1.0);
    operation.set(numbers.beta, cudnn::kDouble, 0.0);
  } else {
    operation.set(numbers.alpha, cudnn::kFloat, 1.0f);
    operation.set(numbers.beta, cudnn::kFloat, 0.0f);
  }
  operation.set(numbers.convolution, convolution);
  operation.set(numbers.input, input);
  operation.set(numbers.weight, weight);
  operation.set(numbers.output, output);
  if (!operation.try_finalize()) return nullptr;
  void* handle = operation.handle();
  std::vector<Descriptor> kept;
  for (Descriptor* descriptor : {&convolution, &input, &weight, &output, &operation})
    kept.push_back(std::move(*descriptor));
  return cudnn::find_plan(t.x.device().index, std::move(kept), {handle}, dtype == DType::Float32,
                          bindings);
}

// The plan for these sizes, found once; null where cuDNN has none.
const cudnn::Plan* plan_of(ConvRole role, const cpu::ConvShape& s, int64_t n_spatial,
                           MemoryFormat format, const Operands& t,
                           const std::vector<cudnn::Binding>& bindings) {
  using Key = std::tuple<int, int, DType, MemoryFormat, int, Numbers>;
  static auto* plans =
      new std::map<Key, std::unique_ptr<cudnn::Plan>>;  // guarded by the interpreter lock
  const cudnn::Settings& settings = cudnn::settings();
  int choices = settings.benchmark | settings.deterministic << 1 | settings.allow_tf32 << 2;
  Numbers numbers = {s.n_batch, s.groups, s.in_channels, s.out_channels, n_spatial};
  for (const cpu::Spatial* values : {&s.in, &s.kernel, &s.out, &s.stride, &s.padding, &s.dilation})
    numbers.insert(numbers.end(), values->begin(), values->end());
  for (const Tensor* x : {&t.x, &t.w, &t.y}) numbers.push_back(alignment_of(*x));
  Key key(t.x.device().index, static_cast<int>(role), t.x.dtype(), format, choices,
          std::move(numbers));
  auto found = plans->find(key);
  if (found == plans->end())
    found =
        plans->emplace(std::move(key), make_plan(role, s, n_spatial, format, t, bindings)).first;
  return found->second.get();
}

ConvTensor tensor_of(const Tensor& x, const Numbers& sizes, MemoryFormat format) {
  Numbers strides = strides_of(sizes, format);
  while (strides.size() < 5) strides.insert(strides.begin() + 2, 0);
  ConvTensor tensor{x.address(), {}};
  std::copy_n(strides.begin(), 5, tensor.strides);
  return tensor;
}

void run_own(ConvRole role, const cpu::ConvShape& s, int64_t n_spatial, MemoryFormat format,
             const Operands& t) {
  Sizes sizes = sizes_of(s, n_spatial);
  ConvArguments a{};
  a.role = role;
  a.input = tensor_of(t.x, sizes.input, format);
  a.weight = tensor_of(t.w, sizes.weight, format);
  a.output = tensor_of(t.y, sizes.output, format);
  a.n_batch = s.n_batch;
  a.groups = s.groups;
  a.in_channels = s.in_channels;
  a.out_channels = s.out_channels;
  for (int d = 0; d < 3; ++d) {
    a.in[d] = s.in[d];
    a.kernel[d] = s.kernel[d];
    a.out[d] = s.out[d];
    a.stride[d] = s.stride[d];
    a.padding[d] = s.padding[d];
    a.dilation[d] = s.dilation[d];
  }
  int64_t m = role == ConvRole::Input ? s.in_channels : s.out_channels;
  int64_t n = role == ConvRole::Output  ? s.n_batch * s.out_pixels()
              : role == ConvRole::Input ? s.n_batch * s.in_pixels()
                                        : s.weight_row();
  implicit_gemm_kernel(t.x.device(), {t.x.dtype()},
                       {ceil_div(m, kTile) * ceil_div(n, kTile), s.groups}, a);
}

// Whether narrow_weight is the way: on an H200 it takes 14 us for the first layer of a network for
// digits, 64x1x28x28 to 32 channels, and cuDNN's way that gives the same bits each time 97 us.
bool is_narrow(ConvRole role, const cpu::ConvShape& s, DType dtype) {
  constexpr int64_t kLimit = int64_t(1) << 30;  // the kernel counts in 32 bits
  for (const cpu::Spatial* values : {&s.stride, &s.padding, &s.dilation})
    if (*std::max_element(values->begin(), values->end()) >= kLimit) return false;
  return role == ConvRole::Weight && dtype == DType::Float32 && s.groups == 1 &&
         s.in_channels == 1 && s.weight_row() <= kNarrowMostTaps &&
         s.n_batch * s.out_pixels() < kLimit && s.in_pixels() < kLimit;
}

void run_narrow(const cpu::ConvShape& s, int64_t n_spatial, MemoryFormat format,
                const Operands& t) {
  Sizes sizes = sizes_of(s, n_spatial);
  ConvTensor x = tensor_of(t.x, sizes.input, format), g = tensor_of(t.y, sizes.output, format);
  NarrowArguments a{};
  a.x = x.data;
  a.g = g.data;
  a.image_strides[0] = x.strides[0];
  a.image_strides[1] = g.strides[0];
  a.g_channel_stride = g.strides[1];
  a.n_pixels = static_cast<int>(s.n_batch * s.out_pixels());
  a.n_channels = static_cast<int>(s.out_channels);
  a.n_taps = static_cast<int>(s.weight_row());
  a.image_pixels = s.out_pixels();
  for (int d = 0; d < 3; ++d) {
    a.strides[0][d] = x.strides[2 + d];
    a.strides[1][d] = g.strides[2 + d];
    a.in[d] = static_cast<int>(s.in[d]);
    a.stride[d] = static_cast<int>(s.stride[d]);
    a.padding[d] = static_cast<int>(s.padding[d]);
    a.dilation[d] = static_cast<int>(s.dilation[d]);
    if (d == 0) continue;
    a.out[d - 1] = s.out[d];
    a.kernel[d - 1] = s.kernel[d];
  }
  int64_t least = kKernelThreads * kNarrowPixelsPerThread;
  a.piece_size = static_cast<int>(std::max(
      least, ceil_div(ceil_div(a.n_pixels, kNarrowMostPieces), kKernelThreads) * kKernelThreads));
  int64_t n_pieces = ceil_div(a.n_pixels, a.piece_size);
  Tensor partials = empty({n_pieces, t.w.numel()}, t.w.dtype(), t.w.device());
  a.partials = partials.address();
  Grid grid{ceil_div(a.n_channels, kNarrowChannels) * ceil_div(a.n_taps, kNarrowTaps), n_pieces};
  narrow_weight_kernel(t.x.device(), {t.x.dtype()}, grid, a);
  run_reduction("conv", ReduceOp::sum, partials, 1, t.w.dtype(), t.w, {}, {});
}

}  // namespace

void convolve(ConvRole role, const cpu::ConvShape& shape, int64_t n_spatial, MemoryFormat format,
              const Tensor& x, const Tensor& w, const Tensor& y) {
  if (x.is_meta()) return;
  Operands operands{x, w, y};
  if (is_narrow(role, shape, x.dtype())) return run_narrow(shape, n_spatial, format, operands);
  if (cudnn::is_enabled() && cudnn::type_of(x.dtype()) >= 0) {
    std::vector<cudnn::Binding> bindings = {
        {kInputId, x.address()}, {kWeightId, w.address()}, {kOutputId, y.address()}};
    const cudnn::Plan* plan = plan_of(role, shape, n_spatial, format, operands, bindings);
    if (plan) return cudnn::execute(*plan, x.device().index, bindings);
  }
  run_own(role, shape, n_spatial, format, operands);
}

}  // namespace facula::cuda
