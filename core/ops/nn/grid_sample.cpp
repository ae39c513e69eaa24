// Images at places that a grid gives.
#include "cpu/nn/grid_sample.h"
#include "autograd/node.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

namespace {

using cpu::GridMode;
using cpu::GridPadding;

struct GridOptions {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  bool in_pixels;
};

constexpr int64_t kGridGrain = 8192;  // products of a task

cpu::GridShape shape_of(const Tensor& x, const Tensor& grid, const GridOptions& options) {
  cpu::GridShape shape = {};
  shape.n_channels = x.size(1);
  shape.sizes[0] = x.dim() == 5 ? x.size(2) : 1;
  shape.sizes[1] = x.size(-2);
  shape.sizes[2] = x.size(-1);
  shape.n_coordinates = static_cast<int>(x.dim()) - 2;
  shape.n_places = grid.numel() / (grid.size(0) * shape.n_coordinates);
  shape.mode = options.mode;
  shape.padding = options.padding;
  shape.align_corners = options.align_corners;
  shape.in_pixels = options.in_pixels;
  return shape;
}

Dims result_sizes(const Tensor& x, const Tensor& grid) {
  Dims sizes = x.sizes();
  for (int64_t d = 2; d < x.dim(); ++d) sizes[d] = grid.size(d - 1);
  return sizes;
}

// ---- as other operations, for derivatives of any order

// The coordinates that `grid` gives along a dimension of this size, of any shape.
Tensor unnormalized(const Tensor& grid, int64_t size, const GridOptions& options) {
  if (options.in_pixels) return grid;
  double scale = static_cast<double>(options.align_corners ? size - 1 : size) / 2;
  return (grid + Scalar(1)) * Scalar(scale) + Scalar(options.align_corners ? 0.0 : -0.5);
}

// A coordinate brought inside. Every step of it is a line, so that the derivative is a sign or 0.
Tensor brought_inside(const Tensor& at, int64_t size, const GridOptions& options) {
  if (options.padding == GridPadding::Zeros) return at;
  Tensor value, slope, free = detach(at);
  {
    NoGradGuard guard;
    value = free;
    slope = full(at.sizes(), 1, at.dtype(), at.device());
    double low = options.align_corners ? 0 : -0.5;
    double span = static_cast<double>(options.align_corners ? size - 1 : size);
    if (options.padding == GridPadding::Reflection && span > 0) {
      Tensor distance = abs(value - Scalar(low)), way = sign(value - Scalar(low));
      Tensor flips = floor(distance * Scalar(1 / span)), rest = distance - flips * Scalar(span);
      Tensor is_odd = flips - floor(flips * Scalar(0.5)) * Scalar(2);
      value = rest + is_odd * (Scalar(span) - rest * Scalar(2)) + Scalar(low);
      slope = way * (is_odd * Scalar(-2) + Scalar(1));
    } else if (options.padding == GridPadding::Reflection) {
      value = value * Scalar(0);
    }
    Tensor is_within = logical_and(gt(value, wrapped_number(0)),
                                   lt(value, wrapped_number(static_cast<double>(size - 1))));
    slope = slope * to_dtype(is_within, at.dtype());
    value = clamp(value, Scalar(0), Scalar(static_cast<double>(size - 1)));
  }
  return value + slope * (at - free);
}

// An element along one dimension: its index, inside or not, and its weight.
struct Tap {
  Tensor index;
  Tensor weight;
};

// The cubic kernel with slope -0.75 at the distances x from 0 to 1, or from 1 to 2.
Tensor near_cubic(const Tensor& x) { return (x * Scalar(1.25) - Scalar(2.25)) * x * x + Scalar(1); }
Tensor far_cubic(const Tensor& x) {
  return ((x * Scalar(-0.75) + Scalar(3.75)) * x - Scalar(6)) * x + Scalar(3);
}

std::vector<Tap> composed_taps(const Tensor& coordinate, int64_t size, const GridOptions& options) {
  Tensor at = unnormalized(coordinate, size, options);
  if (options.mode == GridMode::Bicubic) {
    Tensor first = floor(detach(at)), part = at - first;
    auto index = [&](int64_t k) { return brought_inside(first + Scalar(k), size, options); };
    return {{index(-1), far_cubic(part + Scalar(1))},
            {index(0), near_cubic(part)},
            {index(1), near_cubic(Scalar(1) - part)},
            {index(2), far_cubic(Scalar(2) - part)}};
  }
  at = brought_inside(at, size, options);
  if (options.mode == GridMode::Nearest) {
    Tensor index = round(detach(at));
    return {{index, full(index.sizes(), 1, index.dtype(), index.device())}};
  }
  Tensor first = floor(detach(at)), part = at - first;
  return {{first, Scalar(1) - part}, {first + Scalar(1), part}};
}

Tensor composed_grid_sample(const Tensor& x, const Tensor& grid, const GridOptions& options) {
  int64_t n = x.dim() - 2;
  int64_t n_places = 1;  // of a sample
  for (int64_t d = 1; d + 1 < grid.dim(); ++d) n_places *= grid.size(d);
  Tensor places = reshape(grid, {grid.size(0), 1, n_places, n});
  std::vector<std::vector<Tap>> taps;
  for (int64_t d = 0; d < n; ++d)
    taps.push_back(composed_taps(select(places, -1, n - 1 - d), x.size(d + 2), options));
  Tensor elements = flatten(x, 2, -1), y;
  size_t n_taps = taps[0].size(), n_products = n_taps * n_taps * (n == 3 ? n_taps : 1);
  for (size_t product = 0; product < n_products; ++product) {
    Tensor weight, flat, is_inside;
    size_t rest = product;
    for (int64_t d = 0; d < n; ++d, rest /= n_taps) {
      const Tap& tap = taps[d][rest % n_taps];
      weight = weight.defined() ? weight * tap.weight : tap.weight;
      NoGradGuard guard;
      Tensor index = detach(tap.index), size = wrapped_number(x.size(d + 2));
      Tensor fits = logical_and(ge(index, wrapped_number(0)), lt(index, size));
      index = to_dtype(where(fits, index, wrapped_number(0)), DType::Int64);
      is_inside = is_inside.defined() ? logical_and(is_inside, fits) : fits;
      flat = flat.defined() ? flat * Scalar(x.size(d + 2)) + index : index;
    }
    Dims all = {x.size(0), x.size(1), flat.size(-1)};
    Tensor part = gather(elements, -1, expand(flat, all)) * weight;
    part = masked_fill(part, expand(logical_not(is_inside), all), wrapped_number(0));
    y = y.defined() ? y + part : part;
  }
  return reshape(y, result_sizes(x, grid));
}

TensorList composed_gradients(const Tensor& g, const Tensor& x, const Tensor& grid,
                              const GridOptions& options, Needs need) {
  // Views stand for the inputs: the grid may itself depend on x.
  Tensor inputs[2] = {alias_view(x), alias_view(grid)};
  TensorList wanted, result(2);
  for (int i = 0; i < 2; ++i)
    if (need[i]) wanted.push_back(inputs[i]);
  Tensor y = composed_grid_sample(inputs[0], inputs[1], options);
  TensorList grads = run_backward({y}, {g}, true, true, wanted, false);
  size_t next = 0;
  for (int i = 0; i < 2; ++i) {
    if (!need[i]) continue;
    result[i] = grads[next++];
    if (!result[i].defined()) result[i] = zeros(inputs[i].sizes(), g.dtype(), g.device());
  }
  return result;
}

// ---- with the kernels

// How the kernel reads x. Many places are read faster with the channels last, even if they have to
// be brought there: 16 x 128 x 128 at as many places takes 0.3 ms instead of 0.75.
MemoryFormat read_format(const Tensor& x, const cpu::GridShape& shape, const GridOptions& options) {
  int64_t n_elements = shape.sizes[0] * shape.sizes[1] * shape.sizes[2];
  bool has_many_channels = shape.n_channels >= (options.mode == GridMode::Bicubic ? 2 : 8);
  MemoryFormat last = x.dim() == 4 ? MemoryFormat::ChannelsLast : MemoryFormat::ChannelsLast3d;
  return shape.n_places * 2 >= n_elements && has_many_channels ? last : format_of(x);
}

Tensor run_forward(const Tensor& input, const Tensor& places, const GridOptions& options) {
  NoGradGuard guard;
  Tensor y = empty(result_sizes(input, places), input.dtype(), input.device());
  if (y.numel() == 0 || y.is_meta()) return y;
  cpu::GridShape shape = shape_of(input, places, options);
  MemoryFormat format = read_format(input, shape, options);
  Tensor x = contiguous(input, format), grid = contiguous(places);
  char* to = y.data();
  const char *from = x.data(), *at = grid.data();
  const cpu::GridTable& table = cpu::get_grid_table();
  cpu::GridForward kernel = kernel_of(
      format == MemoryFormat::Contiguous ? table.forward : table.forward_channels, x.dtype());
  int64_t cost = cpu::kGridPlaces * (shape.n_channels + 4) * 4;
  parallel_for(x.size(0) * ceil_div(shape.n_places, cpu::kGridPlaces),
               std::max<int64_t>(1, kGridGrain / cost),
               [&](int64_t begin, int64_t end) { kernel(to, from, at, shape, begin, end); });
  return y;
}

// Sums of half precision are made in float32.
TensorList run_gradients(const Tensor& grad, const Tensor& input, const Tensor& places,
                         const GridOptions& options, Needs need) {
  NoGradGuard guard;
  DType dtype = wide_dtype(input.dtype());
  Tensor g = contiguous(to_dtype(grad, dtype)), x = contiguous(to_dtype(input, dtype)),
         grid = contiguous(to_dtype(places, dtype));
  TensorList result(2);
  if (need[0]) result[0] = zeros(x.sizes(), dtype, x.device());
  if (need[1]) result[1] = zeros(grid.sizes(), dtype, x.device());
  if (g.numel() > 0 && !g.is_meta()) {
    const cpu::GridTable& table = cpu::get_grid_table();
    cpu::GridShape shape = shape_of(x, grid, options);
    const char *up = g.data(), *from = x.data(), *at = grid.data();
    auto run = [&](cpu::GridBackward kernel, const Tensor& to, int64_t n_tasks, int64_t cost) {
      char* data = to.data();
      parallel_for(n_tasks, std::max<int64_t>(1, kGridGrain / cost),
                   [&](int64_t b, int64_t e) { kernel(data, up, from, at, shape, b, e); });
    };
    if (need[0])
      run(table.to_input[static_cast<int>(dtype)], result[0],
          x.size(0) * ceil_div(shape.n_channels, cpu::kGridChannels),
          shape.n_places * cpu::kGridChannels);
    if (need[1])
      run(table.to_grid[static_cast<int>(dtype)], result[1],
          x.size(0) * ceil_div(shape.n_places, cpu::kGridPlaces),
          cpu::kGridPlaces * (shape.n_channels + 1) * 4);
  }
  for (Tensor& r : result)
    if (r.defined()) r = to_dtype(r, input.dtype());
  return result;
}

void check_grid(const Tensor& x, const Tensor& grid, const GridOptions& options) {
  check(x.device() == grid.device() && x.dtype() == grid.dtype(),
        "grid_sample: expected input and grid of one device and dtype, got ", x, " and ", grid,
        ".");
  check((x.dim() == 4 || x.dim() == 5) && grid.dim() == x.dim(),
        "grid_sample: expected an input and a grid of 4 or 5 dimensions both, got ", x, " and ",
        grid, ".");
  check(x.size(0) == grid.size(0), "grid_sample: expected an input and a grid of one batch size, ",
        "got ", x, " and ", grid, ".");
  check(grid.size(-1) == x.dim() - 2, "grid_sample: expected a grid of ", x.dim() - 2,
        " coordinates (its last dimension), got ", grid, ".");
  int64_t numel = 1;
  for (int64_t d = 2; d < x.dim(); ++d) {
    check(x.size(d) > 0, "grid_sample: expected an input with elements, got ", x, ".");
    numel *= x.size(d);
  }
  check(numel < INT32_MAX, "grid_sample: a channel has more than 2^31 elements in ", x, ".");
  check(options.mode != GridMode::Bicubic || x.dim() == 4,
        "grid_sample: mode 'bicubic' is for an input (N, C, H, W), got ", x, ".");
  check_not_implemented(is_floating(x.dtype()), "grid_sample: not implemented for ", x,
                        ". Convert it with input.float().");
}

Tensor sample(const char* name, const Tensor& x, const Tensor& grid, const GridOptions& options) {
  check_grid(x, grid, options);
  if (x.device().is_cuda()) {
    // Places of 16 bits would be off by parts of an element.
    DType wide = wide_dtype(x.dtype());
    Tensor y = composed_grid_sample(to_dtype(x, wide), to_dtype(grid, wide), options);
    y = to_dtype(y, x.dtype());
    if (options.mode != GridMode::Nearest) return y;
    // The nearest element is the same all around a place: its gradient is 0, not none.
    return record(
        name, detach(y), {y, grid},
        [sizes = grid.sizes(), dtype = grid.dtype()](const Tensor& g, Needs need) -> TensorList {
          return {g, need[1] ? zeros(sizes, dtype, g.device()) : Tensor()};
        });
  }
  return record(name, run_forward(x, grid, options), {x, grid},
                [options, x = save(x), grid = save(grid)](const Tensor& g, Needs need) {
                  return is_grad_enabled() ? composed_gradients(g, x, grid, options, need)
                                           : run_gradients(g, x, grid, options, need);
                });
}

// x (N, C, H, W) at grid (N, h, w, 2), or (N, C, D, H, W) at (N, d, h, w, 3); coordinates from -1
// to 1, that along the last dimension first.
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t mode, int64_t padding_mode,
                    bool align_corners) {
  check(mode >= 0 && mode <= 2 && padding_mode >= 0 && padding_mode <= 2,
        "grid_sampler: interpolation_mode and padding_mode must be from 0 to 2, got ", mode,
        " and ", padding_mode, ".");
  const char* name = x.dim() == 4 ? "GridSampler2DBackward0" : "GridSampler3DBackward0";
  return sample(name, x, grid,
                {static_cast<GridMode>(mode), static_cast<GridPadding>(padding_mode), align_corners,
                 /*in_pixels=*/false});
}

// x (N, C, H, W) between its elements, at places (N, h, w, 2) that count them from 0, that along
// the last dimension first; 0 outside.
Tensor sample_pixels(const Tensor& x, const Tensor& places) {
  return sample("SamplePixelsBackward0", x, places,
                {GridMode::Bilinear, GridPadding::Zeros, /*align_corners=*/true,
                 /*in_pixels=*/true});
}

}  // namespace

FACULA_BINDINGS {
  m.def("_sample_pixels", &sample_pixels, "input"_a, "places"_a);
  auto def_sampler = [&](const char* name, const char* doc) {
    m.def(name, &grid_sampler, "input"_a, "grid"_a, "interpolation_mode"_a, "padding_mode"_a,
          "align_corners"_a, doc);
  };
  def_sampler("grid_sampler",
              R"(Images at places that a grid gives, see :func:`facula.nn.functional.grid_sample`.
    input: images ``(N, C, H, W)`` or ``(N, C, D, H, W)``.
    grid: places from -1 to 1, ``(N, h, w, 2)`` or ``(N, d, h, w, 3)``.
    interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
    padding_mode: 0 zeros, 1 border, 2 reflection.
    align_corners: whether -1 and 1 are the centers of the corner elements or their outer edges.
    >>> x = facula.tensor([[[[1.0, 3.0]]]])
    >>> facula.grid_sampler(x, facula.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]]))"_doc);
  def_sampler("grid_sampler_2d", R"(:func:`grid_sampler` for images ``(N, C, H, W)``.
    input: images.
    grid: places from -1 to 1, ``(N, h, w, 2)``.
    interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
    padding_mode: 0 zeros, 1 border, 2 reflection.
    align_corners: whether -1 and 1 are the centers of the corner elements or their outer edges.
    >>> x = facula.tensor([[[[1.0, 3.0]]]])
    >>> facula.grid_sampler_2d(x, facula.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.]]]]))"_doc);
  def_sampler("grid_sampler_3d", R"(:func:`grid_sampler` for images ``(N, C, D, H, W)``.
    input: images.
    grid: places from -1 to 1, ``(N, d, h, w, 3)``.
    interpolation_mode: 0 bilinear, 1 nearest.
    padding_mode: 0 zeros, 1 border, 2 reflection.
    align_corners: whether -1 and 1 are the centers of the corner elements or their outer edges.
    >>> x = facula.tensor([[[[[1.0, 3.0]]]]])
    >>> facula.grid_sampler_3d(x, facula.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[2.]]]]]))"_doc);
}

}  // namespace facula
