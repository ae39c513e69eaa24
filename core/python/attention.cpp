#include "ops/nn/attention.h"

#include "bind/bind.h"

namespace facula {

FACULA_BINDINGS {
  m.def(
      "scaled_dot_product_attention",
      [](const Tensor& query, const Tensor& key, const Tensor& value,
         const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
         std::optional<double> scale, bool enable_gqa) {
        return scaled_dot_product_attention(query, key, value, attn_mask.value_or(Tensor()),
                                            {dropout_p, is_causal, scale, enable_gqa});
      },
      "query"_a, "key"_a, "value"_a, "attn_mask"_a.none() = nb::none(), "dropout_p"_a = 0.0,
      "is_causal"_a = false, nb::kw_only(), "scale"_a.none() = nb::none(), "enable_gqa"_a = false,
      R"(Values, averaged with the softmax of the products of queries and keys as weights.

The weights are computed in blocks and never stored as a whole, unless there is dropout.

Args:
    query: what is asked for.
    key: what it is compared with.
    value: what is averaged.
    attn_mask: added to the products; a bool mask leaves out what is false. It broadcasts to
        ``(..., L, S)``.
    dropout_p: the probability with which a weight becomes 0.
    is_causal: a query sees no keys after its own position. Not together with ``attn_mask``.
    scale: what the products are multiplied by, by default ``1 / sqrt(E)``.
    enable_gqa: heads of queries may be a multiple of the heads of keys and values.

Shape:
    query ``(..., L, E)``, key ``(..., S, E)``, value ``(..., S, Ev)``; result ``(..., L, Ev)``.

Example:
    >>> import facula.nn.functional as F
    >>> x = facula.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> F.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
)");
}

}  // namespace facula
