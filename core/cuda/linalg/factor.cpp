#include "cuda/linalg/factor.h"

#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/error.h"
#include "cuda/device.h"
#include "cuda/graph.h"
#include "cuda/library.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

using products::RealOf;

// Numbers of the enumerations of cuBLAS and cuSOLVER.
constexpr int kLower = 0, kUpper = 1, kLeft = 0, kRight = 1, kNonUnit = 0, kUnit = 1;
int transposition(char op) { return op == 'N' ? 0 : op == 'T' ? 1 : 2; }

const Library& library(const char* name, const std::vector<std::string>& versions,
                       const char* package) {
  static auto* opened = new std::map<std::string, Library>;  // guarded by the interpreter lock
  auto found = opened->find(name);
  if (found == opened->end())
    found = opened->emplace(name, Library::open_nvidia(name, versions)).first;
  check(found->second.is_open(), "cuda: ", name, " was not found (", found->second.reason(),
        "). Install it with: pip install ", package);
  return found->second;
}
const Library& solver_library() { return library("libcusolver", {"12", "11"}, "nvidia-cusolver"); }
const Library& blas_library() { return library("libcublas", {"13", "12"}, "nvidia-cublas"); }

void check_status(int status, const char* what) {
  check(status == 0, "cuda: ", what, " failed with status ", status, ".");
}

// The functions for matrices of T. LAPACK's names and arguments, with a handle first, and the work
// memory's size asked for beforehand.
template <class T>
struct Functions {
  using R = RealOf<T>;
  int (*potrf_size)(void*, int uplo, int n, T* a, int lda, int* size);
  int (*potrf)(void*, int uplo, int n, T* a, int lda, T* work, int size, int* info);
  int (*potrf_batched)(void*, int uplo, int n, T** a, int lda, int* info, int n_batch);
  int (*getrf_size)(void*, int m, int n, T* a, int lda, int* size);
  int (*getrf)(void*, int m, int n, T* a, int lda, T* work, int* pivots, int* info);
  int (*getrs)(void*, int op, int n, int n_rhs, const T* a, int lda, const int* pivots, T* b,
               int ldb, int* info);
  int (*getrf_batched)(void*, int n, T* const* a, int lda, int* pivots, int* info, int n_batch);
  int (*getrs_batched)(void*, int op, int n, int n_rhs, const T* const* a, int lda,
                       const int* pivots, T* const* b, int ldb, int* host_info, int n_batch);
  int (*trsm)(void*, int side, int uplo, int op, int diag, int m, int n, const T* alpha, const T* a,
              int lda, T* b, int ldb);
  int (*trsm_batched)(void*, int side, int uplo, int op, int diag, int m, int n, const T* alpha,
                      const T* const* a, int lda, T* const* b, int ldb, int n_batch);
  int (*geqrf_size)(void*, int m, int n, T* a, int lda, int* size);
  int (*geqrf)(void*, int m, int n, T* a, int lda, T* tau, T* work, int size, int* info);
  int (*orgqr_size)(void*, int m, int n, int k, const T* a, int lda, const T* tau, int* size);
  int (*orgqr)(void*, int m, int n, int k, T* a, int lda, const T* tau, T* work, int size,
               int* info);
  int (*ormqr_size)(void*, int side, int op, int m, int n, int k, const T* a, int lda, const T* tau,
                    const T* c, int ldc, int* size);
  int (*ormqr)(void*, int side, int op, int m, int n, int k, const T* a, int lda, const T* tau,
               T* c, int ldc, T* work, int size, int* info);
  int (*syevd_size)(void*, int with_vectors, int uplo, int n, const T* a, int lda, const R* w,
                    int* size);
  int (*syevd)(void*, int with_vectors, int uplo, int n, T* a, int lda, R* w, T* work, int size,
               int* info);
  int (*gesvd_size)(void*, int m, int n, int* size);
  int (*gesvd)(void*, signed char job_u, signed char job_vt, int m, int n, T* a, int lda, R* s,
               T* u, int ldu, T* vt, int ldvt, T* work, int size, R* real_work, int* info);
};

template <class T>
constexpr char kLetter = 'S';
template <>
constexpr char kLetter<double> = 'D';
template <>
constexpr char kLetter<std::complex<float>> = 'C';
template <>
constexpr char kLetter<std::complex<double>> = 'Z';

template <class T>
Functions<T> load_functions() {
  Functions<T> f;
  auto solver = [&](auto& function, const std::string& name) {
    solver_library().load(function, ("cusolverDn" + (kLetter<T> + name)).c_str());
  };
  auto blas = [&](auto& function, const std::string& name) {
    blas_library().load(function, ("cublas" + (kLetter<T> + name)).c_str());
  };
  std::string orthogonal = is_complex_v<T> ? "un" : "or", symmetric = is_complex_v<T> ? "he" : "sy";
  solver(f.potrf_size, "potrf_bufferSize");
  solver(f.potrf, "potrf");
  solver(f.potrf_batched, "potrfBatched");
  solver(f.getrf_size, "getrf_bufferSize");
  solver(f.getrf, "getrf");
  solver(f.getrs, "getrs");
  blas(f.getrf_batched, "getrfBatched");
  blas(f.getrs_batched, "getrsBatched");
  blas(f.trsm, "trsm_v2");
  blas(f.trsm_batched, "trsmBatched");
  solver(f.geqrf_size, "geqrf_bufferSize");
  solver(f.geqrf, "geqrf");
  solver(f.orgqr_size, orthogonal + "gqr_bufferSize");
  solver(f.orgqr, orthogonal + "gqr");
  solver(f.ormqr_size, orthogonal + "mqr_bufferSize");
  solver(f.ormqr, orthogonal + "mqr");
  solver(f.syevd_size, symmetric + "evd_bufferSize");
  solver(f.syevd, symmetric + "evd");
  solver(f.gesvd_size, "gesvd_bufferSize");
  solver(f.gesvd, "gesvd");
  return f;
}

// The functions, with the handles of a device whose work goes to its current stream.
template <class T>
class Caller {
 public:
  explicit Caller(Device device) : device_(device) {
    enter(device.index);
    void* stream = current_stream(device.index);
    solver_ = handle(solver_library(), "cusolverDnCreate");
    blas_ = handle(blas_library(), "cublasCreate_v2");
    set_stream(solver_library(), "cusolverDnSetStream", solver_, stream);
    set_stream(blas_library(), "cublasSetStream_v2", blas_, stream);
  }
  const Functions<T>& functions() const {
    static const Functions<T> loaded = load_functions<T>();
    return loaded;
  }
  template <class... Parameters, class... Arguments>
  void solve(const char* what, int (*f)(void*, Parameters...), Arguments... arguments) const {
    check_status(f(solver_, arguments...), what);
  }
  template <class... Parameters, class... Arguments>
  void multiply(const char* what, int (*f)(void*, Parameters...), Arguments... arguments) const {
    check_status(f(blas_, arguments...), what);
  }
  Workspace memory(int64_t n, int64_t item_size = sizeof(T)) const {
    return Workspace(device_, n * item_size);
  }

 private:
  void* handle(const Library& library, const char* create) const {
    static auto* handles = new std::map<std::pair<const Library*, int>, void*>;
    void*& handle = (*handles)[{&library, device_.index}];
    if (!handle) {
      int (*make)(void**);
      library.load(make, create);
      check_status(make(&handle), create);
    }
    return handle;
  }
  static void set_stream(const Library& library, const char* name, void* handle, void* stream) {
    int (*set)(void*, void*);
    library.load(set, name);
    check_status(set(handle, stream), name);
  }

  Device device_;
  void *solver_, *blas_;
};

// The addresses of the matrices of a batch, on the device.
template <class T>
class Addresses {
 public:
  Addresses(Device device, T* first, int64_t size, int64_t n_batch)
      : memory_(device, n_batch * static_cast<int64_t>(sizeof(T*))) {
    std::vector<T*> list(static_cast<size_t>(n_batch));
    for (int64_t i = 0; i < n_batch; ++i) list[static_cast<size_t>(i)] = first + i * size;
    upload(memory_.data(), list.data(), n_batch * static_cast<int64_t>(sizeof(T*)), device);
  }
  T** data() const { return reinterpret_cast<T**>(memory_.data()); }

 private:
  Workspace memory_;
};

template <class U>
U* as(const Workspace& memory) {
  return reinterpret_cast<U*>(memory.data());
}
int number(int64_t n) { return static_cast<int>(n); }
int leading(int64_t rows) { return std::max(number(rows), 1); }

}  // namespace

template <class T>
void lu(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, int32_t* pivots,
        int32_t* info) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int rows = number(m), columns = number(n);
  if (n_batch > 1 && m == n && n > 0) {
    Addresses<T> matrices(device, a, m * n, n_batch);
    call.multiply("getrfBatched", f.getrf_batched, columns, matrices.data(), leading(m), pivots,
                  info, number(n_batch));
    return;
  }
  int size = 0;
  call.solve("getrf", f.getrf_size, rows, columns, a, leading(m), &size);
  Workspace work = call.memory(size);
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("getrf", f.getrf, rows, columns, a + i * m * n, leading(m), as<T>(work),
               pivots + i * std::min(m, n), info + i);
}

template <class T>
void lu_solve(Device device, int64_t n_batch, int64_t n, int64_t n_rhs, const T* lu,
              const int32_t* pivots, T* b, char op) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  if (n == 0 || n_rhs == 0) return;
  if (n_batch > 1) {
    Addresses<const T> factors(device, lu, n * n, n_batch);
    Addresses<T> sides(device, b, n * n_rhs, n_batch);
    int info = 0;
    call.multiply("getrsBatched", f.getrs_batched, transposition(op), number(n), number(n_rhs),
                  factors.data(), leading(n), pivots, sides.data(), leading(n), &info,
                  number(n_batch));
    return;
  }
  Workspace info = call.memory(1, sizeof(int));
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("getrs", f.getrs, transposition(op), number(n), number(n_rhs), lu + i * n * n,
               leading(n), pivots + i * n, b + i * n * n_rhs, leading(n), as<int>(info));
}

template <class T>
void cholesky(Device device, int64_t n_batch, int64_t n, T* a, int32_t* info) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  if (n_batch > 1 && n > 0) {
    Addresses<T> matrices(device, a, n * n, n_batch);
    call.solve("potrfBatched", f.potrf_batched, kLower, number(n), matrices.data(), leading(n),
               info, number(n_batch));
    return;
  }
  int size = 0;
  call.solve("potrf", f.potrf_size, kLower, number(n), a, leading(n), &size);
  Workspace work = call.memory(size);
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("potrf", f.potrf, kLower, number(n), a + i * n * n, leading(n), as<T>(work), size,
               info + i);
}

template <class T>
void triangular_solve(Device device, int64_t n_batch, int64_t m, int64_t n, const T* a, T* b,
                      products::Triangle form) {
  if (n_batch == 0 || m == 0 || n == 0) return;
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int side = form.is_left ? kLeft : kRight, uplo = form.is_upper ? kUpper : kLower,
      diagonal = form.is_unit ? kUnit : kNonUnit, op = transposition(form.op);
  int64_t size = form.is_left ? m : n;
  T one(1);
  if (n_batch > 1) {
    Addresses<const T> triangles(device, a, size * size, n_batch);
    Addresses<T> sides(device, b, m * n, n_batch);
    call.multiply("trsmBatched", f.trsm_batched, side, uplo, op, diagonal, number(m), number(n),
                  &one, triangles.data(), leading(size), sides.data(), leading(m), number(n_batch));
    return;
  }
  call.multiply("trsm", f.trsm, side, uplo, op, diagonal, number(m), number(n), &one, a,
                leading(size), b, leading(m));
}

template <class T>
void qr(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, T* tau) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int size = 0;
  call.solve("geqrf", f.geqrf_size, number(m), number(n), a, leading(m), &size);
  Workspace work = call.memory(size), info = call.memory(1, sizeof(int));
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("geqrf", f.geqrf, number(m), number(n), a + i * m * n, leading(m),
               tau + i * std::min(m, n), as<T>(work), size, as<int>(info));
}

template <class T>
void reflectors_to_q(Device device, int64_t n_batch, int64_t m, int64_t n, int64_t k, T* a,
                     const T* tau) {
  if (m == 0 || n == 0) return;
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int size = 0;
  call.solve("orgqr", f.orgqr_size, number(m), number(n), number(k), a, leading(m), tau, &size);
  Workspace work = call.memory(size), info = call.memory(1, sizeof(int));
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("orgqr", f.orgqr, number(m), number(n), number(k), a + i * m * n, leading(m),
               tau + i * k, as<T>(work), size, as<int>(info));
}

template <class T>
void multiply_by_q(Device device, int64_t n_batch, int64_t m, int64_t n, int64_t k, const T* a,
                   const T* tau, T* c, bool is_left, char op) {
  if (m == 0 || n == 0 || k == 0) return;
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int side = is_left ? kLeft : kRight, size = 0;
  int64_t rows = is_left ? m : n;
  call.solve("ormqr", f.ormqr_size, side, transposition(op), number(m), number(n), number(k), a,
             leading(rows), tau, c, leading(m), &size);
  Workspace work = call.memory(size), info = call.memory(1, sizeof(int));
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("ormqr", f.ormqr, side, transposition(op), number(m), number(n), number(k),
               a + i * rows * k, leading(rows), tau + i * k, c + i * m * n, leading(m), as<T>(work),
               size, as<int>(info));
}

template <class T>
void eigh(Device device, int64_t n_batch, int64_t n, T* a, RealOf<T>* values, int32_t* info,
          bool is_upper, bool with_vectors) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int uplo = is_upper ? kUpper : kLower, size = 0;
  call.solve("syevd", f.syevd_size, with_vectors, uplo, number(n), a, leading(n), values, &size);
  Workspace work = call.memory(size);
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("syevd", f.syevd, with_vectors, uplo, number(n), a + i * n * n, leading(n),
               values + i * n, as<T>(work), size, info + i);
}

template <class T>
void svd(Device device, int64_t n_batch, int64_t m, int64_t n, T* a, T* u, RealOf<T>* s, T* vh,
         int32_t* info, bool is_thin) {
  Caller<T> call(device);
  const Functions<T>& f = call.functions();
  int size = 0;
  call.solve("gesvd", f.gesvd_size, number(m), number(n), &size);
  Workspace work = call.memory(size), real_work = call.memory(n, sizeof(RealOf<T>));
  signed char job = !u ? 'N' : is_thin ? 'S' : 'A';
  int64_t n_u = u ? m * (is_thin ? n : m) : 0, n_vh = u ? n * n : 0;
  for (int64_t i = 0; i < n_batch; ++i)
    call.solve("gesvd", f.gesvd, job, job, number(m), number(n), a + i * m * n, leading(m),
               s + i * n, u + i * n_u, leading(m), vh + i * n_vh, leading(n), as<T>(work), size,
               as<RealOf<T>>(real_work), info + i);
}

#define FACULA_INSTANTIATE(T)                                                                     \
  template void lu(Device, int64_t, int64_t, int64_t, T*, int32_t*, int32_t*);                    \
  template void lu_solve(Device, int64_t, int64_t, int64_t, const T*, const int32_t*, T*, char);  \
  template void cholesky(Device, int64_t, int64_t, T*, int32_t*);                                 \
  template void triangular_solve(Device, int64_t, int64_t, int64_t, const T*, T*,                 \
                                 products::Triangle);                                             \
  template void qr(Device, int64_t, int64_t, int64_t, T*, T*);                                    \
  template void reflectors_to_q(Device, int64_t, int64_t, int64_t, int64_t, T*, const T*);        \
  template void multiply_by_q(Device, int64_t, int64_t, int64_t, int64_t, const T*, const T*, T*, \
                              bool, char);                                                        \
  template void eigh(Device, int64_t, int64_t, T*, RealOf<T>*, int32_t*, bool, bool);             \
  template void svd(Device, int64_t, int64_t, int64_t, T*, T*, RealOf<T>*, T*, int32_t*, bool);
FACULA_INSTANTIATE(float)
FACULA_INSTANTIATE(double)
FACULA_INSTANTIATE(std::complex<float>)
FACULA_INSTANTIATE(std::complex<double>)
#undef FACULA_INSTANTIATE

}  // namespace facula::cuda
