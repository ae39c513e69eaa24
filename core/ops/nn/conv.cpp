// Convolutions and the windows that they are made of.
#include <array>

#include "autograd/node.h"
#include "cuda/nn/nn.h"
#include "cuda/nn/windows.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "products/conv.h"
#include "products/conv_columns.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

namespace {

using cpu::ConvShape;

constexpr int64_t kMaxExtent = int64_t{1} << 62;

// ---- sizes

// One number, or one per spatial dimension.
struct ConvOptions {
  Dims stride{1}, padding{0}, dilation{1};
  int64_t groups = 1;
  bool is_transposed = false;
  Dims output_padding{0};     // of a transposed convolution
  bool pads_to_same = false;  // instead of `padding`: the output is as large as the input
};

struct Convolution {
  ConvShape shape;
  int64_t n_spatial;
  MemoryFormat format;  // of results that have as many dimensions as images
};

// One number per spatial dimension.
Dims per_dim(const char* op, const char* name, const Dims& values, int64_t n_spatial) {
  if (values.size() == 1) return Dims(n_spatial, values[0]);
  check(static_cast<int64_t>(values.size()) == n_spatial, op, ": expected ", name,
        " to be one integer or ", n_spatial, ", one per spatial dimension, got ", values, ".");
  return values;
}

void check_at_least(const char* op, const char* name, const Dims& values, int64_t least) {
  for (int64_t value : values)
    check(value >= least, op, ": expected ", name, " to be at least ", least, ", got ", values,
          least == 0 ? ": a negative one is not supported." : ".");
}

// dilation * (kernel - 1) + 1, which an int64 may be too small for.
int64_t extent_of(const char* op, int64_t kernel, int64_t dilation) {
  int64_t extent;
  bool fits = !__builtin_mul_overflow(kernel - 1, dilation, &extent) && extent < kMaxExtent;
  check(fits, op, ": a kernel of size ", kernel, " with dilation ", dilation,
        " reaches further than an int64 can count.");
  return extent + 1;
}

int64_t output_size(const char* op, const Tensor& x, const Tensor& w, const ConvShape& s, int d,
                    int64_t padding) {
  int64_t extent = extent_of(op, s.kernel[d], s.dilation[d]);
  check(padding < kMaxExtent / 2 - s.in[d], op, ": a padding of ", padding,
        " is more than an int64 can count.");
  int64_t room = s.in[d] + 2 * padding - extent;
  check(room >= 0, op, ": the kernel, which with dilation reaches over ", extent,
        " elements, is larger than the input, which has ", s.in[d] + 2 * padding,
        " with padding: input ", x.sizes(), ", weight ", w.sizes(),
        ". (Kernel size can't be greater than actual input size.)");
  return room / s.stride[d] + 1;
}

int64_t transposed_output_size(const char* op, const Tensor& x, const Tensor& w, const ConvShape& s,
                               int d, int64_t output_padding) {
  int64_t size, extent = extent_of(op, s.kernel[d], s.dilation[d]);
  bool fits = !__builtin_mul_overflow(s.out[d] - 1, s.stride[d], &size) &&
              !__builtin_add_overflow(size, extent + output_padding, &size) && size < kMaxExtent &&
              s.padding[d] < kMaxExtent / 2;
  check(fits, op, ": the output would be larger than an int64 can count: input ", x.sizes(),
        ", stride ", s.stride[d], ", padding ", s.padding[d], ".");
  size -= 2 * s.padding[d];
  check(size > 0, op, ": the output size is too small: input ", x.sizes(), " and weight ",
        w.sizes(), " with padding ", s.padding[d], " give ", size, " along spatial dimension ", d,
        ".");
  return size;
}

void check_operands(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias) {
  check(x.dtype() == w.dtype(), op, ": expected input and weight of one dtype, got ", x, " and ", w,
        ".");
  check_same_device(op, {x, w});
  if (bias.defined()) {
    check(x.dtype() == bias.dtype(), op, ": expected input and bias of one dtype, got ", x, " and ",
          bias, ".");
    check_same_device(op, {x, bias});
  }
  check_not_implemented(x.dtype() != DType::Bool, op, ": not implemented for bool.");
}

void check_channels(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias,
                    const ConvOptions& options) {
  int64_t groups = options.groups;
  check(groups > 0, op, ": expected groups to be at least 1, got ", groups, ".");
  check(w.size(0) >= groups && w.size(0) % groups == 0, op, ": expected the first dimension of ",
        "weight to be a multiple of groups=", groups, ", got weight ", w.sizes(), ".");
  int64_t n_in = options.is_transposed ? w.size(0) : w.size(1) * groups;
  int64_t n_out = options.is_transposed ? w.size(1) * groups : w.size(0);
  check(x.size(1) == n_in, op, ": expected an input of ", n_in, " channels for weight ", w.sizes(),
        groups == 1 ? "" : " in groups", ", got ", x, ". (expected input to have ", n_in,
        " channels, but got ", x.size(1), " channels instead)");
  check(!bias.defined() || (bias.dim() == 1 && bias.size(0) == n_out), op,
        ": expected a bias of shape (", n_out, ",), one number per output channel, got ",
        bias.defined() ? bias.sizes() : Dims(), ".");
  for (int64_t d = 2; d < w.dim(); ++d)
    check(w.size(d) > 0, op, ": expected a kernel without empty dimensions, got weight ", w.sizes(),
          ".");
  for (int64_t d = 2; d < x.dim(); ++d)
    check(x.size(d) > 0, op, ": only the batch and the channels may be empty, got input ",
          x.sizes(), ".");
  check(w.size(1) > 0 || !options.is_transposed, op, ": expected a weight with elements, got ",
        w.sizes(), ".");
}

// Whether volumes keep their channels last. PyTorch leaves that to the library which it asks: one
// that does is there for these dtypes, and of float32 gets what is not small.
bool keeps_volumes(const Tensor& x, const Tensor& w, int64_t groups) {
  DType part = to_real_dtype(x.dtype());
  if (!x.is_cpu() || part == DType::BFloat16) return x.is_cpu();
  return part == DType::Float32 && (x.size(0) > 1 || groups > 1 || x.numel() / x.size(-1) > 20480 ||
                                    (w.size(-1) > 3 && w.size(-2) > 3));
}

Convolution prepare(const char* op, const Tensor& x, const Tensor& w, const Tensor& bias,
                    const ConvOptions& options) {
  check(w.dim() >= 3, op, ": expected a weight of at least 3 dimensions, got ", w, ".");
  int64_t n_spatial = w.dim() - 2;
  check(n_spatial <= 3, op, ": at most 3 spatial dimensions are supported, got weight ", w, ".");
  Dims stride = per_dim(op, "stride", options.stride, n_spatial);
  Dims padding = per_dim(op, "padding", options.padding, n_spatial);
  Dims dilation = per_dim(op, "dilation", options.dilation, n_spatial);
  Dims output_padding = per_dim(op, "output_padding", options.output_padding, n_spatial);
  check_at_least(op, "padding", padding, 0);
  check_at_least(op, "output_padding", output_padding, 0);
  check_at_least(op, "stride", stride, 1);
  check_at_least(op, "dilation", dilation, 1);
  check(x.dim() == w.dim(), op, ": expected an input of ", w.dim(), " dimensions for weight ",
        w.sizes(), ", got ", x, ".");
  check_channels(op, x, w, bias, options);
  check_operands(op, x, w, bias);

  Convolution c;
  c.n_spatial = n_spatial;
  bool keeps_format = n_spatial == 2 || (n_spatial == 3 && keeps_volumes(x, w, options.groups));
  c.format = keeps_format ? format_of(x) : MemoryFormat::Contiguous;
  if (keeps_format && c.format == MemoryFormat::Contiguous) c.format = format_of(w);
  ConvShape& s = c.shape;
  s.n_batch = x.size(0);
  s.groups = options.groups;
  s.out_channels = w.size(0) / s.groups;
  s.in_channels = w.size(1);
  for (int64_t i = 0; i < n_spatial; ++i) {
    int d = static_cast<int>(3 - n_spatial + i);
    s.kernel[d] = w.size(2 + i);
    s.stride[d] = stride[i];
    s.padding[d] = padding[i];
    s.dilation[d] = dilation[i];
    if (options.is_transposed) {
      check(output_padding[i] < std::max(stride[i], dilation[i]), op,
            ": expected an output_padding less than stride or dilation, got ", output_padding,
            " with stride ", stride, " and dilation ", dilation, ".");
      s.out[d] = x.size(2 + i);
      s.in[d] = transposed_output_size(op, x, w, s, d, output_padding[i]);
    } else if (options.pads_to_same) {
      check(stride[i] == 1, op, ": expected a stride of 1 with padding='same', got ", stride, ".");
      s.in[d] = s.out[d] = x.size(2 + i);
      s.padding[d] = (extent_of(op, s.kernel[d], s.dilation[d]) - 1) / 2;
    } else {
      s.in[d] = x.size(2 + i);
      s.out[d] = output_size(op, x, w, s, d, padding[i]);
    }
    // A stride that is never taken may be as large as it likes.
    if (s.out[d] == 1) s.stride[d] = 1;
    if (s.kernel[d] == 1) s.dilation[d] = 1;
  }
  return c;
}

Dims sizes_of(int64_t first, int64_t second, const ConvShape::Spatial& spatial, int64_t n_spatial) {
  Dims sizes{first, second};
  for (int64_t d = 3 - n_spatial; d < 3; ++d) sizes.push_back(spatial[static_cast<size_t>(d)]);
  return sizes;
}

// ---- values and derivatives

// Note [One form, three results]
// With y a gradient of the output, the sum of x * w * y over all terms of a convolution is linear
// in each of the three. The convolution is its derivative with respect to y, the transposed one
// that with respect to x, and the gradient of the weight that with respect to w. So the derivatives
// of each are the other two, as often as one likes.
enum Role { kInput, kWeight, kOutput };
using Form = std::array<Tensor, 3>;  // by role; the one that is to be computed is undefined

template <class T>
void compute(const ConvShape& s, Role role, const Form& form, const T* bias, T* to,
             Storage* keeper) {
  auto data = [&](Role r) { return form[r].data_as<T>(); };
  if (role == kOutput) {
    products::conv_output(s, data(kInput), data(kWeight), bias, to, keeper);
  } else if (role == kInput) {
    products::conv_input(s, data(kWeight), data(kOutput), bias, to, keeper);
  } else {
    products::conv_weight(s, data(kInput), data(kOutput), to);
  }
}

// One number per channel, as it broadcasts to images.
Tensor by_channel(const Tensor& bias, int64_t n_spatial) {
  Dims channels(static_cast<size_t>(n_spatial) + 1, 1);
  channels[0] = -1;
  return reshape(bias, channels);
}

// In the format and the dtype of the operands, which need not be widened.
Tensor value_on_gpu(const Convolution& c, Role role, Form form, const Tensor& bias,
                    const Dims& sizes) {
  const Tensor& known = form[role == kInput ? kOutput : kInput];
  Tensor result = empty(sizes, known.dtype(), known.device(), c.format);
  for (Tensor& x : form)
    if (x.defined()) x = contiguous(x, c.format);
  form[role] = result;
  constexpr ConvRole roles[] = {ConvRole::Input, ConvRole::Weight, ConvRole::Output};
  cuda::convolve(roles[role], c.shape, c.n_spatial, c.format, form[kInput], form[kWeight],
                 form[kOutput]);
  if (bias.defined()) add_(result, by_channel(bias, c.n_spatial));
  return result;
}

// Whether images of the format of the results need not be turned over on the CPU.
bool takes_channels_last(const Convolution& c, Role role, DType dtype) {
  if (c.format != MemoryFormat::ChannelsLast || role == kWeight) return false;
  return role == kOutput ? products::output_takes_channels_last(c.shape, dtype)
                         : products::input_takes_channels_last(c.shape, dtype);
}

// Without a derivative. `keeps_weight`: the weight may come again, so that it is worth the memory
// to keep it packed.
Tensor value_of(const Convolution& c, Role role, Form form, Tensor bias, bool keeps_weight) {
  NoGradGuard guard;
  ConvShape s = c.shape;
  int64_t n_in = s.groups * s.in_channels, n_out = s.groups * s.out_channels;
  Dims sizes = role == kInput    ? sizes_of(s.n_batch, n_in, s.in, c.n_spatial)
               : role == kOutput ? sizes_of(s.n_batch, n_out, s.out, c.n_spatial)
                                 : sizes_of(n_out, s.in_channels, s.kernel, c.n_spatial);
  const Tensor& known = form[role == kInput ? kOutput : kInput];
  Device device = known.device();
  DType dtype = known.dtype();
  int64_t n_channels = role == kInput ? s.in_channels : s.out_channels;
  DType wide = products::convolves_pairs(s, n_channels, dtype) ? dtype : wide_dtype(dtype);
  bool has_terms = std::all_of(form.begin(), form.end(),
                               [](const Tensor& x) { return !x.defined() || x.numel() > 0; });
  if (has_terms && !device.is_cpu()) return value_on_gpu(c, role, form, bias, sizes);
  s.has_channels_last = has_terms && takes_channels_last(c, role, wide);
  MemoryFormat format = s.has_channels_last ? c.format : MemoryFormat::Contiguous;
  Storage* keeper = keeps_weight ? form[kWeight].storage() : nullptr;
  for (Role r : {kInput, kWeight, kOutput})
    if (form[r].defined())
      form[r] =
          contiguous(to_dtype(form[r], wide), r == kWeight ? MemoryFormat::Contiguous : format);
  if (keeper && form[kWeight].storage() != keeper) keeper = nullptr;  // a copy, which goes away
  if (bias.defined()) bias = contiguous(to_dtype(bias, wide));
  Tensor result = empty(sizes, wide, device, format);
  if (!has_terms && result.numel() > 0) {
    // What is left of a sum of no terms.
    copy_into(result, bias.defined() ? by_channel(bias, c.n_spatial) : wrapped_number(0));
  } else if (result.numel() > 0) {
    visit_dtype(wide, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, Half>) {
        compute(s, role, form, bias.defined() ? bias.data_as<T>() : nullptr, result.data_as<T>(),
                keeper);
      }
    });
  }
  result = contiguous(to_dtype(result, dtype), c.format);
  // Of single channels or pixels, too, which lie as in both formats. PyTorch puts complex numbers
  // together from their parts, and so loses these.
  if (c.format != MemoryFormat::Contiguous && !is_complex(dtype))
    set_geometry(result, sizes, channels_last_strides(sizes), result.offset());
  return result;
}

// The tensor in this role, made of the two others. See Note [One form, three results].
Tensor convolve(const char* node, const Convolution& c, Role role, const Form& form,
                const Tensor& bias, bool keeps_weight = false) {
  // Of a transposed convolution, too, the input comes before the weight.
  Role a = role == kInput ? kOutput : kInput, b = role == kWeight ? kOutput : kWeight;
  const Tensor &first = form[a], &second = form[b];
  return record(node, value_of(c, role, form, bias, keeps_weight), {first, second, bias},
                [c, role, a, b, first = save(second.requires_grad() ? first : Tensor()),
                 second = save(first.requires_grad() ? second : Tensor())](
                    const Tensor& g, Needs need) -> TensorList {
                  TensorList grads(3);
                  bool is_turned = g.is_cpu() && !(need[0] && takes_channels_last(c, a, g.dtype()));
                  Tensor dense = contiguous(
                      g, is_turned ? MemoryFormat::Contiguous : c.format);  // once for both
                  auto gradient = [&](Role wanted, Role other, const SavedTensor& saved) {
                    Form others;
                    others[role] = dense;
                    others[other] = conj(saved);
                    return convolve("ConvolutionBackwardBackward0", c, wanted, others, Tensor());
                  };
                  if (need[0]) grads[0] = gradient(a, b, second);
                  if (need[1]) grads[1] = gradient(b, a, first);
                  if (need[2]) {
                    Dims dims{0};
                    for (int64_t d = 2; d < g.dim(); ++d) dims.push_back(d);
                    grads[2] = sum(g, dims);
                  }
                  return grads;
                });
}

// input (N, C, *), weight (C_out, C / groups, *) or, transposed, (C, C_out / groups, *); bias
// (C_out,) or undefined. `op` is the name for messages.
Tensor convolution(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options) {
  Convolution c = prepare(op, input, weight, bias, options);
  Role role = options.is_transposed ? kInput : kOutput;
  Form form;
  form[role == kInput ? kOutput : kInput] = input;
  form[kWeight] = weight;
  // Not where gradients are recorded: the next step of training changes the weight.
  return convolve("ConvolutionBackward0", c, role, form, bias, !is_grad_enabled());
}

// The same for n_spatial dimensions, where the batch dimension may be missing.
Tensor conv_nd(const char* op, int64_t n_spatial, const Tensor& input, const Tensor& weight,
               const Tensor& bias, const ConvOptions& options) {
  bool is_batched = input.dim() == n_spatial + 2;
  check(is_batched || input.dim() == n_spatial + 1, op, ": expected an input of ", n_spatial + 1,
        " (unbatched) or ", n_spatial + 2, " (batched) dimensions, got ", input, ". (Expected ",
        n_spatial + 1, "D (unbatched) or ", n_spatial + 2, "D (batched) input to ", op, ")");
  if (is_batched) return convolution(op, input, weight, bias, options);
  return squeeze(convolution(op, unsqueeze(input, 0), weight, bias, options), 0);
}

// The gradient of the input or of the weight, which has these sizes, by the other one and that of
// the output.
Tensor conv_gradient(const char* op, Role role, const Dims& sizes, const Tensor& other,
                     const Tensor& grad_output, const ConvOptions& options) {
  Tensor wanted = expand(empty({}, other.dtype(), other.device()), sizes);
  bool is_input = role == kInput;
  Convolution c = is_input ? prepare(op, wanted, other, Tensor(), options)
                           : prepare(op, other, wanted, Tensor(), options);
  const ConvShape& s = c.shape;
  Dims expected = sizes_of(s.n_batch, s.groups * s.out_channels, s.out, c.n_spatial);
  check(grad_output.sizes() == expected, op, ": expected a grad_output of shape ", expected,
        ", as the output, got ", grad_output, ".");
  check(grad_output.dtype() == other.dtype(), op, ": expected grad_output and ",
        is_input ? "weight" : "input", " of one dtype, got ", grad_output, " and ", other, ".");
  check_same_device(op, {grad_output, other});
  Form form;
  form[is_input ? kWeight : kInput] = other;
  form[kOutput] = grad_output;
  return convolve("ConvolutionBackwardBackward0", c, role, form, Tensor());
}

// Along the first dimension of input (T, B, C); weight (K, C, C_out), bias (C_out,).
Tensor conv_tbc(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t pad) {
  check(input.dim() == 3, "conv_tbc: expected an input (time, batch, channels), got ", input, ".");
  check(weight.dim() == 3, "conv_tbc: expected a weight (time, channels, outputs), got ", weight,
        ".");
  check(bias.dim() == 1, "conv_tbc: expected a bias of one dimension, got ", bias, ".");
  ConvOptions options;
  options.padding = {pad};
  Tensor y =
      convolution("conv_tbc", permute(input, {1, 2, 0}), permute(weight, {2, 1, 0}), bias, options);
  return contiguous(permute(y, {2, 0, 1}));
}

// ---- windows

// The product, which an int64 may be too small for.
int64_t product(const char* op, const char* what, int64_t a, int64_t b) {
  int64_t result;
  check(!__builtin_mul_overflow(a, b, &result), op, ": ", a, " * ", b, " ", what,
        " are more than an int64 can count.");
  return result;
}

ConvShape window_shape(const char* op, const Dims& kernel_size, const Dims& dilation,
                       const Dims& padding, const Dims& stride) {
  auto pair = [&](const char* name, const Dims& values, int64_t least) {
    Dims both = per_dim(op, name, values, 2);
    check_at_least(op, name, both, least);
    return both;
  };
  Dims kernel = pair("kernel_size", kernel_size, 1), steps = pair("dilation", dilation, 1);
  Dims margin = pair("padding", padding, 0), by = pair("stride", stride, 1);
  product(op, "elements of a window", kernel[0], kernel[1]);
  ConvShape s;
  for (size_t i = 0; i < 2; ++i) {
    s.kernel[i + 1] = kernel[i];
    s.dilation[i + 1] = steps[i];
    s.padding[i + 1] = margin[i];
    s.stride[i + 1] = by[i];
  }
  return s;
}

void count_windows(const char* op, ConvShape& s) {
  for (int d = 1; d < 3; ++d) {
    int64_t extent = extent_of(op, s.kernel[d], s.dilation[d]);
    check(s.padding[d] < kMaxExtent / 2 - s.in[d], op, ": a padding of ", s.padding[d],
          " is more than an int64 can count.");
    int64_t room = s.in[d] + 2 * s.padding[d] - extent;
    s.out[d] = room < 0 ? 0 : room / s.stride[d] + 1;
    check(s.out[d] > 0, op, ": a window that with dilation reaches over ", extent,
          " elements does not fit into an image of ", s.in[d], " with padding ", s.padding[d], ".");
    if (s.out[d] == 1) s.stride[d] = 1;
    if (s.kernel[d] == 1) s.dilation[d] = 1;
  }
  product(op, "windows", s.out[1], s.out[2]);
}

void check_windows(const char* op, const Tensor& x, int64_t n_dims) {
  bool is_batched = x.dim() == n_dims;
  bool is_full = is_batched || x.dim() == n_dims - 1;
  for (int64_t d = is_batched ? 1 : 0; d < x.dim(); ++d) is_full &= x.size(d) > 0;
  check(is_full, op, ": expected an input of ", n_dims - 1, " (unbatched) or ", n_dims,
        " (batched) dimensions, of which only the batch may be empty, got ", x, ".");
  check_not_implemented(!is_integral(x.dtype()), op, ": not implemented for ", x.dtype(), ".");
}

Tensor run_windows(const ConvShape& s, const Tensor& x, const Dims& sizes, bool to_columns) {
  NoGradGuard guard;
  // Sums of 16 bits are made in float32, and rounded once.
  if (!to_columns && x.is_cpu() && wide_dtype(x.dtype()) != x.dtype())
    return to_dtype(run_windows(s, to_dtype(x, wide_dtype(x.dtype())), sizes, false), x.dtype());
  Tensor from = contiguous(x), to = empty(sizes, x.dtype(), x.device());
  if (to.numel() == 0) return to;
  if (!x.is_cpu()) {
    auto axis = [&](int d) {
      return WindowAxis{s.in[d], s.out[d], s.kernel[d], s.stride[d], s.padding[d], s.dilation[d]};
    };
    (to_columns ? cuda::take_windows : cuda::add_windows)(to, from, axis(1), axis(2));
    return to;
  }
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      (to_columns ? products::im2col<T> : products::col2im<T>)(s, from.data_as<T>(),
                                                               to.data_as<T>());
    }
  });
  return to;
}

Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride);

// The windows of two-dimensional images as columns, and the sum of such columns as images.
Tensor im2col(const Tensor& input, const Dims& kernel_size, const Dims& dilation,
              const Dims& padding, const Dims& stride) {
  ConvShape s = window_shape("unfold", kernel_size, dilation, padding, stride);
  check_index(input.dim() >= 3, "unfold: expected an input of 3 or 4 dimensions, got ", input, ".");
  check_windows("unfold", input, 4);
  bool is_batched = input.dim() == 4;
  s.n_batch = is_batched ? input.size(0) : 1;
  s.in_channels = input.size(-3);
  s.in[1] = input.size(-2);
  s.in[2] = input.size(-1);
  count_windows("unfold", s);
  Dims sizes{product("unfold", "elements of a column", s.in_channels, s.taps()), s.out_pixels()};
  if (is_batched) sizes.insert(0, s.n_batch);
  return record("Im2ColBackward0", run_windows(s, input, sizes, true), {input},
                [=, height = s.in[1], width = s.in[2]](const Tensor& g) {
                  return col2im(g, {height, width}, kernel_size, dilation, padding, stride);
                });
}

Tensor col2im(const Tensor& input, const Dims& output_size, const Dims& kernel_size,
              const Dims& dilation, const Dims& padding, const Dims& stride) {
  Dims image = per_dim("fold", "output_size", output_size, 2);
  check_at_least("fold", "output_size", image, 1);
  ConvShape s = window_shape("fold", kernel_size, dilation, padding, stride);
  check_windows("fold", input, 3);
  bool is_batched = input.dim() == 3;
  check(input.size(-2) % s.taps() == 0, "fold: expected columns of a multiple of ", s.taps(),
        " elements, the product of kernel_size ", kernel_size, ", got ", input, ".");
  s.n_batch = is_batched ? input.size(0) : 1;
  s.in_channels = input.size(-2) / s.taps();
  s.in[1] = image[0];
  s.in[2] = image[1];
  count_windows("fold", s);
  check(input.size(-1) == s.out_pixels(), "fold: expected ", s.out[1], " * ", s.out[2], " = ",
        s.out_pixels(), " columns, the windows of an image of ", image, ", got ", input, ".");
  Dims sizes{s.in_channels, s.in[1], s.in[2]};
  if (is_batched) sizes.insert(0, s.n_batch);
  return record("Col2ImBackward0", run_windows(s, input, sizes, false), {input},
                [=](const Tensor& g) { return im2col(g, kernel_size, dilation, padding, stride); });
}

constexpr const char* kConvArguments = R"(Args:
    input: {inputs}.
    weight: one kernel per output channel.
    bias: one number per output channel, added to its outputs, or None.
    stride: the distance between windows, {numbers}.
    padding: how many zeros to add at both ends, {numbers}; or ``"same"``, as many as
        keep the size, or ``"valid"``, none.
    dilation: the distance between the elements of a window, {numbers}.
    groups: the number of groups of channels; each output channel sees the inputs of its group only.

)";
constexpr const char* kTransposedArguments = R"(Args:
    input: {inputs}.
    weight: one row of kernels per input channel.
    bias: one number per output channel, added to its outputs, or None.
    stride: the distance between the kernels in the output, {numbers}.
    padding: how many elements to leave out at both ends of the output, {numbers}.
    output_padding: how many elements to add at one end of the output, {numbers}.
    groups: the number of groups of channels; each output channel sees the inputs of its group only.
    dilation: the distance between the elements of a kernel, {numbers}.

)";

// The docstring with the arguments before its shapes, in the words of so many dimensions.
std::string conv_doc(std::string doc, std::string arguments, int64_t n_spatial) {
  const char* inputs[] = {"sequences", "images", "volumes"};
  const char* numbers[] = {"a number", "a number or a pair", "a number or three"};
  auto replace = [&](const std::string& mark, const char* words) {
    for (size_t at; (at = arguments.find(mark)) != std::string::npos;)
      arguments.replace(at, mark.size(), words);
  };
  replace("{inputs}", inputs[n_spatial - 1]);
  replace("{numbers}", numbers[n_spatial - 1]);
  return doc.insert(doc.find("Shape:"), arguments);
}

void def_conv(nb::module_& m, const char* name, int64_t n_spatial, const char* doc) {
  m.def(
      name,
      [=](const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
          const Dims& padding, const Dims& dilation, int64_t groups) {
        return conv_nd(name, n_spatial, input, weight, bias, {stride, padding, dilation, groups});
      },
      "input"_a, "weight"_a, "bias"_or_none, "stride"_a = 1, "padding"_a = 0, "dilation"_a = 1,
      "groups"_a = 1, conv_doc(doc, kConvArguments, n_spatial).c_str());
  m.def(
      name,
      [=](const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
          const std::string& padding, const Dims& dilation, int64_t groups) {
        check(padding == "valid" || padding == "same", name,
              ": expected padding to be 'valid', 'same' or integers, got '", padding, "'.");
        ConvOptions options{stride, {0}, dilation, groups};
        options.pads_to_same = padding == "same";
        return conv_nd(name, n_spatial, input, weight, bias, options);
      },
      "input"_a, "weight"_a, "bias"_or_none, "stride"_a = 1, "padding"_a = "valid",
      "dilation"_a = 1, "groups"_a = 1);
}

void def_transposed(nb::module_& m, const char* name, int64_t n_spatial, const char* doc) {
  m.def(
      name,
      [=](const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
          const Dims& padding, const Dims& output_padding, int64_t groups, const Dims& dilation) {
        return conv_nd(name, n_spatial, input, weight, bias,
                       {stride, padding, dilation, groups, true, output_padding});
      },
      "input"_a, "weight"_a, "bias"_or_none, "stride"_a = 1, "padding"_a = 0,
      "output_padding"_a = 0, "groups"_a = 1, "dilation"_a = 1,
      conv_doc(doc, kTransposedArguments, n_spatial).c_str());
}

void bind_plain(nb::module_& m) {
  def_conv(m, "conv1d", 1, R"(Slides kernels along sequences: sums of products with every window.

Shape:
    input ``(N, C, L)`` or ``(C, L)``, weight ``(C_out, C / groups, K)``, bias ``(C_out,)``;
    result ``(N, C_out, L_out)`` or ``(C_out, L_out)`` with
    ``L_out = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1``.

Example:
    >>> facula.conv1d(facula.tensor([[1.0, 2.0, 4.0]]), facula.tensor([[[-1.0, 1.0]]]))
    tensor([[1., 2.]])
)");
  def_conv(m, "conv2d", 2, R"(Slides kernels over images: sums of products with every window.

Shape:
    input ``(N, C, H, W)`` or ``(C, H, W)``, weight ``(C_out, C / groups, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, H_out, W_out)`` or ``(C_out, H_out, W_out)``.

Example:
    >>> facula.conv2d(facula.ones(1, 3, 8, 8), facula.ones(4, 3, 3, 3), padding=1).shape
    torch.Size([1, 4, 8, 8])
)");
  def_conv(m, "conv3d", 3, R"(Slides kernels over volumes: sums of products with every window.

Shape:
    input ``(N, C, D, H, W)`` or ``(C, D, H, W)``, weight ``(C_out, C / groups, KD, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, D_out, H_out, W_out)`` or ``(C_out, D_out, H_out, W_out)``.

Example:
    >>> facula.conv3d(facula.ones(1, 1, 4, 4, 4), facula.ones(2, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
)");
}

void bind_transposed(nb::module_& m) {
  def_transposed(
      m, "conv_transpose1d", 1,
      R"(The transposed map of :func:`conv1d`: each input element adds a kernel to the output.

Shape:
    input ``(N, C, L)`` or ``(C, L)``, weight ``(C, C_out / groups, K)``, bias ``(C_out,)``; result
    ``(N, C_out, L_out)`` or ``(C_out, L_out)`` with
    ``L_out = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1``.

Example:
    >>> x, weight = facula.tensor([[1.0, 2.0]]), facula.tensor([[[1.0, 10.0]]])
    >>> facula.conv_transpose1d(x, weight, stride=2)
    tensor([[ 1., 10.,  2., 20.]])
)");
  def_transposed(
      m, "conv_transpose2d", 2,
      R"(The transposed map of :func:`conv2d`: each input element adds a kernel to the output.

Shape:
    input ``(N, C, H, W)`` or ``(C, H, W)``, weight ``(C, C_out / groups, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, H_out, W_out)`` or ``(C_out, H_out, W_out)``.

Example:
    >>> x, weight = facula.ones(1, 3, 4, 4), facula.ones(3, 2, 2, 2)
    >>> facula.conv_transpose2d(x, weight, stride=2).shape
    torch.Size([1, 2, 8, 8])
)");
  def_transposed(
      m, "conv_transpose3d", 3,
      R"(The transposed map of :func:`conv3d`: each input element adds a kernel to the output.

Shape:
    input ``(N, C, D, H, W)`` or ``(C, D, H, W)``, weight ``(C, C_out / groups, KD, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, D_out, H_out, W_out)`` or ``(C_out, D_out, H_out, W_out)``.

Example:
    >>> x, weight = facula.ones(1, 1, 2, 2, 2), facula.ones(1, 1, 3, 3, 3)
    >>> facula.conv_transpose3d(x, weight).shape
    torch.Size([1, 1, 4, 4, 4])
)");
}

}  // namespace

FACULA_BINDINGS {
  bind_plain(m);
  bind_transposed(m);
  m.def(
      "convolution",
      [](const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
         const Dims& padding, const Dims& dilation, bool transposed, const Dims& output_padding,
         int64_t groups) {
        return convolution(
            "convolution", input, weight, bias,
            {stride, padding, dilation, groups, transposed, transposed ? output_padding : Dims{0}});
      },
      "input"_a, "weight"_a, "bias"_a.none(), "stride"_a, "padding"_a, "dilation"_a, "transposed"_a,
      "output_padding"_a, "groups"_a,
      R"(Any of the convolutions, by the dimensions of weight; input has a batch dimension.
    input: what is convolved, ``(N, C, *)``.
    weight: the kernels, ``(C_out, C / groups, *)``; transposed, ``(C, C_out / groups, *)``.
    bias: one number per output channel, or None.
    stride: the distances between windows, one per dimension.
    padding: how many zeros to add at both ends of each dimension.
    dilation: the distances between the elements of a window, one per dimension.
    transposed: whether the transposed map is meant.
    output_padding: elements to add at one end of the output of a transposed convolution.
    groups: the number of groups of channels; each output channel sees the inputs of its group only.
    >>> x, weight = facula.ones(1, 2, 5), facula.ones(3, 2, 3)
    >>> facula.convolution(x, weight, None, [1], [0], [1], False, [0], 1).shape
    torch.Size([1, 3, 3]))"_doc);
  m.def("conv_tbc", &conv_tbc, "input"_a, "weight"_a, "bias"_a, "pad"_a = 0,
        R"(Slides kernels along sequences whose first dimension is time.
    input: sequences.
    weight: kernels, whose last dimension is that of the output channels.
    bias: one number per output channel.
    pad: how many zeros to add at both ends.

Shape:
    input ``(T, N, C)``, weight ``(K, C, C_out)``, bias ``(C_out,)``; result
    ``(T + 2 * pad - K + 1, N, C_out)``.
    >>> facula.conv_tbc(facula.ones(5, 2, 3), facula.ones(3, 3, 4), facula.zeros(4)).shape
    torch.Size([3, 2, 4]))"_doc);
  m.def(
      "_conv_input",
      [](const std::string& op, const Dims& input_size, const Tensor& weight,
         const Tensor& grad_output, const Dims& stride, const Dims& padding, const Dims& dilation,
         int64_t groups) {
        return conv_gradient(op.c_str(), kInput, input_size, weight, grad_output,
                             {stride, padding, dilation, groups});
      },
      "op"_a, "input_size"_a, "weight"_a, "grad_output"_a, "stride"_a, "padding"_a, "dilation"_a,
      "groups"_a);
  m.def(
      "_conv_weight",
      [](const std::string& op, const Tensor& input, const Dims& weight_size,
         const Tensor& grad_output, const Dims& stride, const Dims& padding, const Dims& dilation,
         int64_t groups) {
        return conv_gradient(op.c_str(), kWeight, weight_size, input, grad_output,
                             {stride, padding, dilation, groups});
      },
      "op"_a, "input"_a, "weight_size"_a, "grad_output"_a, "stride"_a, "padding"_a, "dilation"_a,
      "groups"_a);
  m.def("_im2col", &im2col, "input"_a, "kernel_size"_a, "dilation"_a, "padding"_a, "stride"_a);
  m.def("_col2im", &col2im, "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a, "padding"_a,
        "stride"_a);
}

}  // namespace facula
