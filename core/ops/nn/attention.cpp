// Attention as one operation.
#include <cmath>
#include <limits>

#include "autograd/node.h"
#include "base/allocator.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "cpu/nn/attention.h"
#include "cuda/nn/nn.h"
#include "ops/nn/dropout.h"
#include "ops/ops.h"
#include "ops/result_binding.h"
#include "walk/reduction.h"

namespace facula {

namespace {

constexpr const char* kName = "scaled_dot_product_attention";
constexpr int64_t kMinWork = int64_t{1} << 18;  // multiplications that are worth giving to a thread
constexpr int64_t kMinTasks = 16;               // keep a few threads even

// ---- with tensor operations: for dropout, other devices and derivatives of derivatives

Tensor weights_of(const Tensor& q, const Tensor& k, const Tensor& mask, bool is_causal,
                  double scale) {
  Tensor scores = matmul(q, transpose(k, -2, -1)) * scale;
  Tensor hidden = mask.defined() && mask.dtype() == DType::Bool ? logical_not(mask) : Tensor();
  if (is_causal)
    hidden = triu(full({q.size(-2), k.size(-2)}, true, DType::Bool, q.device()), /*diagonal=*/1);
  Tensor nothing = wrapped_number(-std::numeric_limits<double>::infinity());
  if (hidden.defined()) {
    scores = masked_fill(scores, hidden, nothing);
  } else if (mask.defined()) {
    scores = scores + to_dtype(mask, scores.dtype());
  }
  if (k.size(-2) == 0) return scores;
  if (!mask.defined()) return softmax(scores, -1);
  // A query that sees no key has no weights.
  Tensor is_empty = all(eq(detach(scores), nothing), {-1}, /*keepdim=*/true);
  Tensor zero = wrapped_number(0.0);
  return masked_fill(softmax(masked_fill(scores, is_empty, zero), -1), is_empty, zero);
}

// Each head of keys or values as often as it is shared.
Tensor spread_heads(const Tensor& x, int64_t n_heads) {
  if (x.size(-3) == n_heads) return x;
  Dims sizes = x.sizes(), out = x.sizes();
  Tensor each = unsqueeze(x, -3);
  sizes = each.sizes();
  sizes[sizes.size() - 3] = n_heads / x.size(-3);
  out[out.size() - 3] = n_heads;
  return reshape(expand(each, sizes), out);
}

Tensor composed_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const Tensor& mask, double dropout_p, bool is_causal, double scale) {
  DType wide = wide_dtype(query.dtype());
  Tensor weights = weights_of(to_dtype(query, wide), to_dtype(key, wide), mask, is_causal, scale);
  return to_dtype(matmul(dropout(weights, dropout_p, /*train=*/true), to_dtype(value, wide)),
                  query.dtype());
}

// The gradients of (batch, head, row, column) tensors, once more differentiable.
TensorList composed_backward(const Tensor& g, const Tensor& query, const Tensor& key,
                             const Tensor& value, const Tensor& mask, bool is_causal,
                             double scale) {
  DType dtype = query.dtype(), wide = wide_dtype(dtype);
  int64_t n_heads = query.size(1);
  Tensor upstream = to_dtype(g, wide), q = to_dtype(query, wide);
  Tensor k = spread_heads(to_dtype(key, wide), n_heads);
  Tensor v = spread_heads(to_dtype(value, wide), n_heads);
  Tensor weights = weights_of(q, k, mask, is_causal, scale);
  Tensor to_weights = matmul(upstream, transpose(v, -2, -1));
  Tensor to_scores = softmax_backward(to_weights, weights, weights.dim() - 1);
  auto join_heads = [&](const Tensor& x, const Tensor& like) {
    Tensor y = x;
    if (like.size(1) != n_heads) {
      Dims sizes = {x.size(0), like.size(1), n_heads / like.size(1), x.size(2), x.size(3)};
      y = sum(reshape(x, sizes), {2});
    }
    return to_dtype(y, dtype);
  };
  Tensor to_mask;
  if (mask.defined() && mask.dtype() != DType::Bool)
    to_mask = to_dtype(sum_to_size(to_scores, mask.sizes()), mask.dtype());
  return {to_dtype(matmul(to_scores, k) * scale, dtype),
          join_heads(matmul(transpose(to_scores, -2, -1), q) * scale, key),
          join_heads(matmul(transpose(weights, -2, -1), upstream), value), to_mask};
}

// ---- fused, of (batch, head, row, column) tensors

cpu::HeadRows rows_of(const Tensor& x) {
  return {x.address(), x.stride(0), x.stride(1), x.stride(2)};
}

Tensor with_rows(const Tensor& x) {
  return x.size(-1) <= 1 || x.stride(-1) == 1 ? x : contiguous(x);
}

// A fresh tensor of x's shape but for its width; heads lie inside the rows where they do in x, as
// in slices of the result of one linear layer.
Tensor empty_in_order(const Tensor& x, int64_t width) {
  int64_t n_heads = x.size(1), n_rows = x.size(2);
  Dims sizes = {x.size(0), n_heads, n_rows, width};
  if (x.stride(1) >= x.stride(2)) return empty(sizes, x.dtype(), x.device());
  return empty_strided(sizes, {n_heads * n_rows * width, width, n_heads * width, 1}, x.dtype(),
                       x.device());
}
Tensor empty_in_order(const Tensor& x) { return empty_in_order(x, x.size(3)); }

cpu::Attention problem_of(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                          const Tensor& out, const Tensor& logsumexp, bool is_causal,
                          double scale) {
  cpu::Attention x;
  x.n_batch = q.size(0), x.n_heads = q.size(1);
  x.n_queries = q.size(2), x.n_keys = k.size(2);
  x.width = q.size(3), x.value_width = v.size(3);
  x.heads_per_key = q.size(1) / std::max<int64_t>(k.size(1), 1);
  // Long spans, unless there would be too few.
  int64_t n_blocks = ceil_div(x.n_queries, cpu::kAttentionQueries);
  x.blocks_per_span =
      std::clamp<int64_t>(x.n_batch * x.n_heads * n_blocks / kMinTasks, 1, cpu::kMaxSpan);
  x.scale = scale;
  x.is_causal = is_causal;
  x.query = rows_of(q), x.key = rows_of(k), x.value = rows_of(v), x.out = rows_of(out);
  if (mask.defined())
    x.mask = {mask.address(), mask.dtype() == DType::Bool,
              mask.stride(0), mask.stride(1),
              mask.stride(2), mask.stride(3)};
  x.logsumexp = logsumexp.address();
  return x;
}

int64_t spans_of(const cpu::Attention& x) {
  return ceil_div(x.n_queries, x.blocks_per_span * cpu::kAttentionQueries);
}

// The mask with four dimensions, of the type that is computed in.
Tensor spread_mask(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (!mask.defined()) return mask;
  Tensor wide = mask.dtype() == DType::Bool ? mask : to_dtype(mask, wide_dtype(q.dtype()));
  return expand(wide, {q.size(0), q.size(1), q.size(2), k.size(2)});
}

// f(scratch, begin, end) over n tasks of so many multiplications; on meta there is nothing to do.
template <class F>
void run_tasks(Device device, int64_t n, int64_t work, int64_t scratch_bytes, F f) {
  if (device.is_meta()) return;
  int64_t grain = std::max<int64_t>(1, kMinWork / std::max<int64_t>(work, 1));
  parallel_for(n, grain, [&](int64_t begin, int64_t end) {
    void* scratch = cpu_allocator().allocate(scratch_bytes, nullptr);
    f(static_cast<char*>(scratch), begin, end);
    cpu_allocator().deallocate(scratch, scratch_bytes, nullptr);
  });
}

const cpu::AttentionKernels& kernels_of(const Tensor& x) {
  check_computed(x.dtype());
  return cpu::get_attention_table().by_dtype[static_cast<int>(x.dtype())];
}

// The gradients of query, key, value and, where it is wanted, of the mask.
TensorList fused_backward(const Tensor& g, const Tensor& query, const Tensor& key,
                          const Tensor& value, const Tensor& mask, const Tensor& out,
                          const Tensor& logsumexp, bool is_causal, double scale, bool needs_mask) {
  NoGradGuard guard;
  Tensor q = with_rows(query), k = with_rows(key), v = with_rows(value), grad_out = with_rows(g);
  Tensor wide_mask = spread_mask(mask, q, k);
  // Hooks on saved tensors may return them in another form.
  Tensor y = with_rows(out), l = contiguous(logsumexp);
  cpu::Attention x = problem_of(q, k, v, wide_mask, y, l, is_causal, scale);
  Tensor dq = empty_in_order(q), dk = empty_in_order(k), dv = empty_in_order(v), to_scores;
  DType wide = wide_dtype(q.dtype());
  if (needs_mask) to_scores = empty(wide_mask.sizes(), wide, q.device());

  int64_t n_key_heads = x.n_batch * k.size(1);
  cpu::AttentionGrad grad;
  grad.n_parts = std::clamp<int64_t>(kMinTasks / std::max<int64_t>(n_key_heads, 1), 1,
                                     std::max<int64_t>(spans_of(x), 1));
  Tensor parts_k = dk, parts_v = dv;
  if (grad.n_parts > 1) {
    parts_k = empty({grad.n_parts * k.size(0), k.size(1), k.size(2), k.size(3)}, wide, k.device());
    parts_v = empty({grad.n_parts * v.size(0), v.size(1), v.size(2), v.size(3)}, wide, v.device());
  }
  grad.out = rows_of(grad_out), grad.query = rows_of(dq);
  grad.key = rows_of(parts_k), grad.value = rows_of(parts_v);
  grad.scores = to_scores.defined() ? to_scores.address() : nullptr;
  const cpu::AttentionKernels& kernels = kernels_of(q);
  int64_t work =
      x.heads_per_key * x.n_queries / grad.n_parts * x.n_keys * (x.width + x.value_width);
  run_tasks(q.device(), n_key_heads * grad.n_parts, work, kernels.backward_scratch_bytes(x),
            [&](char* scratch, int64_t begin, int64_t end) {
              kernels.backward(x, grad, scratch, begin, end);
            });
  auto join = [&](const Tensor& parts, const Tensor& like) {
    Tensor each =
        reshape(parts, {grad.n_parts, like.size(0), like.size(1), like.size(2), like.size(3)});
    return to_dtype(sum(each, {0}), like.dtype());
  };
  if (grad.n_parts > 1) dk = join(parts_k, k), dv = join(parts_v, v);
  Tensor to_mask;
  if (needs_mask) to_mask = to_dtype(sum_to_size(to_scores, mask.sizes()), mask.dtype());
  return {dq, dk, dv, to_mask};
}

Tensor fused_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const Tensor& mask, bool is_causal, double scale) {
  Tensor out, logsumexp;
  {
    NoGradGuard guard;
    Tensor q = with_rows(query), k = with_rows(key), v = with_rows(value);
    bool keeps_form = query.size(3) == value.size(3);
    out = keeps_form ? empty_like(query)
                     : empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.dtype(), q.device());
    if (out.numel() > 0 && out.stride(3) != 1) out = empty(out.sizes(), out.dtype(), q.device());
    logsumexp = empty({q.size(0), q.size(1), q.size(2)}, wide_dtype(q.dtype()), q.device());
    Tensor wide_mask = spread_mask(mask, q, k);
    cpu::Attention x = problem_of(q, k, v, wide_mask, out, logsumexp, is_causal, scale);
    const cpu::AttentionKernels& kernels = kernels_of(q);
    int64_t n_spans = spans_of(x), width = x.width + x.value_width;
    run_tasks(q.device(), x.n_batch * x.n_heads * n_spans,
              x.n_queries / std::max<int64_t>(n_spans, 1) * x.n_keys * width,
              kernels.scratch_bytes(x), [&](char* scratch, int64_t begin, int64_t end) {
                kernels.forward(x, scratch, begin, end);
              });
  }
  return record(
      "ScaledDotProductFlashAttentionForCpuBackward0", out, {query, key, value, mask},
      [q = save(query), k = save(key), v = save(value), m = save(mask), y = save_output(out),
       l = save(logsumexp), is_causal, scale](const Tensor& g, Needs need) -> TensorList {
        if (is_grad_enabled()) return composed_backward(g, q, k, v, m, is_causal, scale);
        return fused_backward(g, q, k, v, m, y, l, is_causal, scale, need[3]);
      });
}

// ---- on a GPU

// By cuDNN, else by kernels of our own; undefined where neither takes these tensors.
Tensor attention_on_gpu(const Tensor& query, const Tensor& key, const Tensor& value, bool is_causal,
                        double scale) {
  Tensor out, stats;
  bool is_tiled = false;
  {
    NoGradGuard guard;
    cuda::Attention x{with_rows(query), with_rows(key), with_rows(value), is_causal, scale};
    bool is_fused = cuda::can_fuse_attention(x);
    if (!is_fused && !cuda::can_tile_attention(x)) return {};
    out = empty_in_order(query, value.size(3));
    stats = empty({query.size(0), query.size(1), query.size(2)}, DType::Float32, query.device());
    if (!is_fused || !cuda::attention(x, out, stats)) {
      if (!cuda::can_tile_attention(x)) return {};
      is_tiled = true;
      cuda::tiled_attention(x, out, stats);
    }
  }
  const char* node = is_tiled ? "ScaledDotProductEfficientAttentionBackward0"
                              : "ScaledDotProductCudnnAttentionBackward0";
  return record(
      node, out, {query, key, value},
      [q = save(query), k = save(key), v = save(value), y = save_output(out), l = save(stats),
       is_causal, scale, is_tiled](const Tensor& g, Needs) -> TensorList {
        if (!is_grad_enabled()) {
          cuda::Attention x{with_rows(q), with_rows(k), with_rows(v), is_causal, scale};
          cuda::AttentionGrads grads{y, with_rows(g), empty_in_order(x.query),
                                     empty_in_order(x.key), empty_in_order(x.value)};
          if (is_tiled) {
            cuda::tiled_attention_backward(x, grads, l);
            return {grads.query, grads.key, grads.value};
          }
          if (cuda::attention_backward(x, grads, l)) return {grads.query, grads.key, grads.value};
        }
        TensorList grads = composed_backward(g, q, k, v, {}, is_causal, scale);
        grads.resize(3);
        return grads;
      });
}

// ---- checks

Dims leading_dims(const Tensor& x, int64_t n_last) {
  return Dims(x.sizes().begin(), x.sizes().end() - n_last);
}

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                  double dropout_p, bool is_causal) {
  check(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, kName,
        ": expected query, key and value to have at least 2 dimensions (..., length, width), got ",
        q, ", ", k, " and ", v, ".");
  check(q.dtype() == k.dtype() && q.dtype() == v.dtype(), kName,
        ": expected query, key and value of one dtype, got ", q, ", ", k, " and ", v, ".");
  check_same_device(kName, {q, k, v});
  check_not_implemented(!is_complex(q.dtype()), kName, ": not defined for complex numbers, got ", q,
                        ".");
  check(is_floating(q.dtype()), kName, ": expected floating-point tensors, got ", q,
        ". Convert them with .float().");
  check(q.size(-1) == k.size(-1), kName, ": expected query and key to have the same width, got ", q,
        " and ", k, ": ", q.size(-1), " is not ", k.size(-1), ".");
  check(k.size(-2) == v.size(-2), kName, ": expected a value for each key, got ", k, " and ", v,
        ": ", k.size(-2), " is not ", v.size(-2), ".");
  check(dropout_p >= 0 && dropout_p <= 1, kName, ": expected dropout_p from 0 to 1, got ",
        dropout_p, ".");
  if (!mask.defined()) return;
  check(!is_causal, kName,
        ": expected attn_mask or is_causal=True, got both. Make the mask causal itself, or leave "
        "it out.");
  check(mask.dtype() == DType::Bool || mask.dtype() == DType::Float32 || mask.dtype() == q.dtype(),
        kName, ": expected attn_mask to be bool, float32 or ", q.dtype(), " as query, got ", mask,
        ".");
  check_same_device(kName, {q, mask});
}

// Query, key and value with the batch dimensions that they have together.
struct Inputs {
  Tensor query, key, value;
};

Inputs broadcast_inputs(const Tensor& q, const Tensor& k, const Tensor& v, bool enable_gqa) {
  int64_t n_kept = enable_gqa ? 3 : 2;
  Dims batch = broadcast_shapes(
      kName, broadcast_shapes(kName, leading_dims(q, n_kept), leading_dims(k, n_kept)),
      leading_dims(v, n_kept));
  auto spread = [&](const Tensor& x) {
    Dims sizes = batch;
    for (int64_t d = -n_kept; d < 0; ++d) sizes.push_back(x.size(d));
    return sizes == x.sizes() ? x : expand(x, sizes);
  };
  return {spread(q), spread(k), spread(v)};
}

void check_groups(const Tensor& q, const Tensor& k, const Tensor& v) {
  check_index(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, kName,
              ": enable_gqa needs a dimension of heads, (..., heads, length, width), got ", q, ", ",
              k, " and ", v, ".");
  auto divides = [&](const Tensor& x) { return x.size(-3) > 0 && q.size(-3) % x.size(-3) == 0; };
  check(divides(k) && divides(v), kName, ": expected the number of heads of query, ", q.size(-3),
        ", to be a multiple of those of key and value, got ", k, " and ", v, ".");
}

// (batch, head, row, column).
Tensor with_four_dims(Tensor x) {
  while (x.dim() < 4) x = unsqueeze(x, 0);
  if (x.dim() == 4) return x;
  int64_t n_batch = 1;
  for (int64_t d = 0; d < x.dim() - 3; ++d) n_batch *= x.size(d);
  return reshape(x, {n_batch, x.size(-3), x.size(-2), x.size(-1)});
}

// softmax(query key^T * scale + mask) value. The mask is bool (false: left out) or floating.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const OptionalTensor& attn_mask, double dropout_p,
                                    bool is_causal, std::optional<double> scale_given,
                                    bool enable_gqa) {
  check_inputs(query, key, value, attn_mask, dropout_p, is_causal);
  if (enable_gqa) check_groups(query, key, value);
  Inputs in = broadcast_inputs(query, key, value, enable_gqa);
  Dims scores = leading_dims(in.query, 1);
  scores.push_back(key.size(-2));
  check(!attn_mask.defined() || is_expandable_to(attn_mask.sizes(), scores), kName, ": attn_mask ",
        attn_mask.defined() ? attn_mask.sizes() : Dims(),
        " does not broadcast to the shape of the scores, ", scores, ".");
  double scale = scale_given.value_or(
      1 / std::sqrt(static_cast<double>(std::max<int64_t>(query.size(-1), 1))));
  bool is_composed = dropout_p > 0 || query.device().is_cuda();
  if (enable_gqa && (is_composed || key.size(-3) != value.size(-3))) {
    in.key = spread_heads(in.key, query.size(-3));
    in.value = spread_heads(in.value, query.size(-3));
  }
  Dims sizes = leading_dims(in.query, 1);
  sizes.push_back(value.size(-1));
  if (query.device().is_cuda() && dropout_p == 0 && !attn_mask.defined()) {
    Tensor y = attention_on_gpu(with_four_dims(in.query), with_four_dims(in.key),
                                with_four_dims(in.value), is_causal, scale);
    if (y.defined()) return sizes == y.sizes() ? y : reshape(y, sizes);
  }
  if (is_composed)
    return composed_attention(in.query, in.key, in.value, attn_mask, dropout_p, is_causal, scale);
  Tensor mask = attn_mask;
  if (mask.defined() && query.dim() > 4) mask = with_four_dims(expand(mask, scores));
  Tensor y = fused_attention(with_four_dims(in.query), with_four_dims(in.key),
                             with_four_dims(in.value), mask, is_causal, scale);
  return sizes == y.sizes() ? y : reshape(y, sizes);
}

}  // namespace

FACULA_BINDINGS {
  def_functional(
      m, "scaled_dot_product_attention", &scaled_dot_product_attention, "query"_a, "key"_a,
      "value"_a, "attn_mask"_or_none, "dropout_p"_a = 0.0, "is_causal"_a = false, nb::kw_only(),
      "scale"_or_none, "enable_gqa"_a = false,
      R"(Values, averaged with the softmax of the products of queries and keys as weights.

The weights are computed in blocks and never stored as a whole, unless there is dropout.
    query: what is asked for.
    key: what queries are compared with.
    value: what is averaged.
    attn_mask: what is added to the products; a bool mask leaves out what is false. It broadcasts to
        ``(..., L, S)``.
    dropout_p: the probability with which a weight becomes 0.
    is_causal: whether a query sees no keys after its own position. Not together with ``attn_mask``.
    scale: what the products are multiplied by, by default ``1 / sqrt(E)``.
    enable_gqa: whether heads of queries may be a multiple of the heads of keys and values.

Shape:
    query ``(..., L, E)``, key ``(..., S, E)``, value ``(..., S, Ev)``; result ``(..., L, Ev)``.
    >>> import facula.nn.functional as F
    >>> x = facula.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> F.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]]))"_doc);
}

}  // namespace facula
