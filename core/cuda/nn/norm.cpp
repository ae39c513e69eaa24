// Normalisation of rows and of channels.
#include "cuda/nn/nn.h"
#include "cuda/nn/rows.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

FACULA_KERNEL(row_norm, "norm.h", NormArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(held_row_norm, "norm.h", NormArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(row_norm_backward, "norm.h", NormArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(held_row_norm_backward, "norm.h", NormArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(row_norm_sums, "norm.h", NormArguments, kFloatDTypes)
FACULA_KERNEL(group_norm_sums, "norm.h", NormArguments, kFloatDTypes)
FACULA_KERNEL(row_norm_parameters, "norm.h", NormArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(batch_norm_sums, "norm.h", ChannelArguments, kFloatDTypes)
FACULA_KERNEL(batch_norm_statistics, "norm.h", ChannelArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(batch_norm_map, "norm.h", ChannelArguments, kFloatDTypes)
FACULA_KERNEL(batch_norm_grad_sums, "norm.h", ChannelArguments, kFloatDTypes)
FACULA_KERNEL(batch_norm_coefficients, "norm.h", ChannelArguments, kFloatDTypes, kFloatDTypes)
FACULA_KERNEL(batch_norm_grad_map, "norm.h", ChannelArguments, kFloatDTypes)

// Sums are made of pieces of the rows, which blocks share, so many at most.
constexpr int64_t kMostPieces = 1024, kEnoughBlocks = 1024;
constexpr int64_t kElementsPerPiece = 512;  // of a channel that has a run of its own, at least
constexpr int64_t kRowsPerThread = 8;
constexpr int64_t kMostBlocksY = 65535;
constexpr int64_t kChannelsPerBlock = kKernelThreads / 128;
constexpr int64_t kElementsPerThread = 4;

int64_t vector_of(DType dtype) { return kVectorBytes / item_size(dtype); }

// How the columns of a matrix are given to threads, in vectors or one by one.
struct ColumnCut {
  int64_t n_tiles, n_lanes;  // blocks along the columns; threads of a block that share a column
  ColumnCut(int64_t n_columns, bool is_vector, DType dtype) {
    int64_t n_groups = is_vector ? n_columns / vector_of(dtype) : n_columns;
    int64_t width = is_vector ? std::min<int64_t>(kColumnGroups, n_groups) : kColumnGroups;
    n_tiles = ceil_div(n_groups, width);
    n_lanes = kKernelThreads / width;
  }
  // Pieces of so many rows that there are enough blocks, and each has work.
  int64_t rows_of_sums(int64_t n_rows) const {
    int64_t n_pieces = std::min(kMostPieces, ceil_div(kEnoughBlocks, n_tiles));
    return std::max(ceil_div(n_rows, n_pieces), n_lanes * kRowsPerThread);
  }
  int64_t rows_of_map(int64_t n_rows) const {
    return std::max(ceil_div(n_rows, kMostBlocksY), n_lanes * kRowsPerThread);
  }
};

NormArguments arguments_of(const RowNorm& norm) {
  NormArguments a{};
  a.n_rows = norm.x.numel() / norm.size;
  a.size = norm.size;
  a.n_groups = norm.n_groups;
  a.inner = norm.inner;
  a.n_lanes = held_lanes(norm.size, norm.x.dtype(), norm_vectors(norm.x.itemsize()));
  a.is_centered = norm.mean.defined();
  a.eps = norm.eps;
  a.x = norm.x.address();
  a.weight = data_or_null(norm.weight);
  a.bias = data_or_null(norm.bias);
  a.mean = data_or_null(norm.mean);
  a.rstd = norm.rstd.address();
  return a;
}
RowShape rows_of(const NormArguments& a) { return {a.n_rows, a.size, 1, a.n_lanes}; }
// Whether rows are held whose parameters lie along all of their length.
bool is_held(const NormArguments& a, DType dtype) {
  if (a.n_groups != 1 || a.inner != 1) return false;
  for (const char* data :
       {a.weight, a.bias, a.g, static_cast<const char*>(a.y), static_cast<const char*>(a.gx)})
    if (!is_aligned(data)) return false;
  return can_hold(rows_of(a), dtype, norm_vectors(item_size(dtype)), a.x);
}

ChannelArguments arguments_of(const ChannelNorm& norm) {
  ChannelArguments a{};
  a.n_outer = norm.n_outer;
  a.n_channels = norm.n_channels;
  a.inner = norm.inner;
  a.x = norm.x.address();
  a.weight = data_or_null(norm.weight);
  a.bias = data_or_null(norm.bias);
  a.mean = norm.statistics.address_as<double>();
  a.rstd = a.mean + norm.n_channels;
  a.eps = norm.eps;
  a.is_training = norm.is_training;
  return a;
}

// The blocks that the sums of channels need, which also cut channels into pieces.
Grid cut_channels(ChannelArguments& a, DType dtype) {
  int64_t vector = vector_of(dtype), n = a.n_outer * a.inner, n_tiles = a.n_channels;
  bool is_aligned_all = is_aligned(a.x) && is_aligned(a.g) && is_aligned(a.to);
  a.way = ChannelWay::Elements;
  if (is_aligned_all && (a.inner == 1 ? a.n_channels : a.inner) % vector == 0)
    a.way = a.inner == 1 ? ChannelWay::Columns : ChannelWay::Runs;
  if (a.inner == 1) {
    ColumnCut cut(a.n_channels, a.way == ChannelWay::Columns, dtype);
    n_tiles = cut.n_tiles;
    a.piece_size = cut.rows_of_sums(n);
  } else {
    int64_t least =
        a.way == ChannelWay::Runs ? kRunVectors * kKernelThreads * vector : kElementsPerPiece;
    int64_t most = std::min(kMostPieces, ceil_div(n, least));
    int64_t n_pieces = std::clamp<int64_t>(ceil_div(kEnoughBlocks, n_tiles), 1, most);
    a.piece_size = ceil_div(ceil_div(n, n_pieces), vector) * vector;
  }
  a.n_pieces = ceil_div(n, a.piece_size);
  return {n_tiles, a.n_pieces};
}

// The same for a map of all elements.
Grid cut_map(ChannelArguments& a, DType dtype) {
  if (a.way != ChannelWay::Columns) {
    int64_t numel = a.n_outer * a.n_channels * a.inner;
    int64_t each = a.way == ChannelWay::Runs ? kRunVectors * vector_of(dtype) : kElementsPerThread;
    return {ceil_div(numel, kKernelThreads * each), 1};
  }
  ColumnCut cut(a.n_channels, true, dtype);
  a.piece_size = cut.rows_of_map(a.n_outer);
  return {cut.n_tiles, ceil_div(a.n_outer, a.piece_size)};
}

Grid grid_of_channels(const ChannelArguments& a) {
  return {ceil_div(a.n_channels, kChannelsPerBlock), 1};
}
DType dtype_of(const Tensor& parameter, DType otherwise) {
  return parameter.defined() ? parameter.dtype() : otherwise;
}
DType parameter_dtype(const RowNorm& norm) {
  return dtype_of(norm.weight, dtype_of(norm.bias, norm.x.dtype()));
}

}  // namespace

void row_norm(const RowNorm& norm, const Tensor& y) {
  NormArguments a = arguments_of(norm);
  a.y = y.address();
  const auto& kernel = is_held(a, y.dtype()) ? held_row_norm_kernel : row_norm_kernel;
  kernel(y.device(), {y.dtype(), parameter_dtype(norm)}, grid_of(rows_of(a)), a);
}

void row_norm_backward(const RowNorm& norm, const Tensor& g, const Tensor& gx) {
  NormArguments a = arguments_of(norm);
  a.g = g.address();
  a.gx = gx.address();
  const auto& kernel =
      is_held(a, g.dtype()) ? held_row_norm_backward_kernel : row_norm_backward_kernel;
  kernel(g.device(), {g.dtype(), parameter_dtype(norm)}, grid_of(rows_of(a)), a);
}

void row_norm_parameters(const RowNorm& norm, const Tensor& g, const Tensor& to_weight,
                         const Tensor& to_bias) {
  NormArguments a = arguments_of(norm);
  DType dtype = g.dtype();
  a.g = g.address();
  a.to_weight = data_or_null(to_weight);
  a.to_bias = data_or_null(to_bias);
  a.n_parameters = norm.size / norm.inner * norm.n_groups;
  bool is_grouped = norm.n_groups != 1 || norm.inner != 1;
  a.is_columns =
      !is_grouped && norm.size % vector_of(dtype) == 0 && is_aligned(a.x) && is_aligned(a.g);
  ColumnCut cut(norm.size, a.is_columns, dtype);
  a.rows_per_piece = is_grouped ? norm.n_groups : cut.rows_of_sums(a.n_rows);
  a.n_pieces = ceil_div(a.n_rows, a.rows_per_piece);
  Workspace sums(g.device(), a.n_pieces * 2 * a.n_parameters * item_size(norm.rstd.dtype()));
  a.sums = sums.data();
  if (is_grouped) {
    a.n_lanes = lanes_of(norm.inner, 1);
    RowShape runs{a.n_pieces * a.n_parameters, norm.inner, 1, a.n_lanes};
    group_norm_sums_kernel(g.device(), {dtype}, grid_of(runs), a);
  } else {
    row_norm_sums_kernel(g.device(), {dtype}, {cut.n_tiles, a.n_pieces}, a);
  }
  DType parameter = to_weight.defined() ? to_weight.dtype() : to_bias.dtype();
  row_norm_parameters_kernel(g.device(), {dtype, parameter},
                             {ceil_div(a.n_parameters, int64_t(kColumnGroups)), 1}, a);
}

void batch_norm(const ChannelNorm& norm, const Tensor& running_mean, const Tensor& running_var,
                double momentum, const Tensor& y) {
  ChannelArguments a = arguments_of(norm);
  Device device = norm.x.device();
  DType dtype = norm.x.dtype();
  DType parameter = dtype_of(norm.weight, dtype_of(norm.bias, dtype_of(running_mean, dtype)));
  a.to = y.address();
  a.running_mean = data_or_null(running_mean);
  a.running_var = data_or_null(running_var);
  for (int i = 0; i < 2; ++i) {
    const Tensor& running = i ? running_var : running_mean;
    a.running_strides[i] = running.defined() ? running.stride(0) : 0;
  }
  a.momentum = momentum;
  Grid grid = cut_channels(a, dtype);
  Workspace partials(device, norm.is_training ? a.n_pieces * a.n_channels * 16 : 0);
  if (norm.is_training) {
    a.partials = reinterpret_cast<double*>(partials.data());
    batch_norm_sums_kernel(device, {dtype}, grid, a);
  }
  Workspace coefficients(device, 2 * a.n_channels * 8);
  a.coefficients = coefficients.data();
  batch_norm_statistics_kernel(device, {dtype, parameter}, grid_of_channels(a), a);
  grid = cut_map(a, dtype);
  batch_norm_map_kernel(device, {dtype}, grid, a);
}

void batch_norm_backward(const ChannelNorm& norm, const Tensor& g, const Tensor& gx,
                         const Tensor& to_weight, const Tensor& to_bias) {
  ChannelArguments a = arguments_of(norm);
  Device device = norm.x.device();
  DType dtype = norm.x.dtype();
  DType parameter = dtype_of(norm.weight, dtype_of(to_bias, dtype));
  a.g = g.address();
  a.to = data_or_null(gx);
  a.to_weight = data_or_null(to_weight);
  a.to_bias = data_or_null(to_bias);
  bool needs_sums = norm.is_training || to_weight.defined() || to_bias.defined();
  Grid grid = cut_channels(a, dtype);
  Workspace partials(device, needs_sums ? a.n_pieces * a.n_channels * 16 : 0);
  Workspace coefficients(device, 3 * a.n_channels * 8);
  a.coefficients = coefficients.data();
  if (needs_sums) {
    a.partials = reinterpret_cast<double*>(partials.data());
    batch_norm_grad_sums_kernel(device, {dtype}, grid, a);
  }
  batch_norm_coefficients_kernel(device, {dtype, parameter}, grid_of_channels(a), a);
  if (!gx.defined()) return;
  grid = cut_map(a, dtype);
  batch_norm_grad_map_kernel(device, {dtype}, grid, a);
}

}  // namespace facula::cuda
