// 16-bit floats as floats, and back.
#include "cpu/vec.h"
#include "products/matmul_kernels.h"

namespace facula::cpu {
inline namespace FACULA_ISA {

namespace {

template <class To, class From>
void convert(const From* from, int64_t n, To* to) {
  constexpr int64_t lanes = Vec<float>::kLanes;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) Vec<float>::load(from + i).store(to + i);
  Vec<float>::load(from + i, n - i).store(to + i, n - i);
}

}  // namespace

extern const WidenTable widen_table;
const WidenTable widen_table = {convert<float, Half>, convert<float, BFloat16>,
                                convert<Half, float>, convert<BFloat16, float>};

}  // namespace FACULA_ISA
}  // namespace facula::cpu
