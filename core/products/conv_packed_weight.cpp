// Note [Gradient of the weight as a product]
// w[o, r] = sum over pixels q of y[o, q] * window[r, q], where r counts channels and taps. The
// windows are A: along a line of pixels a row of them is a line of the image, so it is read from a
// copy of the image's lines with padding, which is much smaller than the windows. Every number of
// it meets a vector of output channels, B: y turned over, packed a slice of pixels at a time. Rows
// of one line of taps are together: the lines of pixels that it meets outside of the image are left
// out. The sums, rows by output channels, are turned over at the end. Tasks have some rows and,
// where these are few, a part of the pixels, whose sums are added in order.
#include "products/conv_kernels.h"

#include "base/parallel.h"
#include "base/scratch.h"
#include "products/pack_panels.h"
#include "products/padded_line.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// How lines of pixels are cut: into segments, of which some are a slice. Those of one plane of an
// image are a band, whose windows share lines.
struct Cut {
  WeightSegments segments;
  int64_t n_segments, n_slices;
  int64_t tap_lines;  // of the kernel
  int64_t sub;        // channels whose lines are copied at a time
  int64_t channels;   // of a task
  int64_t chunks, parts;
};

Cut cut_of(const ConvShape& s, int64_t padded_outputs) {
  Cut cut;
  cut.segments = weight_segments_of(s);
  cut.tap_lines = s.kernel[0] * s.kernel[1];
  cut.n_segments = s.n_batch * s.out[0] * s.out[1] * cut.segments.n;
  cut.n_slices = ceil_div(cut.n_segments, cut.segments.of_slice);
  int64_t rows = std::max(tuning::kWeightRows, tuning::kWeightSums / padded_outputs);
  cut.chunks = ceil_div(s.in_channels, std::max<int64_t>(1, rows / s.taps()));
  cut.channels = ceil_div(s.in_channels, cut.chunks);
  cut.chunks = ceil_div(s.in_channels, cut.channels);
  cut.sub =
      std::clamp<int64_t>(tuning::kMaxCopiedNumel / cut.segments.channel_numel, 1, cut.channels);
  cut.parts = std::min(cut.n_slices, ceil_div(tuning::kMinTasks, s.groups * cut.chunks));
  return cut;
}

struct Segment {
  int64_t image, d, h, first, n;
  int64_t band, line;  // where its lines are copied to
  int64_t pixel;       // its first, in the slice
};

// The segments of a slice.
std::vector<Segment> segments_of(const ConvShape& s, const Cut& cut, int64_t slice) {
  std::vector<Segment> segments;
  int64_t begin = slice * cut.segments.of_slice, pixel = 0, band = 0;
  for (int64_t i = begin; i < std::min(begin + cut.segments.of_slice, cut.n_segments); ++i) {
    int64_t line = i / cut.segments.n, first = i % cut.segments.n * cut.segments.pixels;
    int64_t h = line % s.out[1], plane = line / s.out[1];
    if (i > begin && h == 0 && first == 0) ++band;
    int64_t band_h = segments.empty() || segments.back().band != band
                         ? h
                         : segments.back().h - segments.back().line / s.stride[1];
    int64_t n = std::min(cut.segments.pixels, s.out[2] - first);
    segments.push_back(
        {plane / s.out[0], plane % s.out[0], h, first, n, band, (h - band_h) * s.stride[1], pixel});
    pixel += n;
  }
  return segments;
}

// The lines of `n_channels` channels that the windows of these segments reach over: (channel, band,
// tap of depth, line, span). Those outside of the image are not copied, as they are not read.
template <class T>
void copy_lines(const ConvShape& s, const Cut& cut, const T* x, int64_t group, int64_t channel,
                int64_t n_channels, const std::vector<Segment>& segments, T* to) {
  int64_t span = cut.segments.span, height = cut.segments.height;
  int64_t reach = (s.kernel[1] - 1) * s.dilation[1];
  for (int64_t c = 0; c < n_channels; ++c, to += cut.segments.channel_numel) {
    for (size_t i = 0; i < segments.size();) {
      const Segment& first = segments[i];
      for (; i < segments.size() && segments[i].band == first.band; ++i) continue;
      int64_t n_lines = segments[i - 1].line + reach + 1;
      int64_t w = first.first * s.stride[2] - s.padding[2];
      int64_t first_h = first.h * s.stride[1] - s.padding[1];
      const T* plane =
          x + ((first.image * s.groups + group) * s.in_channels + channel + c) * s.in_pixels();
      for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
        int64_t d = first.d * s.stride[0] - s.padding[0] + kd * s.dilation[0];
        if (d < 0 || d >= s.in[0]) continue;
        T* band = to + (first.band * s.kernel[0] + kd) * height * span;
        for (int64_t j = std::max<int64_t>(0, -first_h); j < std::min(n_lines, s.in[1] - first_h);
             ++j)
          copy_padded_line(plane + (d * s.in[1] + first_h + j) * s.in[2], s.in[2], w, 1, span,
                           band + j * span);
      }
    }
  }
}

// A segment that a line of taps meets inside of the image: its place in the copied lines of a
// channel, its first pixel and their number.
struct Stretch {
  int64_t from, pixel, n;
};

std::vector<Stretch> stretches_of(const ConvShape& s, const Cut& cut, int64_t kd, int64_t kh,
                                  const std::vector<Segment>& segments) {
  std::vector<Stretch> stretches;
  for (const Segment& segment : segments) {
    int64_t d = segment.d * s.stride[0] - s.padding[0] + kd * s.dilation[0];
    int64_t h = segment.h * s.stride[1] - s.padding[1] + kh * s.dilation[1];
    if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) continue;
    int64_t line =
        (segment.band * s.kernel[0] + kd) * cut.segments.height + segment.line + kh * s.dilation[1];
    stretches.push_back({line * cut.segments.span, segment.pixel, segment.n});
  }
  return stretches;
}

// kM rows of windows times kN vectors of output channels, added to c.
template <int kM, int kN, class T>
void multiply_lines(const T* lines, const int64_t* offsets, const std::vector<Stretch>& stretches,
                    int64_t step, const T* outputs, T* c, int64_t ldc) {
  using V = Vec<T>;
  constexpr int64_t v = kVector<T>;
  const T* rows[kM];
  V sums[kM][kN];
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
    rows[i] = lines + offsets[i];
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) sums[i][j] = V(T(0));
  }
  for (const Stretch& stretch : stretches) {
    const T* b = outputs + stretch.pixel * kN * v;
    int64_t last = stretch.from + stretch.n * step;
    for (int64_t at = stretch.from; at != last; at += step) {
      V columns[kN];
#pragma GCC unroll 3
      for (int j = 0; j < kN; ++j) {
        columns[j] = V::load(b + j * v);
        __builtin_prefetch(b + (tuning::kStepsAhead * kN + j) * v);
      }
#pragma GCC unroll 8
      for (int i = 0; i < kM; ++i) {
        V x(rows[i][at]);
#pragma GCC unroll 3
        for (int j = 0; j < kN; ++j) sums[i][j] = fma(x, columns[j], sums[i][j]);
      }
      b += kN * v;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kM; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < kN; ++j) {
      T* place = c + i * ldc + j * v;
      (V::load(place) + sums[i][j]).store(place);
    }
  }
}

template <class T>
using MultiplyLines = void (*)(const T*, const int64_t*, const std::vector<Stretch>&, int64_t,
                               const T*, T*, int64_t);
template <class T, int... I>
constexpr std::array<MultiplyLines<T>, sizeof...(I)> multiply_lines_by_size(
    std::integer_sequence<int, I...>) {
  return {multiply_lines<I / kColVectors + 1, I % kColVectors + 1, T>...};
}

// The vectors of output channels, cut evenly into panels.
struct Panels {
  int64_t n_vectors, n_panels;
  explicit Panels(int64_t n) : n_vectors(n), n_panels(ceil_div(n, kColVectors)) {}
  int64_t begin(int64_t i) const { return n_vectors * i / n_panels; }
  int64_t size(int64_t i) const { return begin(i + 1) - begin(i); }
};

// y of the segments, turned over: panel by panel, (pixel, output channel).
template <class T>
void pack_outputs(const ConvShape& s, const T* y, int64_t group, const Panels& panels,
                  const std::vector<Segment>& segments, int64_t n_pixels, T* to) {
  constexpr int64_t v = kVector<T>;
  int64_t done = 0;
  for (size_t i = 0; i < segments.size();) {
    // Segments of one image that follow each other are one stretch of pixels.
    const Segment& first = segments[i];
    int64_t n = 0;
    for (; i < segments.size() && segments[i].image == first.image; ++i) n += segments[i].n;
    int64_t pixel = (first.d * s.out[1] + first.h) * s.out[2] + first.first;
    const T* from = y + (first.image * s.groups + group) * s.out_channels * s.out_pixels() + pixel;
    for (int64_t j = 0; j < panels.n_panels; ++j) {
      int64_t channel = panels.begin(j) * v, width = panels.size(j) * v;
      pack_transposed<T>({from + channel * s.out_pixels(), s.out_pixels(), 1},
                         std::min(width, s.out_channels - channel), width, n,
                         to + channel * n_pixels + done * width);
    }
    done += n;
  }
}

// Adds the products over the slices [first, last) to c: rows (line of taps, channel, tap) by padded
// output channels.
template <class T>
void sum_slices(const ConvShape& s, const Cut& cut, const T* x, const T* y, int64_t group,
                int64_t channel, int64_t n_channels, int64_t first, int64_t last, T* c) {
  constexpr int64_t v = kVector<T>;
  static constexpr auto kernels =
      multiply_lines_by_size<T>(std::make_integer_sequence<int, kRows * kColVectors>());
  Panels panels(ceil_div(s.out_channels, v));
  int64_t ldc = panels.n_vectors * v, columns = s.kernel[2];
  Scratch<T> outputs(cut.segments.of_slice * cut.segments.pixels * ldc);
  Scratch<T> lines(cut.sub * cut.segments.channel_numel + v);
  Scratch<int64_t> offsets(cut.sub * columns);
  for (int64_t r = 0; r < cut.sub * columns; ++r)
    offsets.data()[r] = r / columns * cut.segments.channel_numel + r % columns * s.dilation[2];
  for (int64_t slice = first; slice < last; ++slice) {
    std::vector<Segment> segments = segments_of(s, cut, slice);
    int64_t n_pixels = segments.back().pixel + segments.back().n;
    pack_outputs(s, y, group, panels, segments, n_pixels, outputs.data());
    for (int64_t sub = 0; sub < n_channels; sub += cut.sub) {
      int64_t n_rows = std::min(cut.sub, n_channels - sub) * columns;
      int64_t n_tiles = ceil_div(n_rows, kRows);
      copy_lines(s, cut, x, group, channel + sub, n_rows / columns, segments, lines.data());
      for (int64_t l = 0; l < cut.tap_lines; ++l) {
        auto stretches = stretches_of(s, cut, l / s.kernel[1], l % s.kernel[1], segments);
        T* rows = c + (l * n_channels + sub) * columns * ldc;
        for (int64_t i = 0; i < n_tiles; ++i) {
          int64_t r = n_rows * i / n_tiles, n = n_rows * (i + 1) / n_tiles - r;
          for (int64_t j = 0; j < panels.n_panels; ++j) {
            auto multiply = kernels[(n - 1) * kColVectors + panels.size(j) - 1];
            multiply(lines.data(), offsets.data() + r, stretches, s.stride[2],
                     outputs.data() + panels.begin(j) * v * n_pixels,
                     rows + r * ldc + panels.begin(j) * v, ldc);
          }
        }
      }
    }
  }
}

// w[o] of n_channels channels from the parts of their sums, which lie part_stride apart.
template <class T>
void store_sums(const ConvShape& s, const T* sums, int64_t ldc, int64_t n_parts,
                int64_t part_stride, int64_t n_channels, T* w) {
  constexpr int64_t v = kVector<T>;
  int64_t n_rows = n_channels * s.taps(), columns = s.kernel[2];
  auto row_of = [&](int64_t r) {  // from the order of w to that of the sums
    int64_t channel = r / s.taps(), line = r % s.taps() / columns;
    return (line * n_channels + channel) * columns + r % columns;
  };
  // Along the rows of w: every other order would touch a page for each of its cache lines.
  for (int64_t o = 0; o < s.out_channels; o += v) {
    for (int64_t r = 0; r < n_rows; r += v) {
      int64_t n_r = std::min(v, n_rows - r), n_o = std::min(v, s.out_channels - o);
      Vec<T> square[v];
      for (int64_t i = 0; i < v; ++i) {
        const T* from = sums + row_of(r + std::min(i, n_r - 1)) * ldc + o;
        square[i] = Vec<T>::load(from);
        for (int64_t p = 1; p < n_parts; ++p) square[i] += Vec<T>::load(from + p * part_stride);
      }
      transpose(square);
      for (int64_t i = 0; i < n_o; ++i)
        store_first(w + (o + i) * s.weight_row() + r, static_cast<int>(n_r), square[i]);
    }
  }
}

}  // namespace

template <class T>
void packed_weight(const ConvShape& s, const T* x, const T* y, T* w) {
  int64_t ldc = ceil_div(s.out_channels, kVector<T>) * kVector<T>, n_rows = s.weight_row();
  Cut cut = cut_of(s, ldc);
  int64_t part_stride = s.groups * n_rows * ldc;
  auto w_at = [&](int64_t group, int64_t channel) {
    return w + group * s.out_channels * n_rows + channel * s.taps();
  };
  Scratch<T> partial(cut.parts > 1 ? cut.parts * part_stride : 0);
  parallel_for(s.groups * cut.chunks * cut.parts, 1, [&](int64_t begin, int64_t end) {
    Scratch<T> own(cut.parts > 1 ? 0 : cut.channels * s.taps() * ldc);
    for (int64_t task = begin; task < end; ++task) {
      int64_t part = task % cut.parts, chunk = task / cut.parts % cut.chunks;
      int64_t group = task / cut.parts / cut.chunks, channel = chunk * cut.channels;
      int64_t n_channels = std::min(cut.channels, s.in_channels - channel);
      T* c = own.data();
      if (cut.parts > 1)
        c = partial.data() + part * part_stride + (group * n_rows + channel * s.taps()) * ldc;
      std::fill(c, c + n_channels * s.taps() * ldc, T(0));
      sum_slices(s, cut, x, y, group, channel, n_channels, cut.n_slices * part / cut.parts,
                 cut.n_slices * (part + 1) / cut.parts, c);
      if (cut.parts == 1) store_sums(s, c, ldc, 1, 0, n_channels, w_at(group, channel));
    }
  });
  if (cut.parts == 1) return;
  parallel_for(s.groups * cut.chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t group = task / cut.chunks, channel = task % cut.chunks * cut.channels;
      int64_t n_channels = std::min(cut.channels, s.in_channels - channel);
      store_sums(s, partial.data() + (group * n_rows + channel * s.taps()) * ldc, ldc, cut.parts,
                 part_stride, n_channels, w_at(group, channel));
    }
  });
}

template void packed_weight(const ConvShape&, const float*, const float*, float*);
template void packed_weight(const ConvShape&, const double*, const double*, double*);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
