#include "cpu/fft/fft.h"

#include <algorithm>

#include "base/integers.h"
#include "base/parallel.h"
#include "base/scratch.h"
#include "cpu/fft/long_lines.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class T>
Points<T> source_of(const FftJob<T>& job) {
  T* at = const_cast<T*>(job.source);
  int64_t step = job.source_step;
  if (job.form == FftForm::RealEven) return {at, at + step, 2 * step, 0};
  if (!job.is_source_complex) return {at, nullptr, step, 0};
  if (job.is_inverse) return {at + 1, at, step, 0};
  return {at, at + 1, step, 0};
}

template <class T>
Points<T> result_of(const FftJob<T>& job) {
  T* at = job.result;
  int64_t step = job.result_step;
  if (job.form == FftForm::HalfEven) return {at + step, at, 2 * step, 0};
  if (job.form == FftForm::HalfOdd) return {nullptr, at, step, 0};
  if (job.is_inverse) return {at + 1, at, step, 0};
  return {at, at + 1, step, 0};
}

// The dimension whose neighbours share vectors: one of neighbours in memory, if it fills vectors.
template <class T>
int shared_dim(const FftJob<T>& job, const Points<T>& source, const Points<T>& result) {
  int best = -1;
  int64_t best_rank = -1;
  for (int d = 0; d < static_cast<int>(job.sizes.size()); ++d) {
    Points<T> a = source, b = result;
    a.line_step = job.source_steps[d];
    b.line_step = job.result_steps[d];
    int64_t rank = std::min<int64_t>(job.sizes[d], Vec<T>::kLanes) * 4;
    rank += 2 * a.is_across() + b.is_across();
    if (rank > best_rank) best = d, best_rank = rank;
  }
  return best;
}

struct Offsets {
  int64_t source = 0, result = 0;
};

// Where line number `index` of all dimensions but `without` begins.
template <class T>
Offsets offsets_of(const FftJob<T>& job, int64_t index, int without) {
  Offsets at;
  for (int d = static_cast<int>(job.sizes.size()) - 1; d >= 0; --d) {
    if (d == without) continue;
    at.source += index % job.sizes[d] * job.source_steps[d];
    at.result += index % job.sizes[d] * job.result_steps[d];
    index /= job.sizes[d];
  }
  return at;
}

template <class T>
void run_job(const FftJob<T>& job) {
  constexpr int64_t lanes = Vec<T>::kLanes;
  int64_t m = job.plan->n, n_lines = 1;
  for (int64_t size : job.sizes) n_lines *= size;
  const FftPlan<T>* plan = job.plan;
  Transform<T> x{*plan, job.turns, job.form, job.n, job.n_out, job.factor};
  Points<T> source = source_of(job), result = result_of(job);

  if (plan->way != FftWay::Direct) {
    // Threads share the lines, or each of them where it is long.
    int64_t grain = m <= kGrain ? 1 : n_lines;
    return parallel_for(n_lines, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Offsets at = offsets_of(job, i, -1);
        transform_long_line(x, source.from(at.source), result.from(at.result));
      }
    });
  }
  if (is_single(*plan, source, result, n_lines)) {
    int64_t numel = buffer_numel(*plan, true);
    return parallel_for(n_lines, ceil_div(kGrain, m), [&](int64_t begin, int64_t end) {
      Scratch<T> scratch(2 * numel);
      for (int64_t i = begin; i < end; ++i) {
        Offsets at = offsets_of(job, i, -1);
        transform_line(x, source.from(at.source), result.from(at.result),
                       Buffers<T>{scratch.data(), scratch.data() + numel});
      }
    });
  }
  int d = shared_dim(job, source, result);
  int64_t n_shared = d < 0 ? 1 : job.sizes[d], n_tiles = ceil_div(n_shared, lanes);
  if (d >= 0) source.line_step = job.source_steps[d], result.line_step = job.result_steps[d];
  int64_t numel = buffer_numel(*plan, false);
  bool has_pairs = source.im && result.re;
  auto run_tiles = [&](int64_t begin, int64_t end) {
    Scratch<T> scratch(2 * numel + 2 * (m + 1));
    Buffers<T> buffers{scratch.data(), scratch.data() + numel};
    for (int64_t i = begin; i < end; ++i) {
      Offsets at = offsets_of(job, i / n_tiles, d);
      int64_t first = i % n_tiles * lanes, n = std::min(lanes, n_shared - first);
      Points<T> from = source.from(at.source).line(first), to = result.from(at.result).line(first);
      if (has_pairs && m > 2 * lanes && n <= lanes / 8) {
        for (int64_t l = 0; l < n; ++l)
          transform_left_over(x, from.line(l), to.line(l), buffers, buffers.next + numel);
      } else {
        transform_lines(x, from, to, n, buffers);
      }
    }
  };
  int64_t grain = ceil_div(kGrain, m * std::min(n_shared, lanes));
  parallel_for(n_lines / n_shared * n_tiles, grain, run_tiles);
}

}  // namespace

extern const FftTable fft_table;
const FftTable fft_table = {run_job<float>, run_job<double>, Vec<float>::kLanes,
                            Vec<double>::kLanes};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
