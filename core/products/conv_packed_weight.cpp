// Note [Gradient of the weight as a product]
// w[o, r] = sum over pixels q of y[o, q] * window[r, q], where r counts channels and taps. The
// windows are A: along a line of pixels a row of them is a line of the image, so it is read from a
// copy of the image's lines with padding, which is much smaller than the windows. Every number of
// it meets a vector of output channels, B: y turned over, packed a slice of pixels at a time. The
// sums, rows by output channels, are turned over at the end. Tasks have some rows and, where these
// are few, a part of the pixels, whose sums are added in order.
#include "products/conv_kernels.h"

#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/vec_lanes.h"
#include "products/pack_panels.h"
#include "products/tuning.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// How lines of pixels are cut: into segments of up to segment_pixels, of which some are a slice.
struct Cut {
  int64_t line_segments, segment_pixels, slice_segments, n_segments, n_slices;
  int64_t span;      // numbers of a line of the image that a segment's windows reach over
  int64_t lines;     // of the image, for each channel and segment: one per tap of the other dims
  int64_t sub;       // channels whose lines are copied at a time
  int64_t channels;  // of a task
  int64_t chunks, parts;
};

Cut cut_of(const ConvShape& s) {
  Cut cut;
  WeightSegments segments = weight_segments_of(s);
  cut.line_segments = segments.n, cut.segment_pixels = segments.pixels, cut.span = segments.span;
  cut.lines = s.kernel[0] * s.kernel[1];
  int64_t most = tuning::kMaxCopiedNumel / cut.span / cut.lines;  // segments, at least one
  cut.slice_segments =
      std::min(most, std::max<int64_t>(1, tuning::kSlicePixels / cut.segment_pixels));
  cut.n_segments = s.n_batch * s.out[0] * s.out[1] * cut.line_segments;
  cut.n_slices = ceil_div(cut.n_segments, cut.slice_segments);
  cut.channels = std::clamp<int64_t>(tuning::kWeightRows / s.taps(), 1, s.in_channels);
  cut.sub = std::clamp<int64_t>(most / cut.slice_segments, 1, cut.channels);
  cut.chunks = ceil_div(s.in_channels, cut.channels);
  cut.parts = std::min(cut.n_slices, ceil_div(tuning::kMinTasks, s.groups * cut.chunks));
  return cut;
}

struct Segment {
  int64_t image, d, h, first, n;
};

Segment segment_at(const ConvShape& s, const Cut& cut, int64_t index) {
  int64_t line = index / cut.line_segments;
  int64_t first = index % cut.line_segments * cut.segment_pixels;
  int64_t h = line % s.out[1], plane = line / s.out[1];
  return {plane / s.out[0], plane % s.out[0], h, first,
          std::min(cut.segment_pixels, s.out[2] - first)};
}

uint32_t lanes_between(int64_t first, int64_t last, int64_t n_lanes) {
  int64_t a = std::clamp(first, int64_t{0}, n_lanes), b = std::clamp(last, a, n_lanes);
  return static_cast<uint32_t>((uint64_t{1} << b) - (uint64_t{1} << a));
}

// The lines of `n_channels` channels that the windows of these segments reach over:
// (segment, channel, tap of depth, tap of height, span). Vectors are stored whole: what is too much
// is overwritten by the next line.
template <class T>
void copy_lines(const ConvShape& s, const Cut& cut, const T* x, int64_t group, int64_t channel,
                int64_t n_channels, const std::vector<Segment>& segments, T* to) {
  constexpr int64_t v = kVector<T>;
  for (const Segment& segment : segments) {
    int64_t w = segment.first * s.stride[2] - s.padding[2];
    for (int64_t c = 0; c < n_channels; ++c) {
      const T* plane =
          x + ((segment.image * s.groups + group) * s.in_channels + channel + c) * s.in_pixels();
      for (int64_t kd = 0; kd < s.kernel[0]; ++kd) {
        int64_t d = segment.d * s.stride[0] - s.padding[0] + kd * s.dilation[0];
        for (int64_t kh = 0; kh < s.kernel[1]; ++kh, to += cut.span) {
          int64_t h = segment.h * s.stride[1] - s.padding[1] + kh * s.dilation[1];
          bool is_inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
          const T* line = plane + (is_inside ? (d * s.in[1] + h) * s.in[2] + w : 0);
          for (int64_t i = 0; i < cut.span; i += v) {
            uint32_t mask = is_inside ? lanes_between(-w - i, s.in[2] - w - i, v) : 0;
            load_masked(mask ? line + i : plane, mask).store(to + i);
          }
        }
      }
    }
  }
}

// kM rows of windows times kN vectors of output channels, added to c.
template <int kM, int kN, class T>
void multiply_lines(const T* lines, const int64_t* offsets, const std::vector<Segment>& segments,
                    int64_t segment_stride, int64_t step, const T* b, T* c, int64_t ldc) {
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
  int64_t start = 0;
  for (const Segment& segment : segments) {
    int64_t last = start + segment.n * step;
    for (int64_t at = start; at != last; at += step) {
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
    start += segment_stride;
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
using MultiplyLines = void (*)(const T*, const int64_t*, const std::vector<Segment>&, int64_t,
                               int64_t, const T*, T*, int64_t);
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

// Adds the products over the slices [first, last) to c: rows of n_channels channels, by padded
// output channels.
template <class T>
void sum_slices(const ConvShape& s, const Cut& cut, const T* x, const T* y, int64_t group,
                int64_t channel, int64_t n_channels, int64_t first, int64_t last, T* c) {
  constexpr int64_t v = kVector<T>;
  static constexpr auto kernels =
      multiply_lines_by_size<T>(std::make_integer_sequence<int, kRows * kColVectors>());
  Panels panels(ceil_div(s.out_channels, v));
  int64_t ldc = panels.n_vectors * v, taps = s.taps(), channel_lines = cut.lines * cut.span;
  Scratch<T> outputs(cut.slice_segments * cut.segment_pixels * ldc);
  Scratch<T> lines(cut.slice_segments * cut.sub * channel_lines + v);
  Scratch<int64_t> offsets(cut.sub * taps);
  for (int64_t r = 0; r < cut.sub * taps; ++r)
    offsets.data()[r] = r / s.kernel[2] * cut.span + r % s.kernel[2] * s.dilation[2];
  std::vector<Segment> segments;
  for (int64_t slice = first; slice < last; ++slice) {
    segments.clear();
    int64_t begin = slice * cut.slice_segments, n_pixels = 0;
    for (int64_t i = begin; i < std::min(begin + cut.slice_segments, cut.n_segments); ++i) {
      segments.push_back(segment_at(s, cut, i));
      n_pixels += segments.back().n;
    }
    pack_outputs(s, y, group, panels, segments, n_pixels, outputs.data());
    for (int64_t sub = 0; sub < n_channels; sub += cut.sub) {
      int64_t n_sub = std::min(cut.sub, n_channels - sub);
      copy_lines(s, cut, x, group, channel + sub, n_sub, segments, lines.data());
      for (int64_t r = 0; r < n_sub * taps; r += kRows) {
        int64_t n_rows = std::min(kRows, n_sub * taps - r);
        for (int64_t j = 0; j < panels.n_panels; ++j) {
          auto multiply = kernels[(n_rows - 1) * kColVectors + panels.size(j) - 1];
          multiply(lines.data(), offsets.data() + r, segments, n_sub * channel_lines, s.stride[2],
                   outputs.data() + panels.begin(j) * v * n_pixels,
                   c + (sub * taps + r) * ldc + panels.begin(j) * v, ldc);
        }
      }
    }
  }
}

// w[o, r] for n_rows rows from the parts of their sums, which lie part_stride apart.
template <class T>
void store_sums(const ConvShape& s, const T* sums, int64_t ldc, int64_t n_parts,
                int64_t part_stride, int64_t n_rows, T* w) {
  constexpr int64_t v = kVector<T>;
  // Along the rows of w: every other order would touch a page for each of its cache lines.
  for (int64_t o = 0; o < s.out_channels; o += v) {
    for (int64_t r = 0; r < n_rows; r += v) {
      int64_t n_r = std::min(v, n_rows - r), n_o = std::min(v, s.out_channels - o);
      Vec<T> square[v];
      for (int64_t i = 0; i < v; ++i) {
        const T* from = sums + (r + std::min(i, n_r - 1)) * ldc + o;
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
  Cut cut = cut_of(s);
  int64_t ldc = ceil_div(s.out_channels, kVector<T>) * kVector<T>, n_rows = s.weight_row();
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
      if (cut.parts == 1) store_sums(s, c, ldc, 1, 0, n_channels * s.taps(), w_at(group, channel));
    }
  });
  if (cut.parts == 1) return;
  parallel_for(s.groups * cut.chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      int64_t group = task / cut.chunks, channel = task % cut.chunks * cut.channels;
      int64_t n_channels = std::min(cut.channels, s.in_channels - channel);
      store_sums(s, partial.data() + (group * n_rows + channel * s.taps()) * ldc, ldc, cut.parts,
                 part_stride, n_channels * s.taps(), w_at(group, channel));
    }
  });
}

template void packed_weight(const ConvShape&, const float*, const float*, float*);
template void packed_weight(const ConvShape&, const double*, const double*, double*);

}  // namespace FACULA_ISA
}  // namespace facula::cpu
