#include "products/conv_columns.h"

#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "products/matmul.h"
#include "products/tuning.h"

namespace facula::products {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -ceil_div(-a, b); }

template <class T>
void fill_channels(T* to, int64_t n_channels, int64_t n_pixels, const T* bias) {
  for (int64_t c = 0; c < n_channels; ++c) {
    std::fill(to + c * n_pixels, to + (c + 1) * n_pixels, bias ? bias[c] : T(0));
  }
}

// Calls run(column, n_before, n, from) for each stretch of one row of the windows, (channel, tap)
// number `row`, over the output pixels [begin, end): the stretch starts at `column` with n_before
// pixels of padding, then has n pixels of the image at offset `from`, and the rest is padding up to
// the start of the next stretch.
template <class Run>
void for_each_stretch(const ConvShape& s, int64_t row, int64_t begin, int64_t end, Run run) {
  int64_t tap = row % s.taps(), channel = row / s.taps();
  int64_t shift[3];
  for (int d = 2; d >= 0; --d) {
    shift[d] = tap % s.kernel[d] * s.dilation[d] - s.padding[d];
    tap /= s.kernel[d];
  }
  // Of a row of the output, the pixels in [first, last) are inside the image.
  int64_t first = std::clamp(-floor_div(shift[2], s.stride[2]), int64_t{0}, s.out[2]);
  int64_t last =
      std::clamp(ceil_div(std::max<int64_t>(s.in[2] - shift[2], 0), s.stride[2]), first, s.out[2]);
  for (int64_t p = begin; p < end;) {
    int64_t line = p / s.out[2], at = p % s.out[2], n = std::min(s.out[2] - at, end - p);
    int64_t h = line % s.out[1] * s.stride[1] + shift[1];
    int64_t d = line / s.out[1] * s.stride[0] + shift[0];
    bool is_inside = h >= 0 && h < s.in[1] && d >= 0 && d < s.in[0];
    int64_t from = std::clamp(first, at, at + n), to = std::clamp(last, from, at + n);
    int64_t offset = ((channel * s.in[0] + d) * s.in[1] + h) * s.in[2];
    if (is_inside && from < to) {
      run(p - begin, n, from - at, to - from, offset + from * s.stride[2] + shift[2]);
    } else {
      run(p - begin, n, 0, 0, 0);
    }
    p += n;
  }
}

// Rows [row_begin, row_end) of the windows over the pixels [begin, end), row-major.
template <class T>
void gather_windows(const ConvShape& s, const T* x, int64_t row_begin, int64_t row_end,
                    int64_t begin, int64_t end, T* columns, int64_t ld) {
  int64_t step = s.stride[2];
  for (int64_t row = row_begin; row < row_end; ++row) {
    T* to = columns + (row - row_begin) * ld;
    auto copy = [&](int64_t column, int64_t n, int64_t n_before, int64_t n_inside, int64_t from) {
      T* place = to + column;
      std::fill(place, place + n_before, T(0));
      place += n_before;
      if (step == 1) {
        std::copy(x + from, x + from + n_inside, place);
      } else {
        for (int64_t i = 0; i < n_inside; ++i) place[i] = x[from + i * step];
      }
      std::fill(place + n_inside, to + column + n, T(0));
    };
    for_each_stretch(s, row, begin, end, copy);
  }
}

// Adds them to the image.
template <class T>
void scatter_windows(const ConvShape& s, const T* columns, int64_t ld, int64_t row_begin,
                     int64_t row_end, int64_t begin, int64_t end, T* x) {
  int64_t step = s.stride[2];
  for (int64_t row = row_begin; row < row_end; ++row) {
    const T* from = columns + (row - row_begin) * ld;
    auto add = [&](int64_t column, int64_t, int64_t n_before, int64_t n_inside, int64_t to) {
      const T* values = from + column + n_before;
      for (int64_t i = 0; i < n_inside; ++i) {
        T& place = x[to + i * step];
        place = static_cast<T>(place + values[i]);
      }
    };
    for_each_stretch(s, row, begin, end, add);
  }
}

// Pixels of a block whose windows have n_rows rows.
int64_t block_of(int64_t n_rows, int64_t n_pixels) {
  return std::clamp(tuning::kColumnsNumel / std::max<int64_t>(n_rows, 1), tuning::kMinColumns,
                    std::max(n_pixels, tuning::kMinColumns));
}

}  // namespace

template <class T>
void columns_output(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  int64_t n_rows = s.weight_row(), n_pixels = s.out_pixels(), block = block_of(n_rows, n_pixels);
  int64_t n_blocks = ceil_div(n_pixels, block);
  parallel_for(s.n_batch * s.groups * n_blocks, 1, [&](int64_t first, int64_t last) {
    Scratch<T> columns(n_rows * block);
    for (int64_t task = first; task < last; ++task) {
      int64_t image = task / n_blocks, group = image % s.groups;
      int64_t begin = task % n_blocks * block, end = std::min(begin + block, n_pixels);
      gather_windows(s, x + image * s.in_channels * s.in_pixels(), 0, n_rows, begin, end,
                     columns.data(), end - begin);
      T* to = y + image * s.out_channels * n_pixels + begin;
      for (int64_t o = 0; bias && o < s.out_channels; ++o) {
        std::fill(to + o * n_pixels, to + o * n_pixels + end - begin,
                  bias[group * s.out_channels + o]);
      }
      Gemm<T> product;
      product.m = s.out_channels, product.n = end - begin, product.k = n_rows;
      product.a = w + group * s.out_channels * n_rows, product.lda = n_rows;
      product.b = columns.data(), product.ldb = end - begin;
      product.beta = bias ? T(1) : T(0);
      product.c = to, product.ldc = n_pixels;
      gemm(product);
    }
  });
}

template <class T>
void columns_input(const ConvShape& s, const T* w, const T* y, const T* bias, T* x) {
  int64_t n_images = s.n_batch * s.groups, n_pixels = s.out_pixels();
  // Channels, not pixels, are given to threads: the windows of neighbouring pixels share some of x.
  int64_t n_parts = std::min(s.in_channels, ceil_div(tuning::kMinTasks, n_images));
  int64_t channels = ceil_div(s.in_channels, n_parts);
  n_parts = ceil_div(s.in_channels, channels);
  // Not of the rows of a part: where a block ends, the order of sums changes, and the parts are
  // other ones for other numbers of images.
  int64_t block = block_of(s.weight_row(), n_pixels);
  parallel_for(n_images * n_parts, 1, [&](int64_t first, int64_t last) {
    Scratch<T> columns(channels * s.taps() * block);
    for (int64_t task = first; task < last; ++task) {
      int64_t image = task / n_parts, group = image % s.groups;
      int64_t channel = task % n_parts * channels;
      int64_t n_channels = std::min(channels, s.in_channels - channel);
      T* to = x + image * s.in_channels * s.in_pixels();
      fill_channels(to + channel * s.in_pixels(), n_channels, s.in_pixels(),
                    bias ? bias + group * s.in_channels + channel : nullptr);
      int64_t row = channel * s.taps(), n_rows = n_channels * s.taps();
      for (int64_t begin = 0; begin < n_pixels; begin += block) {
        int64_t n = std::min(block, n_pixels - begin);
        Gemm<T> product;
        product.trans_a = Trans::Yes;
        product.m = n_rows, product.n = n, product.k = s.out_channels;
        product.a = w + group * s.out_channels * s.weight_row() + row;
        product.lda = s.weight_row();
        product.b = y + image * s.out_channels * n_pixels + begin, product.ldb = n_pixels;
        product.c = columns.data(), product.ldc = n;
        gemm(product);
        scatter_windows(s, columns.data(), n, row, row + n_rows, begin, begin + n, to);
      }
    }
  });
}

template <class T>
void columns_weight(const ConvShape& s, const T* x, const T* y, T* w) {
  int64_t n_pixels = s.out_pixels();
  // Every task adds up all images for its columns of w, in their order.
  int64_t n_parts = std::min(s.weight_row(), ceil_div(tuning::kMinTasks, s.groups));
  int64_t rows = ceil_div(s.weight_row(), n_parts), block = block_of(rows, n_pixels);
  n_parts = ceil_div(s.weight_row(), rows);
  parallel_for(s.groups * n_parts, 1, [&](int64_t first, int64_t last) {
    Scratch<T> columns(rows * block);
    for (int64_t task = first; task < last; ++task) {
      int64_t group = task / n_parts, row = task % n_parts * rows;
      int64_t n_rows = std::min(rows, s.weight_row() - row);
      T* to = w + group * s.out_channels * s.weight_row() + row;
      for (int64_t n = 0; n < s.n_batch; ++n) {
        int64_t image = n * s.groups + group;
        for (int64_t begin = 0; begin < n_pixels; begin += block) {
          int64_t end = std::min(begin + block, n_pixels);
          gather_windows(s, x + image * s.in_channels * s.in_pixels(), row, row + n_rows, begin,
                         end, columns.data(), end - begin);
          Gemm<T> product;
          product.trans_b = Trans::Yes;
          product.m = s.out_channels, product.n = n_rows, product.k = end - begin;
          product.a = y + image * s.out_channels * n_pixels + begin, product.lda = n_pixels;
          product.b = columns.data(), product.ldb = end - begin;
          product.beta = n == 0 && begin == 0 ? T(0) : T(1);
          product.c = to, product.ldc = s.weight_row();
          gemm(product);
        }
      }
    }
  });
}

template <class T>
void im2col(const ConvShape& s, const T* x, T* columns) {
  int64_t n_pixels = s.out_pixels(), n_rows = s.weight_row();
  parallel_for(s.n_batch * n_rows, ceil_div(tuning::kCopyGrain, n_pixels),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   int64_t row = i % n_rows;
                   gather_windows(s, x + i / n_rows * s.in_channels * s.in_pixels(), row, row + 1,
                                  0, n_pixels, columns + i * n_pixels, n_pixels);
                 }
               });
}

template <class T>
void col2im(const ConvShape& s, const T* columns, T* x) {
  int64_t n_pixels = s.out_pixels(), taps = s.taps();
  int64_t grain = ceil_div(tuning::kCopyGrain, taps * n_pixels);
  parallel_for(s.n_batch * s.in_channels, grain, [&](int64_t begin, int64_t end) {
    fill_channels<T>(x + begin * s.in_pixels(), end - begin, s.in_pixels(), nullptr);
    for (int64_t i = begin; i < end; ++i) {
      scatter_windows(s, columns + i * taps * n_pixels, n_pixels, 0, taps, 0, n_pixels,
                      x + i * s.in_pixels());
    }
  });
}

#define FACULA_CONV(T)                                                              \
  template void columns_output(const ConvShape&, const T*, const T*, const T*, T*); \
  template void columns_input(const ConvShape&, const T*, const T*, const T*, T*);  \
  template void columns_weight(const ConvShape&, const T*, const T*, T*);
#define FACULA_COLUMNS(T)                               \
  template void im2col(const ConvShape&, const T*, T*); \
  template void col2im(const ConvShape&, const T*, T*);
FACULA_CONV(uint8_t)
FACULA_CONV(int8_t)
FACULA_CONV(int16_t)
FACULA_CONV(int32_t)
FACULA_CONV(int64_t)
FACULA_CONV(float)
FACULA_CONV(double)
FACULA_CONV(Complex64)
FACULA_CONV(Complex128)
FACULA_COLUMNS(bool)
FACULA_COLUMNS(Half)
FACULA_COLUMNS(BFloat16)
FACULA_COLUMNS(float)
FACULA_COLUMNS(double)
FACULA_COLUMNS(Complex64)
FACULA_COLUMNS(Complex128)
#undef FACULA_CONV
#undef FACULA_COLUMNS

}  // namespace facula::products
