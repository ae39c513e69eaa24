// How a discrete Fourier transform of one length is computed: its passes and tables of roots.
//
// Note [Passes]
// A transform of n = L * r * S points is r transforms of the points that lie r apart, joined by
// butterflies of radix r. Before the pass of radix r, element (k, s) is number k of the transform
// of the points s, s + rS, s + 2rS, ...; it stands at k * rS + s. The pass takes the elements
// (k, jS + s) for j < r, turns them by e^(-2 pi i jk / Lr) and writes the numbers k + Lj at
// (k + Lj) * S + s: the result is in order after the last pass, without any exchange of bits.
// All of it is the same for neighbours s, so that vectors hold neighbours. Where the last radix is
// the number of lanes, they always do, but for the last pass, which turns squares of numbers over.
// Or vectors hold the same point of neighbouring lines. Both do the same to each number.
//
// A way depends on the length alone, never on the number of lines: a line has the same bits alone
// and among others.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace facula::cpu {

enum class FftWay {
  Direct,     // passes as above
  FourSteps,  // of n1 * n2 points: columns of n2, turned, then rows of n1: a long line as many
              // lines
  Bluestein   // a convolution with e^(pi i k^2 / n), for lengths with a large prime factor
};

template <class T>
struct FftPass {
  int64_t radix;
  int64_t n_done;       // L, the product of the radices before
  const T* turns;       // cos and sin of the angles by which the inputs j = 1, ... are turned
  int64_t block_lanes;  // turns of that many k's stand side by side
  const T* roots;       // of an odd radix: cos and sin of 2 pi i / radix, i = 0, ...
};

template <class T>
struct FftPlan {
  int64_t n = 0;
  FftWay way = FftWay::Direct;

  std::vector<FftPass<T>> passes;
  bool ends_with_lanes = false;  // the last radix is the number of lanes
  std::vector<std::vector<T>> tables;

  // Four steps. The angle of turn (k, j) is 2 pi jk / n; j is the start of a vector, whose own
  // turns are `coarse[e >> kFineBits] * fine[e & ...]` for e = jk, and a lane, in `lanes`.
  std::shared_ptr<const FftPlan> columns, rows;
  std::vector<T> lanes;
  std::vector<double> fine, coarse;

  // Bluestein, in double precision for float, too: its errors are larger than those of passes.
  std::shared_ptr<const FftPlan<double>> convolution;
  std::vector<double> chirp, spectrum;

  int64_t nbytes = 0;
};

constexpr int kFineBits = 10;
constexpr int kMaxOddRadix = 127;  // larger primes are faster as a convolution

// Turns between a real line of n points and the complex one of n / 2: cos and sin of 2 pi k / n as
// a product of two, to keep the tables in the cache. The first 2^kFineBits are exact.
template <class T>
struct RealTurns {
  std::vector<T> fine_cos, fine_sin, coarse;
  int64_t nbytes = 0;
};

// For vectors of that many lanes. Thread-safe; the plans used last are kept.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n, int64_t n_lanes);
template <class T>
std::shared_ptr<const RealTurns<T>> real_turns(int64_t n);

}  // namespace facula::cpu
