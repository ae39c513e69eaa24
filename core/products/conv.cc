#include "products/conv.h"

#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/shape/copy.h"
#include "products/conv_columns.h"
#include "products/conv_kernels.h"
#include "products/matmul.h"
#include "products/plan.h"
#include "products/tuning.h"
#include "tensor/kept.h"

namespace facula::products {
namespace {

// ---- ConvWay::Pointwise

// to = w from for all images and groups, or with the transpose of w.
template <class T>
void multiply_images(const ConvShape& s, const T* w, Trans trans, const T* from, const T* bias,
                     T* to) {
  int64_t n_from = trans == Trans::No ? s.in_channels : s.out_channels;
  int64_t n_to = trans == Trans::No ? s.out_channels : s.in_channels, n_pixels = s.out_pixels();
  for (int64_t group = 0; group < s.groups; ++group) {
    Gemm<T> product;
    product.trans_a = trans;
    product.m = n_to, product.n = n_pixels, product.k = n_from;
    product.a = w + group * s.out_channels * s.in_channels, product.lda = s.in_channels;
    product.b = from + group * n_from * n_pixels, product.ldb = n_pixels;
    product.c = to + group * n_to * n_pixels, product.ldc = n_pixels;
    product.n_batch = s.n_batch;
    product.stride_b = s.groups * n_from * n_pixels;
    product.stride_c = s.groups * n_to * n_pixels;
    if (bias) product.bias = bias + group * n_to;
    gemm(product);
  }
}

// The same with the channels last: the pixels of all images are the rows of one product.
template <class T>
void multiply_rows(const ConvShape& s, const T* w, Trans trans, const T* from, const T* bias,
                   T* to) {
  int64_t n_from = trans == Trans::No ? s.in_channels : s.out_channels;
  int64_t n_to = trans == Trans::No ? s.out_channels : s.in_channels;
  int64_t n_rows = s.n_batch * s.out_pixels(), row = s.groups * n_to;
  if (bias) {
    parallel_for(n_rows, ceil_div(tuning::kFillGrain, row), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) std::copy(bias, bias + row, to + i * row);
    });
  }
  for (int64_t group = 0; group < s.groups; ++group) {
    Gemm<T> product;
    product.trans_b = trans == Trans::No ? Trans::Yes : Trans::No;
    product.m = n_rows, product.n = n_to, product.k = n_from;
    product.a = from + group * n_from, product.lda = s.groups * n_from;
    product.b = w + group * s.out_channels * s.in_channels, product.ldb = s.in_channels;
    product.c = to + group * n_to, product.ldc = row;
    product.beta = bias ? T(1) : T(0);
    gemm(product);
  }
}

// The gradient of w: the sum over images of the products of y and the transpose of x.
template <class T>
void multiply_pixels(const ConvShape& s, const T* x, const T* y, T* w) {
  for (int64_t image = 0; image < s.n_batch * s.groups; ++image) {
    Gemm<T> product;
    product.trans_b = Trans::Yes;
    product.m = s.out_channels, product.n = s.in_channels, product.k = s.out_pixels();
    product.a = y + image * s.out_channels * s.out_pixels(), product.lda = s.out_pixels();
    product.b = x + image * s.in_channels * s.out_pixels(), product.ldb = s.out_pixels();
    product.c = w + image % s.groups * s.out_channels * s.in_channels;
    product.ldc = s.in_channels;
    product.beta = image < s.groups ? T(0) : T(1);
    gemm(product);
  }
}

// ---- ConvWay::TakenPixels

ConvShape without_steps(ConvShape s) {
  s.in = s.out;
  s.stride = {1, 1, 1};
  return s;
}

int64_t numel_without_steps(const ConvShape& s) {
  return s.n_batch * s.groups * s.in_channels * s.out_pixels();
}

// f(channel) for the channels of all images.
template <class F>
void for_each_channel(const ConvShape& s, F f) {
  int64_t grain = ceil_div(tuning::kCopyGrain, s.in_pixels());
  parallel_for(s.n_batch * s.groups * s.in_channels, grain, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) f(channel);
  });
}

// How far apart the pixels of a channel that are taken lie: in the image, and put together.
struct PixelSteps {
  int64_t plane, row, pixel;
};
PixelSteps steps_in_image(const ConvShape& s) {
  return {s.stride[0] * s.in[1] * s.in[2], s.stride[1] * s.in[2], s.stride[2]};
}
PixelSteps steps_together(const ConvShape& s) { return {s.out[1] * s.out[2], s.out[2], 1}; }

template <class T>
void copy_pixels(const ConvShape& s, const T* from, PixelSteps from_steps, T* to,
                 PixelSteps to_steps) {
  auto copy = cpu::get_copy_table().by_size[__builtin_ctzll(sizeof(T))];
  constexpr int64_t size = sizeof(T);
  for (int64_t d = 0; d < s.out[0]; ++d) {
    copy({reinterpret_cast<char*>(to + d * to_steps.plane),
          reinterpret_cast<const char*>(from + d * from_steps.plane), s.out[2], s.out[1],
          to_steps.pixel * size, from_steps.pixel * size, to_steps.row * size,
          from_steps.row * size});
  }
}

// The pixels that are taken, put together.
template <class T>
struct TakenPixels : Scratch<T> {
  TakenPixels(const ConvShape& s, const T* x) : Scratch<T>(numel_without_steps(s)) {
    for_each_channel(s, [&](int64_t channel) {
      copy_pixels(s, x + channel * s.in_pixels(), steps_in_image(s),
                  this->data() + channel * s.out_pixels(), steps_together(s));
    });
  }
};

// The gradient of the input, from that of the pixels.
template <class T>
void spread_pixels(const ConvShape& s, const T* pixels, T* x) {
  for_each_channel(s, [&](int64_t channel) {
    T* image = x + channel * s.in_pixels();
    std::fill(image, image + s.in_pixels(), T(0));
    copy_pixels<T>(s, pixels + channel * s.out_pixels(), steps_together(s), image,
                   steps_in_image(s));
  });
}

// ---- ConvWay::Direct, Each, Winograd, Lines, Packed and Pairs

// The kernels of a way, which float, double and bfloat16 have.
template <class T>
cpu::ConvKernels<T> kernels_of(ConvWay way) {
  const cpu::ConvTable& table = way == ConvWay::Direct     ? cpu::get_direct_table()
                                : way == ConvWay::Each     ? cpu::get_each_table()
                                : way == ConvWay::Winograd ? cpu::get_winograd_table()
                                                           : cpu::get_packed_table();
  if constexpr (std::is_same_v<T, float>) return table.float32;
  if constexpr (std::is_same_v<T, double>) return table.float64;
  if constexpr (std::is_same_v<T, BFloat16>) return cpu::get_pairs_conv_table().bfloat16;
  return {};
}

// All that a packed weight depends on.
template <class T>
KeptKey key_of(ConvWay way, const cpu::WindowSum<T>& s, const Storage& keeper) {
  KeptKey key;
  size_t n = 0;
  auto add = [&](int64_t number) { key.numbers.at(n++) = number; };
  add(static_cast<int64_t>(way)), add(sizeof(T));
  add(reinterpret_cast<const char*>(s.w) - keeper.data());
  add(s.groups), add(s.n_rows), add(s.n_channels), add(s.w_row), add(s.w_channel);
  for (int64_t size : s.kernel) add(size);
  for (const cpu::Taps& taps : s.taps)
    add(taps.n), add(taps.first.index), add(taps.step.index), add(taps.step.shift < 0);
  return key;
}

// The weights as the kernels of a way read them, which may have been kept.
template <class T, class Kernels>
std::shared_ptr<const void> packed_weights(const Kernels& kernels, ConvWay way,
                                           const cpu::WindowSum<T>& s, Storage* keeper) {
  std::shared_ptr<const void> packed;
  KeptKey key;
  if (keeper) packed = find_kept(*keeper, key = key_of(way, s, *keeper));
  if (packed) return packed;
  uint32_t n_writes = keeper ? keeper->n_writes() : 0;
  int64_t numel = kernels.packed_numel(s);
  auto scratch = std::make_shared<Scratch<T>>(numel);
  kernels.pack(s, scratch->data());
  packed = std::shared_ptr<const void>(scratch, scratch->data());
  if (keeper) keep_form(*keeper, key, packed, numel * static_cast<int64_t>(sizeof(T)), n_writes);
  return packed;
}

// ConvWay::Lines
template <class T>
void sum_lines(const std::vector<WindowShape>& shapes, const cpu::WindowSum<T>& s,
               Storage* keeper) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    const cpu::LinesTable& table = cpu::get_lines_table();
    cpu::LineKernels<T> kernels;
    if constexpr (std::is_same_v<T, float>) kernels = table.float32;
    if constexpr (std::is_same_v<T, double>) kernels = table.float64;
    std::vector<cpu::WindowSum<T>> parts;
    std::vector<std::shared_ptr<const void>> packed;
    for (const WindowShape& shape : shapes) {
      parts.push_back({shape, s.x, s.w, s.bias, s.y});
      packed.push_back(packed_weights(kernels, ConvWay::Lines, parts.back(), keeper));
      parts.back().packed_w = static_cast<const T*>(packed.back().get());
    }
    kernels.sum(parts);
  }
}

template <class T>
void sum_windows(ConvWay way, cpu::WindowSum<T> s, Storage* keeper) {
  if (way == ConvWay::Lines) return sum_lines({s}, s, keeper);
  cpu::ConvKernels<T> kernels = kernels_of<T>(way);
  if (kernels.pack == nullptr) return kernels.sum(s);
  std::shared_ptr<const void> packed = packed_weights(kernels, way, s, keeper);
  s.packed_w = static_cast<const T*>(packed.get());
  kernels.sum(s);
}

template <class T>
void sum_parts_of_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x,
                        Storage* keeper) {
  std::vector<WindowShape> parts = cpu::windows_of_input(s);
  int64_t n_channels = s.groups * s.in_channels, plane = s.in_pixels(), n_met = 0;
  for (const WindowShape& part : parts) n_met += part.n_pixels();
  if (n_met < plane && s.has_channels_last) {
    parallel_for(s.n_batch * plane, ceil_div(tuning::kFillGrain, n_channels),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     for (int64_t c = 0; c < n_channels; ++c)
                       x[i * n_channels + c] = bias ? bias[c] : T(0);
                 });
  } else if (n_met < plane) {
    parallel_for(s.n_batch * n_channels, 1 + tuning::kFillGrain / plane, [&](int64_t a, int64_t b) {
      for (int64_t i = a; i < b; ++i)
        std::fill(x + i * plane, x + (i + 1) * plane, bias ? bias[i % n_channels] : T(0));
    });
  }
  for (const WindowShape& part : parts) {
    ConvWay way = plan_windows(part, DTypeOf<T>::value);
    sum_windows<T>(way, {part, y, w, bias, x}, keeper);
  }
}

}  // namespace

bool convolves_pairs(const ConvShape& s, int64_t n_channels, DType dtype) {
  return suits_pairs(s, n_channels, dtype, cpu::isa());
}

bool output_takes_channels_last(const ConvShape& s, DType dtype) {
  return suits_channels_last(s, {cpu::windows_of_output(s)}, dtype);
}
bool input_takes_channels_last(const ConvShape& s, DType dtype) {
  return suits_channels_last(s, cpu::windows_of_input(s), dtype);
}

template <class T>
void conv_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y, Storage* keeper) {
  ConvWay way = plan_output(s, DTypeOf<T>::value);
  switch (way) {
    case ConvWay::Pointwise:
      return (s.has_channels_last ? multiply_rows<T> : multiply_images<T>)(s, w, Trans::No, x, bias,
                                                                           y);
    case ConvWay::TakenPixels:
      return conv_output(without_steps(s), TakenPixels<T>(s, x).data(), w, bias, y, keeper);
    case ConvWay::Columns:
      if constexpr (!is_reduced_float_v<T>) columns_output(s, x, w, bias, y);
      return;
    default:  // Direct, Each, Winograd, Lines, Packed or Pairs
      return sum_windows<T>(way, {cpu::windows_of_output(s), x, w, bias, y}, keeper);
  }
}

template <class T>
void conv_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x, Storage* keeper) {
  switch (plan_input(s, bias != nullptr, DTypeOf<T>::value)) {
    case ConvWay::Pointwise:
      return (s.has_channels_last ? multiply_rows<T> : multiply_images<T>)(s, w, Trans::Yes, y,
                                                                           bias, x);
    case ConvWay::TakenPixels: {
      Scratch<T> pixels(numel_without_steps(s));
      conv_input<T>(without_steps(s), w, y, nullptr, pixels.data(), keeper);
      return spread_pixels(s, pixels.data(), x);
    }
    case ConvWay::Columns:
      if constexpr (!is_reduced_float_v<T>) columns_input(s, w, y, bias, x);
      return;
    case ConvWay::Lines: {
      std::vector<WindowShape> parts = cpu::windows_of_input(s);
      return sum_lines<T>(parts, {parts.at(0), y, w, bias, x}, keeper);
    }
    default:  // Windows
      return sum_parts_of_input(s, w, y, bias, x, keeper);
  }
}

template <class T>
void conv_weight(const ConvShape& s, const T* x, const T* y, T* w) {
  ConvWay way = plan_weight(s, DTypeOf<T>::value);
  switch (way) {
    case ConvWay::Pointwise:
      return multiply_pixels(s, x, y, w);
    case ConvWay::TakenPixels:
      return conv_weight(without_steps(s), TakenPixels<T>(s, x).data(), y, w);
    case ConvWay::Columns:
      if constexpr (!is_reduced_float_v<T>) columns_weight(s, x, y, w);
      return;
    default:  // Direct, Winograd, Packed or Pairs
      return kernels_of<T>(way).weight(s, x, y, w);
  }
}

#define FACULA_CONV(T)                                                                     \
  template void conv_output(const ConvShape&, const T*, const T*, const T*, T*, Storage*); \
  template void conv_input(const ConvShape&, const T*, const T*, const T*, T*, Storage*);  \
  template void conv_weight(const ConvShape&, const T*, const T*, T*);
FACULA_CONV(uint8_t)
FACULA_CONV(int8_t)
FACULA_CONV(int16_t)
FACULA_CONV(int32_t)
FACULA_CONV(int64_t)
FACULA_CONV(BFloat16)
FACULA_CONV(float)
FACULA_CONV(double)
FACULA_CONV(Complex64)
FACULA_CONV(Complex128)
#undef FACULA_CONV

}  // namespace facula::products
