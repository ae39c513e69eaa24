#include "cpu/nn/grid_sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/integers.h"
#include "cpu/transpose.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

constexpr int kMostTaps = 16;  // elements that a result is made of

// A place along one dimension: elements, their weights and the derivatives of those by the
// coordinate of the grid.
template <class T>
struct Taps {
  int n;
  int64_t index[4];  // -1: outside, an element that is 0
  T weight[4];
  T slope[4];
};

template <class T>
struct Place {
  T at;
  T slope;  // by the coordinate of the grid
};

template <class T>
Place<T> clipped(Place<T> p, int64_t size) {
  if (p.at <= T(0)) return {T(0), T(0)};
  if (p.at >= static_cast<T>(size - 1)) return {static_cast<T>(size - 1), T(0)};
  return p;
}

// Back and forth between the centers, or the outer edges, of the first and the last element.
template <class T>
Place<T> reflected(Place<T> p, int64_t size, bool align_corners) {
  T low = align_corners ? T(0) : T(-0.5);
  T span = static_cast<T>(align_corners ? size - 1 : size);
  if (span == T(0)) return {T(0), T(0)};
  T distance = p.at - low;
  if (distance < T(0)) {
    distance = -distance;
    p.slope = -p.slope;
  }
  T rest = std::fmod(distance, span);
  if (std::fmod(std::floor(distance / span), T(2)) == T(0)) return {rest + low, p.slope};
  return {span - rest + low, -p.slope};
}

template <class T>
Place<T> inside(Place<T> p, int64_t size, const GridShape& shape) {
  if (shape.padding == GridPadding::Zeros) return p;
  if (shape.padding == GridPadding::Reflection) p = reflected(p, size, shape.align_corners);
  return clipped(p, size);
}

template <class T>
int64_t index_at(T place, int64_t size) {
  return place >= T(0) && place < static_cast<T>(size) ? static_cast<int64_t>(place) : -1;
}

// The cubic kernel with slope -0.75 and its derivative, at a distance d from 0 to 1 from an element
// or from 1 to 2. The sign is that of the coordinate, seen from the element.
constexpr double kCubic = -0.75;

template <class T>
FACULA_FN void near_cubic(T d, T sign, T& weight, T& slope) {
  constexpr T a = T(kCubic);
  weight = ((a + T(2)) * d - (a + T(3))) * d * d + T(1);
  slope = sign * (T(3) * (a + T(2)) * d - T(2) * (a + T(3))) * d;
}
template <class T>
FACULA_FN void far_cubic(T d, T sign, T& weight, T& slope) {
  constexpr T a = T(kCubic);
  weight = ((a * d - T(5) * a) * d + T(8) * a) * d - T(4) * a;
  slope = sign * ((T(3) * a * d - T(10) * a) * d + T(8) * a);
}
// Those of the element number k of the four, of which the second is `part` before the place.
template <class T>
FACULA_FN void cubic(int k, T part, T& weight, T& slope) {
  if (k == 0) far_cubic(part + T(1), T(1), weight, slope);
  if (k == 1) near_cubic(part, T(1), weight, slope);
  if (k == 2) near_cubic(T(1) - part, T(-1), weight, slope);
  if (k == 3) far_cubic(T(2) - part, T(-1), weight, slope);
}

// False for a coordinate that is no number.
template <class T>
bool find_taps(T coordinate, int64_t size, const GridShape& shape, Taps<T>& taps) {
  taps = {shape.mode == GridMode::Bilinear  ? 2
          : shape.mode == GridMode::Nearest ? 1
                                            : 4,
          {-1, -1, -1, -1},
          {},
          {}};
  T scale = static_cast<T>(shape.align_corners ? size - 1 : size) / T(2);
  T shift = shape.align_corners ? T(0) : T(-0.5);
  if (shape.in_pixels) scale = T(1);
  Place<T> p = {shape.in_pixels ? coordinate : (coordinate + T(1)) * scale + shift, scale};
  bool is_infinite = std::abs(p.at) > std::numeric_limits<T>::max();
  bool is_no_place = is_infinite && shape.padding != GridPadding::Border && !shape.in_pixels;
  if (p.at != p.at || is_no_place) return false;
  if (shape.mode == GridMode::Bicubic) {
    T first = std::floor(p.at), part = p.at - first;
    for (int k = 0; k < 4; ++k) {
      T at = inside<T>({first + static_cast<T>(k - 1), T(1)}, size, shape).at;
      taps.index[k] = index_at(at, size);
      cubic(k, part, taps.weight[k], taps.slope[k]);
      taps.slope[k] *= scale;
    }
    return part == part;
  }
  p = inside(p, size, shape);
  if (shape.mode == GridMode::Nearest) {
    taps.index[0] = index_at(std::nearbyint(p.at), size);
    taps.weight[0] = T(1);
    taps.slope[0] = T(0);
    return true;
  }
  // Of an infinite place nothing is in the image, and the weight of nothing must be a number.
  T first = std::floor(p.at), part = is_infinite ? T(0) : p.at - first;
  taps.index[0] = index_at(first, size);
  taps.index[1] = index_at(first + T(1), size);
  taps.weight[0] = T(1) - part;
  taps.weight[1] = part;
  taps.slope[0] = -p.slope;
  taps.slope[1] = p.slope;
  return true;
}

template <class S>
struct GridSample {
  using T = Wide<S>;

  // The elements of a block of places, all dimensions together: those of place i at [t][i].
  struct Block {
    int n_taps;
    int64_t n;
    int32_t index[kMostTaps][kGridPlaces];  // in a channel; -1: outside
    T weight[kMostTaps][kGridPlaces];
    T slope[3][kMostTaps][kGridPlaces];  // by each coordinate
    // Taps 0 and 1, and 2 and 3, lie beside each other at these places, but for those `outside`.
    bool has_pairs = false;
    int32_t pair[2][kGridPlaces];
    int64_t n_outside;
    int32_t outside[kGridPlaces];
  };

  static void find(Block& block, const S* grid, int64_t first, const GridShape& shape) {
    block.has_pairs = false;
    block.n = std::min(kGridPlaces, shape.n_places - first);
    for (int64_t i = 0; i < block.n; ++i) {
      const S* place = grid + (first + i) * shape.n_coordinates;
      Taps<T> taps[3] = {{1, {0}, {T(1)}, {T(0)}}};
      bool is_number = true;
      for (int c = 0; c < shape.n_coordinates; ++c)
        is_number &= find_taps(static_cast<T>(place[c]), shape.sizes[2 - c], shape, taps[2 - c]);
      int t = 0;
      for (int a = 0; a < taps[0].n; ++a)
        for (int b = 0; b < taps[1].n; ++b)
          for (int c = 0; c < taps[2].n; ++c, ++t) {
            bool is_inside =
                taps[0].index[a] >= 0 && taps[1].index[b] >= 0 && taps[2].index[c] >= 0;
            int64_t at = (taps[0].index[a] * shape.sizes[1] + taps[1].index[b]) * shape.sizes[2] +
                         taps[2].index[c];
            T u = taps[0].weight[a], v = taps[1].weight[b], w = taps[2].weight[c];
            block.index[t][i] = is_inside && is_number ? static_cast<int32_t>(at) : -1;
            block.weight[t][i] = u * v * w;
            block.slope[0][t][i] = u * v * taps[2].slope[c];
            block.slope[1][t][i] = u * taps[1].slope[b] * w;
            block.slope[2][t][i] = taps[0].slope[a] * v * w;
          }
      block.n_taps = t;
      // No number in, no number out, wherever the elements are.
      if (!is_number && shape.mode != GridMode::Nearest) {
        block.index[0][i] = 0;
        block.weight[0][i] = std::numeric_limits<T>::quiet_NaN();
        for (auto& slope : block.slope) slope[0][i] = std::numeric_limits<T>::quiet_NaN();
      }
    }
  }

  // Taps of a block of places along one dimension.
  struct Along {
    int32_t index[4][kGridPlaces];  // -1: outside
    T weight[4][kGridPlaces];
    T slope[4][kGridPlaces];
  };

  // The taps that `grid` gives as coordinate number c. False where one is no finite number.
  template <bool kWithSlopes>
  static bool find_along(Along& along, const S* grid, int c, int64_t n, const GridShape& shape) {
    int64_t size = shape.sizes[2 - c];
    T scale = static_cast<T>(shape.align_corners ? size - 1 : size) / T(2);
    T shift = shape.align_corners ? T(0) : T(-0.5), length = static_cast<T>(size);
    bool is_finite = true, is_cubic = shape.mode == GridMode::Bicubic;
    T base[kGridPlaces], part[kGridPlaces];
    for (int64_t i = 0; i < n; ++i) {
      T at = (static_cast<T>(grid[i * shape.n_coordinates + c]) + T(1)) * scale + shift;
      is_finite &= std::abs(at) <= std::numeric_limits<T>::max();
      base[i] = shape.mode == GridMode::Nearest ? std::nearbyint(at) : std::floor(at);
      part[i] = at - base[i];
    }
    if (!is_finite) return false;
    for (int k = 0; k < taps_along(shape); ++k) {
      T step = static_cast<T>(is_cubic ? k - 1 : k);
      for (int64_t i = 0; i < n; ++i) {
        T at = base[i] + step;
        bool is_inside = at >= T(0) && at < length;
        along.index[k][i] = is_inside ? static_cast<int32_t>(is_inside ? at : T(0)) : -1;
      }
      for (int64_t i = 0; i < n; ++i) {
        T weight = T(1), slope = T(0);
        if (is_cubic) {
          cubic(k, part[i], weight, slope);
        } else if (shape.mode == GridMode::Bilinear) {
          weight = k ? part[i] : T(1) - part[i];
          slope = k ? T(1) : T(-1);
        }
        along.weight[k][i] = weight;
        if (kWithSlopes) along.slope[k][i] = slope * scale;
      }
    }
    return true;
  }

  static int taps_along(const GridShape& shape) {
    return shape.mode == GridMode::Bilinear ? 2 : shape.mode == GridMode::Nearest ? 1 : 4;
  }

  // What find does, the slopes only if wanted, of images with zeros around them: in loops that
  // become vectors. False where a place is no finite number.
  template <bool kWithSlopes>
  static bool find_among_zeros(Block& block, const S* grid, int64_t first, const GridShape& shape) {
    if (shape.in_pixels || shape.padding != GridPadding::Zeros) return false;
    block.has_pairs = false;
    block.n = std::min(kGridPlaces, shape.n_places - first);
    Along along[3];
    bool is_flat = shape.n_coordinates == 2;
    for (int c = 0; c < shape.n_coordinates; ++c)
      if (!find_along<kWithSlopes>(along[2 - c], grid + first * shape.n_coordinates, c, block.n,
                                   shape))
        return false;
    if (is_flat) {
      std::fill_n(along[0].index[0], block.n, 0);
      std::fill_n(along[0].weight[0], block.n, T(1));
      std::fill_n(along[0].slope[0], block.n, T(0));
    }
    int n_taps = taps_along(shape), t = 0;
    int32_t height = static_cast<int32_t>(shape.sizes[1]);
    int32_t width = static_cast<int32_t>(shape.sizes[2]);
    for (int a = 0; a < (is_flat ? 1 : n_taps); ++a)
      for (int b = 0; b < n_taps; ++b)
        for (int c = 0; c < n_taps; ++c, ++t)
          for (int64_t i = 0; i < block.n; ++i) {
            int32_t d = along[0].index[a][i], h = along[1].index[b][i], w = along[2].index[c][i];
            T u = along[0].weight[a][i], v = along[1].weight[b][i], x = along[2].weight[c][i];
            int32_t at = (std::max(d, 0) * height + std::max(h, 0)) * width + std::max(w, 0);
            block.index[t][i] = (d | h | w) < 0 ? -1 : at;
            block.weight[t][i] = u * v * x;
            if constexpr (kWithSlopes) {
              block.slope[0][t][i] = u * v * along[2].slope[c][i];
              block.slope[1][t][i] = u * along[1].slope[b][i] * x;
              block.slope[2][t][i] = along[0].slope[a][i] * v * x;
            }
          }
    block.n_taps = t;
    if (is_flat && shape.mode == GridMode::Bilinear) find_pairs(block, n_elements(shape));
    return true;
  }

  static void find_pairs(Block& block, int64_t n) {
    block.has_pairs = n >= 2;  // what is outside is read at the first two elements
    block.n_outside = 0;
    for (int64_t i = 0; i < block.n; ++i) {
      bool is_outside =
          (block.index[0][i] | block.index[1][i] | block.index[2][i] | block.index[3][i]) < 0;
      block.pair[0][i] = is_outside ? 0 : block.index[0][i];
      block.pair[1][i] = is_outside ? 0 : block.index[2][i];
      block.outside[block.n_outside] = static_cast<int32_t>(i);
      block.n_outside += is_outside;
    }
  }

  static int64_t n_blocks(const GridShape& shape) { return ceil_div(shape.n_places, kGridPlaces); }
  static int64_t n_elements(const GridShape& shape) {
    return shape.sizes[0] * shape.sizes[1] * shape.sizes[2];
  }

  static T element_at(const S* x, int32_t index) {
    return index < 0 ? T(0) : static_cast<T>(x[index]);
  }

  // The elements of each place, 0 outside. By pairs: a vector of elements from anywhere takes 2.0
  // ns for the four of a place, two loads of two 1.1 (on Zen 4, with AVX2 and AVX-512 alike).
  static void load_taps(T (*value)[kGridPlaces], const S* x, const Block& block) {
    if (!block.has_pairs) {
      for (int t = 0; t < block.n_taps; ++t)
        for (int64_t i = 0; i < block.n; ++i) value[t][i] = element_at(x, block.index[t][i]);
      return;
    }
    S pairs[2][kGridPlaces][2];
    for (int64_t i = 0; i < block.n; ++i)
      for (int k = 0; k < 2; ++k)
        __builtin_memcpy(pairs[k][i], x + block.pair[k][i], sizeof(pairs[k][i]));
    for (int64_t i = 0; i < block.n; ++i)
      for (int t = 0; t < 4; ++t) value[t][i] = static_cast<T>(pairs[t / 2][i][t % 2]);
    for (int64_t k = 0; k < block.n_outside; ++k)
      for (int t = 0; t < 4; ++t)
        value[t][block.outside[k]] = element_at(x, block.index[t][block.outside[k]]);
  }

  // sum[i] = the weighted sum of the elements of place i.
  static void add_up(T* __restrict sum, const T (*weight)[kGridPlaces],
                     const T (*value)[kGridPlaces], const Block& block) {
    std::fill_n(sum, block.n, T(0));
    for (int t = 0; t < block.n_taps; ++t)
      for (int64_t i = 0; i < block.n; ++i) sum[i] += weight[t][i] * value[t][i];
  }

  static void forward(char* to, const char* from, const char* places, const GridShape& shape,
                      int64_t begin, int64_t end) {
    Block block;
    T sum[kGridPlaces], value[kMostTaps][kGridPlaces];
    for (int64_t b = begin; b < end; ++b) {
      int64_t slice = b / n_blocks(shape), first = b % n_blocks(shape) * kGridPlaces;
      const S* grid =
          reinterpret_cast<const S*>(places) + slice * shape.n_places * shape.n_coordinates;
      if (!find_among_zeros<false>(block, grid, first, shape)) find(block, grid, first, shape);
      for (int64_t c = slice * shape.n_channels; c < (slice + 1) * shape.n_channels; ++c) {
        load_taps(value, reinterpret_cast<const S*>(from) + c * n_elements(shape), block);
        add_up(sum, block.weight, value, block);
        S* y = reinterpret_cast<S*>(to) + c * shape.n_places + first;
        for (int64_t i = 0; i < block.n; ++i) y[i] = static_cast<S>(sum[i]);
      }
    }
  }

  // The same of x (batch, D, H, W, channels): the lanes of a vector are channels of one place, and
  // a place reads as many lines of memory as it has taps, not as many for each channel.
  static void forward_channels(char* to, const char* from, const char* places,
                               const GridShape& shape, int64_t begin, int64_t end) {
    constexpr int kLanes = Vec<T>::kLanes;
    Block block;
    for (int64_t b = begin; b < end; ++b) {
      int64_t slice = b / n_blocks(shape), first = b % n_blocks(shape) * kGridPlaces;
      int64_t n_channels = shape.n_channels;
      const S* grid =
          reinterpret_cast<const S*>(places) + slice * shape.n_places * shape.n_coordinates;
      if (!find_among_zeros<false>(block, grid, first, shape)) find(block, grid, first, shape);
      for (int64_t c = 0; c < n_channels; c += kLanes) {
        int64_t n = std::min<int64_t>(kLanes, n_channels - c);
        const S* x = reinterpret_cast<const S*>(from) + slice * n_elements(shape) * n_channels + c;
        // Channels of the next element may be read too, which go nowhere: not of the last one.
        int64_t room = n_elements(shape) * n_channels - c - kLanes;
        int64_t last_whole = room < 0 ? -1 : room / n_channels;
        S* y = reinterpret_cast<S*>(to) + (slice * n_channels + c) * shape.n_places + first;
        for (int64_t i = 0; i < block.n; i += kLanes) {
          int64_t n_here = std::min<int64_t>(kLanes, block.n - i);
          Vec<T> sums[kLanes];
          for (int64_t k = 0; k < n_here; ++k)
            sums[k] = sum_of(x, block, i + k, n_channels, n, last_whole);
          for (int64_t k = n_here; k < kLanes; ++k) sums[k] = Vec<T>(T(0));
          transpose(sums);
          for (int64_t k = 0; k < n; ++k)
            if (n_here == kLanes)
              sums[k].store(y + k * shape.n_places + i);
            else
              sums[k].store(y + k * shape.n_places + i, n_here);
        }
      }
    }
  }

  // The weighted sum of the elements of one place, of n channels. Elements up to `last_whole` may
  // be read as whole vectors.
  static FACULA_FN Vec<T> sum_of(const S* x, const Block& block, int64_t place, int64_t n_channels,
                                 int64_t n, int64_t last_whole) {
    Vec<T> sum(T(0));
    for (int t = 0; t < block.n_taps; ++t) {
      int64_t at = block.index[t][place];
      if (at < 0) continue;
      const S* element = x + at * n_channels;
      Vec<T> value = at <= last_whole ? Vec<T>::load(element) : Vec<T>::load(element, n);
      sum += Vec<T>(block.weight[t][place]) * value;
    }
    return sum;
  }

  // All places of a channel in order: they may share elements.
  static void to_input(char* to, const char* grad, const char*, const char* places,
                       const GridShape& shape, int64_t begin, int64_t end) {
    Block block;
    int64_t n_parts = ceil_div(shape.n_channels, kGridChannels);
    for (int64_t b = begin; b < end; ++b) {
      int64_t slice = b / n_parts, c_begin = b % n_parts * kGridChannels;
      int64_t c_end = std::min(c_begin + kGridChannels, shape.n_channels);
      const S* grid =
          reinterpret_cast<const S*>(places) + slice * shape.n_places * shape.n_coordinates;
      S* gx = reinterpret_cast<S*>(to) + slice * shape.n_channels * n_elements(shape);
      std::fill(gx + c_begin * n_elements(shape), gx + c_end * n_elements(shape), S(0));
      for (int64_t first = 0; first < shape.n_places; first += kGridPlaces) {
        if (!find_among_zeros<false>(block, grid, first, shape)) find(block, grid, first, shape);
        for (int64_t c = c_begin; c < c_end; ++c) {
          S* elements = gx + c * n_elements(shape);
          const S* g = reinterpret_cast<const S*>(grad) +
                       (slice * shape.n_channels + c) * shape.n_places + first;
          for (int t = 0; t < block.n_taps; ++t)
            for (int64_t i = 0; i < block.n; ++i)
              if (block.index[t][i] >= 0) elements[block.index[t][i]] += block.weight[t][i] * g[i];
        }
      }
    }
  }

  static void to_grid(char* to, const char* grad, const char* from, const char* places,
                      const GridShape& shape, int64_t begin, int64_t end) {
    Block block;
    T sum[kGridPlaces], value[kMostTaps][kGridPlaces], total[3][kGridPlaces];
    for (int64_t b = begin; b < end; ++b) {
      int64_t slice = b / n_blocks(shape), first = b % n_blocks(shape) * kGridPlaces;
      int64_t n_coordinates = shape.n_coordinates;
      const S* grid = reinterpret_cast<const S*>(places) + slice * shape.n_places * n_coordinates;
      if (!find_among_zeros<true>(block, grid, first, shape)) find(block, grid, first, shape);
      for (auto& row : total) std::fill_n(row, block.n, T(0));
      for (int64_t c = slice * shape.n_channels; c < (slice + 1) * shape.n_channels; ++c) {
        const S* g = reinterpret_cast<const S*>(grad) + c * shape.n_places + first;
        load_taps(value, reinterpret_cast<const S*>(from) + c * n_elements(shape), block);
        for (int64_t k = 0; k < n_coordinates; ++k) {
          add_up(sum, block.slope[k], value, block);
          for (int64_t i = 0; i < block.n; ++i) total[k][i] += sum[i] * static_cast<T>(g[i]);
        }
      }
      S* result = reinterpret_cast<S*>(to) + (slice * shape.n_places + first) * n_coordinates;
      for (int64_t i = 0; i < block.n; ++i)
        for (int64_t k = 0; k < n_coordinates; ++k)
          result[i * n_coordinates + k] = static_cast<S>(total[k][i]);
    }
  }
};

constexpr GridTable make_table() {
  GridTable table = {};
#define FACULA_GRID(T)                                                         \
  table.forward[static_cast<int>(DTypeOf<T>::value)] = GridSample<T>::forward; \
  table.forward_channels[static_cast<int>(DTypeOf<T>::value)] = GridSample<T>::forward_channels;
  FACULA_GRID(Half)
  FACULA_GRID(BFloat16)
  FACULA_GRID(float)
  FACULA_GRID(double)
#undef FACULA_GRID
#define FACULA_GRID(T)                                                           \
  table.to_input[static_cast<int>(DTypeOf<T>::value)] = GridSample<T>::to_input; \
  table.to_grid[static_cast<int>(DTypeOf<T>::value)] = GridSample<T>::to_grid;
  FACULA_GRID(float)
  FACULA_GRID(double)
#undef FACULA_GRID
  return table;
}

}  // namespace

extern const GridTable grid_table;
const GridTable grid_table = make_table();

}  // namespace FACULA_ISA
}  // namespace facula::cpu
