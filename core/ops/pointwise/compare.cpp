#include "ops/pointwise/compare.h"

#include <cstring>

#include "cpu/pointwise/loop_tables.h"
#include "cpu/run.h"
#include "cuda/cuda.h"
#include "ops/ops.h"
#include "ops/pointwise/binding.h"

namespace facula {

namespace {

Tensor apply_predicate(const char* name, PredicateOp op, Refused refused, const Tensor& x,
                       const Into& into) {
  check(refused != Refused::COMPLEX || !is_complex(x.dtype()), name, ": not supported for ", x,
        ".");
  // Kernels read these as signed numbers, but none of them is below zero, nor infinite.
  if (op == PredicateOp::signbit && is_wide_unsigned(x.dtype())) op = PredicateOp::isneginf;
  Loop loop = cpu::get_predicate_table().get(op, x.dtype());
  check_not_implemented(loop != nullptr, name, ": not implemented for ", x, ".");
  Tensor y = result_for(name, into, x.sizes(), DType::Bool, {x});
  Walk walk = make_walk(name, y, {x});
  if (walk.device.is_cpu()) {
    run_cpu(walk, loop);
  } else {
    cuda::run_predicate(op, x.dtype(), walk);
  }
  return y;
}

// A comparison, and what makes its truths numbers of the dtype that they are stored in.
struct StoredCompare {
  Loop compare, cast;
};
// Some elements at a time, whose truths stay in the nearest cache.
void compare_and_store(char** data, const int64_t* strides, int64_t n, const void* params) {
  constexpr int64_t kBlock = 1024;
  const auto& loops = *static_cast<const StoredCompare*>(params);
  bool truths[kBlock];
  const int64_t to_truths[] = {1, strides[1], strides[2]}, to_result[] = {strides[0], 1};
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    int64_t m = std::min(kBlock, n - begin);
    char* block = reinterpret_cast<char*>(truths);
    char* operands[] = {block, data[1] + begin * strides[1], data[2] + begin * strides[2]};
    loops.compare(operands, to_truths, m, nullptr);
    char* results[] = {data[0] + begin * strides[0], block};
    loops.cast(results, to_result, m, nullptr);
  }
}

Tensor apply_compare(const char* name, CompareOp op, Refused refused, const Tensor& a,
                     const Tensor& b, const Into& into) {
  DType dtype = result_type({a, b});
  Dims shape = broadcast_shapes(name, a.sizes(), b.sizes());
  Tensor y = result_for(name, into, shape, DType::Bool, {a, b});
  if (refused == Refused::COMPLEX32) check_not_complex32(name, a, b);
  Loop loop = cpu::get_compare_table().get(op, dtype);
  check_not_implemented(loop != nullptr, name, ": not implemented for ", a, " and ", b, ".");
  Tensor p = cast_to(a, dtype), q = cast_to(b, dtype);
  bool is_stored = into.is_in_place && y.is_cpu() && dtype != DType::Bool &&
                   !is_stored_only(dtype) &&
                   can_hold(*into.tensor, shape, dtype, into.is_recording, {a, q});
  if (is_stored) y = *into.tensor;
  Walk walk = make_walk(name, y, {p, q});
  if (is_stored) {
    constexpr int from = static_cast<int>(DType::Bool);
    StoredCompare loops{loop, cpu::get_cast_table().loops[from][static_cast<int>(dtype)]};
    run_cpu(walk, compare_and_store, &loops);
  } else if (walk.device.is_cpu()) {
    run_cpu(walk, loop);
  } else {
    cuda::run_compare(op, dtype, walk);
  }
  return y;
}

// Results are bool; the forms in place store them in the dtype of the tensor, and no gradient
// passes through them: `node` tells so, or is null where PyTorch records nothing.
template <class F>
Tensor& assign_truth(const char* name, const char* node, Tensor& x, F f) {
  return in_place(name, x, [&](const Tensor& t, const Into& into) {
    Tensor truth = f(t, into);
    if (!node || !t.requires_grad()) return truth;
    Tensor y = to_dtype(truth, x.dtype());
    return record(node, y, {t}, [](const Tensor& g) -> Tensor {
      return zeros(g.sizes(), g.dtype(), g.device());
    });
  });
}

}  // namespace

#define PREDICATE(name, kinds, refused, ...)                                     \
  Tensor name(const Tensor& x, const Into& into) {                               \
    return apply_predicate(#name, PredicateOp::name, Refused::refused, x, into); \
  }
#define COMPARE(name, names, numbers, node, kinds, refused, ...)                              \
  Tensor name(const Tensor& a, const Tensor& b, const Into& into) {                           \
    return apply_compare(#name, CompareOp::name, Refused::refused, a, b, into);               \
  }                                                                                           \
  static Tensor& name##_(Tensor& a, const Tensor& b) {                                        \
    return assign_truth(#name "_", node, a,                                                   \
                        [&](const Tensor& t, const Into& into) { return name(t, b, into); }); \
  }
#include "tables/compare.def"

Tensor isreal(const Tensor& x, const Into&) {
  if (!is_complex(x.dtype())) {
    Tensor y = empty_for(x.sizes(), DType::Bool, {x});
    return fill_(y, true);
  }
  return eq(imag(x), wrapped_number(0));
}

namespace {

// Elements that are compared at once: few at first, because tensors that differ mostly do so early.
constexpr int64_t kFirstCompared = 512, kMostCompared = int64_t{1} << 17;

bool has_equal_elements(const Tensor& a, const Tensor& b) {
  Loop loop = cpu::get_compare_table().get(CompareOp::eq, a.dtype());
  if (loop && a.is_cpu() && a.numel() <= kFirstCompared && a.dtype() == b.dtype() &&
      a.is_contiguous() && b.is_contiguous()) {
    bool same[kFirstCompared];
    char* data[] = {reinterpret_cast<char*>(same), a.data(), b.data()};
    const int64_t strides[] = {1, a.itemsize(), a.itemsize()};
    loop(data, strides, a.numel(), nullptr);
    return !std::memchr(same, 0, static_cast<size_t>(a.numel()));
  }
  Tensor same = contiguous(to(eq(a, b), Device{}, DType::Bool, false));
  return same.numel() == 0 || !std::memchr(same.data(), 0, static_cast<size_t>(same.numel()));
}

}  // namespace

bool equal(const Tensor& first, const Tensor& second) {
  check_same_device("equal", {first, second});
  if (first.sizes() != second.sizes()) return false;
  NoGradGuard guard;
  Tensor a = first, b = second;
  // In the order of memory, where both have the same.
  if (a.strides() == b.strides() && is_non_overlapping_and_dense(a.sizes(), a.strides())) {
    a = as_strided(a, {a.numel()}, {1}, a.offset());
    b = as_strided(b, {b.numel()}, {1}, b.offset());
  }
  if (a.numel() <= kFirstCompared || !a.device().is_cpu()) return has_equal_elements(a, b);
  int64_t n_rows = a.size(0), row = a.numel() / n_rows, numel = kFirstCompared;
  for (int64_t i = 0; i < n_rows; numel = std::min(8 * numel, kMostCompared)) {
    int64_t n = std::min(n_rows - i, std::max<int64_t>(1, numel / row));
    if (!has_equal_elements(narrow(a, 0, i, n), narrow(b, 0, i, n))) return false;
    i += n;
  }
  return true;
}

FACULA_BINDINGS {
#define PREDICATE(name, kinds, refused, formula, sentence, arguments, result) \
  def_predicate(m, #name, name, {sentence, arguments, result});               \
  list_row("predicate", #name);
#define COMPARE(name, names, numbers, node, kinds, refused, formula, sentence, arguments, result) \
  def_binary(m, #name, names, Numbers::numbers, name, name##_, {sentence, arguments, result});    \
  list_row("compare", #name);
#include "tables/compare.def"
  def_method(
      "logical_not_",
      [](Tensor x) -> Tensor {
        return assign_truth("logical_not_", nullptr, x,
                            [](const Tensor& t, const Into& into) { return logical_not(t, into); });
      },
      in_place_doc("logical_not").c_str());
  def_predicate(m, "isreal", isreal,
                {"Whether elements have no imaginary part.", "facula.tensor([1 + 0j, 1j])",
                 "tensor([ True, False])"});
  std::string doc =
      docstring("equal", {"Whether two tensors have the same shape and the same elements.",
                          "facula.tensor([1, 2]), facula.tensor([1, 2])", "True",
                          "input: the first tensor.\nother: the second tensor."});
  m.def("equal", equal, "input"_a, "other"_a, doc.c_str());
  def_method("equal", equal, "other"_a, doc.c_str());
}

}  // namespace facula
