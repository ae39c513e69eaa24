#include "products/plan.h"

#include <algorithm>
#include <cstdlib>

#include "base/integers.h"
#include "products/caches.h"
#include "products/tuning.h"

namespace facula::products {
namespace {

// Other dtypes have kernels of ours for products of integers only.
bool is_full_float(DType dtype) { return dtype == DType::Float32 || dtype == DType::Float64; }

// ---- products of matrices

// Columns of a tile of C (tile.h), and of one of its vectors.
struct TileCols {
  int64_t vector, all;
};
TileCols tile_cols(DType dtype, Isa isa) {
  int64_t nbytes = isa == Isa::Avx512 ? 64 : isa == Isa::Avx2 ? 32 : 16;
  int64_t vector = dtype == DType::Float32 ? nbytes / 4 : nbytes / 8;
  return {vector, vector * (isa == Isa::Avx512 ? tuning::kTileVectors : tuning::kShortTileVectors)};
}

// Whether the machine has AVX-512's instructions for bfloat16, which are an extension of their own.
bool multiplies_pairs() {
#if defined(__x86_64__)
  static const bool has_them = __builtin_cpu_supports("avx512bf16");
  return has_them;
#else
  return false;
#endif
}

// Multiplications that take as long as GemmWay::SmallA, whose panels are shared out to two threads.
int64_t time_of_small_a(int64_t m, int64_t n, int64_t k, int64_t vector) {
  return m * ceil_div(n, 2 * vector) * 2 * vector * k;
}

// Worth it if the rows of A fill vectors better than the columns of B, and the way along k is long
// enough.
bool gains_by_exchange(const GemmShape& s, TileCols cols) {
  if (s.m <= cols.all || s.n * std::min(s.k, tuning::kSliceOfK) > cache_cuts().numel_small_a)
    return false;
  int64_t time = time_of_small_a(s.n, s.m, s.k, cols.vector) + s.m * s.n * tuning::kTurnTime;
  // A single panel of B is packed in no time, which A is not.
  if (s.n <= cols.vector) return time + s.m * s.k * tuning::kPackTime < s.m * cols.vector * s.k;
  return s.n > cols.all && s.trans_a == Trans::No && s.trans_b != Trans::No &&
         time < time_of_small_a(s.m, s.n, s.k, cols.vector);
}

}  // namespace

GemmWay plan_gemm(const GemmShape& s, DType dtype, Isa isa) {
  // Rounds differently, so it is chosen by the columns alone: see [order] in tuning.h.
  if (dtype == DType::BFloat16 && isa == Isa::Avx512 && multiplies_pairs() &&
      s.n >= tuning::kMinPairCols)
    return GemmWay::Pairs;
  // In an order of its own. Nothing is converted: a float16 matrix of 1024x1024 times a vector took
  // 270 us, and 2^20 complex numbers times as many 1400 us, of which the products were a quarter.
  // Short rows take the time of a call each, and without vectors from 16 bits they are better
  // converted at once.
  bool is_dots = s.n == 1 && s.k >= tuning::kMinDot;
  if (is_dots && (is_complex(dtype) || (is_reduced_float(dtype) && isa != Isa::Baseline)))
    return GemmWay::Dots;
  // Each element is converted once, not once per tile.
  if (is_reduced_float(dtype)) return GemmWay::Widened;
  if (is_complex(dtype)) return GemmWay::Complex;
  if (is_integral(dtype)) return s.n == 1 ? GemmWay::MatrixVector : GemmWay::Blocked;
  // In an order of its own: one column would leave most lanes of a tile empty.
  if (s.n == 1) return GemmWay::MatrixVector;

  // From here on all ways give the same bits. So they may be chosen by anything, the number of rows
  // too, and a row has the same bits among any number of others.
  if (s.n_batch == 1 && s.m * s.n <= tuning::kMaxNumelOfSlices && s.k >= tuning::kMinLongK)
    return GemmWay::SlicesOfK;
  bool is_b_stored = s.trans_b == Trans::No;
  TileCols cols = tile_cols(dtype, isa);
  bool is_small = s.m * s.n * s.k <= tuning::kSmallWork && s.n > cols.vector / 2;
  if (is_b_stored && s.m > 1 && is_small) return GemmWay::Blocked;
  if (s.m <= (is_b_stored ? 1 : tuning::kRowsByColumns)) return GemmWay::FewRows;
  bool is_b_in_place =
      is_b_stored && (s.n * s.k <= cache_cuts().numel_in_place || s.m <= tuning::kRowsInPlace);
  bool is_a_small = s.m * std::min(s.k, tuning::kSliceOfK) <= cache_cuts().numel_small_a;
  if (is_a_small || s.n <= cols.vector) {
    if (gains_by_exchange(s, cols)) return GemmWay::Exchanged;
  }
  // With a small A, to pack B is much of the work, and more if what is packed goes through L3 or
  // from one core to another.
  bool suits_small_a = !is_b_in_place && is_a_small && s.trans_a == Trans::No && s.n > cols.all;
  return suits_small_a ? GemmWay::SmallA : GemmWay::Blocked;
}

namespace {

// ---- convolutions

bool has_single_tap(const ConvShape& s) {
  return s.taps() == 1 && s.padding == ConvShape::Spatial{0, 0, 0};
}

// A kernel of one pixel that meets all pixels, of which there are enough.
bool is_pointwise(const ConvShape& s) {
  bool is_enough = s.has_channels_last || s.out_pixels() >= tuning::kMinPointwise;
  return has_single_tap(s) && s.in == s.out && is_enough;
}
bool steps_over_pixels(const ConvShape& s) {
  return has_single_tap(s) && s.in != s.out && !s.has_channels_last;
}

// The lines that the windows of one line of pixels reach over. Compared step by step: the product
// of huge strides, dilations and sizes would be more than an int64.
bool fits_copied_lines(const WindowShape& s) {
  constexpr int64_t most = tuning::kMaxLineNumel;
  int64_t reach_h = s.taps[1].reach(), reach_w = s.taps[2].reach();
  if (std::max({reach_h, reach_w, s.x_step[1], s.x_step[2]}) > most) return false;
  int64_t numel = s.n_channels * s.taps[0].n * cpu::segments_of(s).width * s.x_step[2];
  return numel <= most / (reach_h + 1);
}

bool suits_each(const WindowShape& s) {
  return s.n_rows == 1 && s.n_channels == 1 && s.groups >= tuning::kMinEachChannels &&
         std::max(s.taps[2].reach(), s.x_step[2]) <= tuning::kMaxEachReach &&
         s.n_taps() <= tuning::kMaxPackedTaps;
}

bool suits_winograd(const WindowShape& s) {
  auto is_three = [](const cpu::Taps& t) { return t.n == 3 && std::abs(t.step.shift) == 1; };
  // Of an image, not of all: it has the same bits in a batch of any size.
  int64_t n_tiles = s.grid[0] * ceil_div(s.grid[1], 2) * ceil_div(s.grid[2], 2);
  return s.taps[0].n == 1 && is_three(s.taps[1]) && is_three(s.taps[2]) &&
         s.x_step == ConvShape::Spatial{1, 1, 1} && s.is_dense() &&
         std::min(s.n_rows, s.n_channels) >= tuning::kMinWinogradChannels &&
         s.n_rows * s.n_channels <= tuning::kMaxWinogradWeights &&
         n_tiles >= tuning::kMinWinogradTiles;
}

// As fits_copied_lines(), of the lines under a segment of pixels.
bool fits_copied_segment(const ConvShape& s) {
  constexpr int64_t most = tuning::kMaxCopiedNumel;
  if (s.kernel[0] > tuning::kMaxPackedTaps) return false;
  for (size_t d = 1; d < 3; ++d) {
    if (std::max({s.kernel[d], s.dilation[d], s.stride[d]}) > most) return false;
    if ((s.kernel[d] - 1) * s.dilation[d] > most) return false;
  }
  int64_t lines = (s.kernel[1] - 1) * s.dilation[1] + 1;
  return s.kernel[0] <= most / cpu::weight_segments_of(s).span / lines;
}

}  // namespace

bool suits_pairs(const ConvShape& s, int64_t n_channels, DType dtype, Isa isa) {
  return dtype == DType::BFloat16 && isa == Isa::Avx512 && multiplies_pairs() &&
         std::min(n_channels, s.out_channels) >= tuning::kMinPairsChannels &&
         s.weight_row() >= tuning::kMinPairsDepth && s.taps() <= tuning::kMaxPackedTaps;
}

bool suits_lines(const std::vector<WindowShape>& parts, DType dtype) {
  constexpr int64_t most = tuning::kMaxCopiedNumel;
  int64_t n_taps = 0, n_columns = 0;
  for (const WindowShape& part : parts) {
    n_taps += part.n_taps(), n_columns = std::max(n_columns, part.taps[2].n);
    for (size_t d = 0; d < 3; ++d)
      if (std::max(part.taps[d].reach(), part.x_step[d]) > most) return false;
    // Step by step, as in fits_copied_lines().
    if (part.taps[0].reach() + 1 > most / (part.taps[1].reach() + 2) / part.x_step[2]) return false;
  }
  const WindowShape& s = parts.at(0);
  int64_t lanes = ceil_div(s.n_rows, 16) * 16;
  // Where channels are last, lines are copied as they lie.
  bool is_read_often =
      s.has_channels_last || n_taps >= tuning::kMinLineReads * ConvShape::product(s.x_step);
  if (!is_full_float(dtype) || n_taps > tuning::kMaxPackedTaps || !is_read_often ||
      lanes - s.n_rows > lanes / tuning::kLineLanes ||
      s.n_channels * n_columns < tuning::kMinLineDepth)
    return false;
  cpu::LineCut cut = cpu::line_cut_of(parts);
  int64_t numel = (cut.reach[0] + 1) * (cut.reach[1] + 1) * cut.width * s.x_step[2];
  return cut.pixels >= tuning::kMinLinePixels && numel <= most / cpu::line_slice_of(s);
}

bool suits_channels_last(const ConvShape& s, const std::vector<WindowShape>& parts, DType dtype) {
  if (has_single_tap(s) && s.in == s.out) return true;
  if (!is_full_float(dtype) || parts.empty()) return false;
  if (std::all_of(parts.begin(), parts.end(), suits_each)) return true;
  // To turn the images over costs less than Winograd's way saves.
  if (dtype == DType::Float32 && parts.size() == 1 && suits_winograd(parts[0])) return false;
  std::vector<WindowShape> parts_last = parts;
  for (WindowShape& part : parts_last) part.has_channels_last = true;
  return suits_lines(parts_last, dtype);
}

ConvWay plan_windows(const WindowShape& s, DType dtype) {
  if (s.has_channels_last) return suits_each(s) ? ConvWay::Each : ConvWay::Lines;
  if (dtype == DType::BFloat16) return ConvWay::Pairs;
  if (!is_full_float(dtype)) return ConvWay::Columns;

  // A line that is copied should be read several times, unless a product would be mostly padding.
  bool has_few_rows = s.n_rows <= tuning::kFewRows;
  bool is_read_often =
      s.n_channels <= tuning::kFewRows || s.n_rows * s.n_taps() >= tuning::kMinReads;
  if (has_few_rows && is_read_often && fits_copied_lines(s)) return ConvWay::Direct;

  if (dtype == DType::Float32 && suits_winograd(s)) return ConvWay::Winograd;
  if (s.is_dense() && suits_lines({s}, dtype)) return ConvWay::Lines;
  bool is_packable = s.x_step[2] <= tuning::kMaxGatherStep && s.n_taps() <= tuning::kMaxPackedTaps;
  return is_packable ? ConvWay::Packed : ConvWay::Columns;
}

ConvWay plan_output(const ConvShape& s, DType dtype) {
  if (is_pointwise(s)) return ConvWay::Pointwise;
  if (steps_over_pixels(s)) return ConvWay::TakenPixels;
  return plan_windows(cpu::windows_of_output(s), dtype);
}

ConvWay plan_input(const ConvShape& s, bool has_bias, DType dtype) {
  if (is_pointwise(s)) return ConvWay::Pointwise;
  // The pixels between those that are taken would need the bias too.
  if (steps_over_pixels(s) && !has_bias) return ConvWay::TakenPixels;
  if (dtype == DType::BFloat16) return ConvWay::Windows;
  if (!is_full_float(dtype)) return ConvWay::Columns;
  auto can_sum = [&](const WindowShape& part) {
    return plan_windows(part, dtype) != ConvWay::Columns;
  };
  auto parts = cpu::windows_of_input(s);
  if (s.has_channels_last)
    return plan_windows(parts.at(0), dtype) == ConvWay::Each ? ConvWay::Windows : ConvWay::Lines;
  if (parts.size() > 1 && suits_lines(parts, dtype)) return ConvWay::Lines;
  return std::all_of(parts.begin(), parts.end(), can_sum) ? ConvWay::Windows : ConvWay::Columns;
}

ConvWay plan_weight(const ConvShape& s, DType dtype) {
  if (dtype == DType::BFloat16) return ConvWay::Pairs;  // which adds images up in floats
  if (is_pointwise(s)) return ConvWay::Pointwise;
  if (steps_over_pixels(s)) return ConvWay::TakenPixels;
  if (!is_full_float(dtype)) return ConvWay::Columns;
  WindowShape windows = cpu::windows_of_output(s);
  // Depthwise: there are no channels to multiply as matrices.
  if (s.in_channels == 1 && s.out_channels <= tuning::kFewRows && fits_copied_lines(windows))
    return ConvWay::Direct;

  if (dtype == DType::Float32 && suits_winograd(windows)) return ConvWay::Winograd;
  return fits_copied_segment(s) ? ConvWay::Packed : ConvWay::Columns;
}

}  // namespace facula::products
