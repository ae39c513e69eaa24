#include "cpu/order_stats.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace facula::cpu {

namespace {

template <class T>
bool less_nan_last(T a, T b) {
  return a < b || (b != b && a == a);
}
template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

template <class T>
int64_t kth(const T* x, int64_t n, int64_t k) {
  std::vector<T> values(x, x + n);
  std::nth_element(values.begin(), values.begin() + k, values.end(), less_nan_last<T>);
  return std::find_if(x, x + n, [&](T v) { return same(v, values[k]); }) - x;
}

template <class T>
int64_t mode(const T* x, int64_t n) {
  std::vector<T> values(x, x + n);
  std::sort(values.begin(), values.end(), less_nan_last<T>);
  T best = values[0];
  int64_t best_count = 0;
  for (int64_t i = 0, start = 0; i < n; ++i) {
    if (!same(values[i], values[start])) start = i;
    if (i - start + 1 > best_count) {
      best_count = i - start + 1;
      best = values[i];
    }
  }
  int64_t last = n - 1;
  while (!same(x[last], best)) --last;
  return last;
}

template <class T>
int64_t pick_typed(Pick pick, const T* x, int64_t n, int64_t k) {
  switch (pick) {
    case Pick::Kth:
      return kth(x, n, k);
    case Pick::Mode:
      return mode(x, n);
    case Pick::Median: {
      const T* nan = std::find_if(x, x + n, [](T v) { return v != v; });
      return nan != x + n ? nan - x : kth(x, n, (n - 1) / 2);
    }
    case Pick::NanMedian: {
      int64_t n_numbers = std::count_if(x, x + n, [](T v) { return v == v; });
      return kth(x, n, n_numbers == 0 ? 0 : (n_numbers - 1) / 2);
    }
  }
  return 0;
}

template <class F>
int64_t with_type(DType dtype, const void* x, F f) {
  switch (dtype) {
    case DType::Float32:
      return f(static_cast<const float*>(x));
    case DType::Float64:
      return f(static_cast<const double*>(x));
    default:
      return f(static_cast<const int64_t*>(x));
  }
}

}  // namespace

int64_t pick_index(Pick pick, DType dtype, const void* x, int64_t n, int64_t k) {
  return with_type(dtype, x, [&](auto* values) { return pick_typed(pick, values, n, k); });
}

int64_t argsort_line(DType dtype, const void* x, int64_t n, int64_t* order) {
  return with_type(dtype, x, [&](auto* values) {
    std::iota(order, order + n, 0);
    std::stable_sort(order, order + n,
                     [&](int64_t a, int64_t b) { return less_nan_last(values[a], values[b]); });
    return static_cast<int64_t>(std::count_if(values, values + n, [](auto v) { return v == v; }));
  });
}

}  // namespace facula::cpu
