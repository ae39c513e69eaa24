// Element-wise kernels, made from the formulas of the .def lists.
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/error.h"
#include "base/integers.h"
#include "cuda/cuda.h"
#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/kernels/arguments.h"

namespace facula::cuda {

namespace {

struct FormulaText {
  const char* name;
  const char* text;
};
constexpr FormulaText kUnary[] = {
#define UNARY(name, names, forms, kinds, refused, formula, ...) {#name, #formula},
#include "tables/unary.def"
};
#define KERNEL(name, kinds, formula) {#name, #formula},
constexpr FormulaText kParametric[] = {
#define PARAMETRIC KERNEL
#include "tables/parametric.def"
};
#define ROW(name, names, numbers, kinds, check, formula, ...) {#name, #formula},
constexpr FormulaText kBinary[] = {
#define BINARY ROW
#define BINARY_KERNEL KERNEL
#define BINARY_FLOAT(...)
#define BINARY_FLOAT_KERNEL(...)
#include "tables/binary.def"
#define BINARY_FLOAT ROW
#define BINARY_FLOAT_KERNEL KERNEL
#include "tables/binary.def"
};
#undef ROW
constexpr FormulaText kTernary[] = {
#define TERNARY(name, kinds, check, formula, ...) {#name, #formula},
#define TERNARY_KERNEL KERNEL
#include "tables/ternary.def"
};
#undef KERNEL
constexpr FormulaText kActivation[] = {
#define ACTIVATION(name, forms, node, kinds, names, prepare, serves, formula, ...) \
  {#name, #formula},
#include "tables/activation.def"
};
constexpr FormulaText kSlope[] = {
#define ACTIVATION(name, forms, node, kinds, names, prepare, serves, formula, slope, ...) \
  {#name, #slope},
#include "tables/activation.def"
};
constexpr FormulaText kLoss[] = {
#define LOSS(name, form, node, number, shapes, prepare, value, ...) {#name, #value},
#include "tables/loss.def"
};
// p1: what the gradients of losses are divided by.
constexpr FormulaText kLossSlope[] = {
#define LOSS(name, form, node, number, shapes, prepare, value, slope, ...) \
  {#name, "g / p1 * (" #slope ")"},
#include "tables/loss.def"
};
constexpr FormulaText kPredicate[] = {
#define PREDICATE(name, kinds, refused, formula, ...) {#name, #formula},
#include "tables/compare.def"
};
constexpr FormulaText kCompare[] = {
#define COMPARE(name, names, numbers, node, kinds, refused, formula, ...) {#name, #formula},
#include "tables/compare.def"
};
// Beside the lists: no formula of T, but written as one.
constexpr FormulaText kWhere = {"where", "a ? b : c"};
constexpr FormulaText kCast = {"cast", "convert<Out>(x)"};

enum class Family : int {
  Unary,
  Parametric,
  Activation,
  Slope,
  Loss,
  LossSlope,
  Predicate,
  Binary,
  Compare,
  Ternary,
  Where,
  Cast
};
enum class Layout : int { Dense, Lines, Strided, StridedLong };
constexpr const char* kEntries[] = {"dense", "lines", "strided", "strided_long"};
constexpr const char* kEntryMacros[] = {"FACULA_DENSE", "FACULA_LINES", "FACULA_STRIDED",
                                        "FACULA_STRIDED_LONG"};

FormulaText formula_of(Family family, int op) {
  switch (family) {
    case Family::Unary:
      return kUnary[op];
    case Family::Parametric:
      return kParametric[op];
    case Family::Activation:
      return kActivation[op];
    case Family::Slope:
      return kSlope[op];
    case Family::Loss:
      return kLoss[op];
    case Family::LossSlope:
      return kLossSlope[op];
    case Family::Predicate:
      return kPredicate[op];
    case Family::Binary:
      return kBinary[op];
    case Family::Compare:
      return kCompare[op];
    case Family::Ternary:
      return kTernary[op];
    case Family::Where:
      return kWhere;
    default:
      return kCast;
  }
}

// A kernel: operation `op` of the family on elements of `dtype`, to results of `out`.
struct Key {
  Family family;
  int op;
  DType dtype, out;
  Layout layout;
  uint64_t code(int index) const {
    uint64_t code = static_cast<uint64_t>(family);
    for (int part :
         {op, static_cast<int>(dtype), static_cast<int>(out), static_cast<int>(layout), index})
      code = code << 8 | static_cast<uint64_t>(part);
    return code;
  }
};

// The name that profilers show.
std::string entry_of(const Key& key) {
  bool is_slope = key.family == Family::Slope || key.family == Family::LossSlope;
  return std::string(formula_of(key.family, key.op).name) + (is_slope ? "_slope_" : "_") +
         kEntries[static_cast<int>(key.layout)];
}

// Quotients of other operations may be cut to integers: they have to be exact.
Arithmetic arithmetic_of(const Key& key) {
  bool is_activation = key.family == Family::Activation || key.family == Family::Slope;
  return is_activation && is_reduced_float(key.dtype) ? Arithmetic::Rounded : Arithmetic::Exact;
}

// The suffix tells programs apart that are compiled as one, as tests do.
std::string program_text(const Key& key, const std::string& suffix = "") {
  const char* parameters[] = {"T x",      "T a, T b", "T x, T a, T b", "bool a, T b, T c",
                              "T g, T x", "T x, T t", "T g, T x, T t"};
  const char* inputs[] = {"E, None, None", "E, E, None", "E, E, E", "bool, E, E",
                          "E, E, None",    "E, E, None", "E, E, E"};
  int shape = 0;
  if (key.family == Family::Binary || key.family == Family::Compare) shape = 1;
  if (key.family == Family::Ternary) shape = 2;
  if (key.family == Family::Where) shape = 3;
  if (key.family == Family::Slope) shape = 4;
  if (key.family == Family::Loss) shape = 5;
  if (key.family == Family::LossSlope) shape = 6;
  // Casts alone tell signed and unsigned integers apart.
  auto name = key.family == Family::Cast ? integer_name : type_name;
  std::string element = name(key.dtype), out = name(key.out);
  std::string text = arithmetic_of(key) == Arithmetic::Rounded ? "#define FACULA_ROUNDED\n" : "";
  text += "#include \"cuda/kernels/elementwise.h\"\n";
  if (key.family != Family::Where && key.family != Family::Cast)
    text += "#include \"cuda/kernels/formulas.h\"\n";
  text += "namespace facula::program" + suffix + " {\nusing E = " + element +
          ";\nusing Out = " + out + ";\nusing T = Wide<E>;\n";
  bool has_own_result = key.family == Family::Predicate || key.family == Family::Compare ||
                        key.family == Family::Cast;
  std::string result = has_own_result ? "Out" : "T";
  text += "struct Formula {\n  T p0, p1, p2;\n";
  text +=
      "  __device__ Formula(const Word* n) : p0(from_word<T>(n[0])), p1(from_word<T>(n[1])), "
      "p2(from_word<T>(n[2])) {}\n";
  text += "  __device__ __forceinline__ " + result + " operator()(" + parameters[shape] +
          ") const { return static_cast<" + result + ">(" + formula_of(key.family, key.op).text +
          "); }\n};\n";
  text += std::string(kEntryMacros[static_cast<int>(key.layout)]) + "(" + entry_of(key) + suffix +
          ", Formula, Out, " + inputs[shape] + ")\n}\n";
  return text;
}

void* kernel_of(const Key& key, int index) {
  static auto* kernels =
      new std::unordered_map<uint64_t, void*>;  // guarded by the interpreter lock
  void*& kernel = (*kernels)[key.code(index)];
  if (!kernel)
    kernel = load_kernel(program_text(key), entry_of(key).c_str(), index, arithmetic_of(key));
  return kernel;
}

template <class T>
Word word_of(T value) {
  Word word{};
  std::memcpy(&word, &value, sizeof(T));
  return word;
}

Word word_of_number(Scalar value, DType dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return word_of<Wide<T>>(value.to<Wide<T>>());
  });
}

// The value of a 0-d CPU operand in the type that formulas see.
Word word_of_host(const char* data, DType dtype) {
  return visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return word_of<Wide<T>>(*reinterpret_cast<const T*>(data));
  });
}

bool is_host(const Walk& walk, int i) { return walk.strides[i][0] == kHostStride; }

bool is_dense(const Walk& walk, const DType* dtypes, int pack) {
  if (walk.n_dims != 1) return false;
  for (int i = 0; i < walk.n_operands; ++i) {
    if (i > 0 && (is_host(walk, i) || walk.strides[i][0] == 0)) continue;
    int64_t size = item_size(dtypes[i]);
    bool is_aligned = reinterpret_cast<uintptr_t>(walk.data[i]) % (size * pack) == 0;
    if (!is_aligned || (walk.strides[i][0] != size && walk.numel != 1)) return false;
  }
  return true;
}

// Whether the innermost dimension of every operand can be read in packs, or not read along at all.
bool has_dense_lines(const Walk& walk, const DType* dtypes, int pack) {
  if (walk.n_dims < 2 || walk.sizes[0] % pack != 0) return false;
  for (int i = 0; i < walk.n_operands; ++i) {
    if (i > 0 && (is_host(walk, i) || walk.strides[i][0] == 0)) continue;
    int64_t size = item_size(dtypes[i]);
    if (walk.strides[i][0] != size) return false;
    int64_t bits = reinterpret_cast<intptr_t>(walk.data[i]);
    for (int d = 1; d < walk.n_dims; ++d) bits |= walk.strides[i][d];
    if (bits % (size * pack) != 0) return false;
  }
  return true;
}

Operand operand_of(const Walk& walk, int i, DType dtype) {
  if (is_host(walk, i)) return {nullptr, word_of_host(walk.data[i], dtype), OperandKind::Host};
  bool is_number = i > 0 && walk.n_dims == 1 && walk.strides[i][0] == 0;
  return {walk.data[i], {}, is_number ? OperandKind::Number : OperandKind::Tensor};
}

template <class Arguments>
void set_geometry(Arguments& arguments, const Walk& walk) {
  arguments.n_dims = walk.n_dims;
  for (int d = 0; d < walk.n_dims; ++d) {
    arguments.sizes[d] = walk.sizes[d];
    for (int i = 0; i < kMaxCudaOperands; ++i)
      arguments.strides[i][d] = i < walk.n_operands && !is_host(walk, i) ? walk.strides[i][d] : 0;
  }
}

constexpr int kThreads = 256;

// dtypes: of each operand; a host operand may have another than its tensor, float32 for one of 16
// bits.
struct Call {
  Family family;
  int op;
  DType dtype, out;
  const DType* operand_dtypes;
  const Scalar* numbers = nullptr;
  int n_numbers = 0;
};

template <class Arguments>
void launch_with(const Call& call, const Walk& walk, Layout layout, int64_t n_threads_needed,
                 Arguments& arguments) {
  arguments.numel = layout == Layout::Lines ? n_threads_needed : walk.numel;
  for (int i = 0; i < walk.n_operands; ++i)
    arguments.operands[i] = operand_of(walk, i, call.operand_dtypes[i]);
  for (int i = 0; i < call.n_numbers; ++i)
    arguments.numbers[i] = word_of_number(call.numbers[i], call.dtype);
  int index = walk.device.index;
  void* kernel = kernel_of({call.family, call.op, call.dtype, call.out, layout}, index);
  launch(kernel, index, {ceil_div(n_threads_needed, kThreads), 1}, kThreads, &arguments);
}

void run(const Call& call, const Walk& walk) {
  if (walk.numel == 0 || walk.device.is_meta()) return;
  int pack = pack_size(std::max(item_size(call.dtype), item_size(call.out)));
  if (is_dense(walk, call.operand_dtypes, pack)) {
    DenseArguments arguments{};
    launch_with(call, walk, Layout::Dense, ceil_div(walk.numel, pack), arguments);
  } else if (walk.n_dims <= kShortDims && walk.numel < (int64_t(1) << 31)) {
    ShortArguments arguments{};
    set_geometry(arguments, walk);
    if (!has_dense_lines(walk, call.operand_dtypes, pack))
      return launch_with(call, walk, Layout::Strided, walk.numel, arguments);
    arguments.sizes[0] /= pack;
    for (auto& strides : arguments.strides) strides[0] *= pack;
    launch_with(call, walk, Layout::Lines, walk.numel / pack, arguments);
  } else {
    LongArguments arguments{};
    set_geometry(arguments, walk);
    launch_with(call, walk, Layout::StridedLong, walk.numel, arguments);
  }
}

template <class Op>
void run_simple(Family family, Op op, DType dtype, DType out, const Walk& walk,
                const Scalar* numbers = nullptr, int n_numbers = 0) {
  dtype = carrier(dtype);
  out = carrier(out);
  DType dtypes[kMaxCudaOperands] = {out, dtype, dtype, dtype};
  run({family, static_cast<int>(op), dtype, out, dtypes, numbers, n_numbers}, walk);
}

}  // namespace

void run_unary(UnaryOp op, DType dtype, const Walk& walk) {
  run_simple(Family::Unary, op, dtype, dtype, walk);
}
void run_parametric(ParametricOp op, DType dtype, const Walk& walk, const Scalar* numbers) {
  run_simple(Family::Parametric, op, dtype, dtype, walk, numbers, 3);
}
void run_activation(ActivationOp op, DType dtype, const Walk& walk, const Scalar* numbers) {
  run_simple(Family::Activation, op, dtype, dtype, walk, numbers, 3);
}
void run_slope(ActivationOp op, DType dtype, const Walk& walk, const cpu::BinaryParams& params) {
  run_simple(Family::Slope, op, dtype, dtype, walk, params.numbers, 3);
}
void run_loss(LossOp op, DType dtype, const Walk& walk, Scalar p0) {
  run_simple(Family::Loss, op, dtype, dtype, walk, &p0, 1);
}
void run_loss_slope(LossOp op, DType dtype, const Walk& walk, Scalar p0, Scalar divisor) {
  Scalar numbers[] = {p0, divisor};
  run_simple(Family::LossSlope, op, dtype, dtype, walk, numbers, 2);
}
void run_predicate(PredicateOp op, DType dtype, const Walk& walk) {
  run_simple(Family::Predicate, op, dtype, DType::Bool, walk);
}
void run_compare(CompareOp op, DType dtype, const Walk& walk) {
  run_simple(Family::Compare, op, dtype, DType::Bool, walk);
}
void run_ternary(TernaryOp op, DType dtype, const Walk& walk, Scalar p0) {
  run_simple(Family::Ternary, op, dtype, dtype, walk, &p0, 1);
}
void run_binary(BinaryOp op, DType dtype, const Walk& walk, const cpu::BinaryParams& params) {
  check_not_implemented(op != BinaryOp::nextafter || !is_reduced_float(dtype),
                        "nextafter: not available for ", dtype, " on ", walk.device,
                        " yet. Move the tensors with .cpu() first.");
  dtype = carrier(dtype);
  DType dtypes[] = {dtype, params.a_is_wide ? DType::Float32 : dtype,
                    params.b_is_wide ? DType::Float32 : dtype};
  run({Family::Binary, static_cast<int>(op), dtype, dtype, dtypes, params.numbers, 3}, walk);
}
void run_where(DType dtype, const Walk& walk) {
  dtype = carrier(dtype);
  DType dtypes[] = {dtype, DType::Bool, dtype, dtype};
  run({Family::Where, 0, dtype, dtype, dtypes}, walk);
}
void run_cast(DType from, DType to, const Walk& walk) {
  if (from == to) from = to = carrier(to);
  DType dtypes[] = {to, from};
  run({Family::Cast, 0, from, to, dtypes}, walk);
}

namespace {

// All layouts of a cast and a choice, which have no formula that could fail alone.
const ProgramLister lister([](std::vector<Program>& programs) {
  auto add = [&](Family family, int op, DType dtype, DType out, Layout layout = Layout::Dense) {
    programs.push_back(
        {formula_of(family, op).name, dtype,
         program_text({family, op, dtype, out, layout}, std::to_string(programs.size()))});
  };
  // What the CPU has no loop for is not defined.
  auto add_all = [&](Family family, const auto& table, DType dtype, DType out) {
    for (size_t op = 0; op < table.loops.size(); ++op)
      if (table.loops[op][static_cast<int>(dtype)]) add(family, static_cast<int>(op), dtype, out);
  };
  for (int d = 0; d < kNumComputedDTypes; ++d) {
    DType dtype = static_cast<DType>(d);
    for (int op = 0; is_floating(dtype) && op < static_cast<int>(LossOp::count); ++op)
      for (Family family : {Family::Loss, Family::LossSlope}) add(family, op, dtype, dtype);
    add_all(Family::Unary, cpu::get_unary_table(), dtype, dtype);
    add_all(Family::Parametric, cpu::get_parametric_table(), dtype, dtype);
    add_all(Family::Activation, cpu::get_activation_table(), dtype, dtype);
    add_all(Family::Slope, cpu::get_slope_table(), dtype, dtype);
    add_all(Family::Predicate, cpu::get_predicate_table(), dtype, DType::Bool);
    for (int op = 0; op < static_cast<int>(BinaryOp::count); ++op)
      if (cpu::binary_loop(static_cast<BinaryOp>(op), dtype)) add(Family::Binary, op, dtype, dtype);
    add_all(Family::Compare, cpu::get_compare_table(), dtype, DType::Bool);
    add_all(Family::Ternary, cpu::get_ternary_table(), dtype, dtype);
    add(Family::Where, 0, dtype, dtype, Layout::Strided);
    add(Family::Where, 0, dtype, dtype, Layout::Lines);
    for (int to = 0; to < kNumComputedDTypes; ++to)
      add(Family::Cast, 0, dtype, static_cast<DType>(to),
          to % 2 ? Layout::Dense : Layout::StridedLong);
    for (DType wide : {DType::UInt16, DType::UInt32, DType::UInt64}) {
      add(Family::Cast, 0, dtype, wide);
      add(Family::Cast, 0, wide, dtype);
    }
  }
});

}  // namespace

}  // namespace facula::cuda
