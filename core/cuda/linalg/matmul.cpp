// Products of matrices, through cuBLASLt.
#include <algorithm>
#include <complex>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>

#include "cuda/allocator.h"
#include "cuda/cuda.h"
#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/kernels/matmul.h"
#include "cuda/library.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

// Numbers of cuBLASLt's enumerations.
constexpr int kCompute32F = 68, kCompute64F = 70, kComputeTF32 = 77;
constexpr int kReal32F = 0, kReal64F = 1, kReal16F = 2, kReal16BF = 14;
constexpr int kComplex32F = 4, kComplex64F = 5;
constexpr int kTransposed = 1;
constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBias = 8;
constexpr int kAddBias = 4;
constexpr int kLayoutBatchCount = 5, kLayoutBatchOffset = 6;
constexpr int kPreferWorkspace = 1, kPreferAlignmentA = 5;  // those of B, C and D follow
constexpr size_t kWorkspaceBytes = size_t(32) << 20;

struct Algorithm {
  uint64_t data[8];
};
struct HeuristicResult {
  Algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct BlasLt {
  int (*create)(void** handle);
  int (*desc_create)(void** desc, int compute_type, int scale_type);
  int (*desc_set)(void* desc, int attribute, const void* value, size_t size);
  int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*layout_set)(void* layout, int attribute, const void* value, size_t size);
  int (*preference_create)(void** preference);
  int (*preference_set)(void* preference, int attribute, const void* value, size_t size);
  int (*preference_destroy)(void* preference);
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,
                   int n_wanted, HeuristicResult* results, int* n_found);
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* a_layout,
                const void* b, void* b_layout, const void* beta, const void* c, void* c_layout,
                void* d, void* d_layout, const Algorithm* algorithm, void* workspace,
                size_t workspace_bytes, void* stream);
};

const BlasLt& blas_lt() {
  static const BlasLt functions = [] {
    Library library = Library::open_nvidia("libcublasLt", {"13", "12"});
    check(library.is_open(), "cuda: cuBLASLt was not found (", library.reason(),
          "). Install it with: pip install nvidia-cublas");
    BlasLt b;
    library.load(b.create, "cublasLtCreate");
    library.load(b.desc_create, "cublasLtMatmulDescCreate");
    library.load(b.desc_set, "cublasLtMatmulDescSetAttribute");
    library.load(b.layout_create, "cublasLtMatrixLayoutCreate");
    library.load(b.layout_set, "cublasLtMatrixLayoutSetAttribute");
    library.load(b.preference_create, "cublasLtMatmulPreferenceCreate");
    library.load(b.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    library.load(b.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    library.load(b.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    library.load(b.matmul, "cublasLtMatmul");
    return b;
  }();
  return functions;
}

void check_status(int status, const char* what) {
  check(status == 0, "cuda: ", what, " failed with status ", status, " of cuBLAS.");
}

void* handle_of(int index) {
  static auto* handles = new std::map<int, void*>;  // guarded by the interpreter lock
  void*& handle = (*handles)[index];
  if (!handle) check_status(blas_lt().create(&handle), "cublasLtCreate");
  return handle;
}

// What decides which algorithm is taken.
struct Shape {
  int index;
  int type;
  bool trans_a, trans_b;
  int64_t m, n, k, lda, ldb, ldc, n_batch, stride_a, stride_b, stride_c;
  uint32_t align_a, align_b, align_c;
  bool has_bias, allows_tf32;
  auto as_tuple() const {
    return std::tie(index, type, trans_a, trans_b, m, n, k, lda, ldb, ldc, n_batch, stride_a,
                    stride_b, stride_c, align_a, align_b, align_c, has_bias, allows_tf32);
  }
  bool operator<(const Shape& o) const { return as_tuple() < o.as_tuple(); }
};

struct Plan {
  void *desc = nullptr, *a = nullptr, *b = nullptr, *c = nullptr;
  Algorithm algorithm{};
  size_t workspace_bytes = 0;
};

template <class T>
void set_attribute(int (*set)(void*, int, const void*, size_t), void* object, int attribute,
                   T value) {
  check_status(set(object, attribute, &value, sizeof(T)), "setting an attribute");
}

void* make_layout(const Shape& s, int64_t rows, int64_t cols, int64_t ld, int64_t stride) {
  const BlasLt& lt = blas_lt();
  void* layout = nullptr;
  check_status(lt.layout_create(&layout, s.type, static_cast<uint64_t>(rows),
                                static_cast<uint64_t>(cols), ld),
               "cublasLtMatrixLayoutCreate");
  if (s.n_batch > 1) {
    set_attribute(lt.layout_set, layout, kLayoutBatchCount, static_cast<int32_t>(s.n_batch));
    set_attribute(lt.layout_set, layout, kLayoutBatchOffset, stride);
  }
  return layout;
}

// cuBLAS counts by columns. What it sees of our row-major matrices are their transposes, so it gets
// C' = B' A'.
Plan make_plan(const Shape& s) {
  const BlasLt& lt = blas_lt();
  Plan plan;
  bool is_double = s.type == kReal64F || s.type == kComplex64F;
  bool is_complex = s.type == kComplex32F || s.type == kComplex64F;
  bool is_tf32 = s.allows_tf32 && (s.type == kReal32F || s.type == kComplex32F);
  check_status(lt.desc_create(&plan.desc,
                              is_double ? kCompute64F
                              : is_tf32 ? kComputeTF32
                                        : kCompute32F,
                              is_complex  ? s.type
                              : is_double ? kReal64F
                                          : kReal32F),
               "cublasLtMatmulDescCreate");
  if (s.has_bias)
    set_attribute(lt.desc_set, plan.desc, kDescEpilogue, static_cast<int32_t>(kAddBias));
  if (s.trans_b)
    set_attribute(lt.desc_set, plan.desc, kDescTransA, static_cast<int32_t>(kTransposed));
  if (s.trans_a)
    set_attribute(lt.desc_set, plan.desc, kDescTransB, static_cast<int32_t>(kTransposed));
  plan.a = make_layout(s, s.trans_b ? s.k : s.n, s.trans_b ? s.n : s.k, s.ldb, s.stride_b);
  plan.b = make_layout(s, s.trans_a ? s.m : s.k, s.trans_a ? s.k : s.m, s.lda, s.stride_a);
  plan.c = make_layout(s, s.n, s.m, s.ldc, s.stride_c);
  void* preference = nullptr;
  check_status(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  set_attribute(lt.preference_set, preference, kPreferWorkspace,
                static_cast<uint64_t>(kWorkspaceBytes));
  uint32_t alignments[] = {s.align_b, s.align_a, s.align_c, s.align_c};
  for (int i = 0; i < 4; ++i)
    set_attribute(lt.preference_set, preference, kPreferAlignmentA + i, alignments[i]);
  HeuristicResult result{};
  int n_found = 0;
  int status = lt.heuristic(handle_of(s.index), plan.desc, plan.a, plan.b, plan.c, plan.c,
                            preference, 1, &result, &n_found);
  lt.preference_destroy(preference);
  check_status(status, "cublasLtMatmulAlgoGetHeuristic");
  check(n_found > 0 && result.state == 0, "cuda: cuBLAS has no algorithm for a product of (", s.m,
        ", ", s.k, ") and (", s.k, ", ", s.n, ").");
  plan.algorithm = result.algorithm;
  plan.workspace_bytes = result.workspace_bytes;
  return plan;
}

const Plan& plan_of(const Shape& shape) {
  static auto* plans = new std::map<Shape, Plan>;  // guarded by the interpreter lock
  auto found = plans->find(shape);
  if (found == plans->end()) found = plans->emplace(shape, make_plan(shape)).first;
  return found->second;
}

// The power of two that divides an address, up to what cuBLAS asks about.
uint32_t alignment_of(const void* data) {
  auto address = reinterpret_cast<uintptr_t>(data);
  return static_cast<uint32_t>(std::min<uintptr_t>(address & (~address + 1), 256));
}

template <class T>
constexpr int kTypeOf = -1;
template <>
constexpr int kTypeOf<float> = kReal32F;
template <>
constexpr int kTypeOf<double> = kReal64F;
template <>
constexpr int kTypeOf<Half> = kReal16F;
template <>
constexpr int kTypeOf<BFloat16> = kReal16BF;
template <>
constexpr int kTypeOf<std::complex<float>> = kComplex32F;
template <>
constexpr int kTypeOf<std::complex<double>> = kComplex64F;

FACULA_KERNEL(integer_matmul, "matmul.h", MatmulArguments,
              kRealDTypes & ~kFloatDTypes & ~only(DType::Bool))
constexpr int64_t kTile = 64;

template <class T>
void multiply_integers(const products::Gemm<T>& x, Device device) {
  MatmulArguments a{reinterpret_cast<const char*>(x.a),
                    reinterpret_cast<const char*>(x.b),
                    reinterpret_cast<char*>(x.c),
                    x.m,
                    x.n,
                    x.k,
                    x.lda,
                    x.ldb,
                    x.ldc,
                    x.stride_a,
                    x.stride_b,
                    x.stride_c,
                    static_cast<int64_t>(x.alpha),
                    static_cast<int64_t>(x.beta),
                    x.trans_a != products::Trans::No,
                    x.trans_b != products::Trans::No};
  integer_matmul_kernel(device, {DTypeOf<T>::value},
                        {ceil_div(x.m, kTile) * ceil_div(x.n, kTile), x.n_batch}, a);
}

// C = beta C, where there is nothing to add.
template <class T>
void scale(const products::Gemm<T>& x, Device device) {
  T factor(x.beta);
  Walk walk;
  walk.n_dims = 1;
  walk.device = device;
  walk.numel = walk.sizes[0] = x.n_batch * x.m * x.n;
  walk.data[0] = walk.data[1] = reinterpret_cast<char*>(x.c);
  walk.strides[0][0] = walk.strides[1][0] = sizeof(T);
  bool is_fill = x.beta == Wide<T>(0);
  walk.n_operands = is_fill ? 2 : 3;
  int factor_at = walk.n_operands - 1;
  walk.data[factor_at] = reinterpret_cast<char*>(&factor);
  walk.strides[factor_at][0] = kHostStride;
  if (is_fill) return run_cast(DTypeOf<T>::value, DTypeOf<T>::value, walk);
  run_binary(BinaryOp::mul, DTypeOf<T>::value, walk, {});
}

}  // namespace

bool allows_tf32_matmul = false;

namespace {

template <class T>
void multiply(const products::Gemm<T>& x, Device device, const T* bias) {
  int index = device.index;
  Shape shape{index,
              kTypeOf<T>,
              x.trans_a != products::Trans::No,
              x.trans_b != products::Trans::No,
              x.m,
              x.n,
              x.k,
              x.lda,
              x.ldb,
              x.ldc,
              x.n_batch,
              x.stride_a,
              x.stride_b,
              x.stride_c,
              alignment_of(x.a),
              alignment_of(x.b),
              alignment_of(x.c),
              bias != nullptr,
              allows_tf32_matmul};
  const Plan& plan = plan_of(shape);
  // cuBLAS reads complex factors by instructions for aligned memory, which numbers on the stack of
  // a caller need not be in.
  alignas(16) const Wide<T> alpha = x.alpha, beta = x.beta;
  if (bias) set_attribute(blas_lt().desc_set, plan.desc, kDescBias, bias);
  void* stream = current_stream(index);
  // Freed at once: what uses the block next comes later on the same stream.
  Allocator& allocator = allocator_of(index);
  auto nbytes = static_cast<int64_t>(plan.workspace_bytes);
  void* workspace = allocator.allocate(nbytes, stream);
  int status = blas_lt().matmul(handle_of(index), plan.desc, &alpha, x.b, plan.a, x.a, plan.b,
                                &beta, x.c, plan.c, x.c, plan.c, &plan.algorithm, workspace,
                                plan.workspace_bytes, stream);
  allocator.deallocate(workspace, nbytes, stream);
  check_status(status, "cublasLtMatmul");
  if (is_launch_blocking()) synchronize_stream(index, stream);
}

// ---- 16-bit matrices that tensor cores read at a fifth of their speed, as rows begin at odd
// places

constexpr int64_t kAligned = 8;                          // elements: 16 bytes
constexpr int64_t kWorthPadding = 256;                   // the smallest of the three sizes
constexpr int64_t kCopiedElements = int64_t(128) << 20;  // at a time: a quarter of a GiB
FACULA_KERNEL(copy_matrix, "matmul.h", CopyArguments, only(DType::Int16))

int64_t aligned_size(int64_t n) { return ceil_div(n, kAligned) * kAligned; }

template <class T>
struct Matrix {
  T* data;
  int64_t rows, cols, ld;
  bool is_aligned() const {
    return alignment_of(data) >= kAligned * sizeof(T) && ld % kAligned == 0 && cols % kAligned == 0;
  }
};

template <class T>
void copy(const Matrix<const T>& from, const Matrix<T>& to, Device device) {
  CopyArguments a{reinterpret_cast<const char*>(from.data),
                  reinterpret_cast<char*>(to.data),
                  from.rows,
                  from.cols,
                  from.ld,
                  to.rows,
                  to.cols,
                  to.ld};
  copy_matrix_kernel(device, {DType::Int16}, {to.rows * ceil_div(to.cols, kCopiedColumns), 1}, a);
}

// A dense matrix of the launch's own.
template <class T>
class Scratch {
 public:
  Scratch(int64_t rows, int64_t cols, Device device)
      : memory_(device, rows * cols * static_cast<int64_t>(sizeof(T))),
        matrix_{reinterpret_cast<T*>(memory_.data()), rows, cols, cols} {}
  // With zeros where the other ends.
  Scratch(const Matrix<const T>& from, int64_t rows, int64_t cols, Device device)
      : Scratch(rows, cols, device) {
    copy(from, matrix_, device);
  }
  const Matrix<T>& matrix() const { return matrix_; }
  T* data() const { return matrix_.data; }

 private:
  Workspace memory_;
  Matrix<T> matrix_;
};

template <class T>
class PaddedProduct {
 public:
  PaddedProduct(const products::Gemm<T>& x, Device device, const T* bias)
      : x_(x),
        device_(device),
        bias_(bias),
        trans_a_(x.trans_a != products::Trans::No),
        trans_b_(x.trans_b != products::Trans::No),
        // Sizes along which a matrix is read or written; a size has to be the same in both matrices
        // that have it.
        n_(aligned_size(x.n)),
        k_(trans_a_ && !trans_b_ ? x.k : aligned_size(x.k)) {}

  bool is_needed() const {
    return x_.n_batch == 1 && std::min({x_.m, x_.n, x_.k}) >= kWorthPadding &&
           !(a(0, x_.m).is_aligned() && b().is_aligned() && c(0, x_.m).is_aligned());
  }

  void run() const {
    std::optional<Scratch<T>> b_copy, bias_copy;
    products::Gemm<T> x = x_;
    x.n = n_;
    x.k = k_;
    if (n_ != x_.n || k_ != x_.k || !b().is_aligned()) {
      int64_t rows = trans_b_ ? n_ : k_, cols = trans_b_ ? k_ : n_;
      x.b = b_copy.emplace(b(), rows, cols, device_).data();
      x.ldb = cols;
    }
    const T* bias = bias_;
    if (bias && n_ != x_.n)
      bias = bias_copy.emplace(Matrix<const T>{bias, 1, x_.n, x_.n}, 1, n_, device_).data();
    // Rows of the result at a time, so that copies stay small.
    int64_t per_row = std::max(copies_a() ? k_ : 0, copies_c() ? n_ : 0);
    int64_t n_rows = per_row ? std::max<int64_t>(kCopiedElements / per_row / 128 * 128, 128) : x_.m;
    for (int64_t i = 0; i < x_.m; i += n_rows) run_rows(x, i, std::min(n_rows, x_.m - i), bias);
  }

 private:
  // Rows [i, i + n) of the left matrix, all of the right one, rows of the result.
  Matrix<const T> a(int64_t i, int64_t n) const {
    if (trans_a_) return {x_.a + i, x_.k, n, x_.lda};
    return {x_.a + i * x_.lda, n, x_.k, x_.lda};
  }
  Matrix<const T> b() const {
    if (trans_b_) return {x_.b, x_.n, x_.k, x_.ldb};
    return {x_.b, x_.k, x_.n, x_.ldb};
  }
  Matrix<const T> c(int64_t i, int64_t n) const { return {x_.c + i * x_.ldc, n, x_.n, x_.ldc}; }
  bool copies_a() const { return k_ != x_.k || !a(0, x_.m).is_aligned(); }
  bool copies_c() const { return !c(0, x_.m).is_aligned(); }

  void run_rows(products::Gemm<T> x, int64_t i, int64_t n_rows, const T* bias) const {
    std::optional<Scratch<T>> a_copy, c_copy;
    x.m = trans_a_ ? aligned_size(n_rows) : n_rows;
    x.a = a(i, n_rows).data;
    if (copies_a()) {
      int64_t rows = trans_a_ ? k_ : x.m, cols = trans_a_ ? x.m : k_;
      x.a = a_copy.emplace(a(i, n_rows), rows, cols, device_).data();
      x.lda = cols;
    }
    x.c = x_.c + i * x_.ldc;
    bool copies_result = copies_c() || x.m != n_rows;
    if (copies_result) {
      x.c = c_copy.emplace(x.m, n_, device_).data();
      if (x_.beta != Wide<T>(0)) copy(c(i, n_rows), c_copy->matrix(), device_);
      x.ldc = n_;
    }
    multiply(x, device_, bias);
    if (copies_result)
      copy<T>({x.c, n_rows, x_.n, n_}, {x_.c + i * x_.ldc, n_rows, x_.n, x_.ldc}, device_);
  }

  const products::Gemm<T>& x_;
  Device device_;
  const T* bias_;
  bool trans_a_, trans_b_;
  int64_t n_, k_;
};

// Rows that begin at even places, but end at odd ones: the even part of them, and the few elements
// that are left. Returns whether it was so.
template <class T>
bool multiply_in_parts(const products::Gemm<T>& x, Device device, const T* bias) {
  if (x.n_batch != 1 || std::min({x.m, x.n, x.k}) < kWorthPadding) return false;
  bool trans_a = x.trans_a != products::Trans::No, trans_b = x.trans_b != products::Trans::No;
  auto begins_evenly = [](const T* data, int64_t ld) {
    return alignment_of(data) >= kAligned * sizeof(T) && ld % kAligned == 0;
  };
  products::Gemm<T> even = x, rest = x;
  if (trans_a && x.m % kAligned != 0 && begins_evenly(x.a, x.lda)) {
    even.m = x.m / kAligned * kAligned;
    rest.m = x.m - even.m;
    rest.a += even.m;
    rest.c += even.m * x.ldc;
  } else if ((!trans_a || trans_b) && x.k % kAligned != 0 &&
             (trans_a || begins_evenly(x.a, x.lda)) && (!trans_b || begins_evenly(x.b, x.ldb))) {
    even.k = x.k / kAligned * kAligned;
    rest.k = x.k - even.k;
    rest.a += trans_a ? even.k * x.lda : even.k;
    rest.b += trans_b ? even.k : even.k * x.ldb;
    rest.beta = Wide<T>(1);
    gemm(even, device, bias);
    multiply(rest, device, static_cast<const T*>(nullptr));
    return true;
  } else {
    return false;
  }
  gemm(even, device, bias);
  multiply(rest, device, bias);
  return true;
}

}  // namespace

template <class T>
void gemm(const products::Gemm<T>& given, Device device, const T* bias) {
  products::Gemm<T> x = given;
  // Rows that all meet the same matrix are those of one product.
  if (x.n_batch > 1 && x.stride_b == 0 && x.trans_a == products::Trans::No &&
      x.stride_a == x.m * x.lda && x.stride_c == x.m * x.ldc) {
    x.m *= x.n_batch;
    x.n_batch = 1;
  }
  if (x.m == 0 || x.n == 0 || x.n_batch == 0 || device.is_meta()) return;
  if constexpr (std::is_same_v<T, bool>) {
    fail(ErrorKind::NotImplemented, "matmul: not defined for bool.");
  } else if constexpr (kTypeOf<T> < 0) {
    multiply_integers(x, device);
  } else {
    if (x.k == 0) return scale(x, device);
    enter(device.index);
    if constexpr (is_reduced_float_v<T>) {
      if (multiply_in_parts(x, device, bias)) return;
      PaddedProduct<T> padded(x, device, bias);
      if (padded.is_needed()) return padded.run();
    }
    multiply(x, device, bias);
  }
}

#define FACULA_INSTANTIATE(T, Name) \
  template void gemm<T>(const products::Gemm<T>&, Device, const T*);
FACULA_FORALL_DTYPES(FACULA_INSTANTIATE)
#undef FACULA_INSTANTIATE

}  // namespace facula::cuda
