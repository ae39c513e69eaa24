#include "cuda/reduce/scan.h"

#include <algorithm>

#include "cuda/kernel.h"
#include "cuda/kernels/scan.h"
#include "cuda/shape.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

// No state is larger.
constexpr int64_t kStateBytes = 32;
// With so many lines each has a thread, or a block, of its own.
constexpr int64_t kManyLines = 8192, kEnoughBlocks = 512;
constexpr int64_t kShortLine = 16, kPiece = 8192;

struct ScanKernels {
  Kernel<ScanArguments> beside, totals, join, pieces;
};
#define SCAN(name, dtypes)                                      \
  {                                                             \
    {"scan.h", #name "_beside", "ScanArguments", {dtypes}},     \
        {"scan.h", #name "_totals", "ScanArguments", {dtypes}}, \
        {"scan.h", #name "_join", "ScanArguments", {dtypes}}, { \
      "scan.h", #name "_pieces", "ScanArguments", { dtypes }    \
    }                                                           \
  }
constexpr DTypes kNumbers = kAllDTypes & ~only(DType::Bool);
const ScanKernels kScans[] = {SCAN(cumsum, kNumbers), SCAN(cumprod, kNumbers),
                              SCAN(logcumsumexp, kFloatDTypes | kComplexDTypes),
                              SCAN(cummax, kRealDTypes), SCAN(cummin, kRealDTypes)};
#undef SCAN

void run(const ScanKernels& kernels, Device device, DType dtype, ScanArguments& a) {
  int64_t n_lines = a.lines.numel;
  bool are_beside = a.lines.n_dims > 0 && std::abs(a.lines.strides[2][0]) < std::abs(a.x_step);
  if (!a.is_exclusive && (a.n <= kShortLine || (are_beside && n_lines >= kManyLines)))
    return kernels.beside.for_each(device, {dtype}, n_lines, a);
  // By the sizes alone: the bits never depend on the device.
  a.n_pieces = std::clamp<int64_t>(kEnoughBlocks / n_lines, 1, ceil_div(a.n, kPiece));
  a.piece_size = ceil_div(a.n, a.n_pieces);
  Workspace partials(device, a.n_pieces > 1 ? n_lines * a.n_pieces * kStateBytes : 0);
  a.partials = partials.data();
  Grid grid{n_lines, a.n_pieces};
  if (a.n_pieces > 1) {
    kernels.totals(device, {dtype}, grid, a);
    kernels.join.for_each(device, {dtype}, n_lines, a);
  }
  kernels.pieces(device, {dtype}, grid, a);
}

}  // namespace

void run_scan(ScanOp op, const Tensor& y, const Tensor& places, const Tensor& x, int64_t dim,
              bool from_end) {
  if (x.numel() == 0) return;
  ScanArguments a{};
  a.n = x.size(dim);
  const Tensor& at = places.defined() ? places : y;
  // The lines, without the dimension itself.
  auto line = [&](const Tensor& t) {
    Tensor start = alias(t);
    Dims sizes = t.sizes();
    sizes[dim] = 1;
    set_geometry(start, sizes, t.strides(), t.offset());
    return start;
  };
  Walk walk = make_walk("scan", line(y), {line(at), line(x)});
  a.lines = shape_of<3>(walk, {0, 1, 2}, [&](int d) { return walk.sizes[d] > 1; });
  a.y_step = y.stride(dim) * y.itemsize();
  a.places_step = at.stride(dim) * at.itemsize();
  a.x_step = x.stride(dim) * x.itemsize();
  a.y = y.address();
  a.places = places.defined() ? places.address() : nullptr;
  a.x = x.address();
  if (from_end) {
    a.y += (a.n - 1) * a.y_step;
    a.x += (a.n - 1) * a.x_step;
    a.y_step = -a.y_step;
    a.x_step = -a.x_step;
  }
  run(kScans[static_cast<int>(op)], x.device(), x.dtype(), a);
}

void sum_before(Device device, int64_t* counts, int64_t n) {
  ScanArguments a{};
  a.n = n;
  a.lines.numel = 1;
  a.y = reinterpret_cast<char*>(counts);
  a.x = a.y;
  a.y_step = a.x_step = sizeof(int64_t);
  a.is_exclusive = true;
  run(kScans[static_cast<int>(ScanOp::Sum)], device, DType::Int64, a);
}

}  // namespace facula::cuda
