#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/integers.h"
#include "cuda/cuda.h"
#include "cuda/device.h"
#include "cuda/kernel.h"
#include "cuda/kernels/arguments.h"
#include "cuda/workspace.h"
#include "tensor/tensor.h"

namespace facula::cuda {

namespace {

// By ReduceOp: a row's formula, or the name of its accumulator in kernels/reduce.h.
struct RowText {
  const char *name, *element, *join, *total;
  const char* accumulator;
  ReduceResult result;
  Kinds kinds;
};
constexpr RowText kRows[] = {
#define FOLD(name, result, kinds, element, Join, total) \
  {#name, #element, #Join, #total, nullptr, ReduceResult::result, Kinds::kinds},
#define KERNEL(name, Accumulator, kinds, ...) \
  {#name, nullptr, nullptr, nullptr, #Accumulator, ReduceResult::Total, Kinds::kinds},
#include "tables/reduce.def"
};
constexpr const char* kEntries[] = {"reduce", "reduce_along", "reduce_across", "reduce_long",
                                    "join"};
constexpr const char* kEntryMacros[] = {"FACULA_REDUCE", "FACULA_REDUCE_ALONG",
                                        "FACULA_REDUCE_ACROSS", "FACULA_REDUCE_LONG",
                                        "FACULA_JOIN"};
enum Entry { kReduce, kReduceAlong, kReduceAcross, kReduceLong, kJoin };
// No accumulator is larger.
constexpr int64_t kAccumulatorBytes = 32;
// Elements that a thread takes at least, before a reduction is cut into pieces for other blocks.
constexpr int64_t kPerThread = 16;
constexpr int64_t kMaxPieces = 1024;
// With so many threads at work the reductions themselves need not be cut.
constexpr int64_t kEnoughThreads = 128 * 1024;

struct Job {
  ReduceOp op;
  DType in, read, out;
};

// What adds up elements of type Read.
std::string accumulator_text(const RowText& row) {
  if (row.accumulator) return std::string("using Accumulator = ") + row.accumulator + "<Read>;\n";
  return std::string("struct Formula {\n  using Join = math::") + row.join +
         ";\n  template <class T> static auto element(T x) { return " + row.element +
         "; }\n  template <class T> static T total(T a, T n) { return " + row.total +
         "; }\n};\nusing Accumulator = Fold<Formula, Read>;\n";
}

// The name that profilers show.
std::string entry_of(const Job& job, Entry entry) {
  return std::string(kRows[static_cast<int>(job.op)].name) + "_" + kEntries[entry];
}

// The suffix tells programs apart that are compiled as one, as tests do.
std::string program_text(const Job& job, Entry entry, const std::string& suffix = "") {
  return "#include \"cuda/kernels/reduce.h\"\nnamespace facula::program" + suffix +
         " {\nusing In = " + type_name(job.in) + ";\nusing Read = " + type_name(job.read) +
         ";\nusing Out = " + type_name(job.out) + ";\n" +
         accumulator_text(kRows[static_cast<int>(job.op)]) + kEntryMacros[entry] + "(" +
         entry_of(job, entry) + suffix + ", Accumulator, In, Read, Out)\n}\n";
}

void* kernel_of(const Job& job, Entry entry, int index) {
  static auto* kernels =
      new std::unordered_map<uint64_t, void*>;  // guarded by the interpreter lock
  uint64_t code = static_cast<uint64_t>(job.op);
  for (int part : {static_cast<int>(job.in), static_cast<int>(job.read), static_cast<int>(job.out),
                   static_cast<int>(entry), index})
    code = code << 8 | static_cast<uint64_t>(part);
  void*& kernel = (*kernels)[code];
  if (!kernel) kernel = load_kernel(program_text(job, entry), entry_of(job, entry).c_str(), index);
  return kernel;
}

void append(ReduceAxis* axes, int& n, ReduceAxis axis) {
  if (n > 0 && axis.stride == axes[n - 1].stride * axes[n - 1].size) {
    axes[n - 1].size *= axis.size;
  } else {
    axes[n++] = axis;
  }
}

// Dimensions from the last to the first; those that continue each other in memory become one.
void set_axes(LongReduceArguments& a, const Tensor& x, uint64_t mask, bool keeps_order) {
  int order[kMaxDims], n = 0;
  a.n_in = a.n_out = 1;
  for (int64_t d = x.dim() - 1; d >= 0; --d) {
    bool is_reduced = (mask >> d) & 1;
    (is_reduced ? a.n_in : a.n_out) *= x.size(d);
    if (x.size(d) == 1) continue;
    if (is_reduced) {
      order[n++] = static_cast<int>(d);
    } else {
      append(a.kept, a.n_kept, {x.size(d), x.stride(d) * x.itemsize()});
    }
  }
  // A sum may be taken in any order: along memory is best. Indices count in the order of the
  // dimensions.
  if (!keeps_order)
    std::stable_sort(order, order + n, [&](int i, int j) { return x.stride(i) < x.stride(j); });
  for (int i = 0; i < n; ++i)
    append(a.reduced, a.n_reduced, {x.size(order[i]), x.stride(order[i]) * x.itemsize()});
}

int64_t round_to_power(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

// Whether elements along an axis can be read a pack at a time, the offsets of the others given.
bool is_packed(const ReduceAxis& axis, int64_t item_size, int64_t offsets) {
  int64_t pack = reduce_pack(item_size);
  return axis.stride == item_size && axis.size % pack == 0 && offsets % (pack * item_size) == 0;
}

// The kernel for these axes. Where it reads packs, the axis along which it does so counts them
// then.
Entry choose_entry(LongReduceArguments& a, int64_t item_size) {
  if (a.n_kept > kShortDims || a.n_reduced > kShortDims) return kReduceLong;
  int64_t pack = reduce_pack(item_size);
  if (pack == 1) return kReduce;
  int64_t offsets = reinterpret_cast<intptr_t>(a.data);
  for (int d = 1; d < a.n_kept; ++d) offsets |= a.kept[d].stride;
  for (int d = 1; d < a.n_reduced; ++d) offsets |= a.reduced[d].stride;
  int64_t kept = a.n_kept ? a.kept[0].stride : 0, reduced = a.n_reduced ? a.reduced[0].stride : 0;
  auto count_packs = [&](ReduceAxis& axis, int64_t& n) {
    axis.size /= pack;
    axis.stride *= pack;
    n /= pack;
  };
  if (a.n_reduced && is_packed(a.reduced[0], item_size, offsets | kept)) {
    count_packs(a.reduced[0], a.n_in);
    return kReduceAlong;
  }
  if (a.n_kept && is_packed(a.kept[0], item_size, offsets | reduced)) {
    count_packs(a.kept[0], a.n_out);
    return kReduceAcross;
  }
  return kReduce;
}

// How many threads and pieces share a result: by the sizes alone, so that the bits never depend on
// the device. `pack`: elements that a thread reads at once along a reduction.
void divide_work(LongReduceArguments& a, int64_t pack) {
  int64_t inner = a.n_reduced ? a.reduced[0].stride : 0;
  a.lanes_are_neighbours =
      a.n_kept == 0 || (inner != 0 && inner <= a.kept[0].stride) || a.kept[0].stride == 0;
  int64_t lanes = std::min<int64_t>(kReduceThreads, round_to_power(ceil_div(a.n_in, 4)));
  // Neighbouring results are read together, at least a warp of them.
  if (!a.lanes_are_neighbours)
    lanes = std::min(
        lanes, std::max<int64_t>(kReduceThreads / round_to_power(a.n_out), kReduceThreads / 32));
  a.n_lanes = static_cast<int>(lanes);
  a.n_pieces = 1;
  if (a.n_out * lanes < kEnoughThreads)
    a.n_pieces = std::max<int64_t>(1, std::min({a.n_in * pack / (lanes * kPerThread), kMaxPieces,
                                                kEnoughThreads / (a.n_out * lanes)}));
  a.piece_size = ceil_div(a.n_in, a.n_pieces);
}

ReduceArguments shorten(const LongReduceArguments& a) {
  ReduceArguments s{};
  s.data = a.data;
  s.values = a.values;
  s.seconds = a.seconds;
  s.partials = a.partials;
  s.n_out = a.n_out;
  s.n_in = a.n_in;
  s.n_pieces = a.n_pieces;
  s.piece_size = a.piece_size;
  s.n_lanes = a.n_lanes;
  s.lanes_are_neighbours = a.lanes_are_neighbours;
  s.numbers = a.numbers;
  s.n_kept = std::min(a.n_kept, kShortDims);
  s.n_reduced = std::min(a.n_reduced, kShortDims);
  std::copy_n(a.kept, s.n_kept, s.kept);
  std::copy_n(a.reduced, s.n_reduced, s.reduced);
  return s;
}

}  // namespace

void run_reduction(const char* op, ReduceOp which, const Tensor& x, uint64_t mask, DType read_dtype,
                   const Tensor& values, const Tensor& seconds, const ReduceParams& params) {
  if (values.numel() == 0 || x.is_meta()) return;
  int index = x.device().index;
  Job job{which, x.dtype(), read_dtype, values.dtype()};
  LongReduceArguments a{};
  a.data = x.address();
  a.values = values.address();
  a.seconds = seconds.defined() ? seconds.address() : nullptr;
  a.numbers = {params.p, params.divisor, params.takes_root};
  set_axes(a, x, mask, keeps_order(which));
  Entry entry = choose_entry(a, x.itemsize());
  divide_work(a, entry == kReduceAlong ? reduce_pack(x.itemsize()) : 1);
  Workspace workspace(x.device(),
                      a.n_pieces > 1 ? values.numel() * a.n_pieces * kAccumulatorBytes : 0);
  a.partials = workspace.data();
  int64_t n_slots = kReduceThreads / a.n_lanes;
  Grid grid{ceil_div(a.n_out, n_slots), a.n_pieces};
  ReduceArguments s = shorten(a);
  const void* arguments = &s;
  if (entry == kReduceLong) arguments = &a;
  launch(kernel_of(job, entry, index), index, grid, kReduceThreads, arguments);
  if (a.n_pieces > 1)
    launch(kernel_of(job, kJoin, index), index, {values.numel(), 1}, kReduceThreads, &s);
}

namespace {

const ProgramLister lister([](std::vector<Program>& programs) {
  auto add = [&](const RowText& row, const Job& job, Entry entry) {
    programs.push_back(
        {row.name, job.in, program_text(job, entry, std::to_string(programs.size()))});
  };
  for (const RowText& row : kRows) {
    auto op = static_cast<ReduceOp>(&row - kRows);
    if (row.result == ReduceResult::Truth) {
      for (DType dtype : {DType::Bool, DType::Int32, DType::BFloat16, DType::Complex64})
        add(row, {op, dtype, DType::Bool, DType::Bool}, kReduce);
      continue;
    }
    for (Entry entry : {kReduce, kReduceAlong, kReduceAcross, kReduceLong, kJoin})
      add(row, {op, DType::BFloat16, DType::Float32, DType::BFloat16}, entry);
    add(row, {op, DType::Float64, DType::Float64, DType::Float64}, kReduce);
    if (in_kinds<int64_t>(row.kinds))
      add(row, {op, DType::Int16, DType::Int64, DType::Int64}, kReduce);
    if (in_kinds<Complex64>(row.kinds))
      add(row, {op, DType::Complex64, DType::Complex64, DType::Complex64}, kReduce);
  }
});

}  // namespace

}  // namespace facula::cuda
