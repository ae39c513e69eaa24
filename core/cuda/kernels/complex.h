// std::complex, which NVRTC does not bring, and its functions, with the principal values and branch
// cuts of C99. Those of float are computed in double.
#pragma once

namespace std {

#define FACULA_REAL(name)                                        \
  __device__ inline float name(float x) { return ::name##f(x); } \
  __device__ inline double name(double x) { return ::name(x); }
FACULA_REAL(exp)
FACULA_REAL(expm1)
FACULA_REAL(log)
FACULA_REAL(log1p)
FACULA_REAL(sqrt)
FACULA_REAL(sin)
FACULA_REAL(cos)
#undef FACULA_REAL
__device__ inline float abs(float x) { return ::fabsf(x); }
__device__ inline double abs(double x) { return ::fabs(x); }
__device__ inline float hypot(float x, float y) { return ::hypotf(x, y); }
__device__ inline double hypot(double x, double y) { return ::hypot(x, y); }
__device__ inline float atan2(float y, float x) { return ::atan2f(y, x); }
__device__ inline double atan2(double y, double x) { return ::atan2(y, x); }
__device__ inline bool isinf(float x) { return ::isinf(x); }
__device__ inline bool isinf(double x) { return ::isinf(x); }
template <class T>
__device__ inline void swap(T& a, T& b) {
  T c = a;
  a = b;
  b = c;
}

template <class R>
struct alignas(2 * sizeof(R)) complex {
  using value_type = R;
  R re, im;
  complex() = default;
  __device__ constexpr complex(R real, R imag = R(0)) : re(real), im(imag) {}
  template <class Other>
  __device__ constexpr explicit complex(complex<Other> x) : re(R(x.re)), im(R(x.im)) {}
  __device__ constexpr R real() const { return re; }
  __device__ constexpr R imag() const { return im; }

  friend __device__ complex operator-(complex a) { return {-a.re, -a.im}; }
  friend __device__ complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
  friend __device__ complex operator-(complex a, complex b) { return {a.re - b.re, a.im - b.im}; }
  friend __device__ complex operator*(complex a, complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend __device__ complex operator*(complex a, R b) { return {a.re * b, a.im * b}; }
  friend __device__ complex operator*(R a, complex b) { return b * a; }
  friend __device__ complex operator/(complex a, R b) { return {a.re / b, a.im / b}; }
  // The larger part of b is divided by first, so that no square overflows.
  friend __device__ complex operator/(complex a, complex b) {
    if (std::abs(b.re) >= std::abs(b.im)) {
      if (b.re == R(0)) return {a.re / std::abs(b.re), a.im / std::abs(b.re)};
      R ratio = b.im / b.re, divisor = b.re + b.im * ratio;
      return {(a.re + a.im * ratio) / divisor, (a.im - a.re * ratio) / divisor};
    }
    R ratio = b.re / b.im, divisor = b.im + b.re * ratio;
    return {(a.re * ratio + a.im) / divisor, (a.im * ratio - a.re) / divisor};
  }
  friend __device__ complex operator/(R a, complex b) { return complex(a) / b; }
  friend __device__ bool operator==(complex a, complex b) { return a.re == b.re && a.im == b.im; }
  friend __device__ bool operator!=(complex a, complex b) { return !(a == b); }
  __device__ complex& operator+=(complex b) { return *this = *this + b; }
  __device__ complex& operator*=(complex b) { return *this = *this * b; }
};

template <class R>
__device__ inline R abs(complex<R> x) {
  return hypot(x.re, x.im);
}
template <class R>
__device__ inline R norm(complex<R> x) {
  return x.re * x.re + x.im * x.im;
}
template <class R>
__device__ inline complex<R> conj(complex<R> x) {
  return {x.re, -x.im};
}

namespace of_double {

using C = complex<double>;

// i x and x / i.
__device__ inline C turned(C x) { return {-x.im, x.re}; }
__device__ inline C turned_back(C x) { return {x.im, -x.re}; }
// size * (cos, sin): a zero angle has a zero part also where the size is infinite.
__device__ inline double part(double size, double direction, double angle) {
  return angle == 0 && direction == 0 ? direction : size * direction;
}

__device__ inline C exp(C x) {
  if (x.re == -huge_val() && !(::fabs(x.im) < huge_val())) return {0, 0};
  // In two steps, of which the first cannot overflow.
  double over = x.re > 700 ? ::fmin(x.re - 700, 700.0) : 0, size = ::exp(x.re - over);
  double rest = over > 0 ? ::exp(over) : 1;
  return {size * ::cos(x.im) * rest, part(size, ::sin(x.im), x.im) * rest};
}
__device__ inline C log(C x) {
  double a = ::fabs(x.re), b = ::fabs(x.im), large = ::fmax(a, b), small = ::fmin(a, b);
  double size = ::hypot(a, b);
  // Near 1 the logarithm is small, and the square is written so that nothing cancels.
  double real =
      size > 0.5 && size < 2 ? ::log1p((large - 1) * (large + 1) + small * small) / 2 : ::log(size);
  // hypot overflows or loses bits at the ends of the range.
  if (large > 1e300 && large < huge_val())
    real = ::log(::hypot(a * 0x1p-600, b * 0x1p-600)) + 600 * 0.69314718055994530942;
  if (large < 1e-290 && large > 0)
    real = ::log(::hypot(a * 0x1p600, b * 0x1p600)) - 600 * 0.69314718055994530942;
  return {real, ::atan2(x.im, x.re)};
}
__device__ inline C log10(C x) { return log(x) * 0.43429448190325182765; }
__device__ inline C sqrt(C x) {
  if (x.re == 0 && x.im == 0) return {0, x.im};
  if (::fabs(x.im) == huge_val()) return {huge_val(), x.im};
  if (x.re == -huge_val()) return {x.im != x.im ? x.im : 0, ::copysign(huge_val(), x.im)};
  if (x.re == huge_val()) return {x.re, x.im != x.im ? x.im : ::copysign(0.0, x.im)};
  // Halves, so that the sum does not overflow.
  double half = ::sqrt(::fabs(x.re) / 4 + ::hypot(x.re / 4, x.im / 4)) * 1.4142135623730950488;
  double other = ::fabs(x.im) / (2 * half);
  return x.re >= 0 ? C{half, ::copysign(other, x.im)} : C{other, ::copysign(half, x.im)};
}
__device__ inline C sinh(C x) {
  if (::fabs(x.re) > 700) {
    C e = exp(C{::fabs(x.re) - 0.69314718055994530942, x.im});
    return {::copysign(1.0, x.re) * e.re, e.im};
  }
  return {::sinh(x.re) * ::cos(x.im), part(::cosh(x.re), ::sin(x.im), x.im)};
}
__device__ inline C cosh(C x) {
  if (::fabs(x.re) > 700) {
    C e = exp(C{::fabs(x.re) - 0.69314718055994530942, x.im});
    return {e.re, ::copysign(1.0, x.re) * e.im};
  }
  return {::cosh(x.re) * ::cos(x.im), part(::sinh(x.re), ::sin(x.im), x.im)};
}
__device__ inline C tanh(C x) {
  if (::fabs(x.re) > 22) {
    double angle = ::fabs(x.im) < huge_val() ? ::sin(x.im) * ::cos(x.im) : 0;
    return {::copysign(1.0, x.re), 4 * angle * ::exp(-2 * ::fabs(x.re))};
  }
  double t = ::tan(x.im), s = ::sinh(x.re), beta = 1 + t * t;
  double rho = ::sqrt(1 + s * s), divisor = 1 + beta * s * s;
  if (::fabs(t) == huge_val()) return {rho / s, 1 / t};
  return {beta * rho * s / divisor, t / divisor};
}
__device__ inline C sin(C x) { return turned_back(sinh(turned(x))); }
__device__ inline C cos(C x) { return cosh(turned(x)); }
__device__ inline C tan(C x) { return turned_back(tanh(turned(x))); }
// The inverse functions by square roots of 1 - x and 1 + x, as W. Kahan gave them: right on both
// sides of the cuts.
__device__ inline C minus_one(C x) { return {x.re - 1, x.im}; }
__device__ inline C plus_one(C x) { return {x.re + 1, x.im}; }
__device__ inline C one_minus(C x) { return {1 - x.re, -x.im}; }
constexpr double kQuarterTurn = 1.57079632679489661923;
__device__ inline C asin(C x) {
  if (::isinf(x.re) || ::isinf(x.im))
    return {::isinf(x.im) && !::isinf(x.re)
                ? ::copysign(0.0, x.re)
                : ::copysign(kQuarterTurn / (::isinf(x.im) ? 2 : 1), x.re),
            ::copysign(huge_val(), x.im)};
  C a = sqrt(one_minus(x)), b = sqrt(plus_one(x));
  return {::atan2(x.re, a.re * b.re - a.im * b.im), ::asinh(a.re * b.im - a.im * b.re)};
}
__device__ inline C acos(C x) {
  C a = sqrt(one_minus(x)), b = sqrt(plus_one(x));
  return {2 * ::atan2(a.re, b.re), ::asinh(b.re * a.im - b.im * a.re)};
}
__device__ inline C acosh(C x) {
  C a = sqrt(minus_one(x)), b = sqrt(plus_one(x));
  return {::asinh(a.re * b.re + a.im * b.im), 2 * ::atan2(a.im, b.re)};
}
__device__ inline C atanh(C x) {
  if (x.im != x.im) return {x.re == 0 ? x.re : x.im, x.im};
  // By symmetry of the positive half, where nothing cancels.
  double a = ::fabs(x.re), b = x.im, apart = 1 - a, square = apart * apart + b * b;
  if (!(square < huge_val())) return {::copysign(0.0, x.re), ::copysign(kQuarterTurn, b)};
  return {::copysign(::log1p(4 * a / square) / 4, x.re),
          ::atan2(2 * b, apart * (1 + a) - b * b) / 2};
}
__device__ inline C asinh(C x) { return turned_back(asin(turned(x))); }
__device__ inline C atan(C x) { return turned_back(atanh(turned(x))); }

}  // namespace of_double

#define FACULA_OF_COMPLEX(name)                             \
  template <class R>                                        \
  __device__ inline complex<R> name(complex<R> x) {         \
    return complex<R>(of_double::name(complex<double>(x))); \
  }
FACULA_OF_COMPLEX(exp)
FACULA_OF_COMPLEX(log)
FACULA_OF_COMPLEX(log10)
FACULA_OF_COMPLEX(sqrt)
FACULA_OF_COMPLEX(sin)
FACULA_OF_COMPLEX(cos)
FACULA_OF_COMPLEX(tan)
FACULA_OF_COMPLEX(asin)
FACULA_OF_COMPLEX(acos)
FACULA_OF_COMPLEX(atan)
FACULA_OF_COMPLEX(sinh)
FACULA_OF_COMPLEX(cosh)
FACULA_OF_COMPLEX(tanh)
FACULA_OF_COMPLEX(asinh)
FACULA_OF_COMPLEX(acosh)
FACULA_OF_COMPLEX(atanh)
#undef FACULA_OF_COMPLEX
template <class R>
__device__ inline complex<R> pow(complex<R> a, complex<R> b) {
  if (a == complex<R>(0)) return complex<R>(0);
  return complex<R>(of_double::exp(complex<double>(b) * of_double::log(complex<double>(a))));
}

}  // namespace std
