// What the host passes to the kernels of neural networks; compiled on both sides.
#pragma once
#include "cuda/kernels/shape.h"

namespace facula {

// ---- convolutions

enum class ConvRole : int { Input, Weight, Output };

// A tensor (batch or rows, channels, three spatial dimensions) with its strides, in elements.
struct ConvTensor {
  char* data;
  int64_t strides[5];
};
// As cpu::ConvShape. The tensor of the role is computed from the two others.
struct ConvArguments {
  ConvRole role;
  ConvTensor input, weight, output;
  int64_t n_batch, groups, in_channels, out_channels;  // channels of one group
  int64_t in[3], kernel[3], out[3];
  int64_t stride[3], padding[3], dilation[3];
};

// The gradient of a weight that has one input channel, from pieces of the pixels of all images: its
// matrix is (out_channels, taps), far too narrow for the tiles of a product.
struct NarrowArguments {
  const char *x, *g;
  char* partials;            // [piece][element of the weight], of the wide type
  int64_t image_strides[2];  // of x and g
  int64_t strides[2][3];
  int64_t g_channel_stride;
  int n_pixels, n_channels, n_taps, piece_size;
  Divisor image_pixels, out[2], kernel[2];  // the sizes but the first
  int in[3], stride[3], padding[3], dilation[3];
};
// A thread has the sums of so many taps of so many channels in its registers.
constexpr int kNarrowTaps = 9, kNarrowChannels = 4;

// ---- rows: lines of `size` elements along a dimension that is followed by `inner` others

struct RowShape {
  int64_t n_rows, size, inner;
  int n_lanes;  // threads that share a row
};
// Rows are read in vectors where they can be. Kernels called held_... have a whole row of
// neighbours in the registers of its threads. A kernel that could do both would need the registers
// of the larger way, and fewer of its blocks would run at once.
constexpr int kVectorBytes = 16;
// Vectors that a thread holds. Norms keep elements of 16 bits in the twice as large form that they
// are computed with.
constexpr int kSoftmaxVectors = 4;
constexpr int norm_vectors(int64_t item_size) { return item_size == 2 ? 2 : 4; }

struct SoftmaxArguments {
  RowShape shape;
  char* to;
  const char *x, *g;
};

// Losses of classes. `stats` are the maximum and the logarithm of the sum of each row, n_rows of
// each; null where x are log probabilities.
struct ClassLossArguments {
  RowShape shape;
  const char* x;
  const int64_t* target;
  const char* weight;  // by class, or null
  int64_t ignored;
  char* stats;
  char *losses, *weights;  // of each row, by forward
  const char* g;           // for backward: of each row, or one for all where g_stride is 0
  int64_t g_stride;
  const char* total;  // what g is divided by, or null
  char* gx;
  int64_t gx_stride;  // from row to row of gx, where its rows are apart; else 0
};

// Rows with parameters along them: element i of row r has parameter
// (r % n_groups) * size / inner + i / inner.
struct NormArguments {
  int64_t n_rows, size, n_groups, inner;
  int n_lanes;
  bool is_centered;
  double eps;
  const char *x, *weight, *bias;
  char *mean, *rstd;
  char* y;
  const char* g;
  char* gx;
  // Sums of g and g * normalised x, of pieces of rows: [piece][2][parameter].
  char* sums;
  int64_t rows_per_piece, n_pieces, n_parameters;
  bool is_columns;            // the sums are made of vectors of columns
  char *to_weight, *to_bias;  // gradients, or null
};

// How threads read channels: in vectors of neighbouring channels, where inner is 1; in vectors of
// the runs of `inner` elements; or one element at a time.
enum class ChannelWay : int { Columns, Runs, Elements };

// Elements (n_outer, n_channels, inner); statistics and coefficients are by channel.
struct ChannelArguments {
  int64_t n_outer, n_channels, inner;
  // Pieces of the n_outer * inner elements of a channel; piece_size is also that of maps.
  int64_t n_pieces, piece_size;
  const char *x, *g;
  char* to;
  double* partials;  // [piece][channel][2]
  double *mean, *rstd;
  const char *weight, *bias;
  char *running_mean, *running_var;
  int64_t running_strides[2];
  double momentum, eps;
  char *to_weight, *to_bias;  // gradients, or null
  char* coefficients;         // [2 or 3][channel], of the wide type
  bool is_training;
  ChannelWay way;
};
constexpr int kRunVectors = 4;     // that a thread has in flight
constexpr int kColumnGroups = 32;  // vectors of columns that a block has at most

// ---- windows

// The windows along one dimension, see cpu::PoolAxis. Irregular ones have lists, and no stride,
// start or size.
struct PooledAxis {
  Divisor in, out, step, stride;
  int start, size;
  const int64_t *begin, *count, *divisor;
  const int64_t *low, *high;  // of each element of the input: the windows that have it
  bool counts_padding, per_outer;
};
struct PoolArguments {
  PooledAxis axes[3];
  int64_t n_outer, divisor;
  Divisor inner;
  int n_inputs, n_windows;  // elements of one of n_outer: below 2^31
  const char *x, *g;
  char* to;
  int64_t* indices;  // flat ones of (D, H, W), or null
  bool is_packed;    // a thread has kPoolPack neighbours of the inner dimension, or of a line
};
constexpr int kPoolPack = 4;

// Taps along one dimension: result o is the sum of weight[k] * x[index[k]] over k in
// [begin[o], begin[o + 1]).
struct TapAxis {
  int64_t in;
  Divisor out;
  const int32_t *begin, *index;
  const double* weight;
};
struct ResampleArguments {
  TapAxis axes[3];
  Divisor inner;
  int64_t numel;
  int n_results;  // elements of one image: below 2^31
  bool is_pick;
  const char* x;
  char* to;
};

}  // namespace facula
