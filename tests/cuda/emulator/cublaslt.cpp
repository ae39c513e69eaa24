// cuBLASLt for a GPU that is played by the CPU: products of matrices by columns, in plain loops.
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>

#include "queue.h"

namespace {

struct Desc {
  int32_t scale_type = 0, trans_a = 0, trans_b = 0, epilogue = 1;
  const void* bias = nullptr;
};
struct Layout {
  int type;
  int64_t rows, cols, ld;
  int32_t n_batch = 1;
  int64_t stride = 0;
};
struct Heuristic {
  uint64_t algorithm[8];
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Half {
  uint16_t bits;
  operator float() const {
    _Float16 x;
    std::memcpy(&x, &bits, 2);
    return static_cast<float>(x);
  }
  Half() = default;
  Half(float value) {
    auto x = static_cast<_Float16>(value);
    std::memcpy(&bits, &x, 2);
  }
};
struct BFloat16 {
  uint16_t bits;
  operator float() const {
    uint32_t wide = uint32_t(bits) << 16;
    float x;
    std::memcpy(&x, &wide, 4);
    return x;
  }
  BFloat16() = default;
  BFloat16(float value) {
    uint32_t wide;
    std::memcpy(&wide, &value, 4);
    bits = static_cast<uint16_t>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  }
};

// T: elements, W: numbers and sums.
template <class T, class W>
void multiply(const Desc& desc, W alpha, const T* a, const Layout& la, const T* b, const Layout& lb,
              W beta, T* c, const Layout& lc) {
  int64_t k_size = desc.trans_a ? la.rows : la.cols;
  for (int64_t i = 0; i < lc.n_batch; ++i, a += la.stride, b += lb.stride, c += lc.stride)
    for (int64_t col = 0; col < lc.cols; ++col)
      for (int64_t row = 0; row < lc.rows; ++row) {
        W sum = 0;
        for (int64_t k = 0; k < k_size; ++k)
          sum += W(desc.trans_a ? a[row * la.ld + k] : a[k * la.ld + row]) *
                 W(desc.trans_b ? b[k * lb.ld + col] : b[col * lb.ld + k]);
        T& out = c[col * lc.ld + row];
        W value = alpha * sum;
        if (beta != W(0)) value += beta * W(out);
        if (desc.bias) value += W(static_cast<const T*>(desc.bias)[row]);
        out = T(value);
      }
}

}  // namespace

extern "C" {

int cublasLtCreate(void** handle) {
  *handle = new int;
  return 0;
}
int cublasLtMatmulDescCreate(void** desc, int, int scale_type) {
  *desc = new Desc{scale_type, 0, 0, 1, nullptr};
  return 0;
}
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, size_t size) {
  auto* d = static_cast<Desc*>(desc);
  void* to = attribute == 3   ? static_cast<void*>(&d->trans_a)
             : attribute == 4 ? static_cast<void*>(&d->trans_b)
             : attribute == 7 ? static_cast<void*>(&d->epilogue)
             : attribute == 8 ? static_cast<void*>(&d->bias)
                              : nullptr;
  if (!to) return 7;
  std::memcpy(to, value, size);
  return 0;
}
int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  *layout = new Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(cols), ld, 1, 0};
  return 0;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, size_t size) {
  auto* l = static_cast<Layout*>(layout);
  void* to = attribute == 5 ? static_cast<void*>(&l->n_batch) : static_cast<void*>(&l->stride);
  std::memcpy(to, value, size);
  return 0;
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  *preference = new int;
  return 0;
}
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t) { return 0; }
int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<int*>(preference);
  return 0;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int,
                                   Heuristic* results, int* n_found) {
  *results = {};
  results->workspace_bytes = 1024;
  *n_found = 1;
  return 0;
}
int cublasLtMatmul(void*, void* desc, const void* alpha, const void* a, void* la, const void* b,
                   void* lb, const void* beta, const void*, void*, void* d, void* ld, const void*,
                   void*, size_t, void* stream) {
  const auto& m = *static_cast<Desc*>(desc);
  const auto &l_a = *static_cast<Layout*>(la), &l_b = *static_cast<Layout*>(lb),
             &l_d = *static_cast<Layout*>(ld);
  auto run = [&](auto element, auto number) {
    using T = decltype(element);
    using W = decltype(number);
    W by = *static_cast<const W*>(alpha), and_of_result = *static_cast<const W*>(beta);
    return in_stream(stream, [=] {
      multiply<T, W>(m, by, static_cast<const T*>(a), l_a, static_cast<const T*>(b), l_b,
                     and_of_result, static_cast<T*>(d), l_d);
      return 0;
    });
  };
  switch (l_d.type) {
    case 0:
      return run(float(), float());
    case 1:
      return run(double(), double());
    case 2:
      return run(Half(), float());
    case 14:
      return run(BFloat16(), float());
    case 4:
      return run(std::complex<float>(), std::complex<float>());
    case 5:
      return run(std::complex<double>(), std::complex<double>());
    default:
      return 15;
  }
}
}
