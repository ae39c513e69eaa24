// Lines that threads share, and those that are convolutions.
#pragma once
#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/fft/short_lines.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

constexpr int64_t kGrain = 1 << 14;  // points that are worth another thread

// The first two steps for columns [begin, end): their transforms, turned.
template <class T>
void transform_columns(const FftPlan<T>& plan, const Points<T>& source, T* middle, int64_t begin,
                       int64_t end, Buffers<T> buffers) {
  constexpr int64_t lanes = Vec<T>::kLanes, block = 2 * lanes;
  int64_t n_columns = plan.rows->n, n_rows = plan.columns->n;
  Points<T> column = source.from(begin * source.step);
  column.line_step = source.step;
  column.step = source.step * n_columns;
  gather_lines(column, n_rows, end - begin, buffers.now);
  run_passes(*plan.columns, plan.columns->passes.size(), 1, buffers);
  constexpr int64_t n_fine = 1 << kFineBits;
  for (int64_t k = 0; k < n_rows; ++k) {
    int64_t e = begin * k;
    const double *fine = &plan.fine[2 * (e % n_fine)], *coarse = &plan.coarse[2 * (e / n_fine)];
    Cx<double> turn = turned(Cx<double>{fine[0], fine[1]}, coarse[0], coarse[1]);
    Cx<Vec<T>> all = turned(load_block(&plan.lanes[k * block]), Vec<T>(static_cast<T>(turn.re)),
                            Vec<T>(static_cast<T>(turn.im)));
    T* at = buffers.now + k * block;
    store_block(at, turned(load_block(at), all.re, all.im));
  }
  T* to = middle + 2 * begin;
  scatter_blocks(Points<T>{to, to + 1, 2 * n_columns, 2}, n_rows, end - begin, buffers.now, T(1));
}

// The last two steps for rows [begin, end).
template <class T>
void transform_rows(const FftPlan<T>& plan, T* middle, const Points<T>& result, int64_t begin,
                    int64_t end, T factor, Buffers<T> buffers) {
  int64_t n_columns = plan.rows->n, n_rows = plan.columns->n;
  T* from = middle + 2 * begin * n_columns;
  gather_lines(Points<T>{from, from + 1, 2, 2 * n_columns}, n_columns, end - begin, buffers.now);
  run_passes(*plan.rows, plan.rows->passes.size(), 1, buffers);
  Points<T> row = result.from(begin * result.step);
  row.line_step = result.step;
  row.step = result.step * n_rows;
  scatter_blocks(row, n_columns, end - begin, buffers.now, factor);
}

template <class T, class F>
void for_tiles(int64_t n, int64_t n_points, F f) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  parallel_for(ceil_div(n, lanes), ceil_div(kGrain, lanes * n_points),
               [&](int64_t begin, int64_t end) {
                 int64_t numel = 2 * lanes * (n_points + 1);
                 Scratch<T> scratch(2 * numel);
                 for (int64_t tile = begin; tile < end; ++tile)
                   f(tile * lanes, std::min((tile + 1) * lanes, n),
                     Buffers<T>{scratch.data(), scratch.data() + numel});
               });
}

template <class T>
void run_four_steps(const FftPlan<T>& plan, const Points<T>& source, const Points<T>& result,
                    T factor) {
  Scratch<T> middle(2 * plan.n);
  for_tiles<T>(plan.rows->n, plan.columns->n, [&](int64_t begin, int64_t end, Buffers<T> buffers) {
    transform_columns(plan, source, middle.data(), begin, end, buffers);
  });
  for_tiles<T>(plan.columns->n, plan.rows->n, [&](int64_t begin, int64_t end, Buffers<T> buffers) {
    transform_rows(plan, middle.data(), result, begin, end, factor, buffers);
  });
}

template <class T>
void run_long_line(const FftPlan<T>& plan, const Points<T>& source, const Points<T>& result,
                   T factor);

template <class T>
void run_bluestein(const FftPlan<T>& plan, const Points<T>& source, const Points<T>& result,
                   T factor) {
  int64_t n = plan.n, m = plan.convolution->n;
  Scratch<double> scratch(2 * m);
  double* a = scratch.data();
  for (int64_t j = 0; j < n; ++j) {
    Cx<double> x = {source.re ? static_cast<double>(source.re[j * source.step]) : 0.0,
                    source.im ? static_cast<double>(source.im[j * source.step]) : 0.0};
    x = turned(x, plan.chirp[2 * j], plan.chirp[2 * j + 1]);
    a[2 * j] = x.re;
    a[2 * j + 1] = x.im;
  }
  std::fill(a + 2 * n, a + 2 * m, 0.0);
  Points<double> there{a, a + 1, 2, 0}, back{a + 1, a, 2, 0};
  run_long_line(*plan.convolution, there, there, 1.0);
  for (int64_t k = 0; k < m; ++k) {
    Cx<double> x =
        turned(Cx<double>{a[2 * k], a[2 * k + 1]}, plan.spectrum[2 * k], plan.spectrum[2 * k + 1]);
    a[2 * k] = x.re;
    a[2 * k + 1] = x.im;
  }
  run_long_line(*plan.convolution, back, back, 1.0);
  for (int64_t k = 0; k < n; ++k) {
    Cx<double> x =
        turned(Cx<double>{a[2 * k], a[2 * k + 1]}, plan.chirp[2 * k], plan.chirp[2 * k + 1]);
    if (result.re) result.re[k * result.step] = static_cast<T>(x.re * factor);
    if (result.im) result.im[k * result.step] = static_cast<T>(x.im * factor);
  }
}

// A line of complex points, by any way. Source and result may be the same.
template <class T>
void run_long_line(const FftPlan<T>& plan, const Points<T>& source, const Points<T>& result,
                   T factor) {
  if (plan.way == FftWay::FourSteps) return run_four_steps(plan, source, result, factor);
  if (plan.way == FftWay::Bluestein) return run_bluestein(plan, source, result, factor);
  Transform<T> x{plan, nullptr, FftForm::Complex, plan.n, plan.n, factor};
  bool is_alone = is_single(plan, source, result, 1);
  int64_t numel = buffer_numel(plan, is_alone);
  Scratch<T> scratch(2 * numel);
  Buffers<T> buffers{scratch.data(), scratch.data() + numel};
  is_alone ? transform_line(x, source, result, buffers)
           : transform_lines(x, source, result, 1, buffers);
}

// The transform of a real line from that of its pairs, in z, whose first number is there again at
// the end.
template <class T>
void unpack_long_line(const Transform<T>& x, T* z, const Points<T>& result) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t m = x.plan.n;
  T half = T(0.5) * x.factor;
  bool is_line = result.is_line();
  parallel_for(m + 1, kGrain, [&](int64_t begin, int64_t end) {
    int64_t k = begin;
    for (; is_line && k + lanes <= std::min(end, m); k += lanes) {
      Cx<Vec<T>> mirror = load_pairs(z + 2 * (m - k - lanes + 1), lanes);
      store_pairs(
          result.re + 2 * k, lanes,
          number_of_real(load_pairs(z + 2 * k, lanes), {reversed(mirror.re), reversed(mirror.im)},
                         real_turn<Vec<T>>(*x.turns, k), Vec<T>(half)));
    }
    for (; k < end; ++k) {
      const T* mirror = z + 2 * (m - k);
      Cx<T> y = number_of_real(Cx<T>{z[2 * k], z[2 * k + 1]}, Cx<T>{mirror[0], mirror[1]},
                               real_turn<T>(*x.turns, k), half);
      result.re[k * result.step] = y.re;
      result.im[k * result.step] = y.im;
    }
  });
}

// The way back.
template <class T>
void pack_long_line(const Transform<T>& x, const Points<T>& source, T* z) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t m = x.plan.n;
  bool is_line = source.is_line();
  parallel_for(m, kGrain, [&](int64_t begin, int64_t end) {
    int64_t k = begin;
    auto number = [&](int64_t at) {
      bool is_real = at == 0 || at == m;  // whatever its imaginary part
      return Cx<T>{source.re[at * source.step], is_real ? T(0) : source.im[at * source.step]};
    };
    auto one = [&] {
      Cx<T> y = number_of_pairs(number(k), number(m - k), real_turn<T>(*x.turns, k));
      z[2 * k] = y.re;
      z[2 * k + 1] = y.im;
      ++k;
    };
    if (k == 0) one();
    while (k < end && k % lanes) one();
    for (; is_line && k + lanes <= end; k += lanes) {
      Cx<Vec<T>> mirror = load_pairs(source.re + 2 * (m - k - lanes + 1), lanes);
      store_pairs(z + 2 * k, lanes,
                  number_of_pairs(load_pairs(source.re + 2 * k, lanes),
                                  {reversed(mirror.re), reversed(mirror.im)},
                                  real_turn<Vec<T>>(*x.turns, k)));
    }
    while (k < end) one();
  });
}

// A line that threads share, or that is a convolution.
template <class T>
void transform_long_line(const Transform<T>& x, const Points<T>& source, const Points<T>& result) {
  int64_t m = x.plan.n;
  if (x.form == FftForm::Complex && x.n_out == m)
    return run_long_line(x.plan, source, result, x.factor);
  Scratch<T> scratch(2 * (m + 1));
  T* z = scratch.data();
  Points<T> pairs{z, z + 1, 2, 0};
  switch (x.form) {
    case FftForm::Complex:
      run_long_line(x.plan, source, pairs, x.factor);
      for (int64_t k = 0; k < x.n_out; ++k) {
        result.re[k * result.step] = z[2 * k];
        result.im[k * result.step] = z[2 * k + 1];
      }
      return;
    case FftForm::RealEven:
      run_long_line(x.plan, source, pairs, T(1));
      z[2 * m] = z[0];
      z[2 * m + 1] = z[1];
      return unpack_long_line(x, z, result);
    case FftForm::HalfEven:
      pack_long_line(x, source, z);
      return run_long_line(x.plan, pairs, result, x.factor);
    case FftForm::HalfOdd:
      for (int64_t k = 0; k < m; ++k) {
        bool is_given = 2 * k < m;
        int64_t at = (is_given ? k : m - k) * source.step;
        T im = k == 0 ? T(0) : source.im[at];
        z[2 * k] = is_given ? im : -im;
        z[2 * k + 1] = source.re[at];
      }
      return run_long_line(x.plan, pairs, result, x.factor);
  }
}

}  // namespace FACULA_ISA
}  // namespace facula::cpu
