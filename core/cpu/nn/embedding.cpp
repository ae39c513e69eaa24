#include "cpu/nn/embedding.h"

#include "cpu/vec.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

// S is the stored element, W what it is computed in.
template <class S>
struct Rows {
  using W = Wide<S>;
  using V = Vec<W>;
  static constexpr int64_t L = V::kLanes;

  static const S* elements(const char* x) { return reinterpret_cast<const S*>(x); }

  static void add_scaled(char* sum, const char* row, double factor, int64_t n) {
    W* y = reinterpret_cast<W*>(sum);
    const S* x = elements(row);
    V scale = V(static_cast<W>(factor));
    int64_t i = 0;
    for (; i + L <= n; i += L) fma(V::load(x + i), scale, V::load(y + i)).store(y + i);
    if (i < n) fma(V::load(x + i, n - i), scale, V::load(y + i, n - i)).store(y + i, n - i);
  }

  static void add_rows(char* sum, const char* table, const int64_t* index, const int64_t* bag_of,
                       const double* factors, int64_t n_rows, int64_t n) {
    constexpr int64_t kBeside = 4;  // vectors of the sum that stay in registers
    W* y = reinterpret_cast<W*>(sum);
    auto for_each_row = [&](auto f) FACULA_INLINE {
      for (int64_t r = 0; r < n_rows; ++r)
        if (bag_of[r] >= 0) f(elements(table) + index[r] * n, factors ? factors[r] : 1);
    };
    int64_t i = 0;
    for (; i + kBeside * L <= n; i += kBeside * L) {
      V parts[kBeside];
      for (int64_t k = 0; k < kBeside; ++k) parts[k] = V::load(y + i + k * L);
      for_each_row([&](const S* x, double factor) FACULA_INLINE {
        V scale = V(static_cast<W>(factor));
        for (int64_t k = 0; k < kBeside; ++k)
          parts[k] = fma(V::load(x + i + k * L), scale, parts[k]);
      });
      for (int64_t k = 0; k < kBeside; ++k) parts[k].store(y + i + k * L);
    }
    if (i == n) return;
    for_each_row([&](const S* x, double factor) {
      add_scaled(reinterpret_cast<char*>(y + i), reinterpret_cast<const char*>(x + i), factor,
                 n - i);
    });
  }

  static void store_scaled(char* row, const char* sum, double factor, int64_t n) {
    S* y = reinterpret_cast<S*>(row);
    const W* x = reinterpret_cast<const W*>(sum);
    V scale = V(static_cast<W>(factor));
    int64_t i = 0;
    for (; i + L <= n; i += L) (V::load(x + i) * scale).store(y + i);
    if (i < n) (V::load(x + i, n - i) * scale).store(y + i, n - i);
  }

  static double dot(const char* row, const char* other, int64_t n) {
    const S *a = elements(row), *b = elements(other);
    V sum = V(W(0));
    int64_t i = 0;
    for (; i + L <= n; i += L) sum = fma(V::load(a + i), V::load(b + i), sum);
    if (i < n) sum = fma(V::load(a + i, n - i), V::load(b + i, n - i), sum);
    double total = 0;
    for (int64_t k = 0; k < L; ++k) total += sum[static_cast<int>(k)];
    return total;
  }

  static constexpr EmbeddingKernels kernels = {add_scaled, add_rows, store_scaled, dot};
};

template <class T>
constexpr EmbeddingKernels embedding_kernels() {
  if constexpr (is_floating_v<T>) {
    return Rows<T>::kernels;
  } else {
    return {};
  }
}

}  // namespace

extern const EmbeddingTable embedding_table;
#define FACULA_ENTRY(T, Name) embedding_kernels<T>(),
const EmbeddingTable embedding_table = {{FACULA_FORALL_DTYPES(FACULA_ENTRY)}};
#undef FACULA_ENTRY

}  // namespace FACULA_ISA
}  // namespace facula::cpu
