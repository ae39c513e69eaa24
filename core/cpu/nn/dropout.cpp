#include "cpu/nn/dropout.h"

#include "cpu/loops.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class E>
struct dropout_kernel {
  static constexpr Kinds kinds_ = Kinds::FONLY;
  static void loop(char** data, const int64_t* strides, int64_t n, const void* params) {
    using W = Wide<E>;
    const W kept = static_cast<W>(*static_cast<const double*>(params));
    W block[kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      int64_t m = n - begin < kBlock ? n - begin : kBlock;
      gather<E>(block, data[1] + begin * strides[1], strides[1], m);
      const char* mask = data[2] + begin * strides[2];
      // Not a choice between x and 0: what is not finite stays visible.
      if (strides[2] == 1) {
        for (int64_t i = 0; i < m; ++i) block[i] *= mask[i] ? kept : W(0);
      } else {
        for (int64_t i = 0; i < m; ++i) block[i] *= mask[i * strides[2]] ? kept : W(0);
      }
      scatter<E>(data[0] + begin * strides[0], strides[0], block, m);
    }
  }
};

}  // namespace

extern const DropoutTable dropout_table;
const DropoutTable dropout_table = {dtype_row<dropout_kernel>()};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
