// Attention as a graph of cuDNN, which never writes the scores to memory.
#include <limits>
#include <map>
#include <tuple>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/nn/cudnn.h"
#include "cuda/nn/nn.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

using cudnn::Descriptor;
using Numbers = std::vector<int64_t>;

// Numbers of cuDNN's enumerations.
constexpr int kPointwise = 0, kPointwiseMode = 0, kPointwisePrecision = 1, kPointwiseAxis = 9;
constexpr int kPointwiseOperation = 13, kOperationPointwise = 750, kPointwiseX = 751,
              kPointwiseB = 752, kPointwiseY = 753, kPointwiseT = 758;
constexpr int kMatmul = 18, kMatmulPrecision = 1500, kMatmulOperation = 19, kMatmulA = 1520,
              kMatmulB = 1521, kMatmulC = 1522, kOperationMatmul = 1523;
constexpr int kReduction = 21, kReductionOperator = 1600, kReductionPrecision = 1601,
              kReductionOperation = 22, kReductionX = 1610, kReductionY = 1611,
              kOperationReduction = 1612;
constexpr int kReshapeOperation = 31, kReshapeX = 2200, kReshapeY = 2201;
constexpr int kFloat32 = 0, kInt32 = 4, kBool = 11;
enum Mode : int {
  kAdd = 0,
  kMul = 1,
  kDiv = 6,
  kSub = 9,
  kExp = 13,
  kLog = 15,
  kIdentity = 21,
  kGreaterOrEqual = 303,
  kIndex = 501,
  kSelect = 601,
};
enum ReductionMode : int { kSum = 0, kMax = 3 };

// The tensors of a graph that have memory.
enum Id : int64_t {
  kQuery = 1,
  kKey,
  kValue,
  kOut,
  kStats,
  kScale,
  kNothing,  // what hidden scores become
  kOne,
  kGradOut,
  kGradQuery,
  kGradKey,
  kGradValue,
  kRowSums,
  kQuerySums,
  kFirstVirtual = 100,
};

// A tensor of a graph that is being made.
struct Value {
  void* descriptor;
  Numbers sizes, strides;
};

class Graph {
 public:
  explicit Graph(int type) : type_(type) {}

  Value real(Id id, Numbers sizes, Numbers strides, int type) {
    return keep({id, type, sizes, strides}, sizes, strides);
  }
  Value real(Id id, const Tensor& x) {
    return real(id, {x.sizes().begin(), x.sizes().end()}, {x.strides().begin(), x.strides().end()},
                type_);
  }
  // Rows and columns exchanged.
  Value turned(Id id, const Tensor& x) {
    Numbers sizes(x.sizes().begin(), x.sizes().end()),
        strides(x.strides().begin(), x.strides().end());
    std::swap(sizes[2], sizes[3]);
    std::swap(strides[2], strides[3]);
    return real(id, sizes, strides, type_);
  }
  Value number(Id id) {
    cudnn::TensorSpec spec{id, kFloat32, {1, 1, 1, 1}, {1, 1, 1, 1}};
    spec.is_by_value = true;
    return keep(spec, spec.sizes, spec.strides);
  }
  // Of the form of another.
  Value between(const Value& like, int type) { return between(like.sizes, like.strides, type); }
  Value between(const Numbers& sizes, const Numbers& strides, int type) {
    cudnn::TensorSpec spec{next_id_++, type, sizes, strides};
    spec.is_virtual = true;
    return keep(spec, sizes, strides);
  }

  Value pointwise(Mode mode, const Value& x, const Value* b, const Value* t, Value y,
                  int precision = kFloat32, int64_t axis = -1) {
    Descriptor how(kPointwise), operation(kPointwiseOperation);
    how.set(kPointwiseMode, cudnn::kPointwiseMode, static_cast<int>(mode));
    how.set(kPointwisePrecision, cudnn::kDataType, precision);
    if (axis >= 0) how.set(kPointwiseAxis, cudnn::kInt64, axis);
    how.finalize();
    operation.set(kOperationPointwise, how);
    operation.set(kPointwiseX, cudnn::kDescriptor, x.descriptor);
    if (b) operation.set(kPointwiseB, cudnn::kDescriptor, b->descriptor);
    if (t) operation.set(kPointwiseT, cudnn::kDescriptor, t->descriptor);
    operation.set(kPointwiseY, cudnn::kDescriptor, y.descriptor);
    return finish(std::move(how), std::move(operation), y);
  }
  Value unary(Mode mode, const Value& x) {
    return pointwise(mode, x, nullptr, nullptr, between(x, kFloat32));
  }
  Value binary(Mode mode, const Value& x, const Value& b) {
    return pointwise(mode, x, &b, nullptr, between(x, kFloat32));
  }
  Value matmul(const Value& a, const Value& b, Value c) {
    Descriptor how(kMatmul), operation(kMatmulOperation);
    how.set(kMatmulPrecision, cudnn::kDataType, kFloat32);
    how.finalize();
    operation.set(kMatmulA, cudnn::kDescriptor, a.descriptor);
    operation.set(kMatmulB, cudnn::kDescriptor, b.descriptor);
    operation.set(kMatmulC, cudnn::kDescriptor, c.descriptor);
    operation.set(kOperationMatmul, how);
    return finish(std::move(how), std::move(operation), c);
  }
  Value reduce(ReductionMode mode, const Value& x, Value y) {
    Descriptor how(kReduction), operation(kReductionOperation);
    how.set(kReductionOperator, cudnn::kReductionOperator, static_cast<int>(mode));
    how.set(kReductionPrecision, cudnn::kDataType, kFloat32);
    how.finalize();
    operation.set(kOperationReduction, how);
    operation.set(kReductionX, cudnn::kDescriptor, x.descriptor);
    operation.set(kReductionY, cudnn::kDescriptor, y.descriptor);
    return finish(std::move(how), std::move(operation), y);
  }
  Value reshape(const Value& x, Value y) {
    Descriptor operation(kReshapeOperation);
    operation.set(kReshapeX, cudnn::kDescriptor, x.descriptor);
    operation.set(kReshapeY, cudnn::kDescriptor, y.descriptor);
    operation.finalize();
    operations_.push_back(operation.handle());
    kept_.push_back(std::move(operation));
    return y;
  }
  // The scores of keys behind their query become `nothing`.
  Value masked(const Value& scores, const Value& nothing) {
    auto index = [&](int64_t axis) {
      return pointwise(kIndex, scores, nullptr, nullptr, between(scores, kInt32), kFloat32, axis);
    };
    Value rows = index(2), columns = index(3);
    Value is_seen =
        pointwise(kGreaterOrEqual, rows, &columns, nullptr, between(scores, kBool), kBool);
    return pointwise(kSelect, scores, &nothing, &is_seen, between(scores, kFloat32));
  }

  std::unique_ptr<cudnn::Plan> plan(int index, const std::vector<cudnn::Binding>& bindings) {
    return cudnn::find_plan(index, std::move(kept_), operations_, false, bindings);
  }
  int type() const { return type_; }

 private:
  Value keep(const cudnn::TensorSpec& spec, const Numbers& sizes, const Numbers& strides) {
    kept_.push_back(cudnn::tensor(spec));
    return {kept_.back().handle(), sizes, strides};
  }
  Value finish(Descriptor how, Descriptor operation, const Value& y) {
    operation.finalize();
    operations_.push_back(operation.handle());
    kept_.push_back(std::move(how));
    kept_.push_back(std::move(operation));
    return y;
  }

  int type_;
  int64_t next_id_ = kFirstVirtual;
  std::vector<Descriptor> kept_;
  std::vector<void*> operations_;
};

struct AttentionSizes {
  int64_t b, h, n_queries, n_keys, width, value_width;
  explicit AttentionSizes(const Attention& x)
      : b(x.query.size(0)),
        h(x.query.size(1)),
        n_queries(x.query.size(2)),
        n_keys(x.key.size(2)),
        width(x.query.size(3)),
        value_width(x.value.size(3)) {}
  Numbers scores() const { return {b, h, n_queries, n_keys}; }
  Numbers score_strides() const { return {h * n_queries * n_keys, n_queries * n_keys, n_keys, 1}; }
  Numbers turned_scores() const { return {b, h, n_keys, n_queries}; }
  Numbers turned_score_strides() const {
    return {h * n_queries * n_keys, n_queries * n_keys, 1, n_keys};
  }
  Numbers rows() const { return {b, h, n_queries, 1}; }
  Numbers row_strides() const { return {h * n_queries, n_queries, 1, 1}; }
};

// The graphs are those that cuDNN has kernels for: it knows them by their form.
std::unique_ptr<cudnn::Plan> make_forward(const Attention& x, const Tensor& out,
                                          const std::vector<cudnn::Binding>& bindings) {
  AttentionSizes s(x);
  Graph g(cudnn::type_of(x.query.dtype()));
  Value scores = g.matmul(g.real(kQuery, x.query), g.turned(kKey, x.key),
                          g.between(s.scores(), s.score_strides(), kFloat32));
  scores = g.binary(kMul, scores, g.number(kScale));
  if (x.is_causal) scores = g.masked(scores, g.number(kNothing));
  auto per_row = [&] { return g.between(s.rows(), s.row_strides(), kFloat32); };
  Value highest = g.reduce(kMax, scores, per_row());
  Value exponentials = g.unary(kExp, g.binary(kSub, scores, highest));
  Value sums = g.reduce(kSum, exponentials, per_row());
  Value stats = g.real(kStats, s.rows(), s.row_strides(), kFloat32), logs = g.unary(kLog, sums);
  g.pointwise(kAdd, highest, &logs, nullptr, stats);
  Value weights = g.pointwise(kDiv, exponentials, &sums, nullptr, g.between(scores, g.type()));
  g.matmul(weights, g.real(kValue, x.value), g.real(kOut, out));
  return g.plan(x.query.device().index, bindings);
}

std::unique_ptr<cudnn::Plan> make_backward(const Attention& x, const AttentionGrads& grads,
                                           const std::vector<cudnn::Binding>& bindings) {
  AttentionSizes s(x);
  Graph g(cudnn::type_of(x.query.dtype()));
  Value query = g.real(kQuery, x.query), key = g.turned(kKey, x.key),
        value = g.turned(kValue, x.value), up = g.real(kGradOut, grads.g), scale = g.number(kScale);
  // Of each row, the sum of gradients times results.
  Value products = g.between(
      {s.b, s.h, s.n_queries, s.value_width},
      {s.h * s.n_queries * s.value_width, s.n_queries * s.value_width, s.h * s.value_width, 1},
      kFloat32);
  Value out = g.real(kOut, grads.out), one = g.number(kOne);
  g.pointwise(kMul, up, &out, nullptr, products);
  Value dots = g.reduce(kSum, products, g.between(s.rows(), s.row_strides(), kFloat32));
  Value row_sums =
      g.pointwise(kMul, dots, &one, nullptr, g.real(kRowSums, s.rows(), s.row_strides(), kFloat32));

  Value scores = g.matmul(query, key, g.between(s.scores(), s.score_strides(), kFloat32));
  scores = g.binary(kMul, scores, scale);
  scores = g.binary(kSub, scores, g.real(kStats, s.rows(), s.row_strides(), kFloat32));
  if (x.is_causal) scores = g.masked(scores, g.number(kNothing));
  Value weights = g.unary(kExp, scores);
  auto turn = [&](const Value& of) {
    return g.reshape(of, g.between(s.turned_scores(), s.turned_score_strides(), g.type()));
  };
  g.matmul(turn(weights), up, g.real(kGradValue, grads.value));

  Value to_weights = g.matmul(up, value, g.between(s.scores(), s.score_strides(), kFloat32));
  Value to_scores = g.binary(kMul, g.binary(kSub, to_weights, row_sums), weights);
  to_scores = g.binary(kMul, to_scores, scale);
  g.matmul(turn(to_scores), query, g.real(kGradKey, grads.key));

  Value plain_key = g.reshape(
      key, g.between({s.b, s.h, s.n_keys, s.width},
                     {key.strides[0], key.strides[1], key.strides[3], key.strides[2]}, g.type()));
  Value to_query = g.real(kGradQuery, grads.query);
  if (cudnn::settings().deterministic) {
    g.matmul(to_scores, plain_key, to_query);
  } else {
    // Blocks of keys add to these sums in the order in which they happen to finish.
    Value sums = g.real(kQuerySums, query.sizes,
                        {s.h * s.n_queries * s.width, s.n_queries * s.width, s.width, 1}, kFloat32);
    g.matmul(to_scores, plain_key, sums);
    g.pointwise(kIdentity, sums, nullptr, nullptr, to_query);
  }
  return g.plan(x.query.device().index, bindings);
}

template <class Make>
const cudnn::Plan* plan_of(const Attention& x, std::initializer_list<TensorRef> tensors,
                           bool is_backward, const Make& make) {
  using Key = std::tuple<int, DType, bool, bool, int, Numbers>;
  static auto* plans =
      new std::map<Key, std::unique_ptr<cudnn::Plan>>;  // guarded by the interpreter lock
  const cudnn::Settings& settings = cudnn::settings();
  Numbers numbers;
  for (const TensorRef& tensor : tensors)
    for (int d = 0; d < 4; ++d) {
      numbers.push_back(tensor->size(d));
      numbers.push_back(tensor->stride(d));
    }
  Key key(x.query.device().index, x.query.dtype(), x.is_causal, is_backward,
          settings.benchmark | settings.deterministic << 1, std::move(numbers));
  auto found = plans->find(key);
  if (found == plans->end()) found = plans->emplace(std::move(key), make()).first;
  return found->second.get();
}

// Vectors of 16 bytes are read along the rows, which are dense.
bool is_readable(const Tensor& x) {
  bool fits = x.stride(3) == 1 && reinterpret_cast<uintptr_t>(x.address()) % 16 == 0;
  for (int d = 0; d < 3; ++d) fits = fits && x.stride(d) % 8 == 0;
  return fits;
}

}  // namespace

bool can_fuse_attention(const Attention& x) {
  bool has_type = x.query.dtype() == DType::Float16 || x.query.dtype() == DType::BFloat16;
  if (!cudnn::is_enabled() || !has_type || x.query.numel() == 0 || x.value.numel() == 0)
    return false;
  auto is_width = [](int64_t n) { return n % 8 == 0 && n <= 128; };
  return is_width(x.query.size(3)) && is_width(x.value.size(3)) &&
         x.query.size(1) == x.key.size(1) && x.key.size(1) == x.value.size(1) &&
         is_readable(x.query) && is_readable(x.key) && is_readable(x.value);
}

bool attention(const Attention& x, const Tensor& out, const Tensor& stats) {
  auto scale = static_cast<float>(x.scale), nothing = -std::numeric_limits<float>::infinity();
  std::vector<cudnn::Binding> bindings = {{kQuery, x.query.address()}, {kKey, x.key.address()},
                                          {kValue, x.value.address()}, {kOut, out.address()},
                                          {kStats, stats.address()},   {kScale, &scale}};
  if (x.is_causal) bindings.push_back({kNothing, &nothing});
  const cudnn::Plan* plan = plan_of(x, {x.query, x.key, x.value, out}, false,
                                    [&] { return make_forward(x, out, bindings); });
  if (plan) cudnn::execute(*plan, x.query.device().index, bindings);
  return plan != nullptr;
}

bool attention_backward(const Attention& x, const AttentionGrads& grads, const Tensor& stats) {
  auto scale = static_cast<float>(x.scale), nothing = -std::numeric_limits<float>::infinity();
  float one = 1;
  AttentionSizes s(x);
  int index = x.query.device().index;
  Workspace row_sums(x.query.device(), s.b * s.h * s.n_queries * 4);
  Tensor query_sums;
  if (!cudnn::settings().deterministic)
    query_sums = zeros({x.query.numel()}, DType::Float32, x.query.device());
  std::vector<cudnn::Binding> bindings = {{kQuery, x.query.address()},
                                          {kKey, x.key.address()},
                                          {kValue, x.value.address()},
                                          {kOut, grads.out.address()},
                                          {kStats, stats.address()},
                                          {kScale, &scale},
                                          {kOne, &one},
                                          {kGradOut, grads.g.address()},
                                          {kGradQuery, grads.query.address()},
                                          {kGradKey, grads.key.address()},
                                          {kGradValue, grads.value.address()},
                                          {kRowSums, row_sums.data()}};
  if (x.is_causal) bindings.push_back({kNothing, &nothing});
  if (query_sums.defined()) bindings.push_back({kQuerySums, query_sums.address()});
  const cudnn::Plan* plan =
      plan_of(x, {x.query, x.key, x.value, grads.out, grads.g, grads.query, grads.key, grads.value},
              true, [&] { return make_backward(x, grads, bindings); });
  if (plan) cudnn::execute(*plan, index, bindings);
  return plan != nullptr;
}

}  // namespace facula::cuda
