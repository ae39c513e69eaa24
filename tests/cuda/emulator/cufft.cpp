// cuFFT for a GPU that is played by the CPU: transforms by their definition.
#include <complex>
#include <cstddef>
#include <map>
#include <vector>

namespace {

struct Plan {
  long long n, step_in, distance_in, step_out, distance_out, n_lines;
  int type;
};
std::map<int, Plan>& plans() {
  static auto* all = new std::map<int, Plan>;
  return *all;
}

// The points of each line come from `read` and its results go to `write`, n_out of them.
template <class Read, class Write>
int run(const Plan& p, int direction, long long n_out, const Read& read, const Write& write) {
  std::vector<std::complex<double>> x(p.n), factors(p.n);
  for (long long k = 0; k < p.n; ++k)
    factors[k] = std::polar(1.0, direction * 2 * 3.14159265358979323846 * k / p.n);
  for (long long line = 0; line < p.n_lines; ++line) {
    for (long long i = 0; i < p.n; ++i) x[i] = read(line * p.distance_in, i);
    for (long long k = 0; k < n_out; ++k) {
      std::complex<double> sum = 0;
      for (long long i = 0; i < p.n; ++i) sum += x[i] * factors[i * k % p.n];
      write(line * p.distance_out + k * p.step_out, sum);
    }
  }
  return 0;
}

template <class T>
int complex_to_complex(int plan, void* from, void* to, int direction) {
  const Plan& p = plans().at(plan);
  auto *in = static_cast<std::complex<T>*>(from), *out = static_cast<std::complex<T>*>(to);
  return run(
      p, direction, p.n,
      [&](long long at, long long i) { return std::complex<double>(in[at + i * p.step_in]); },
      [&](long long at, std::complex<double> y) { out[at] = std::complex<T>(y); });
}
template <class T>
int real_to_complex(int plan, void* from, void* to) {
  const Plan& p = plans().at(plan);
  auto* in = static_cast<T*>(from);
  auto* out = static_cast<std::complex<T>*>(to);
  return run(
      p, -1, p.n / 2 + 1,
      [&](long long at, long long i) { return std::complex<double>(in[at + i * p.step_in]); },
      [&](long long at, std::complex<double> y) { out[at] = std::complex<T>(y); });
}
template <class T>
int complex_to_real(int plan, void* from, void* to) {
  const Plan& p = plans().at(plan);
  auto* in = static_cast<std::complex<T>*>(from);
  auto* out = static_cast<T*>(to);
  return run(
      p, 1, p.n,
      [&](long long at, long long i) {
        if (i <= p.n / 2) return std::complex<double>(in[at + i * p.step_in]);
        return std::conj(std::complex<double>(in[at + (p.n - i) * p.step_in]));
      },
      [&](long long at, std::complex<double> y) { out[at] = static_cast<T>(y.real()); });
}

}  // namespace

extern "C" {

int cufftCreate(int* plan) {
  static int n = 0;
  *plan = ++n;
  plans()[*plan] = {};
  return 0;
}
int cufftDestroy(int plan) {
  plans().erase(plan);
  return 0;
}
int cufftSetAutoAllocation(int, int) { return 0; }
int cufftMakePlanMany64(int plan, int rank, long long* n, long long*, long long step_in,
                        long long distance_in, long long*, long long step_out,
                        long long distance_out, int type, long long n_lines, size_t* workspace) {
  if (rank != 1) return 4;
  plans().at(plan) = {n[0], step_in, distance_in, step_out, distance_out, n_lines, type};
  *workspace = 256;
  return 0;
}
int cufftSetWorkArea(int, void*) { return 0; }
int cufftSetStream(int, void*) { return 0; }
int cufftExecC2C(int plan, void* from, void* to, int direction) {
  return complex_to_complex<float>(plan, from, to, direction);
}
int cufftExecZ2Z(int plan, void* from, void* to, int direction) {
  return complex_to_complex<double>(plan, from, to, direction);
}
int cufftExecR2C(int plan, void* from, void* to) { return real_to_complex<float>(plan, from, to); }
int cufftExecD2Z(int plan, void* from, void* to) { return real_to_complex<double>(plan, from, to); }
int cufftExecC2R(int plan, void* from, void* to) { return complex_to_real<float>(plan, from, to); }
int cufftExecZ2D(int plan, void* from, void* to) { return complex_to_real<double>(plan, from, to); }
}
