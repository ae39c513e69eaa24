// The product of a layer.
#include "autograd/node.h"
#include "ops/ops.h"
#include "ops/result_binding.h"

namespace facula {

namespace {

// (..., n) as a matrix of rows.
Tensor as_rows(const Tensor& x) {
  if (x.dim() == 2) return x;
  int64_t n_rows = 1;  // counted, since -1 cannot be inferred from no elements
  for (int64_t d = 0; d + 1 < x.dim(); ++d) n_rows *= x.size(d);
  return reshape(x, {n_rows, x.size(-1)});
}

void check_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(x.dim() > 0 && weight.dim() > 0,
        "linear: expected an input and a weight of at least one dimension, got ", x, " and ",
        weight, ".");
  check(weight.dim() <= 2,
        "linear: expected a weight (out_features, in_features) or (in_features,), got ", weight,
        ".");
  check(x.dtype() == weight.dtype() && (!bias.defined() || bias.dtype() == x.dtype()),
        "linear: expected input, weight and bias of one dtype, got ", x.dtype(), ", ",
        weight.dtype(), " and ", bias.defined() ? bias.dtype() : x.dtype(),
        ". Convert the input with .to(weight.dtype). (mat1 and mat2 must have the same dtype)");
  check_same_device("linear", {x, weight});
  check(x.size(-1) == weight.size(-1), "linear: expected an input of ", weight.size(-1),
        " features (its last dimension), got ", x,
        ". Was the layer meant to have in_features=", x.size(-1),
        "? (mat1 and mat2 shapes cannot be multiplied)");
  if (!bias.defined()) return;
  check_same_device("linear", {x, bias});
  check(weight.dim() == 2 || (bias.dim() == 0 && x.dim() != 2),
        "linear: expected a weight (out_features, in_features) with this bias ", bias.sizes(),
        ", got ", weight, ".");
  check(bias.dim() != 1 || bias.size(0) == weight.size(0) || bias.size(0) == 1,
        "linear: expected a bias of ", weight.size(0), " elements for a weight ", weight.sizes(),
        ", got ", bias, ".");
}

// x weight^T + bias over the last dimension of x. A weight of one dimension gives one number for
// each vector of x. bias may be undefined.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear(x, weight, bias);
  if (weight.dim() == 1 || (bias.defined() && bias.dim() != 1)) {
    if (bias.defined() && x.dim() == 2) return addmm(bias, x, t(weight));
    Tensor y = matmul(x, t(weight));
    if (!bias.defined()) return y;
    check(is_expandable_to(bias.sizes(), y.sizes()), "linear: the bias ", bias.sizes(),
          " does not broadcast to the product's shape ", y.sizes(), ".");
    return y + bias;
  }
  Tensor y;
  {
    NoGradGuard guard;
    Tensor rows = as_rows(x), columns = t(weight);
    y = bias.defined() ? addmm(bias, rows, columns) : mm(rows, columns);
    if (x.dim() != 2) {
      Dims sizes = x.sizes();
      sizes.back() = weight.size(0);
      y = alias(view(y, sizes));
    }
  }
  const char* name = x.dim() != 2     ? "LinearBackward0"
                     : bias.defined() ? "AddmmBackward0"
                                      : "MmBackward0";
  auto backward = [x = save(weight.requires_grad() ? x : Tensor()),
                   weight = save(x.requires_grad() ? weight : Tensor()), sizes = x.sizes(),
                   n_bias = bias.defined() ? bias.size(0) : 0](const Tensor& g,
                                                               Needs need) -> TensorList {
    Tensor rows = as_rows(g);
    TensorList grads(3);
    if (need[0]) {
      grads[0] = mm(rows, conj(weight));
      if (sizes.size() != 2) grads[0] = reshape(grads[0], sizes);
    }
    if (need[1]) grads[1] = mm(t(rows), conj(as_rows(x)));
    // No view of a sum, which could not become the gradient of the bias without a copy.
    if (need[2]) grads[2] = n_bias == rows.size(1) ? sum(rows, {0}) : sum_to_size(rows, {n_bias});
    return grads;
  };
  return record(name, y, {x, weight, bias}, std::move(backward));
}

}  // namespace

FACULA_BINDINGS {
  def_functional(
      m, "linear",
      [](const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
         const OptionalTensor& out) {
        return told_as("linear", [&] { return into_out("linear", linear(x, weight, bias), out); });
      },
      "input"_a, "weight"_a, "bias"_or_none, nb::kw_only(), "out"_or_none,
      R"(``input @ weight.T + bias``.
    input: vectors of ``in_features`` numbers, along the last dimension.
    weight: one row for each feature of the result.
    bias: one number for each feature of the result, or none.
    out: where to put the result.

Shape:
    input ``(*, in_features)``, weight ``(out_features, in_features)``, bias ``(out_features,)``;
    result ``(*, out_features)``. A weight ``(in_features,)`` gives a result ``(*)``.
    >>> weight = facula.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> facula.nn.functional.linear(facula.tensor([1.0, 10.0]), weight)
    tensor([21., 43., 65.]))"_doc);
}

}  // namespace facula
