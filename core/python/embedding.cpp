#include "ops/nn/embedding.h"

#include <nanobind/stl/optional.h>

#include "bind/bind.h"

namespace facula {

namespace {

void check_dense(const char* op, bool sparse) {
  check_not_implemented(!sparse, op,
                        ": sparse gradients are not available. Leave out sparse=True.");
}

}  // namespace

FACULA_BINDINGS {
  m.def(
      "embedding",
      [](const Tensor& weight, const Tensor& indices, int64_t padding_idx, bool scale_by_freq,
         bool sparse) {
        check_dense("embedding", sparse);
        return embedding(weight, indices, padding_idx, scale_by_freq);
      },
      "weight"_a, "indices"_a, "padding_idx"_a = -1, "scale_grad_by_freq"_a = false,
      "sparse"_a = false,
      R"(Rows of a table by index.

Args:
    weight: the table.
    indices: which rows, int64 or int32.
    padding_idx: a row that gets no gradient.
    scale_grad_by_freq: whether gradients are divided by how often their row was asked for.
    sparse: must be False.

Shape:
    weight ``(V, D)``, indices ``(*)``; result ``(*, D)``.

Example:
    >>> facula.embedding(facula.tensor([[1.0, 2.0], [3.0, 4.0]]), facula.tensor([1, 1]))
    tensor([[3., 4.],
            [3., 4.]]))");
  m.def(
      "embedding_bag",
      [](const Tensor& weight, const Tensor& indices, const Tensor& offsets, bool scale_by_freq,
         int64_t mode, bool sparse, const std::optional<Tensor>& per_sample_weights,
         bool include_last_offset, std::optional<int64_t> padding_idx) {
        check_dense("embedding_bag", sparse);
        check(mode >= 0 && mode <= 2, "embedding_bag: expected a mode from 0 to 2, got ", mode,
              ".");
        int64_t n_rows = weight.dim() > 0 ? weight.size(0) : 0, padding = padding_idx.value_or(-1);
        check(!padding_idx || (padding >= -n_rows && padding < n_rows),
              "embedding_bag: padding_idx must be within the number of embeddings, -", n_rows,
              " to ", n_rows - 1, ", got ", padding, ".");
        if (padding_idx && padding < 0) padding += n_rows;
        auto result = embedding_bag(
            weight, indices, offsets, per_sample_weights ? *per_sample_weights : Tensor(),
            {static_cast<BagMode>(mode), scale_by_freq, include_last_offset, padding});
        return nb::make_tuple(result[0], result[1], result[2], result[3]);
      },
      "weight"_a, "indices"_a, "offsets"_a, "scale_grad_by_freq"_a = false, "mode"_a = 0,
      "sparse"_a = false, "per_sample_weights"_a.none() = nb::none(),
      "include_last_offset"_a = false, "padding_idx"_a.none() = nb::none(),
      R"(Sums, means or maxima of rows of a table, for bags of indices.

Besides the result: the bag of each index, the size of each bag and the row of each maximum, where
the mode needs them.

Args:
    weight: the table.
    indices: which rows, all bags after each other.
    offsets: where each bag begins.
    scale_grad_by_freq: whether gradients are divided by how often their row was asked for.
    mode: 0 for sums, 1 for means, 2 for maxima.
    sparse: must be False.
    per_sample_weights: a factor for each index, for sums.
    include_last_offset: whether the last offset is where the last bag ends.
    padding_idx: a row that is left out.

Shape:
    weight ``(V, D)``, indices ``(N,)``, offsets ``(B,)``; result ``(B, D)``.

Example:
    >>> table = facula.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> facula.embedding_bag(table, facula.tensor([0, 1, 1]), facula.tensor([0, 1]))[0]
    tensor([[1., 2.],
            [6., 8.]]))");
}

}  // namespace facula
