// Samplers that reject or search: as many draws as it takes. PyTorch compiles the rejection
// samplers without fused operations, so this file must be compiled with -ffp-contract=off.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/scratch.h"
#include "random/fill.h"
#include "random/sampling.h"

namespace facula {

namespace {

// Hoermann (1993), The transformed rejection method for generating Poisson random variables; below
// a rate of 10, products of uniforms until they fall under exp(-rate).
template <class Source>
double poisson(double rate, Source& source) {
  if (rate == 0) return 0;
  if (rate < 10) {
    double limit = std::exp(-rate);
    double product = uniform_double(source);
    int64_t k = 0;
    for (; product > limit; ++k) product *= uniform_double(source);
    return static_cast<double>(k);
  }
  double log_rate = std::log(rate);
  double b = 0.931 + 2.53 * std::sqrt(rate);
  double a = -0.059 + 0.02483 * b;
  double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  double v_accepted = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    double u = uniform_double(source) - 0.5;
    double v = uniform_double(source);
    double us = 0.5 - std::fabs(u);
    double k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= v_accepted) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    double log_v = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
    if (log_v <= -rate + k * log_rate - std::lgamma(k + 1)) return k;
  }
}

// Marsaglia and Tsang (2000), A simple method for generating gamma variables. A shape below 1 is
// raised by 1 and the result scaled down. T's arithmetic where PyTorch computes in the tensor's
// type.
template <class T, class Source>
T standard_gamma(T alpha, Source& source) {
  // No sample of these would ever be accepted.
  if (!(alpha >= 0)) return std::numeric_limits<T>::quiet_NaN();
  double scale = 1.0;
  if (alpha < 1) {
    if (alpha == 0) return 0;
    scale = std::pow(1 - uniform_double(source), static_cast<double>(1 / alpha));
    alpha += 1;
  }
  double d = alpha - 1.0f / 3.0f;
  double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    double x, y;
    do {
      x = standard_normal(source);
      y = 1.0 + c * x;
    } while (y <= 0);
    double v = y * y * y;
    double u = 1 - uniform_double(source);
    double xx = x * x;
    if (u < 1.0 - static_cast<double>(0.0331f) * xx * xx ||
        std::log(u) < 0.5 * xx + d * (1.0 - v + std::log(v))) {
      return static_cast<T>(scale * d * v);
    }
  }
}

// log(k!) less Stirling's approximation of it.
double stirling_tail(double k) {
  static constexpr double kTail[] = {0.0810614667953272,  0.0413406959554092, 0.0276779256849983,
                                     0.02079067210376509, 0.0166446911898211, 0.0138761288230707,
                                     0.0118967099458917,  0.0104112652619720, 0.00925546218271273,
                                     0.00833056343336287};
  if (k < 10) return kTail[static_cast<int>(k)];
  double square = (k + 1) * (k + 1);
  return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1);
}

// Gaps between successes are geometric; counts how many fit.
template <class T, class Source>
T binomial_by_gaps(T count, T prob, Source& source) {
  double log_failure = std::log1p(-prob);
  double position = 0;
  T n_successes = 0;
  while (true) {
    position += std::ceil(std::log(uniform_double(source)) / log_failure);
    if (position > count) return n_successes;
    n_successes += 1;
  }
}

// Hoermann (1993), The generation of binomial random variates: algorithm BTRS, for count * prob >=
// 10 and prob <= 1/2.
template <class T, class Source>
T binomial_by_rejection(T count, T prob, Source& source) {
  double stddev = std::sqrt(count * prob * (1 - prob));
  double b = 1.15 + 2.53 * stddev;
  double a = -0.0873 + 0.0248 * b + 0.01 * prob;
  double center = count * prob + 0.5;
  double v_accepted = 0.92 - 4.2 / b;
  double odds = prob / (1 - prob);
  double alpha = (2.83 + 5.1 / b) * stddev;
  double mode = std::floor((count + 1) * prob);
  while (true) {
    double u = uniform_double(source) - 0.5;
    double v = uniform_double(source);
    double us = 0.5 - std::fabs(u);
    T k = static_cast<T>(std::floor((2 * a / us + b) * u + center));
    if (k < 0 || k > count) continue;
    if (us >= 0.07 && v <= v_accepted) return k;
    v = std::log(v * alpha / (a / (us * us) + b));
    double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (count - mode + 1))) +
                   (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                   (k + 0.5) * std::log(odds * (count - k + 1) / (k + 1)) + stirling_tail(mode) +
                   stirling_tail(count - mode) - stirling_tail(k) - stirling_tail(count - k);
    if (v <= bound) return k;
  }
}

template <class T, class Source>
T binomial(T count, T prob, Source& source) {
  if (count <= 0 || prob <= 0) return 0;
  if (prob >= 1) return count;
  if (std::isnan(count) || std::isnan(prob)) return std::numeric_limits<T>::quiet_NaN();
  T rarer = prob <= T(0.5) ? prob : static_cast<T>(1.0 - prob);
  T n = count * rarer >= 10 ? binomial_by_rejection(count, rarer, source)
                            : binomial_by_gaps(count, rarer, source);
  return prob <= T(0.5) ? n : count - n;
}

template <class C>
bool comes_first(const std::pair<C, int64_t>& a, const std::pair<C, int64_t>& b) {
  return (std::isnan(a.first) && !std::isnan(b.first)) || a.first > b.first;
}

// The indices of the n_samples largest keys, largest first. Equal keys (categories of weight zero)
// end up in the order that PyTorch's topk leaves them in, so the same algorithms must run here.
template <class C>
void largest_first(std::vector<std::pair<C, int64_t>>& keys, int64_t n_samples) {
  auto begin = keys.begin();
  if (n_samples * 64 <= static_cast<int64_t>(keys.size())) {
    std::partial_sort(begin, begin + n_samples, keys.end(), comes_first<C>);
  } else {
    std::nth_element(begin, begin + n_samples - 1, keys.end(), comes_first<C>);
    std::sort(begin, begin + n_samples - 1, comes_first<C>);
  }
}

// What the first categories of each row have together.
template <int n_rows, class T, class C>
void accumulate(const T* weights, int64_t n_categories, C* cumulative) {
  C sums[n_rows] = {};
  for (int64_t j = 0; j < n_categories; ++j) {
#pragma GCC unroll 4
    for (int64_t r = 0; r < n_rows; ++r) {
      sums[r] += static_cast<C>(weights[r * n_categories + j]);
      cumulative[r * n_categories + j] = sums[r];
    }
  }
}

}  // namespace

// Inverts the cumulative distribution of each row.
template <class T>
void sample_multinomial(int64_t* out, const T* weights, int64_t n_rows, int64_t n_categories,
                        int64_t n_samples, Generator& generator) {
  using C = Compute<T>;
  Scratch<C> cumulative(n_rows * n_categories);
  // Four rows side by side: each sum waits for the one before it.
  int64_t row = 0;
  for (; row + 4 <= n_rows; row += 4)
    accumulate<4>(weights + row * n_categories, n_categories,
                  cumulative.data() + row * n_categories);
  for (; row < n_rows; ++row)
    accumulate<1>(weights + row * n_categories, n_categories,
                  cumulative.data() + row * n_categories);
  fill(out, n_rows * n_samples, generator, [&](auto& source, int64_t i) {
    const C *c = cumulative.data() + i / n_samples * n_categories, *last = c + n_categories - 1;
    double u = uniform_double(source);
    // Shares of the sum, of which a search looks at few; that of the last is 1, whatever rounding
    // would make of it.
    return std::lower_bound(c, last, u, [sum = *last](C x, double u) { return x / sum < u; }) - c;
  });
}

// weight / Exp(1) is largest for category j with probability proportional to its weight; the next
// largest are samples without replacement (Efraimidis and Spirakis, 2006).
template <class T>
void choose_by_draws(int64_t* out, const T* weights, const T* draws, int64_t n_rows,
                     int64_t n_categories, int64_t n_samples) {
  using C = Compute<T>;
  std::vector<std::pair<C, int64_t>> keys(n_categories);
  for (int64_t row = 0; row < n_rows; ++row) {
    for (int64_t j = 0; j < n_categories; ++j) {
      int64_t i = row * n_categories + j;
      T key = static_cast<T>(static_cast<C>(weights[i]) / static_cast<C>(draws[i]));
      keys[j] = {static_cast<C>(key), j};
    }
    largest_first(keys, n_samples);
    for (int64_t k = 0; k < n_samples; ++k) out[row * n_samples + k] = keys[k].second;
  }
}

template <class T>
void sample_poisson(T* out, const T* rate, int64_t n, Generator& generator) {
  fill(out, n, generator, [=](auto& source, int64_t i) {
    double sample = poisson(static_cast<double>(static_cast<Compute<T>>(rate[i])), source);
    return static_cast<T>(static_cast<Compute<T>>(sample));
  });
}

template <class T>
void sample_standard_gamma(T* out, const T* alpha, int64_t n, Generator& generator) {
  fill(out, n, generator, [=](auto& source, int64_t i) {
    return std::max(standard_gamma(alpha[i], source), std::numeric_limits<T>::min());
  });
}

// Gamma numbers divided by their sum; in double, because those of small shapes underflow in float.
template <class T>
void sample_dirichlet(T* out, const T* alpha, int64_t n_rows, int64_t n_categories,
                      Generator& generator) {
  std::vector<double> gammas(n_rows * n_categories);
  fill(gammas.data(), n_rows * n_categories, generator, [=](auto& source, int64_t i) {
    double sample = standard_gamma(static_cast<double>(alpha[i]), source);
    return std::max(sample, std::numeric_limits<double>::min());
  });
  const T least = std::numeric_limits<T>::min(), most = std::nextafter(T(1), T(0));
  for (int64_t row = 0; row < n_rows; ++row) {
    const double* g = gammas.data() + row * n_categories;
    double sum = std::accumulate(g, g + n_categories, 0.0);
    for (int64_t j = 0; j < n_categories; ++j) {
      T share = static_cast<T>(g[j] / sum);
      out[row * n_categories + j] = std::min(most, std::max(least, share));
    }
  }
}

template <class T>
void sample_binomial(T* out, const T* count, const T* prob, int64_t n, Generator& generator) {
  fill(out, n, generator,
       [=](auto& source, int64_t i) { return binomial(count[i], prob[i], source); });
}

#define COUNTED(T)                                                                                \
  template void sample_multinomial<T>(int64_t*, const T*, int64_t, int64_t, int64_t, Generator&); \
  template void choose_by_draws<T>(int64_t*, const T*, const T*, int64_t, int64_t, int64_t);      \
  template void sample_poisson<T>(T*, const T*, int64_t, Generator&);
COUNTED(Half)
COUNTED(BFloat16)
COUNTED(float)
COUNTED(double)

#define SHAPED(T)                                                                \
  template void sample_standard_gamma<T>(T*, const T*, int64_t, Generator&);     \
  template void sample_dirichlet<T>(T*, const T*, int64_t, int64_t, Generator&); \
  template void sample_binomial<T>(T*, const T*, const T*, int64_t, Generator&);
SHAPED(float)
SHAPED(double)

}  // namespace facula
