// Attention by kernels of our own.
#include "cuda/kernel.h"
#include "cuda/kernels/attention_arguments.h"
#include "cuda/nn/nn.h"
#include "cuda/workspace.h"

namespace facula::cuda {

namespace {

constexpr DTypes kAttentionDTypes =
    only(DType::Float16) | only(DType::BFloat16) | only(DType::Float32);
FACULA_KERNEL(attention_forward, "attention.h", AttentionArguments, kAttentionDTypes)
FACULA_KERNEL(attention_to_queries, "attention.h", AttentionArguments, kAttentionDTypes)
FACULA_KERNEL(attention_to_keys, "attention.h", AttentionArguments, kAttentionDTypes)

AttentionSide side_of(const Tensor& x) {
  return {x.address(), x.stride(0), x.stride(1), x.stride(2)};
}

AttentionArguments arguments_of(const Attention& x, const Tensor& out, const Tensor& stats) {
  AttentionArguments a{};
  a.query = side_of(x.query);
  a.key = side_of(x.key);
  a.value = side_of(x.value);
  a.out = side_of(out);
  a.stats = stats.address_as<float>();
  a.n_heads = x.query.size(1);
  a.n_queries = x.query.size(2);
  a.n_keys = x.key.size(2);
  a.width = static_cast<int>(x.query.size(3));
  a.value_width = static_cast<int>(x.value.size(3));
  a.scale = static_cast<float>(x.scale);
  a.is_causal = x.is_causal;
  return a;
}

Grid grid_of(const Tensor& rows) {
  return {rows.size(0) * rows.size(1) * ceil_div(rows.size(2), int64_t(kAttentionRows)), 1};
}

}  // namespace

bool can_tile_attention(const Attention& x) {
  // Of float32, cuBLAS is faster with the scores in memory, as long as they fit.
  constexpr int64_t kManyScores = int64_t(1) << 28;
  int64_t n_scores = x.query.size(0) * x.query.size(1) * x.query.size(2) * x.key.size(2);
  bool is_wanted = x.query.dtype() == DType::Float16 || x.query.dtype() == DType::BFloat16 ||
                   (x.query.dtype() == DType::Float32 && n_scores >= kManyScores);
  auto has_rows = [](const Tensor& t) {
    return t.size(3) > 0 && t.size(3) <= kAttentionWidth && (t.stride(3) == 1 || t.size(3) == 1);
  };
  return is_wanted && x.query.numel() > 0 && x.key.numel() > 0 && x.value.numel() > 0 &&
         x.query.size(1) == x.key.size(1) && x.key.size(1) == x.value.size(1) &&
         has_rows(x.query) && has_rows(x.key) && has_rows(x.value);
}

void tiled_attention(const Attention& x, const Tensor& out, const Tensor& stats) {
  attention_forward_kernel(out.device(), {out.dtype()}, grid_of(x.query),
                           arguments_of(x, out, stats));
}

void tiled_attention_backward(const Attention& x, const AttentionGrads& grads,
                              const Tensor& stats) {
  AttentionArguments a = arguments_of(x, grads.out, stats);
  Device device = x.query.device();
  Workspace dots(device, stats.numel() * static_cast<int64_t>(sizeof(float)));
  a.dots = reinterpret_cast<float*>(dots.data());
  a.grad = side_of(grads.g);
  a.to_query = side_of(grads.query);
  a.to_key = side_of(grads.key);
  a.to_value = side_of(grads.value);
  DType dtype = x.query.dtype();
  attention_to_queries_kernel(device, {dtype}, grid_of(x.query), a);
  attention_to_keys_kernel(device, {dtype}, grid_of(x.key), a);
}

}  // namespace facula::cuda
