// The numbers that cut products and convolutions. Times are of float32 on one thread of a processor
// with AVX-512 and an L2 of 1 MiB.
//
// [order] marks those that decide how a sum is cut, or which of two ways that round differently
// computes it. They depend on nothing but sizes, so that the results have the same bits for any
// number of threads and on all machines of one instruction set (for bfloat16, with or without its
// extension): a size of a cache must not stand here. The cuts that follow the caches are in
// caches.h.
#pragma once
#include <cstdint>

namespace facula::tuning {

// ---- threads

// Tasks that keep the threads even. [order] Gradients of weights have a sum of its own per task.
constexpr int64_t kMinTasks = 16;
constexpr int64_t kTaskWork = int64_t{1} << 17;   // multiplications worth giving to a thread
constexpr int64_t kCopyGrain = int64_t{1} << 16;  // numbers that a thread copies or converts,
constexpr int64_t kFillGrain = int64_t{1} << 15;  // and those that it fills or packs

// ---- the tile of C that the inner loop keeps in registers (tile.h)

constexpr int64_t kTileRows = 8;       // 8 x 3 vectors of C, 3 of B and 1 of A: 28 of 32 registers
constexpr int64_t kTileVectors = 3;    // wide, because every number of A is a load of its own
constexpr int64_t kShortTileRows = 6;  // the same for 16 registers, of AVX2 or less:
constexpr int64_t kShortTileVectors = 2;  // 6 x 2 vectors of C, 2 of B, 1 of A and 1 to multiply in
constexpr int64_t kStepsAhead =
    24;  // steps of k after which a line of B that is asked for is there

// ---- which way a product of matrices takes (plan.cc)

// A small C with a long k is a batch of products along k, for the threads.
constexpr int64_t kMinLongK = 65536;
constexpr int64_t kMaxNumelOfSlices = 64 * 64;  // of C
constexpr int64_t kSlicesAtOnce = 64;
// Rows of A so few that B is read where it lies, because packing it would take longer.
constexpr int64_t kRowsInPlace = 4;
// The same where B lies by columns: 5 rows and a B of 4096x4096 take 2.6 ms in place, 5.6 packed; 8
// rows 4.4 and 6.8.
constexpr int64_t kRowsByColumns = 8;
// Multiplications while a number of C is transposed and while one of A is packed, which the
// exchange of A and B must save.
constexpr int64_t kTurnTime = 16;
constexpr int64_t kPackTime = 6;

// ---- products of matrices

constexpr int64_t kBatchWork = int64_t{1} << 20;     // multiplications of a task of a batch
constexpr int64_t kVectorWork = kBatchWork / 16;     // and of one that reads a matrix once
constexpr int64_t kPieceOfK = 16384;                 // [order] of a sum of a matrix times a vector
constexpr int64_t kComplexNumel = int64_t{1} << 16;  // of rows of A or C that become real at once
// [order] Of a slice of k: shorter ones touch C more often. With longer slices and rows of A read
// in place, the linear layers of a 384 wide GPT went from 0.92x to 0.97x of PyTorch's speed.
constexpr int64_t kSliceOfK = 1024;
// [order] Steps of a slice from which its terms go to several sums in turns (n_sums_of(), tile.h).
constexpr int64_t kMinInterleaved = 256;
constexpr int64_t kBlockPanels = 16;    // of A in a task, fewer where tasks are few:
constexpr int64_t kMinBlockTasks = 32;  // smaller tasks rather than fewer keep the threads even
constexpr int64_t kMinBlockPanels = 2;
// Columns of A are read where they lie if they meet few panels of B, unless every step of a long
// way along k would be on another page.
constexpr int64_t kFewPanels = 4;
constexpr int64_t kSmallWork = kTaskWork;  // multiplications that are not cut at all
constexpr int64_t kMaxSteps = 128;
constexpr int64_t kMinPairCols = 16;     // [order] of C, from which bfloat16 goes in pairs
constexpr int64_t kMinDot = 32;          // [order] terms of rows that are multiplied where they lie
constexpr int64_t kTurnedNumel = 32768;  // of columns that are turned into rows at once, for L2
constexpr int64_t kPairRows = 64;        // of C in a task of such a product
constexpr int64_t kRowsAhead = 16;       // after which one that is asked for is there to be packed
constexpr int64_t kPackedRows = 24;      // panels of A
constexpr int64_t kPackedCols = 4;       // or of B that a thread packs
constexpr int64_t kIntegerDepth = 128;   // of a panel of integers, widened to words: L1 holds it
constexpr int64_t kIntegerRows = 64;     // of A that meet it
constexpr int64_t kIntegerVectors = 4;   // of B in it, one sum each

// ---- which way a convolution takes (plan.cc)

// [order] Pixels from which a kernel of one pixel is a product for each image: 16x64x12x12 takes
// 176 us so, 190 as one product of all images; 16x64x7x7 takes 80 and 78.
constexpr int64_t kMinPointwise = 128;
// [order] Rows of a sum that read windows from copied lines, because packing them would cost more
// than multiplying: 32 channels of 4x28x28 to 4 take 131 us so, 165 packed (to one: 77, 135);
// depthwise 3x3 on 64 channels 199 and 835, its gradient of the weight 166 and 1107.
constexpr int64_t kFewRows = 4;
constexpr int64_t kMinReads = 8;                     // [order] of a number in such a line
constexpr int64_t kMaxLineNumel = int64_t{1} << 16;  // [order] of the lines under one: a part of L2
// [order] Winograd's way: 32 channels on 8x28x28 take 717 us so, 1236 packed (gradient of the
// weight 858, 1218), 512 channels on 8x7x7 12.9 ms and 19.0 (gradient of the weight 17.3, 20.3).
// Fewer channels do not pay for the transforms; more weights would be read from memory for every
// panel of tiles; and with fewer tiles in an image the weights are most of the work.
constexpr int64_t kMinWinogradChannels = 32;
constexpr int64_t kMaxWinogradWeights = 512 * 512;
constexpr int64_t kMinWinogradTiles = 16;
// [order] Sums that read copied lines in place of packed windows, pixels by output channels: 32
// channels 5x5 to 64 on 64x14x14 take 11.0 ms so, 13.4 packed, the gradient of the input of 3x3
// with stride 2 (64 to 128 channels on 8x56x56) 9.5 and 12.1. Of the lanes that channels fill, one
// in kLineLanes may be padding. A number that is copied must be read by several taps: with AVX2,
// 3x3 with stride 2 takes 11.5 ms so, 10.3 packed.
constexpr int64_t kLineLanes = 8;
constexpr int64_t kMinLineReads = 3;
constexpr int64_t kMinLinePixels = 4;  // of a line, which a tile has for its rows
constexpr int64_t kMinLineDepth = 6;   // terms of a line of taps, between which the loop turns
constexpr int64_t kMaxGatherStep = int64_t{1} << 24;  // [order] times 16 lanes, it is an int32
constexpr int64_t kMaxPackedTaps = 4096;              // [order] whose windows of a channel fit

// ---- convolutions from copied lines (conv_direct.cpp)

constexpr int64_t kGoodLineNumel = int64_t{1} << 13;  // [order] of the copied lines: L1 holds them
// [order] Times the lines that a window reaches over, copied at least if L2 holds them: with lines
// for one line of pixels at a time, the gradient of the images of a stem took 33 ms instead of 25.
constexpr int64_t kLineReaches = 2;
constexpr int64_t kSegmentPixels = 512;  // [order] of a line of pixels
constexpr int kTapSums = 8;              // taps whose sums are in registers

// ---- convolutions of each channel by itself, the channels last (conv_each.cpp)

constexpr int64_t kMinEachChannels = 8;  // [order] which fill the lanes of vectors
constexpr int64_t kMaxEachReach = 64;    // [order] of pixels under a window, and between windows

// ---- convolutions as products with packed windows (conv_packed.cpp, conv_packed_weight.cpp)

constexpr int64_t kWindowDepth = 384;  // [order] of a slice of channels times taps
constexpr int64_t kMinWindowPanels = 3;
constexpr int64_t kPlanesAtOnce = 16;     // channels whose lines stay in L1 while taps read them
constexpr int64_t kMinWeightPanels = 16;  // packing windows costs as much as 2
constexpr int64_t kWindowWork = int64_t{1} << 18;      // multiplications worth giving to a thread
constexpr int64_t kSlicePixels = 384;                  // [order] of a slice of pixels
constexpr int64_t kMaxCopiedNumel = int64_t{1} << 16;  // [order] of copied lines: a part of L2
constexpr int64_t kWeightRows = 288;  // [order] of a task: turning y over costs as much as 16.
constexpr int64_t kWeightSums = int64_t{1} << 16;  // [order] Where sums are so few, more rows

// ---- convolutions as products with copied lines (conv_lines.cpp)

constexpr int kLinePixels = 14;  // 14 x 2 vectors of sums, 2 of weights and 1 pixel: 31 registers
constexpr int kShortLinePixels = 6;  // the same for 16 registers
constexpr int64_t kTapLines = 192;   // [order] of a slice: L1 holds what a tile reads of them
constexpr int64_t kLineRows = 128;   // of a task, for which lines are copied
constexpr int64_t kMaxLineSums = int64_t{1} << 16;  // of a task: a part of L2
constexpr int64_t kMinLineCells = 64;

// ---- Winograd's convolution (conv_winograd.cpp)

constexpr int64_t kWinogradRows = 64;  // [order] whose products stay in L2 beside the windows
constexpr int64_t kSliceTiles = 96;    // [order] for the gradient of the weight,
constexpr int64_t kWeightVectors = 2;  // where panels have two vectors

// ---- convolutions of bfloat16 in pairs (conv_pairs.cpp)

// [order] Of the output and of the result, in a group: channels fill the lanes of vectors. The
// gradient of 3-channel images with 96 kernels of 4x4 took 4.7 ms in floats and 12 in pairs.
constexpr int64_t kMinPairsChannels = 8;
constexpr int64_t kMinPairsDepth = 16;             // [order] of channels times taps
constexpr int64_t kPairsNumel = int64_t{1} << 17;  // of the copies under a block: a part of L2
constexpr int64_t kMinPairsPixels = 96;            // of a block, that meet what is read of w
constexpr int64_t kPairsPixels = 512;   // [order] of one at most, and of a slice of pixels
constexpr int64_t kMaxPairsReach = 16;  // of taps that share copies
constexpr int64_t kPlanesAhead = 4;     // channels after which a line that is asked for is there

// ---- convolutions as products with columns (conv_columns.cc)

constexpr int64_t kColumnsNumel = int64_t{1} << 17;  // [order] of a block of columns: L2 holds it
constexpr int64_t kMinColumns = 16;                  // [order]

}  // namespace facula::tuning
