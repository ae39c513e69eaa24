#include "ops/nn/conv.h"

#include "bind/bind.h"

namespace facula {

namespace {

using OptionalTensor = std::optional<Tensor>;

// padding= given by name.
ConvOptions padded_by_name(const char* op, const std::string& padding) {
  ConvOptions options;
  check(padding == "valid" || padding == "same", op,
        ": expected padding to be 'valid', 'same' or integers, got '", padding, "'.");
  options.pads_to_same = padding == "same";
  return options;
}

void def_conv(nb::module_& m, const char* name, int64_t n_spatial, const char* doc) {
  auto run = [name, n_spatial](const Tensor& input, const Tensor& weight,
                               const OptionalTensor& bias, const Dims& stride, const Dims& dilation,
                               int64_t groups, ConvOptions options) {
    options.stride = stride;
    options.dilation = dilation;
    options.groups = groups;
    return conv_nd(name, n_spatial, input, weight, bias.value_or(Tensor()), options);
  };
  m.def(
      name,
      [run](const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
            const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
        ConvOptions options;
        options.padding = padding;
        return run(input, weight, bias, stride, dilation, groups, options);
      },
      "input"_a, "weight"_a, "bias"_a.none() = nb::none(), "stride"_a = 1, "padding"_a = 0,
      "dilation"_a = 1, "groups"_a = 1, doc);
  m.def(
      name,
      [name, run](const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                  const Dims& stride, const std::string& padding, const Dims& dilation,
                  int64_t groups) {
        return run(input, weight, bias, stride, dilation, groups, padded_by_name(name, padding));
      },
      "input"_a, "weight"_a, "bias"_a.none() = nb::none(), "stride"_a = 1, "padding"_a = "valid",
      "dilation"_a = 1, "groups"_a = 1);
}

void def_transposed(nb::module_& m, const char* name, int64_t n_spatial, const char* doc) {
  m.def(
      name,
      [name, n_spatial](const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding,
                        int64_t groups, const Dims& dilation) {
        ConvOptions options{stride, padding, dilation, groups, true, output_padding};
        return conv_nd(name, n_spatial, input, weight, bias.value_or(Tensor()), options);
      },
      "input"_a, "weight"_a, "bias"_a.none() = nb::none(), "stride"_a = 1, "padding"_a = 0,
      "output_padding"_a = 0, "groups"_a = 1, "dilation"_a = 1, doc);
}

}  // namespace

FACULA_BINDINGS {
  def_conv(m, "conv1d", 1, R"(Slides kernels along sequences: sums of products with every window.

Args:
    input: sequences.
    weight: one kernel per output channel.
    bias: one number per output channel, added to its outputs.
    stride: steps between windows.
    padding: zeros at both ends; or ``"same"``, as many as keep the length, or ``"valid"``, none.
    dilation: steps between the elements of a window.
    groups: number of groups of channels; each output channel sees the inputs of its group only.

Shape:
    input ``(N, C, L)`` or ``(C, L)``, weight ``(C_out, C / groups, K)``, bias ``(C_out,)``;
    result ``(N, C_out, L_out)`` or ``(C_out, L_out)`` with
    ``L_out = (L + 2 * padding - dilation * (K - 1) - 1) // stride + 1``.

Example:
    >>> facula.conv1d(facula.tensor([[1.0, 2.0, 4.0]]), facula.tensor([[[-1.0, 1.0]]]))
    tensor([[1., 2.]])
)");
  def_conv(m, "conv2d", 2, R"(Slides kernels over images: sums of products with every window.

Arguments as in :func:`conv1d`, one number or a pair.

Shape:
    input ``(N, C, H, W)`` or ``(C, H, W)``, weight ``(C_out, C / groups, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, H_out, W_out)`` or ``(C_out, H_out, W_out)``.

Example:
    >>> facula.conv2d(facula.ones(1, 3, 8, 8), facula.ones(4, 3, 3, 3), padding=1).shape
    torch.Size([1, 4, 8, 8])
)");
  def_conv(m, "conv3d", 3, R"(Slides kernels over volumes: sums of products with every window.

Arguments as in :func:`conv1d`, one number or three.

Shape:
    input ``(N, C, D, H, W)`` or ``(C, D, H, W)``, weight ``(C_out, C / groups, KD, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, D_out, H_out, W_out)``, or the same without ``N``.

Example:
    >>> facula.conv3d(facula.ones(1, 1, 4, 4, 4), facula.ones(2, 1, 3, 3, 3)).shape
    torch.Size([1, 2, 2, 2, 2])
)");
  def_transposed(
      m, "conv_transpose1d", 1,
      R"(The transposed map of :func:`conv1d`: each input element adds a kernel to the output.

Args:
    input: sequences.
    weight: one row of kernels per input channel.
    bias: one number per output channel, added to its outputs.
    stride: steps between the kernels in the output.
    padding: elements to leave out at both ends of the output.
    output_padding: elements to add at one end of the output.
    groups: number of groups of channels; each output channel sees the inputs of its group only.
    dilation: steps between the elements of a kernel.

Shape:
    input ``(N, C, L)`` or ``(C, L)``, weight ``(C, C_out / groups, K)``, bias ``(C_out,)``; result
    ``(N, C_out, L_out)`` or ``(C_out, L_out)`` with
    ``L_out = (L - 1) * stride - 2 * padding + dilation * (K - 1) + output_padding + 1``.

Example:
    >>> x, weight = facula.tensor([[1.0, 2.0]]), facula.tensor([[[1.0, 10.0]]])
    >>> facula.conv_transpose1d(x, weight, stride=2)
    tensor([[ 1., 10.,  2., 20.]])
)");
  def_transposed(m, "conv_transpose2d", 2, R"(The transposed map of :func:`conv2d`.

Arguments as in :func:`conv_transpose1d`, one number or a pair.

Shape:
    input ``(N, C, H, W)`` or ``(C, H, W)``, weight ``(C, C_out / groups, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, H_out, W_out)`` or ``(C_out, H_out, W_out)``.

Example:
    >>> x, weight = facula.ones(1, 3, 4, 4), facula.ones(3, 2, 2, 2)
    >>> facula.conv_transpose2d(x, weight, stride=2).shape
    torch.Size([1, 2, 8, 8])
)");
  def_transposed(m, "conv_transpose3d", 3, R"(The transposed map of :func:`conv3d`.

Arguments as in :func:`conv_transpose1d`, one number or three.

Shape:
    input ``(N, C, D, H, W)`` or ``(C, D, H, W)``, weight ``(C, C_out / groups, KD, KH, KW)``, bias
    ``(C_out,)``; result ``(N, C_out, D_out, H_out, W_out)``, or the same without ``N``.

Example:
    >>> x, weight = facula.ones(1, 1, 2, 2, 2), facula.ones(1, 1, 3, 3, 3)
    >>> facula.conv_transpose3d(x, weight).shape
    torch.Size([1, 1, 4, 4, 4])
)");
  m.def(
      "convolution",
      [](const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
         const Dims& padding, const Dims& dilation, bool transposed, const Dims& output_padding,
         int64_t groups) {
        ConvOptions options{stride, padding, dilation, groups, transposed, output_padding};
        if (!transposed) options.output_padding = {0};
        return convolution("convolution", input, weight, bias.value_or(Tensor()), options);
      },
      "input"_a, "weight"_a, "bias"_a.none(), "stride"_a, "padding"_a, "dilation"_a, "transposed"_a,
      "output_padding"_a, "groups"_a,
      R"(Any of the convolutions, by the dimensions of weight; input has a batch dimension.

Example:
    >>> x, weight = facula.ones(1, 2, 5), facula.ones(3, 2, 3)
    >>> facula.convolution(x, weight, None, [1], [0], [1], False, [0], 1).shape
    torch.Size([1, 3, 3])
)");
  m.def("conv_tbc", &conv_tbc, "input"_a, "weight"_a, "bias"_a, "pad"_a = 0,
        R"(Slides kernels along sequences whose first dimension is time.

Shape:
    input ``(T, N, C)``, weight ``(K, C, C_out)``, bias ``(C_out,)``; result
    ``(T + 2 * pad - K + 1, N, C_out)``.

Example:
    >>> facula.conv_tbc(facula.ones(5, 2, 3), facula.ones(3, 3, 4), facula.zeros(4)).shape
    torch.Size([3, 2, 4])
)");
  m.def("_im2col", &im2col, "input"_a, "kernel_size"_a, "dilation"_a, "padding"_a, "stride"_a);
  m.def("_col2im", &col2im, "input"_a, "output_size"_a, "kernel_size"_a, "dilation"_a, "padding"_a,
        "stride"_a);
}

}  // namespace facula
