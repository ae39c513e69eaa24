// The passes of a transform, see Note [Passes].
#pragma once
#include <algorithm>

#include "cpu/fft/plan.h"
#include "cpu/fft/points.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

// Turns of number k of a pass: those of input j are cos[(j - 1) * step] and sin[(j - 1) * step].
template <class T>
struct Turns {
  const T *cos, *sin;
  int64_t step;

  FACULA_FN Turns(const FftPass<T>& pass, int64_t k)
      : cos(pass.turns + k / pass.block_lanes * (pass.radix - 1) * 2 * pass.block_lanes +
            k % pass.block_lanes),
        sin(cos + pass.block_lanes),
        step(2 * pass.block_lanes) {}
};

// The inputs of number k, turned and transformed. kRadix is 0 where only the pass knows it.
template <int kRadix, class T>
struct Inputs {
  static constexpr int kRoom = kRadix ? kRadix : kMaxOddRadix;
  const FftPass<T>& pass;
  int radix;
  Cx<Vec<T>> x[kRoom];

  explicit FACULA_FN Inputs(const FftPass<T>& pass)
      : pass(pass), radix(kRadix ? kRadix : static_cast<int>(pass.radix)) {}
  // By the same angles in all lanes, or by those of the numbers from k on.
  FACULA_FN void turn(const Turns<T>& turns) {
    for (int j = 1; j < radix; ++j)
      x[j] = turned(x[j], Vec<T>(turns.cos[(j - 1) * turns.step]),
                    Vec<T>(turns.sin[(j - 1) * turns.step]));
  }
  FACULA_FN void turn_lanes(const Turns<T>& turns) {
    for (int j = 1; j < radix; ++j)
      x[j] = turned(x[j], Vec<T>::load(turns.cos + (j - 1) * turns.step),
                    Vec<T>::load(turns.sin + (j - 1) * turns.step));
  }
  FACULA_FN void transform() {
    if constexpr (kRadix > 0 && kRadix % 2 == 0) {
      Butterfly<kRadix, Vec<T>>::run(x);
    } else {
      odd_butterfly(x, radix, pass.roots);
    }
  }
};

// f(radix) with the radix of a pass as a constant; with 0 for those that are rare.
template <class F>
FACULA_FN void with_radix(int64_t radix, F f) {
  switch (radix) {
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 5:
      return f(std::integral_constant<int, 5>());
    case 7:
      return f(std::integral_constant<int, 7>());
    case 8:
      return f(std::integral_constant<int, 8>());
    case 16:
      return f(std::integral_constant<int, 16>());
    default:
      return f(std::integral_constant<int, 0>());
  }
}

// Of blocks. n_vectors: how many of them neighbours s, and lines, fill.
template <int kRadix, bool kIsTurned, class T>
void run_pass(const FftPass<T>& pass, int64_t n_vectors, const T* in, T* out) {
  constexpr int64_t block = 2 * Vec<T>::kLanes;
  int64_t out_step = pass.n_done * n_vectors * block, in_step = n_vectors * block;
  Inputs<kRadix, T> inputs(pass);
  for (int64_t k = 0; k < pass.n_done; ++k) {
    for (int64_t v = 0; v < n_vectors; ++v) {
      for (int j = 0; j < inputs.radix; ++j) inputs.x[j] = load_block(in + j * in_step);
      if constexpr (kIsTurned) inputs.turn(Turns<T>(pass, k));
      inputs.transform();
      for (int j = 0; j < inputs.radix; ++j) store_block(out + j * out_step, inputs.x[j]);
      in += block;
      out += block;
    }
    in += (inputs.radix - 1) * in_step;
  }
}

// Two pieces of memory, from one to the other with each pass.
template <class T>
struct Buffers {
  T *now, *next;
  void exchange() { std::swap(now, next); }
};

// All passes, or all but the last, of blocks that hold `n_points` points of a line each.
template <class T>
void run_passes(const FftPlan<T>& plan, size_t n_passes, int64_t n_points, Buffers<T>& buffers) {
  for (size_t i = 0; i < n_passes; ++i) {
    const FftPass<T>& pass = plan.passes[i];
    int64_t n_vectors = plan.n / (pass.n_done * pass.radix * n_points);
    with_radix(pass.radix, [&](auto radix) {
      pass.turns ? run_pass<radix, true>(pass, n_vectors, buffers.now, buffers.next)
                 : run_pass<radix, false>(pass, n_vectors, buffers.now, buffers.next);
    });
    buffers.exchange();
  }
}

// The last pass of a single line. Its `lanes` inputs are neighbours, in one block: a square of
// numbers k and inputs is turned over. store(at, n, x) takes n points of the result.
template <class T, class Store>
void run_last_pass(const FftPass<T>& pass, const T* in, Store store) {
  constexpr int lanes = Vec<T>::kLanes;
  for (int64_t k = 0; k < pass.n_done; k += lanes) {
    int64_t n = std::min<int64_t>(lanes, pass.n_done - k);
    Inputs<lanes, T> inputs(pass);
    for (int i = 0; i < lanes; ++i)
      inputs.x[i] = load_block(in + 2 * lanes * (k + std::min<int64_t>(i, n - 1)));
    turn_over(inputs.x);
    if (pass.turns) inputs.turn_lanes(Turns<T>(pass, k));
    inputs.transform();
    for (int j = 0; j < lanes; ++j) store(j * pass.n_done + k, n, inputs.x[j]);
  }
}

// Parts of a single line apart from each other. There is room for a vector before and after each.
template <class T>
struct Parts {
  T *re, *im;

  static int64_t numel(int64_t m) { return 2 * (m + 2 * Vec<T>::kLanes); }
  Parts(T* memory, int64_t m) : re(memory + Vec<T>::kLanes), im(re + m + 2 * Vec<T>::kLanes) {}
  FACULA_FN Cx<Vec<T>> load(int64_t k) const {
    return {Vec<T>::load(re + k), Vec<T>::load(im + k)};
  }
  FACULA_FN Cx<Vec<T>> load_down(int64_t k) const {
    Cx<Vec<T>> x = load(k - Vec<T>::kLanes + 1);
    return {reversed(x.re), reversed(x.im)};
  }
  FACULA_FN void store(int64_t k, int64_t n, Cx<Vec<T>> x) const {
    if (n >= Vec<T>::kLanes) {
      x.re.store(re + k);
      x.im.store(im + k);
    } else {
      x.re.store(re + k, n);
      x.im.store(im + k, n);
    }
  }
};

// The passes of a single line whose length is no multiple of the lanes: vectors of neighbours s,
// of which the last ones are not full; in the last pass, of numbers k.
template <int kRadix, class T>
void run_part_pass(const FftPass<T>& pass, int64_t n_neighbours, Parts<T> in, Parts<T> out) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  Inputs<kRadix, T> inputs(pass);
  if (n_neighbours > 1) {
    for (int64_t k = 0; k < pass.n_done; ++k)
      for (int64_t s = 0; s < n_neighbours; s += lanes) {
        for (int j = 0; j < inputs.radix; ++j)
          inputs.x[j] = in.load((k * inputs.radix + j) * n_neighbours + s);
        if (pass.turns) inputs.turn(Turns<T>(pass, k));
        inputs.transform();
        for (int j = 0; j < inputs.radix; ++j)
          out.store((k + pass.n_done * j) * n_neighbours + s, n_neighbours - s, inputs.x[j]);
      }
    return;
  }
  for (int64_t k = 0; k < pass.n_done; k += lanes) {
    int64_t n = std::min(lanes, pass.n_done - k);
    for (int j = 0; j < inputs.radix; ++j) {
      T re[lanes] = {}, im[lanes] = {};
      for (int64_t i = 0; i < n; ++i) {
        re[i] = in.re[(k + i) * inputs.radix + j];
        im[i] = in.im[(k + i) * inputs.radix + j];
      }
      inputs.x[j] = {Vec<T>::load(re), Vec<T>::load(im)};
    }
    if (pass.turns) inputs.turn_lanes(Turns<T>(pass, k));
    inputs.transform();
    for (int j = 0; j < inputs.radix; ++j) out.store(pass.n_done * j + k, n, inputs.x[j]);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
