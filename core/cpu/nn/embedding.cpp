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

  static constexpr EmbeddingKernels kernels = {add_scaled, store_scaled, dot};
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
