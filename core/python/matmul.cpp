#include "ops/linalg/matmul.h"

#include "bind/bind.h"
#include "ops/inplace.h"
#include "ops/linalg/linear.h"
#include "ops/ops.h"

namespace facula {

namespace {

using Out = std::optional<Tensor>;
using Product = Tensor (*)(const Tensor&, const Tensor&);
using AddProduct = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, Scalar, Scalar);

void def_product(nb::module_& m, const char* name, Product f, const char* second, const char* doc) {
  m.def(
      name,
      [name, f](const Tensor& a, const Tensor& b, const Out& out) {
        return into_out(name, f(a, b), out.value_or(Tensor()));
      },
      "input"_a, nb::arg(second), nb::kw_only(), "out"_a.none() = nb::none(), doc);
  def_method(name, f, nb::arg(second), doc);
}

// beta * input + alpha * a @ b
void def_add_product(nb::module_& m, const char* name, AddProduct f, const char* a_name,
                     const char* b_name, const char* doc) {
  m.def(
      name,
      [name, f](const Tensor& c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha,
                const Out& out) {
        return into_out(name, f(c, a, b, beta, alpha), out.value_or(Tensor()));
      },
      "input"_a, nb::arg(a_name), nb::arg(b_name), nb::kw_only(), "beta"_a = Scalar(1),
      "alpha"_a = Scalar(1), "out"_a.none() = nb::none(), doc);
  def_method(name, f, nb::arg(a_name), nb::arg(b_name), nb::kw_only(), "beta"_a = Scalar(1),
             "alpha"_a = Scalar(1), doc);
  def_method((*new std::string(std::string(name) + "_")).c_str(),
             [name, f](Tensor c, const Tensor& a, const Tensor& b, Scalar beta, Scalar alpha) {
               return in_place(name, c, [&](const Tensor& x) { return f(x, a, b, beta, alpha); });
             },
             nb::arg(a_name), nb::arg(b_name), nb::kw_only(), "beta"_a = Scalar(1),
             "alpha"_a = Scalar(1));
}

}  // namespace

FACULA_BINDINGS {
  def_product(m, "mm", mm, "mat2", R"(The product of two matrices, (m, k) and (k, n).

Example:
    >>> facula.mm(facula.ones(2, 3), facula.ones(3, 1))
    tensor([[3.],
            [3.]]))");
  def_product(m, "bmm", bmm, "mat2",
              R"(The products of two batches of matrices, (b, m, k) and (b, k, n).

Example:
    >>> facula.bmm(facula.ones(4, 2, 3), facula.ones(4, 3, 5)).shape
    torch.Size([4, 2, 5]))");
  def_product(m, "mv", mv, "vec", R"(The product of a matrix (m, k) and a vector (k,).

Example:
    >>> facula.mv(facula.ones(2, 3), facula.ones(3))
    tensor([3., 3.]))");
  def_product(m, "dot", dot, "tensor", R"(The sum of the products of two vectors.

Example:
    >>> facula.dot(facula.tensor([1, 2]), facula.tensor([3, 4]))
    tensor(11))");
  for (const char* name : {"outer", "ger"})
    def_product(m, name, outer, "vec2", R"(All products of two vectors: (m,) and (n,) give (m, n).

Example:
    >>> facula.outer(facula.tensor([1, 2]), facula.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]]))");
  def_product(
      m, "matmul", matmul, "other",
      R"(The matrix product by the number of dimensions: vectors, matrices, broadcast batches of matrices.

Example:
    >>> facula.matmul(facula.ones(5, 2, 3), facula.ones(3)).shape
    torch.Size([5, 2]))");
  def_add_product(
      m, "addmm", addmm, "mat1", "mat2",
      R"(``beta * input + alpha * mat1 @ mat2``; input broadcasts to the product's shape.

Example:
    >>> facula.addmm(facula.ones(1), facula.ones(1, 2), facula.ones(2, 1))
    tensor([[3.]]))");
  def_add_product(m, "baddbmm", baddbmm, "batch1", "batch2",
                  "``beta * input + alpha * batch1 @ batch2`` for batches of matrices.");
  def_add_product(m, "addmv", addmv, "mat", "vec",
                  R"(``beta * input + alpha * mat @ vec``; input broadcasts to the product's shape.

Example:
    >>> facula.addmv(facula.ones(2), facula.eye(2), facula.tensor([1.0, 2.0]))
    tensor([2., 3.]))");
  def_add_product(
      m, "addbmm", addbmm, "batch1", "batch2",
      R"(``beta * input`` plus ``alpha`` times the sum of a batch of products; input broadcasts to it.

Example:
    >>> facula.addbmm(facula.zeros(2, 2), facula.ones(3, 2, 4), facula.ones(3, 4, 2))
    tensor([[12., 12.],
            [12., 12.]]))");
  m.def(
      "linear",
      [](const Tensor& x, const Tensor& weight, const Out& bias, const Out& out) {
        return told_as("linear", [&] {
          return into_out("linear", linear(x, weight, bias.value_or(Tensor())),
                          out.value_or(Tensor()));
        });
      },
      "input"_a, "weight"_a, "bias"_a.none() = nb::none(), nb::kw_only(),
      "out"_a.none() = nb::none(),
      R"(``input @ weight.T + bias``.

Args:
    input: vectors of ``in_features`` numbers, along the last dimension.
    weight: one row for each feature of the result.
    bias: one number for each feature of the result, or none.
    out: where to put the result.

Shape:
    input ``(*, in_features)``, weight ``(out_features, in_features)``, bias ``(out_features,)``;
    result ``(*, out_features)``. A weight ``(in_features,)`` gives a result ``(*)``.

Example:
    >>> weight = facula.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> facula.nn.functional.linear(facula.tensor([1.0, 10.0]), weight)
    tensor([21., 43., 65.]))");
}

}  // namespace facula
