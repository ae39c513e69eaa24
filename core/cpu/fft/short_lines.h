// Lines that are transformed directly: side by side, or one by one.
#pragma once
#include <algorithm>

#include "base/integers.h"
#include "cpu/fft/fft.h"
#include "cpu/fft/passes.h"
#include "cpu/fft/real_lines.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

template <class T>
struct Transform {
  const FftPlan<T>& plan;
  const RealTurns<T>* turns;
  FftForm form;
  int64_t n, n_out;
  T factor;
};

template <class T>
void scatter_blocks(const Points<T>& result, int64_t n, int64_t n_lines, const T* blocks,
                    T factor) {
  Vec<T> scale = factor;
  scatter_lines(result, n, n_lines, [&](int64_t j) FACULA_INLINE {
    Cx<Vec<T>> x = load_block(blocks + 2 * Vec<T>::kLanes * j);
    return Cx<Vec<T>>{x.re * scale, x.im * scale};
  });
}

// `lanes` lines side by side, in blocks of one point.
template <class T>
void transform_lines(const Transform<T>& x, const Points<T>& source, const Points<T>& result,
                     int64_t n_lines, Buffers<T> buffers) {
  constexpr int64_t lanes = Vec<T>::kLanes, block = 2 * lanes;
  int64_t m = x.plan.n, n_given = m;
  if (x.form == FftForm::HalfEven || x.form == FftForm::HalfOdd) n_given = x.n / 2 + 1;
  gather_lines(source, n_given, n_lines, buffers.now);
  Vec<T> zero = T(0);
  if (x.form == FftForm::HalfEven) {
    zero.store(buffers.now + lanes);
    zero.store(buffers.now + m * block + lanes);
    for (int64_t k = 0; k < m; ++k) {
      Cx<T> turn = real_turn<T>(*x.turns, k);
      store_block(
          buffers.next + k * block,
          number_of_pairs(load_block(buffers.now + k * block),
                          load_block(buffers.now + (m - k) * block), Cx<Vec<T>>{turn.re, turn.im}));
    }
    buffers.exchange();
  } else if (x.form == FftForm::HalfOdd) {
    zero.store(buffers.now + lanes);
    for (int64_t k = 0; k < m; ++k) {
      Cx<Vec<T>> half = load_block(buffers.now + (k < n_given ? k : m - k) * block);
      store_block(buffers.next + k * block, Cx<Vec<T>>{k < n_given ? half.im : -half.im, half.re});
    }
    buffers.exchange();
  }
  run_passes(x.plan, x.plan.passes.size(), 1, buffers);
  const T* z = buffers.now;
  if (x.form == FftForm::RealEven) {
    Vec<T> half = T(0.5) * x.factor;
    scatter_lines(result, x.n_out, n_lines, [&](int64_t k) FACULA_INLINE {
      Cx<T> turn = real_turn<T>(*x.turns, k);
      return number_of_real(load_block(z + (k == m ? 0 : k) * block),
                            load_block(z + (k == 0 ? 0 : m - k) * block),
                            Cx<Vec<T>>{turn.re, turn.im}, half);
    });
  } else {
    // Real points leave in pairs.
    int64_t n_out = x.form == FftForm::HalfEven ? m : x.n_out;
    scatter_blocks(result, n_out, n_lines, z, x.factor);
  }
}

// Points of a single line, source and result of neighbours, in parts: what comes before the passes
// and after them where these are of parts, too, or the line is real.
template <class T>
void load_parts(const Points<T>& source, int64_t n, Parts<T> parts) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  const T* from = source.first();
  if (source.is_pairs()) {
    Parts<T> to = parts;
    if (from == source.im) std::swap(to.re, to.im);
    for (int64_t k = 0; k < n; k += lanes)
      to.store(k, lanes, load_pairs(from + 2 * k, std::min(lanes, n - k)));
  } else {
    for (int64_t k = 0; k < n; k += lanes)
      parts.store(k, lanes, {Vec<T>::load(from + k, std::min(lanes, n - k)), Vec<T>(T(0))});
  }
}

template <class T>
void store_parts(const Points<T>& result, int64_t n, Parts<T> parts, T factor) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  T* to = result.first();
  if (to == result.im) std::swap(parts.re, parts.im);
  Vec<T> scale = factor;
  for (int64_t k = 0; k < n; k += lanes) {
    Cx<Vec<T>> x = parts.load(k);
    x = {x.re * scale, x.im * scale};
    if (result.is_pairs()) {
      store_pairs(to + 2 * k, std::min(lanes, n - k), x);
    } else {
      x.re.store(to + k, std::min(lanes, n - k));
    }
  }
}

// The half of a transform as that of pairs: store(k, x) takes a vector from k on.
template <class T, class Store>
void pack_parts(const Transform<T>& x, Parts<T> half, Store store) {
  int64_t m = x.plan.n;
  half.im[0] = half.im[m] = 0;  // whatever they were
  for (int64_t k = 0; k < m; k += Vec<T>::kLanes)
    store(k, number_of_pairs(half.load(k), half.load_down(m - k), real_turn<Vec<T>>(*x.turns, k)));
}

// The way back.
template <class T>
void unpack_parts(const Transform<T>& x, Parts<T> z, T* to) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t m = x.plan.n;
  z.re[m] = z.re[0];
  z.im[m] = z.im[0];
  T half = T(0.5) * x.factor;
  for (int64_t k = 0; k < m; k += lanes) {
    store_pairs(to + 2 * k, std::min(lanes, m - k),
                number_of_real(z.load(k), z.load_down(m - k), real_turn<Vec<T>>(*x.turns, k),
                               Vec<T>(half)));
    prefetch_pairs<1>(to + 2 * (k + m));
  }
  Cx<T> first = {z.re[0], z.im[0]};
  Cx<T> end = number_of_real(first, first, real_turn<T>(*x.turns, m), half);
  to[2 * m] = end.re;
  to[2 * m + 1] = end.im;
}

// A single line that fills blocks of `lanes` points.
template <class T>
void transform_full_line(const Transform<T>& x, const Points<T>& source, const Points<T>& result,
                         Buffers<T> buffers) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t m = x.plan.n;
  const T* from = source.first();
  if (x.form == FftForm::HalfEven) {
    Parts<T> half(buffers.next, m);
    load_parts(source, m + 1, half);
    pack_parts(x, half,
               [&](int64_t k, Cx<Vec<T>> z) FACULA_INLINE { store_block(buffers.now + 2 * k, z); });
  } else if (source.is_pairs()) {
    int64_t first = from == source.re ? 0 : lanes;
    for (int64_t j = 0; j < m; j += lanes) {
      Cx<Vec<T>> x = load_pairs(from + 2 * j, lanes);
      x.re.store(buffers.now + 2 * j + first);
      x.im.store(buffers.now + 2 * j + lanes - first);
      prefetch_pairs<0>(from + 2 * (j + m));
    }
  } else {
    for (int64_t j = 0; j < m; j += lanes)
      store_block(buffers.now + 2 * j, Cx<Vec<T>>{Vec<T>::load(from + j), Vec<T>(T(0))});
  }
  run_passes(x.plan, x.plan.passes.size() - 1, lanes, buffers);
  const FftPass<T>& last = x.plan.passes.back();
  if (x.form == FftForm::RealEven) {
    Parts<T> parts(buffers.next, m);
    run_last_pass(last, buffers.now, [&](int64_t at, int64_t n, Cx<Vec<T>> z) FACULA_INLINE {
      parts.store(at, n, z);
    });
    return unpack_parts(x, parts, result.re);
  }
  T* to = result.first();
  Vec<T> scale = x.factor;
  bool is_exchanged = to == result.im;
  run_last_pass(last, buffers.now, [&](int64_t at, int64_t n, Cx<Vec<T>> y) FACULA_INLINE {
    y = {y.re * scale, y.im * scale};
    store_pairs(to + 2 * at, n, is_exchanged ? Cx<Vec<T>>{y.im, y.re} : y);
    prefetch_pairs<1>(to + 2 * (at + m));
  });
}

// A single line that does not.
template <class T>
void transform_part_line(const Transform<T>& x, const Points<T>& source, const Points<T>& result,
                         Buffers<T> buffers) {
  int64_t m = x.plan.n;
  Parts<T> now(buffers.now, m), next(buffers.next, m);
  if (x.form == FftForm::HalfEven) {
    load_parts(source, m + 1, next);
    pack_parts(x, next, [&](int64_t k, Cx<Vec<T>> z) { now.store(k, Vec<T>::kLanes, z); });
  } else if (x.form == FftForm::HalfOdd) {
    load_parts(source, x.n / 2 + 1, next);
    next.im[0] = 0;
    for (int64_t k = 0; k < m; ++k) {
      bool is_given = k <= m / 2;
      int64_t at = is_given ? k : m - k;
      now.re[k] = is_given ? next.im[at] : -next.im[at];
      now.im[k] = next.re[at];
    }
  } else {
    load_parts(source, m, now);
  }
  for (const FftPass<T>& pass : x.plan.passes) {
    with_radix(pass.radix, [&](auto radix) {
      run_part_pass<radix>(pass, m / (pass.n_done * pass.radix), now, next);
    });
    std::swap(now, next);
  }
  if (x.form == FftForm::RealEven) return unpack_parts(x, now, result.re);
  store_parts(result, x.form == FftForm::HalfEven ? m : x.n_out, now, x.factor);
}

template <class T>
void transform_line(const Transform<T>& x, const Points<T>& source, const Points<T>& result,
                    Buffers<T> buffers) {
  x.plan.ends_with_lanes ? transform_full_line(x, source, result, buffers)
                         : transform_part_line(x, source, result, buffers);
}

// The same with any steps, for the few lines that are left over: `memory` is room for one. Points
// are complex, or pairs of real ones.
template <class T>
void transform_left_over(const Transform<T>& x, const Points<T>& source, const Points<T>& result,
                         Buffers<T> buffers, T* memory) {
  int64_t n_given = x.plan.n + (x.form == FftForm::HalfEven);
  int64_t n_wanted = x.plan.n + (x.form == FftForm::RealEven);
  Points<T> line{memory, memory + 1, 2, 0};
  for (int64_t j = 0; j < n_given; ++j) {
    line.re[2 * j] = source.re[j * source.step];
    line.im[2 * j] = source.im[j * source.step];
  }
  transform_line(x, line, line, buffers);
  for (int64_t j = 0; j < n_wanted; ++j) {
    result.re[j * result.step] = line.re[2 * j];
    result.im[j * result.step] = line.im[2 * j];
  }
}

// Whether lines are transformed one by one: whatever takes fewer operations.
template <class T>
bool is_single(const FftPlan<T>& plan, const Points<T>& source, const Points<T>& result,
               int64_t n_lines) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  if (!source.is_line() || !result.is_line()) return false;
  // A short line does not fill the vectors of its last pass.
  if (plan.ends_with_lanes) return plan.n >= 2 * lanes * lanes || n_lines < lanes;
  return plan.n > 2 * lanes && n_lines <= lanes / 8;
}

template <class T>
int64_t buffer_numel(const FftPlan<T>& plan, bool is_single) {
  // In vectors, for the next one to be aligned.
  constexpr int64_t lanes = Vec<T>::kLanes;
  return is_single ? ceil_div(Parts<T>::numel(plan.n) + lanes, lanes) * lanes
                   : 2 * lanes * (plan.n + 1);
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
