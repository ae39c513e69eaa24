// Elements of (channels, D, H, W) slices at places that lie between them.
#pragma once
#include <array>

#include "base/dtype.h"
#include "cpu/isa.h"

namespace facula::cpu {

enum class GridMode { Bilinear, Nearest, Bicubic };
enum class GridPadding { Zeros, Border, Reflection };

// Two dimensions are three of which the first has size 1 and no coordinate.
struct GridShape {
  int64_t n_channels;
  int64_t sizes[3];   // D, H, W
  int64_t n_places;   // of the result, a slice
  int n_coordinates;  // 2 or 3; the first is that along W
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  bool in_pixels;  // coordinates count elements from 0, instead of going from -1 to 1
};

// Of x (batch, channels, D, H, W) and grid (batch, places, coordinates), contiguous. Tasks
// [begin, end) are blocks of kGridPlaces places of slices, or of kGridChannels channels.
using GridForward = void (*)(char* y, const char* x, const char* grid, const GridShape& shape,
                             int64_t begin, int64_t end);
using GridBackward = void (*)(char* to, const char* g, const char* x, const char* grid,
                              const GridShape& shape, int64_t begin, int64_t end);

constexpr int64_t kGridPlaces = 64;
constexpr int64_t kGridChannels = 8;

struct GridTable {
  std::array<GridForward, kNumDTypes> forward;
  std::array<GridForward, kNumDTypes> forward_channels;  // of x with its channels last
  std::array<GridBackward, kNumDTypes> to_input;         // by channels; x is not read
  std::array<GridBackward, kNumDTypes> to_grid;
};

FACULA_KERNEL_TABLE(GridTable, grid_table)

}  // namespace facula::cpu
