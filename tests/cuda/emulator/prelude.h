// What a kernel finds where a CPU runs it: the names that NVRTC gives to every program. No header
// of the C library is included, as kernels define the types of <cstdint> themselves.
#pragma once
#define __CUDACC__
#define __CUDACC_RTC__
#define __CUDA_ARCH__ 900
#define __device__
#define __host__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__

struct dim3 {
  unsigned x, y, z;
};

// Set by the driver when it loads the program, and before each thread goes on.
struct Emulated {
  dim3 thread, block, n_threads, n_blocks;
  void (*sync_block)();
  void (*sync_warp)();
  unsigned long long* slots;  // of the warp: a number for each of its threads
};
extern "C" {
Emulated* emulated;
void* memcpy(void*, const void*, unsigned long);
void* memset(void*, int, unsigned long);
}
#define threadIdx (emulated->thread)
#define blockIdx (emulated->block)
#define blockDim (emulated->n_threads)
#define gridDim (emulated->n_blocks)

#define EMULATED_MATH(name)                 \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  inline float name(float x) { return name##f(x); }
EMULATED_MATH(exp)
EMULATED_MATH(exp2)
EMULATED_MATH(expm1)
EMULATED_MATH(log)
EMULATED_MATH(log2)
EMULATED_MATH(log10)
EMULATED_MATH(log1p)
EMULATED_MATH(sin)
EMULATED_MATH(cos)
EMULATED_MATH(tan)
EMULATED_MATH(asin)
EMULATED_MATH(acos)
EMULATED_MATH(atan)
EMULATED_MATH(sinh)
EMULATED_MATH(cosh)
EMULATED_MATH(tanh)
EMULATED_MATH(asinh)
EMULATED_MATH(acosh)
EMULATED_MATH(atanh)
EMULATED_MATH(erf)
EMULATED_MATH(erfc)
EMULATED_MATH(lgamma)
EMULATED_MATH(tgamma)
EMULATED_MATH(sqrt)
EMULATED_MATH(cbrt)
EMULATED_MATH(floor)
EMULATED_MATH(ceil)
EMULATED_MATH(trunc)
EMULATED_MATH(rint)
EMULATED_MATH(round)
EMULATED_MATH(fabs)
#undef EMULATED_MATH
#define EMULATED_MATH(name)                        \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  inline float name(float x, float y) { return name##f(x, y); }
EMULATED_MATH(pow)
EMULATED_MATH(fmod)
EMULATED_MATH(atan2)
EMULATED_MATH(hypot)
EMULATED_MATH(fmin)
EMULATED_MATH(fmax)
EMULATED_MATH(copysign)
EMULATED_MATH(nextafter)
#undef EMULATED_MATH
extern "C" {
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double nan(const char*) noexcept;
float nanf(const char*) noexcept;
double j0(double) noexcept;
double j1(double) noexcept;
double y0(double) noexcept;
double y1(double) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
}
inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
inline float ldexp(float x, int n) { return ldexpf(x, n); }
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline bool isnan(double x) { return x != x; }
inline bool isinf(double x) { return fabs(x) == __builtin_inf(); }
inline bool isfinite(double x) { return fabs(x) < __builtin_inf(); }

inline float __uint_as_float(unsigned x) {
  float y;
  memcpy(&y, &x, 4);
  return y;
}
inline unsigned __float_as_uint(float x) {
  unsigned y;
  memcpy(&y, &x, 4);
  return y;
}
inline double __longlong_as_double(long long x) {
  double y;
  memcpy(&y, &x, 8);
  return y;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }

inline void __syncthreads() { emulated->sync_block(); }
inline void __syncwarp(unsigned = ~0u) { emulated->sync_warp(); }
inline void __threadfence() {}
inline void __threadfence_system() {}

// All threads of a warp that are left give a number and read another's.
inline unsigned emulated_lane() { return threadIdx.x % 32; }
template <class T>
T emulated_exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 8);
  memcpy(&emulated->slots[emulated_lane()], &value, sizeof(T));
  emulated->sync_warp();
  memcpy(&value, &emulated->slots[from % 32], sizeof(T));
  emulated->sync_warp();
  return value;
}
template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return emulated_exchange(value, lane);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulated_exchange(value, emulated_lane() ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned n) {
  unsigned lane = emulated_lane();
  return emulated_exchange(value, lane + n < 32 ? lane + n : lane);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned n) {
  unsigned lane = emulated_lane();
  return emulated_exchange(value, lane >= n ? lane - n : lane);
}
inline unsigned __ballot_sync(unsigned mask, int is_true) {
  unsigned long long* slots = emulated->slots;
  slots[emulated_lane()] = is_true != 0;
  emulated->sync_warp();
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i)
    if (mask >> i & 1) bits |= static_cast<unsigned>(slots[i]) << i;
  emulated->sync_warp();
  return bits;
}
inline int __any_sync(unsigned mask, int is_true) { return __ballot_sync(mask, is_true) != 0; }
inline int __all_sync(unsigned mask, int is_true) { return __ballot_sync(mask, is_true) == mask; }

// One thread runs at a time.
template <class T>
T atomicAdd(T* at, T value) {
  T before = *at;
  *at = before + value;
  return before;
}
template <class T>
T atomicMax(T* at, T value) {
  T before = *at;
  if (value > before) *at = value;
  return before;
}
template <class T>
T atomicMin(T* at, T value) {
  T before = *at;
  if (value < before) *at = value;
  return before;
}
template <class T>
T atomicExch(T* at, T value) {
  T before = *at;
  *at = value;
  return before;
}
template <class T>
T atomicCAS(T* at, T expected, T value) {
  T before = *at;
  if (before == expected) *at = value;
  return before;
}

// The conversions that kernels write in assembly.
inline unsigned short emulated_half(float value) {
  _Float16 x = static_cast<_Float16>(value);
  unsigned short bits;
  memcpy(&bits, &x, 2);
  return bits;
}
inline float emulated_float(unsigned short bits) {
  _Float16 x;
  memcpy(&x, &bits, 2);
  return static_cast<float>(x);
}
inline unsigned short emulated_bfloat16(float value) {
  unsigned bits = __float_as_uint(value);
  if (value != value) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class A>
void emulated_call(void (*kernel)(A), const void* arguments) {
  kernel(*static_cast<const A*>(arguments));
}
template <class A>
constexpr unsigned long emulated_size(void (*)(A)) {
  return sizeof(A);
}
