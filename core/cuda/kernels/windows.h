// Windows of images as columns, and back.
#pragma once
#include "cuda/kernels/shape.h"

namespace facula {

// Along one dimension of the images.
struct WindowAxis {
  int64_t in, out, kernel, stride, padding, dilation;
};

// Images (n_images, height, width), contiguous; columns (n_images, taps of a window, windows).
struct WindowArguments {
  const char* from;
  char* to;
  int64_t numel;  // of `to`
  WindowAxis y, x;
};

#ifdef __CUDACC_RTC__

template <class T>
FACULA_FN void take_windows(const WindowArguments& a) {
  int64_t i = thread_number(), out_x, out_y, tap_x, tap_y;
  if (i >= a.numel) return;
  int64_t rest = divide(divide(i, a.x.out, out_x), a.y.out, out_y);
  int64_t image = divide(divide(rest, a.x.kernel, tap_x), a.y.kernel, tap_y);
  int64_t y = out_y * a.y.stride - a.y.padding + tap_y * a.y.dilation;
  int64_t x = out_x * a.x.stride - a.x.padding + tap_x * a.x.dilation;
  T value{};
  if (y >= 0 && y < a.y.in && x >= 0 && x < a.x.in)
    value = reinterpret_cast<const T*>(a.from)[(image * a.y.in + y) * a.x.in + x];
  reinterpret_cast<T*>(a.to)[i] = value;
}

// The window that has this pixel under this tap, or -1.
FACULA_FN int64_t window_at(const WindowAxis& axis, int64_t pixel, int64_t tap) {
  int64_t at = pixel + axis.padding - tap * axis.dilation, rest;
  if (at < 0) return -1;
  int64_t window = divide(at, axis.stride, rest);
  return rest == 0 && window < axis.out ? window : -1;
}

// A pixel sums what its windows have for it, tap by tap: the same bits in every run.
template <class T>
FACULA_FN void add_windows(const WindowArguments& a) {
  int64_t i = thread_number(), x, y;
  if (i >= a.numel) return;
  int64_t image = divide(divide(i, a.x.in, x), a.y.in, y);
  Wide<T> total{};
  for (int64_t tap_y = 0; tap_y < a.y.kernel; ++tap_y) {
    int64_t out_y = window_at(a.y, y, tap_y);
    if (out_y < 0) continue;
    for (int64_t tap_x = 0; tap_x < a.x.kernel; ++tap_x) {
      int64_t out_x = window_at(a.x, x, tap_x);
      if (out_x < 0) continue;
      int64_t tap = (image * a.y.kernel + tap_y) * a.x.kernel + tap_x;
      Wide<T> value = reinterpret_cast<const T*>(a.from)[(tap * a.y.out + out_y) * a.x.out + out_x];
      total = total + value;
    }
  }
  reinterpret_cast<T*>(a.to)[i] = T(total);
}

#endif

}  // namespace facula
