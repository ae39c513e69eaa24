// Choosing elements by a mask, and masks as positions.
#include "autograd/hooks.h"
#include "autograd/node.h"
#include "base/number.h"
#include "ops/index/binding.h"
#include "ops/index/places.h"
#include "ops/ops.h"

namespace facula {

namespace {

void check_mask(const char* op, const Tensor& mask) {
  check(mask.dtype() == DType::Bool, op, ": expected a mask of dtype bool, got ", mask,
        ". Convert it with mask.bool().");
}

}  // namespace

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Tensor& value, const Into& into) {
  check_mask("masked_fill", mask);
  check(value.dim() == 0, "masked_fill: expected a number or a 0-d tensor as value, got ", value,
        ".");
  // A value on a GPU is not waited for.
  if (value.is_cpu()) check_fits("masked_fill", "value", item(value), x.dtype());
  Tensor y;
  {
    NoGradGuard guard;
    // A value that is an element of x is read before it is overwritten.
    bool is_element = value.storage() == x.storage() && !value.is_same(x);
    y = apply_where("masked_fill", mask, is_element ? clone(value) : value, x, x.dtype(), into);
    if (!y.is_same(x)) y = contiguous(y);
  }
  return record(value->is_wrapped_number ? "MaskedFillBackward0" : "MaskedFillBackward1", y,
                {x, value}, [mask = save(mask)](const Tensor& g, Needs need) -> TensorList {
                  Tensor m = mask;
                  Tensor zero = zeros({}, g.dtype(), g.device());
                  return {need[0] ? where(m, zero, g) : Tensor(),
                          need[1] ? sum(where(m, g, zero)) : Tensor()};
                });
}

namespace {

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);

Tensor masked_select(const Tensor& x, const Tensor& mask) {
  check_mask("masked_select", mask);
  Dims shape = broadcast_shapes("masked_select", x.sizes(), mask.sizes());
  Tensor m = expand(mask, shape), in = expand(x, shape);
  Tensor y;
  {
    NoGradGuard guard;
    y = shape.empty() ? index(unsqueeze(in, 0), {unsqueeze(m, 0)}) : index(in, {m});
  }
  return record("MaskedSelectBackward0", y, {x},
                [shape, sizes = x.sizes(), mask = save(mask)](const Tensor& g) {
                  return sum_to_size(masked_scatter(zeros(shape, g.dtype(), g.device()), mask, g),
                                     sizes);
                });
}

Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  check_mask("masked_scatter", mask);
  check(x.dtype() == source.dtype(), "masked_scatter: expected a source of ", x.dtype(), ", got ",
        source, ".");
  check_same_device("masked_scatter", {x, mask, source});
  Dims shape = broadcast_shapes("masked_scatter", x.sizes(), mask.sizes());
  Tensor y = empty(shape, x.dtype(), x.device());
  copy_into(y, x);
  if (!y.is_meta()) {
    NoGradGuard guard;
    Tensor positions = reshape(nonzero(reshape(expand(mask, shape), {-1})), {-1});
    int64_t n = positions.numel();
    check(n <= source.numel(), "masked_scatter: expected at least ", n,
          " elements in source, one for each true element of the mask, got ", source, ".");
    Places at{positions, y.numel(), 1};
    at.is_distinct = true;
    write_at("masked_scatter", restrided(y, {n}, {0}), narrow(reshape(source, {-1}), 0, 0, n), at,
             WriteMode::Set);
  }
  return record(
      "MaskedScatterBackward0", y, {x, source},
      [shape, in = x.sizes(), sizes = source.sizes(), mask = save(mask)](const Tensor& g,
                                                                         Needs need) -> TensorList {
        Tensor m = mask, to_source;
        if (need[1] && g.is_meta()) to_source = zeros(sizes, g.dtype(), g.device());
        if (need[1] && !g.is_meta()) {
          Tensor used = masked_select(g, m);
          int64_t n = 1;
          for (int64_t s : sizes) n *= s;
          to_source = reshape(cat({used, zeros({n - used.numel()}, g.dtype(), g.device())}), sizes);
        }
        return {need[0] ? sum_to_size(where(m, zeros({}, g.dtype(), g.device()), g), in) : Tensor(),
                to_source};
      });
}

}  // namespace

Tensor nonzero(const Tensor& x) {
  NoGradGuard guard;
  std::vector<Dims> weights(x.dim(), Dims(x.dim(), 0));
  for (int64_t d = 0; d < x.dim(); ++d) weights[d][d] = 1;
  // Column by column in memory, as PyTorch stores it.
  Tensor y = weighted_positions(x, weights);
  int64_t n = y.size(1);
  set_geometry(y, {n, x.dim()}, {1, std::max<int64_t>(n, 1)}, 0);
  return y;
}

namespace {

Tensor one_hot(const Tensor& x, int64_t num_classes) {
  check(x.dtype() == DType::Int64, "one_hot: expected class indices of dtype int64, got ", x,
        ". (one_hot is only applicable to index tensor of type LongTensor)");
  check(x.numel() > 0 || num_classes > 0,
        "one_hot: expected num_classes for a tensor without elements.");
  check(!x.is_meta() || num_classes > 0, "one_hot: expected num_classes for a tensor on meta.");
  NoGradGuard guard;
  int64_t largest = -1;
  if (x.is_cpu()) {
    Tensor flat = contiguous(x);
    for (int64_t i = 0; i < flat.numel(); ++i) {
      int64_t value = flat.data_as<int64_t>()[i];
      check(value >= 0, "one_hot: expected classes of at least 0, got ", value, " at position ", i,
            ".");
      largest = std::max(largest, value);
    }
  } else if (num_classes == -1) {
    // With a number of classes, a GPU is not waited for: the write below looks at each class.
    int64_t smallest = item(amin(x)).to_int();
    check(smallest >= 0, "one_hot: expected classes of at least 0, got ", smallest, ".");
    largest = item(amax(x)).to_int();
  }
  if (num_classes == -1) num_classes = largest + 1;
  check(num_classes >= 1, "one_hot: num_classes should be positive, got ", num_classes, ".");
  check(largest < num_classes, "one_hot: expected classes below num_classes=", num_classes,
        ", got ", largest, ".");
  Dims shape = x.sizes();
  shape.push_back(num_classes);
  Tensor y = zeros(shape, DType::Int64, x.device());
  if (x.numel() == 0) return y;
  Tensor at = unsqueeze(x, -1), one = full({}, 1, DType::Int64, x.device());
  write_at("one_hot", restrided(y, at.sizes(), with_stride_zero(y.strides(), x.dim())),
           restrided(one, at.sizes(), Dims(at.dim(), 0)),
           {at, num_classes, 1, false, ErrorKind::Runtime, true}, WriteMode::Set);
  return y;
}

// ---- bindings

Tensor masked_fill_with(const Tensor& x, const Tensor& mask, const Operand& value,
                        const Into& into) {
  return masked_fill(x, mask, value, into);
}

nb::object nonzero_as(const Tensor& x, bool as_tuple) {
  if (!as_tuple) return nb::steal(wrap(nonzero(x)));
  Tensor positions = nonzero(x.dim() == 0 ? unsqueeze(x, 0) : x);
  return nb::steal(to_python_tuple(unbind(positions, 1)));
}

}  // namespace

FACULA_BINDINGS {
  def_writer(m, "masked_fill", "masked_fill_", &masked_fill_with, "mask"_a, "value"_a,
             R"(One value where the mask is true.
    input: what is copied and changed.
    mask: bool, of a shape that broadcasts to that of the input.
    value: a number or a 0-d tensor.
    >>> facula.tensor([1, 2]).masked_fill(facula.tensor([True, False]), 0)
    tensor([0, 2]))"_doc);
  def_writer(m, "masked_scatter", "masked_scatter_", &masked_scatter, "mask"_a, "source"_a,
             R"(The elements of source, in order, where the mask is true.
    input: what is copied and changed.
    mask: bool, of a shape that broadcasts to that of the input.
    source: what is written, at least as many elements as the mask has true ones.
    >>> mask = facula.tensor([True, False, True])
    >>> facula.zeros(3).masked_scatter(mask, facula.tensor([1., 2.]))
    tensor([1., 0., 2.]))"_doc);
  const char* doc = R"(The elements where the mask is true, as a 1-d tensor.
    input: any tensor.
    mask: bool, of a shape that broadcasts to that of the input.
    out: where to put the result.
    >>> facula.tensor([1, 2, 3]).masked_select(facula.tensor([True, False, True]))
    tensor([1, 3]))"_doc;
  def_with_out(
      m, "masked_select",
      [](const Tensor& x, const Tensor& mask, const Out& out) {
        Tensor result = check_apart("masked_select", masked_select(x, mask), out, {x, mask});
        return into_out("masked_select", result, out.value_or(Tensor()));
      },
      "mask"_a, doc);
  def_method("masked_select", &masked_select, "mask"_a, doc);
  m.def(
      "nonzero",
      [](const Tensor& x, const Out& out, bool as_tuple) -> nb::object {
        if (out) return nb::steal(wrap(into_out("nonzero", nonzero(x), *out)));
        return nonzero_as(x, as_tuple);
      },
      "input"_a, nb::kw_only(), "out"_or_none, "as_tuple"_a = false,
      R"(The positions of elements that are not zero, one row each.
    input: any tensor.
    out: where to put the result.
    as_tuple: whether the result is a vector of places for each dimension instead.
    >>> facula.tensor([0, 1, 1]).nonzero()
    tensor([[1],
            [2]]))"_doc);
  def_method("nonzero", &nonzero_as, nb::kw_only(), "as_tuple"_a = false,
             R"(The positions of elements that are not zero, one row each.
    as_tuple: whether the result is a vector of places for each dimension instead.)"_doc);
  def_op(m, "argwhere", &nonzero, R"(The positions of elements that are not zero, one row each.
    input: any tensor.
    >>> facula.argwhere(facula.tensor([0, 1, 1]))
    tensor([[1],
            [2]]))"_doc);
  m.def(
      "where", [](const Tensor& condition) { return nonzero_as(condition, true); }, "condition"_a);
  m.def("_one_hot", &one_hot, "tensor"_a, "num_classes"_a = -1);
}

}  // namespace facula
