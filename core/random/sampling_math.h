// The functions of a uniform number that samplers need, made of operations that IEEE 754 rounds in
// one way only (+, -, *, fused multiply-add, square root): same bits on every machine and device.
#pragma once
#ifdef __CUDACC_RTC__
#define FACULA_ALWAYS_INLINE __device__ __forceinline__
#else
#include <cstdint>
#include <cstring>
#define FACULA_ALWAYS_INLINE inline __attribute__((always_inline))
#endif

namespace facula {

// The builtin, because std::fma is a call unless it happens to be inlined.
FACULA_ALWAYS_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
FACULA_ALWAYS_INLINE double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class To, class From>
FACULA_ALWAYS_INLINE To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

template <class T>
struct SinCos {
  T sin;
  T cos;
};

// Natural logarithm of a normal x > 0: the polynomial of Cephes' logf, with the fusions of the
// compiled form that PyTorch runs. x = m * 2^e, sqrt(1/2) <= m < sqrt(2).
FACULA_ALWAYS_INLINE float portable_log(float x) {
  uint32_t bits = bits_as<uint32_t>(x);
  // Its exponent, as the low bits of 2^23: a GPU converts integers four times as slowly as it adds.
  float e = bits_as<float>((bits >> 23) + 0x4b000000u) - 8388734.0f;
  float m = bits_as<float>((bits & 0x807fffffu) | 0x3f000000u);  // in [1/2, 1)
  bool is_low = m < 0.707106781186547524f;
  e = is_low ? e - 1.0f : e;
  m = is_low ? (m - 1.0f) + m : m - 1.0f;
  float m2 = m * m;
  float y = 7.0376836292E-2f;
  y = fused(y, m, -1.1514610310E-1f);
  y = fused(y, m, 1.1676998740E-1f);
  y = fused(y, m, -1.2420140846E-1f);
  y = fused(y, m, 1.4249322787E-1f);
  y = fused(y, m, -1.6668057665E-1f);
  y = fused(y, m, 2.0000714765E-1f);
  y = fused(y, m, -2.4999993993E-1f);
  y = fused(y, m, 3.3333331174E-1f);
  y = fused(y * m, m2, e * -2.12194440e-4f);
  y = fused(m2, -0.5f, y);
  return fused(e, 0.693359375f, m + y);
}

// Sine and cosine of `quarter` quarter turns and x, |x| <= pi/4: Cephes' sinf and cosf, fused as
// above.
FACULA_ALWAYS_INLINE SinCos<float> sincos_beyond(int32_t quarter, float x) {
  float x2 = x * x;
  float c = 2.443315711809948E-5f;
  c = fused(c, x2, -1.388731625493765E-3f);
  c = fused(c, x2, 4.166664568298827E-2f);
  c = fused(c * x2, x2, x2 * -0.5f) + 1.0f;
  float s = -1.9515295891E-4f;
  s = fused(s, x2, 8.3321608736E-3f);
  s = fused(s, x2, -1.6666654611E-1f);
  s = fused(s * x2, x, x);
  bool is_swapped = quarter & 1;
  uint32_t sin_sign = (static_cast<uint32_t>(quarter) & 2) << 30;
  uint32_t cos_sign = (static_cast<uint32_t>(quarter + 1) & 2) << 30;
  float sin = is_swapped ? c : s;
  float cos = is_swapped ? s : c;
  return {bits_as<float>(bits_as<uint32_t>(sin) ^ sin_sign),
          bits_as<float>(bits_as<uint32_t>(cos) ^ cos_sign)};
}

// Sine and cosine of 0 <= x < 8192. The quarter turns nearest to x are taken off in three steps.
FACULA_ALWAYS_INLINE SinCos<float> portable_sincos(float x) {
  int32_t quarter = (static_cast<int32_t>(x * 1.27323954473516f) + 1) >> 1;
  float k = static_cast<float>(2 * quarter);
  x = fused(k, -0.78515625f, x);
  x = fused(k, -2.4187564849853515625e-4f, x);
  x = fused(k, -3.77489497744594108e-8f, x);
  return sincos_beyond(quarter, x);
}

// Sine and cosine of k / 2^24 turns, k < 2^24: the quarters are taken off as integers.
FACULA_ALWAYS_INLINE SinCos<float> portable_sincos_turns(uint32_t k) {
  int32_t quarter = static_cast<int32_t>((k + (1u << 21)) >> 22);
  int32_t rest = static_cast<int32_t>(k) - (quarter << 22);
  return sincos_beyond(quarter, static_cast<float>(rest) * 3.74507028292393e-7f);
}

// Natural logarithm of a normal x > 0 in double: fdlibm's series in s = f / (2 + f), x = (1 + f) *
// 2^e.
FACULA_ALWAYS_INLINE double portable_log(double x) {
  uint64_t bits = bits_as<uint64_t>(x);
  int64_t exponent = static_cast<int64_t>(bits >> 52) - 1022;
  double m = bits_as<double>((bits & 0x000fffffffffffffu) | 0x3fe0000000000000u);  // in [1/2, 1)
  if (m < 0.70710678118654752440) {
    m *= 2.0;
    --exponent;
  }
  double e = static_cast<double>(exponent);
  double f = m - 1.0;
  double s = f / (2.0 + f);
  double z = s * s;
  double r = 1.479819860511658591e-01;
  r = fused(r, z, 1.531383769920937332e-01);
  r = fused(r, z, 1.818357216161805012e-01);
  r = fused(r, z, 2.222219843214978396e-01);
  r = fused(r, z, 2.857142874366239149e-01);
  r = fused(r, z, 3.999999999940941908e-01);
  r = fused(r, z, 6.666666666666735130e-01);
  r = r * z;
  double half_square = 0.5 * f * f;
  double low = fused(s, half_square + r, e * 1.90821492927058770002e-10);
  return fused(e, 6.93147180369123816490e-01, f - (half_square - low));
}

// Sine and cosine of 2 pi u, 0 <= u < 1: a quarter turn more or less is exact, and the rest is
// within pi/4, where fdlibm's kernels hold.
FACULA_ALWAYS_INLINE SinCos<double> portable_sincos_turns(double u) {
  int64_t quarter = static_cast<int64_t>(u * 4.0 + 0.5);
  double x = (u - 0.25 * static_cast<double>(quarter)) * 6.283185307179586476925;
  double z = x * x;
  double s = 1.58969099521155010221e-10;
  s = fused(s, z, -2.50507602534068634195e-08);
  s = fused(s, z, 2.75573137070700676789e-06);
  s = fused(s, z, -1.98412698298579493134e-04);
  s = fused(s, z, 8.33333333332248946124e-03);
  s = fused(s, z, -1.66666666666666324348e-01);
  s = fused(s * z, x, x);
  double c = -1.13596475577881948265e-11;
  c = fused(c, z, 2.08757232129817482790e-09);
  c = fused(c, z, -2.75573143513906633035e-07);
  c = fused(c, z, 2.48015872894767294178e-05);
  c = fused(c, z, -1.38888888888741095749e-03);
  c = fused(c, z, 4.16666666666666019037e-02);
  c = fused(c * z, z, fused(z, -0.5, 1.0));
  double sin = quarter & 1 ? c : s;
  double cos = quarter & 1 ? s : c;
  return {quarter & 2 ? -sin : sin, (quarter + 1) & 2 ? -cos : cos};
}

}  // namespace facula
