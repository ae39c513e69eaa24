#include "ops/index/index.h"

#include "autograd/node.h"
#include "base/number.h"
#include "ops/index/binding.h"
#include "ops/index/places.h"
#include "ops/ops.h"

namespace facula {

// ---- by a tensor for each dimension

namespace {

// What derivatives call before it is defined.
Tensor index_put(const Tensor& x, const TensorList& indices, const Tensor& given,
                 bool accumulate = false);
Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value,
                  const Into& into = {});
Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate = false);

struct IndexPlan {
  Tensor x;       // restrided to the result's shape
  Places places;  // the index expands to it
  Dims shape;
};

// Masks become one index tensor per dimension.
TensorList expand_masks(const Tensor& x, const TensorList& indices) {
  TensorList out;
  for (const Tensor& index : indices) {
    if (!index.defined() || (index.dtype() != DType::Bool && index.dtype() != DType::UInt8)) {
      if (index.defined())
        check_index(index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
                    "index: expected indices of int64, int32, uint8 or bool, got ", index, ".");
      out.push_back(index);
      continue;
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      int64_t at = static_cast<int64_t>(out.size()) + d;
      check_index(at < x.dim() && index.size(d) == x.size(at), "index: the mask ", index.sizes(),
                  " does not fit ", x.sizes(), ": its dimension ", d, " meets dimension ", at,
                  ". (The shape of the mask does not match the shape of the indexed tensor.)");
    }
    Tensor positions = nonzero(index);
    for (int64_t d = 0; d < index.dim(); ++d) out.push_back(select(positions, 1, d));
  }
  check_index(static_cast<int64_t>(out.size()) <= x.dim(), "index: expected at most ", x.dim(),
              " indices for ", x, ", got ", out.size(), ".");
  out.resize(x.dim());
  return out;
}

// Index dimensions that stand apart move to the front, as in NumPy.
bool are_adjacent(const TensorList& indices) {
  int changes = 0;
  for (size_t i = 1; i < indices.size(); ++i)
    changes += indices[i].defined() != indices[i - 1].defined();
  bool starts = !indices.empty() && indices[0].defined();
  return changes <= (starts ? 1 : 2);
}

// Whether there is a mask without elements: how much it chooses is not known.
bool has_mask_on_meta(const TensorList& indices) {
  return std::any_of(indices.begin(), indices.end(), [](const Tensor& index) {
    return index.defined() && index.is_meta() &&
           (index.dtype() == DType::Bool || index.dtype() == DType::UInt8);
  });
}

// Whether one mask chooses elements of x, or slices of its last dimensions.
bool is_mask_of_slices(const Tensor& x, const TensorList& indices) {
  if (indices.size() != 1 || !indices[0].defined()) return false;
  const Tensor& mask = indices[0];
  return mask.device() == x.device() &&
         (mask.dtype() == DType::Bool || mask.dtype() == DType::UInt8) && mask.dim() > 0 &&
         mask.dim() <= x.dim() &&
         std::equal(mask.sizes().begin(), mask.sizes().end(), x.sizes().begin());
}

IndexPlan plan_mask(const Tensor& x, const Tensor& mask) {
  auto strides = x.strides().begin();
  Tensor offsets = weighted_positions(mask, {Dims(strides, strides + mask.dim())});
  Dims shape{offsets.numel()}, steps{0}, offset_shape{offsets.numel()};
  for (int64_t d = mask.dim(); d < x.dim(); ++d) {
    shape.push_back(x.size(d));
    steps.push_back(x.stride(d));
    offset_shape.push_back(1);
  }
  Places places{reshape(offsets, offset_shape), INT64_MAX, 1};
  places.is_distinct = true;
  return {restrided(x, shape, steps), places, shape};
}

IndexPlan plan_index(const char* op, Tensor x, TensorList given) {
  NoGradGuard guard;
  // Indices of the CPU may choose from a tensor of a GPU.
  for (Tensor& index : given) {
    if (!index.defined() || index.device() == x.device()) continue;
    check(index.is_cpu(), op, ": expected indices on the CPU, or on ", x.device(),
          " as the tensor is, got ", index, ".");
    index = to(index, x.device(), index.dtype(), false);
  }
  if (is_mask_of_slices(x, given)) return plan_mask(x, given[0]);
  check_index(static_cast<int64_t>(given.size()) <= x.dim(), op, ": expected at most ", x.dim(),
              " indices for ", x, ", got ", given.size(), ".");
  TensorList indices = expand_masks(x, given);
  if (!are_adjacent(indices)) {
    Dims order;
    TensorList sorted;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t d = 0; d < x.dim(); ++d) {
        if (indices[d].defined() != (pass == 0)) continue;
        order.push_back(d);
        sorted.push_back(indices[d]);
      }
    }
    x = permute(x, order);
    indices = sorted;
  }
  Dims index_shape;
  bool any = false;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    if (any && !is_expandable_to(index.sizes(), index_shape) &&
        !is_expandable_to(index_shape, index.sizes())) {
      Dims a = index_shape, b = index.sizes();
      bool fits = true;
      for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        int64_t s = a[a.size() - 1 - i], t = b[b.size() - 1 - i];
        fits &= s == t || s == 1 || t == 1;
      }
      check_index(fits, op, ": indices of the shapes ", a, " and ", b, " do not broadcast.");
    }
    index_shape = any ? broadcast_shapes(op, index_shape, index.sizes()) : index.sizes();
    any = true;
  }
  // Indices that broadcast to nothing are not looked at, as in PyTorch; others must have something
  // to choose from, even if there are no elements.
  bool chooses_none = std::find(index_shape.begin(), index_shape.end(), 0) != index_shape.end();
  for (int64_t d = 0; d < x.dim(); ++d)
    check_index(chooses_none || !indices[d].defined() || x.size(d) > 0, op,
                ": index is out of bounds for dimension with size 0, in a tensor ", x.sizes(), ".");
  // One index alone is checked as it is used; of several the sum of their offsets is made.
  Places places{{}, INT64_MAX, 1};
  Tensor offsets;
  Dims shape, strides, offset_shape;
  for (int64_t d = 0; d < x.dim(); ++d) {
    if (!indices[d].defined()) {
      shape.push_back(x.size(d));
      strides.push_back(x.stride(d));
      offset_shape.push_back(1);
      continue;
    }
    Places at{indices[d], x.size(d), x.stride(d), true};
    if (places.index.defined()) {
      if (chooses_none) continue;
      if (!offsets.defined()) offsets = offsets_of("index", places);
      offsets = offsets + offsets_of("index", at);
      continue;
    }
    places = at;
    for (int64_t size : index_shape) {
      shape.push_back(size);
      strides.push_back(0);
      offset_shape.push_back(size);
    }
  }
  if (offsets.defined()) places = {expand(offsets, index_shape), INT64_MAX, 1};
  if (chooses_none) places = {zeros(index_shape, DType::Int64, x.device()), INT64_MAX, 1};
  places.index = places.index.defined() ? reshape(contiguous(places.index), offset_shape)
                                        : zeros({}, DType::Int64, x.device());
  return {restrided(x, shape, strides), places, shape};
}

}  // namespace

Tensor index(const Tensor& x, const TensorList& indices) {
  IndexPlan plan = plan_index("index", x, indices);
  Tensor y = empty_for(plan.shape, x.dtype(), {plan.x, plan.places.index});
  read_at("index", y, plan.x, plan.places);
  return record("IndexBackward0", y, {x},
                [indices = save(indices), sizes = x.sizes()](const Tensor& g) {
                  return index_put(zeros(sizes, g.dtype(), g.device()), indices.unpack(), g, true);
                });
}

namespace {

// Whether each element of x has memory of its own: each dimension steps over all that the faster
// ones reach.
bool shares_no_memory(const Tensor& x) {
  Dims order;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (x.size(d) > 1) order.push_back(d);
  std::sort(order.begin(), order.end(),
            [&](int64_t a, int64_t b) { return x.stride(a) < x.stride(b); });
  int64_t reach = 0;
  for (int64_t d : order) {
    if (x.stride(d) <= reach) return false;
    reach += (x.size(d) - 1) * x.stride(d);
  }
  return true;
}

void put_at(const Tensor& x, const TensorList& indices, const Tensor& values, bool accumulate) {
  NoGradGuard guard;
  if (x.is_meta() && has_mask_on_meta(indices)) return;
  IndexPlan plan = plan_index("index_put_", x, indices);
  check(x.dtype() == values.dtype(), "index_put_: expected values of ", x.dtype(), ", got ",
        values.dtype(), ".");
  check(is_expandable_to(values.sizes(), plan.shape),
        "index_put_: expected values that broadcast to ", plan.shape, ", got ", values.sizes(),
        ".");
  Places at = checked("index", plan.places);
  if (at.index.storage() == x.storage()) at.index = clone(at.index);
  write_at("index_put_", plan.x, expand(values, plan.shape), at,
           accumulate ? WriteMode::Add : WriteMode::Set, shares_no_memory(x));
}

// One value for one mask fills the elements chosen: any shape will do, and any real dtype.
Tensor fitting(const Tensor& x, const TensorList& indices, const Tensor& values, bool accumulate) {
  int n_indices = 0;
  bool is_mask = false;
  for (const Tensor& index : indices) {
    n_indices += index.defined();
    is_mask = is_mask || (index.defined() && index.dtype() == DType::Bool);
  }
  bool fills = is_mask && n_indices == 1 && values.numel() == 1 && !accumulate;
  if (!fills || (is_complex(values.dtype()) && !is_complex(x.dtype()))) return values;
  return to_dtype(reshape(values, {}), x.dtype());
}

// A mask without dimensions, which chooses all of x or nothing.
bool is_all_or_nothing(const Tensor& x, const TensorList& indices) {
  return x.dim() > 0 && indices.size() == 1 && indices[0].defined() && indices[0].dim() == 0 &&
         !indices[0].is_meta() &&
         (indices[0].dtype() == DType::Bool || indices[0].dtype() == DType::UInt8);
}

// The same choice as an index of a new first dimension of x.
TensorList all_or_nothing(const Tensor& mask) {
  return {item(mask).to_bool() ? zeros({1}, DType::Int64, mask.device())
                               : empty({0}, DType::Int64, mask.device())};
}

Tensor index_put(const Tensor& x, const TensorList& indices, const Tensor& given, bool accumulate) {
  Tensor values = fitting(x, indices, given, accumulate);
  if (is_all_or_nothing(x, indices))
    return squeeze(index_put(unsqueeze(x, 0), all_or_nothing(indices[0]), values, accumulate), {0});
  Tensor y = copy_of(x, MemoryFormat::Preserve);
  put_at(y, indices, values, accumulate);
  return record("IndexPutBackward0", y, {x, values},
                [indices = save(indices), sizes = values.sizes(), accumulate](
                    const Tensor& g, Needs need) -> TensorList {
                  TensorList at = indices.unpack();
                  Tensor to_x, to_values;
                  if (need[0])
                    to_x = accumulate ? g : index_put(g, at, zeros({}, g.dtype(), g.device()));
                  if (need[1])
                    to_values = has_mask_on_meta(at) ? zeros(sizes, g.dtype(), g.device())
                                                     : sum_to_size(index(g, at), sizes);
                  return {to_x, to_values};
                });
}

}  // namespace

Tensor& index_put_(Tensor& x, const TensorList& indices, const Tensor& given, bool accumulate) {
  Tensor values = fitting(x, indices, given, accumulate);
  if (is_all_or_nothing(x, indices)) {
    Tensor row = unsqueeze(x, 0);
    index_put_(row, all_or_nothing(indices[0]), values, accumulate);
    return x;
  }
  if (!is_grad_enabled() || !(x.requires_grad() || values.requires_grad())) {
    // PyTorch lets this one write to expanded tensors.
    check(
        !x->is_inference || is_inference_mode_enabled(),
        "index_put_: inplace update to an inference tensor outside inference mode is not allowed.");
    put_at(x, indices, x.storage() == values.storage() ? clone(values) : values, accumulate);
    bump_version(x);
    return x;
  }
  return in_place("index_put_", x,
                  [&](const Tensor& t) { return index_put(t, indices, values, accumulate); });
}

// ---- by one dimension

namespace {

// Which values of an index are taken, and what is raised for others: PyTorch's operations differ.
struct IndexRules {
  bool int32_allowed = true;
  bool negative_allowed = false;
  ErrorKind wrong_dtype = ErrorKind::Runtime;
  ErrorKind out_of_range = ErrorKind::Index;
};

// The places of a 1-d index along `dim`, shaped to broadcast over the other dimensions.
Places dim_places(const char* op, const Tensor& x, int64_t dim, const Tensor& index,
                  const IndexRules& rules) {
  if (index.dtype() != DType::Int64 && !(rules.int32_allowed && index.dtype() == DType::Int32))
    fail(rules.wrong_dtype, op, ": expected an index of dtype int64",
         rules.int32_allowed ? " or int32" : "", ", got ", index, ".");
  check_index(index.dim() <= 1, op, ": expected an index of at most one dimension, got ", index,
              ".");
  Dims shape(x.dim(), 1);
  shape[dim] = index.numel();
  return {reshape(index, shape), x.size(dim), x.stride(dim), rules.negative_allowed,
          rules.out_of_range};
}

// y, x or a copy of it, written along dim: y[index[i]] op= source[i].
void write_dim(const char* op, const Tensor& x, const Tensor& y, int64_t dim, const Tensor& index,
               const Tensor& source, WriteMode mode, const IndexRules& rules) {
  NoGradGuard guard;
  if (mode == WriteMode::Add && adds_in_float(y, index.numel())) {
    Tensor wide = to_dtype(y, DType::Float32);
    write_dim(op, x, wide, dim, index, to_dtype(source, DType::Float32), mode, rules);
    return copy_into(y, wide);
  }
  Tensor target = at_least_1d(y);
  Places places = dim_places(op, target, dim, index, rules);
  Dims shape = target.sizes();
  shape[dim] = index.numel();
  write_at(op, restrided(target, shape, with_stride_zero(target.strides(), dim)),
           expand(source.dim() == 0 && shape.size() == 1 ? reshape(source, {1}) : source, shape),
           y.is_same(x) ? checked(op, places) : places, mode);
}

}  // namespace

Tensor index_select(const Tensor& x, int64_t dim, const Tensor& index) {
  dim = wrap_dim("index_select", dim, x.dim());
  check(x.dim() > 0 || index.dim() > 1 || index.numel() == 1,
        "index_select: expected one index for a 0-d input, got ", index.numel(), ".");
  Tensor in = at_least_1d(x);
  IndexRules rules;
  if (in.dim() > 1 && (in.numel() == 0 || dim == 1)) rules.out_of_range = ErrorKind::Runtime;
  Places places = dim_places("index_select", in, dim, index, rules);
  Dims shape = in.sizes();
  shape[dim] = index.numel();
  Tensor y = empty(shape, x.dtype(), x.device());
  if (y.numel() == 0) checked("index_select", places);
  read_at("index_select", y, restrided(in, shape, with_stride_zero(in.strides(), dim)), places);
  if (x.dim() == 0) set_geometry(y, {}, {}, 0);
  return record("IndexSelectBackward0", y, {x},
                [sizes = x.sizes(), dim, index = save(index)](const Tensor& g) {
                  return index_add(zeros(sizes, g.dtype(), g.device()), dim, index, g);
                });
}

Tensor index_add(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                 Scalar alpha, const Into& into) {
  dim = wrap_dim("index_add", dim, x.dim());
  check_source("index_add", x, dim, index, source);
  check_fits("index_add", "alpha", alpha, x.dtype());
  Tensor y = target_for(into, x, MemoryFormat::Contiguous, {index, source});
  IndexRules rules;
  rules.out_of_range = x.dim() > 1 ? ErrorKind::Runtime : ErrorKind::Index;
  {
    NoGradGuard guard;
    bool is_scaled = alpha.is_complex() || alpha.to_double() != 1.0;
    write_dim("index_add", x, y, dim, index,
              is_scaled ? to_dtype(source * alpha, x.dtype()) : source, WriteMode::Add, rules);
  }
  return record(
      "IndexAddBackward0", y, {x, source},
      [dim, index = save(index), sizes = source.sizes(), alpha](const Tensor& g,
                                                                Needs need) -> TensorList {
        return {g, need[1] ? reshape(index_select(g, dim, index) * alpha, sizes) : Tensor()};
      });
}

namespace {

Tensor index_copy(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source,
                  const Into& into) {
  dim = wrap_dim("index_copy", dim, x.dim());
  check_source("index_copy", x, dim, index, source, ErrorKind::Index);
  Tensor y = target_for(into, x, MemoryFormat::Contiguous, {index, source});
  IndexRules rules;
  rules.int32_allowed = false;
  write_dim("index_copy", x, y, dim, index, source, WriteMode::Set, rules);
  return record("IndexCopyBackward0", y, {x, source},
                [dim, index = save(index), sizes = source.sizes()](const Tensor& g,
                                                                   Needs need) -> TensorList {
                  Tensor at = index;
                  return {need[0] ? index_fill(g, dim, at, wrapped_number(0)) : Tensor(),
                          need[1] ? reshape(index_select(g, dim, at), sizes) : Tensor()};
                });
}

Tensor index_fill(const Tensor& x, int64_t dim, const Tensor& index, const Tensor& value,
                  const Into& into) {
  dim = wrap_dim("index_fill", dim, x.dim());
  check(value.dim() == 0, "index_fill_: expected a number or a 0-d tensor as value, got ", value,
        ".");
  check(is_complex(x.dtype()) || !is_complex(value.dtype()),
        "index_fill_: a complex value cannot fill ", x, ".");
  if (value.is_cpu()) check_fits("index_fill_", "value", item(value), x.dtype());
  Tensor y = target_for(into, x, MemoryFormat::Preserve, {index, value});
  {
    NoGradGuard guard;
    IndexRules rules{/*int32_allowed=*/false, /*negative_allowed=*/true, ErrorKind::Index};
    Tensor filling =
        value.is_cpu() ? to(value, x.device(), x.dtype(), false) : to_dtype(value, x.dtype());
    write_dim("index_fill_", x, y, dim, index, filling, WriteMode::Set, rules);
  }
  return record(value->is_wrapped_number ? "IndexFillBackward0" : "IndexFillBackward1", y,
                {x, value}, [dim, index = save(index)](const Tensor& g, Needs need) -> TensorList {
                  Tensor at = index, to_value;
                  if (need[1] && at.numel() == 0) {
                    to_value = zeros({}, g.dtype(), g.device());
                  } else if (need[1]) {
                    // A place that is named twice, also from the end, got the value once.
                    Tensor size = wrapped_number(g.dim() ? g.size(dim) : 1);
                    Tensor places = remainder(at, size);
                    if (!at.is_meta()) places = unique(places).values;
                    to_value = sum(index_select(g, dim, places));
                  }
                  return {need[0] ? index_fill(g, dim, at, wrapped_number(0)) : Tensor(), to_value};
                });
}

// ---- flat

Tensor take(const Tensor& x, const Tensor& index) {
  check(index.dtype() == DType::Int64, "take: expected an int64 index, got ", index, ".");
  check_index(x.numel() != 0 || index.numel() == 0,
              "take: an empty tensor has no elements to take.");
  Tensor y;
  {
    NoGradGuard guard;
    Tensor flat = reshape(x, {-1});
    y = empty(index.sizes(), x.dtype(), x.device());
    read_at("take", y, restrided(flat, index.sizes(), Dims(index.dim(), 0)),
            {index, flat.numel(), flat.stride(0), true});
  }
  return record("TakeBackward0", y, {x}, [sizes = x.sizes(), index = save(index)](const Tensor& g) {
    return put(zeros(sizes, g.dtype(), g.device()), index, g, true);
  });
}

Tensor put(const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
  check(index.dtype() == DType::Int64, "put_: expected an int64 index, got ", index, ".");
  check(x.dtype() == source.dtype(), "put_: expected a source of ", x.dtype(), ", got ", source,
        ".");
  check_index(index.numel() == source.numel(), "put_: expected an index for each of the ",
              source.numel(), " elements of source, got ", index.numel(), ".");
  check_index(x.numel() != 0 || index.numel() == 0,
              "put_: an empty tensor has no place for elements.");
  Tensor y = copy_of(x, MemoryFormat::Contiguous);
  {
    NoGradGuard guard;
    write_at("put_", restrided(y, {index.numel()}, {0}), reshape(source, {-1}),
             {reshape(index, {-1}), y.numel(), 1, true},
             accumulate ? WriteMode::Add : WriteMode::Set);
    if (!x.is_contiguous()) {
      Tensor flat = y;
      y = empty_like(x);
      copy_into(y, flat);
    }
  }
  return record("PutBackward0", y, {x, source},
                [index = save(index), sizes = source.sizes(), accumulate](
                    const Tensor& g, Needs need) -> TensorList {
                  Tensor at = index;
                  Tensor to_x = !need[0]     ? Tensor()
                                : accumulate ? g
                                             : put(g, at, zeros(at.sizes(), g.dtype(), g.device()));
                  return {to_x, need[1] ? reshape(take(g, at), sizes) : Tensor()};
                });
}

}  // namespace

Tensor with_plain_bools(const Tensor& x) { return x.dtype() == DType::Bool ? clone(x) : x; }

Tensor put_along(const Tensor& g, int64_t dim, const Tensor& index, int64_t size) {
  Dims sizes = g.sizes();
  if (!sizes.empty()) sizes[dim] = size;
  // Many elements may meet in one: 16 bits would lose the small ones.
  DType wide = is_floating(g.dtype()) ? promote_types(g.dtype(), DType::Float32) : g.dtype();
  return to_dtype(scatter_add(zeros(sizes, wide, g.device()), dim, index, to_dtype(g, wide)),
                  g.dtype());
}

// ---- bindings

namespace {

TensorList indices_from(const char* op, nb::handle object) {
  check_type(PyList_Check(object.ptr()) || PyTuple_Check(object.ptr()), op,
             ": expected a tuple or list of tensors as indices, got ",
             Py_TYPE(object.ptr())->tp_name, ".");
  TensorList indices;
  for (nb::handle item : object) {
    check_type(item.is_none() || is_tensor(item.ptr()), op,
               ": expected tensors or None as indices, got ", Py_TYPE(item.ptr())->tp_name, ".");
    indices.push_back(item.is_none() ? Tensor() : as_tensor(item.ptr()));
  }
  return indices;
}

Tensor index_fill_with(const Tensor& x, int64_t dim, const Tensor& index, const Operand& value,
                       const Into& into) {
  return index_fill(x, dim, index, value, into);
}

Tensor index_put_at(const Tensor& x, nb::handle indices, const Tensor& values, bool accumulate) {
  return index_put(x, indices_from("index_put", indices), values, accumulate);
}

Tensor index_put_at_(Tensor x, nb::handle indices, const Tensor& values, bool accumulate) {
  return index_put_(x, indices_from("index_put_", indices), values, accumulate);
}

void bind_slices(nb::module_& m) {
  def_chooser(m, "index_select", &index_select, "dim"_a, "index"_a,
              R"(The entries ``index`` along a dimension, a copy.
    input: any tensor.
    dim: the dimension to index along.
    index: a vector of places along the dimension, int64 or int32.
    out: where to put the result.
    >>> facula.tensor([10, 20, 30]).index_select(0, facula.tensor([2, 0]))
    tensor([30, 10]))"_doc);
  def_writer_out(m, "index_add", "index_add_", &index_add, "dim"_a, "index"_a, "source"_a,
                 nb::kw_only(), "alpha"_a = Scalar(1),
                 R"(Adds ``alpha * source`` to the entries ``index`` along a dimension.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: a vector of places along the dimension, int64 or int32.
    source: what is added, one slice for each place.
    alpha: a factor for source.
    out: where to put the result.
    >>> facula.zeros(3).index_add(0, facula.tensor([0, 0, 2]), facula.ones(3))
    tensor([2., 0., 1.]))"_doc);
  def_writer_out(m, "index_copy", "index_copy_", &index_copy, "dim"_a, "index"_a, "source"_a,
                 R"(Copies source to the entries ``index`` along a dimension.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: a vector of places along the dimension, int64 or int32.
    source: what is copied, one slice for each place.
    out: where to put the result.
    >>> facula.zeros(3).index_copy(0, facula.tensor([2, 0]), facula.tensor([1., 2.]))
    tensor([2., 0., 1.]))"_doc);
  def_writer(m, "index_fill", "index_fill_", &index_fill_with, "dim"_a, "index"_a, "value"_a,
             R"(Fills the entries ``index`` along a dimension with one value.
    input: what is copied and changed.
    dim: the dimension to index along.
    index: a vector of places along the dimension, int64 or int32.
    value: a number or a 0-d tensor.
    >>> facula.zeros(3).index_fill(0, facula.tensor([0, 2]), 1)
    tensor([1., 0., 1.]))"_doc);
}

}  // namespace

FACULA_BINDINGS {
  bind_slices(m);
  def_chooser(m, "take", &take, "index"_a, R"(Elements of the flattened tensor.
    input: any tensor.
    index: places in the flattened input.
    out: where to put the result.
    >>> facula.take(facula.tensor([[1, 2], [3, 4]]), facula.tensor([3, 0]))
    tensor([4, 1]))"_doc);
  def_writer(m, "put", "put_", &put, "index"_a, "source"_a, "accumulate"_a = false,
             R"(Writes source to places of the flattened tensor.
    input: what is copied and changed.
    index: places in the flattened input.
    source: what is written, one element for each place.
    accumulate: whether to add to what is there, rather than to write over it.
    >>> facula.zeros(2, 2).put(facula.tensor([3]), facula.tensor([1.]))
    tensor([[0., 0.],
            [0., 1.]]))"_doc);
  def_op(m, "index_put", &index_put_at, "indices"_a, "values"_a, "accumulate"_a = false,
         R"(``x[indices] = values`` on a copy; with ``accumulate``, the values are added.
    input: what is copied and changed.
    indices: a tuple of tensors, one for each dimension; None for all of a dimension.
    values: what is written; it broadcasts to the places.
    accumulate: whether to add to what is there, rather than to write over it.
    >>> facula.zeros(3).index_put((facula.tensor([1]),), facula.tensor(5.))
    tensor([0., 5., 0.]))"_doc);
  def_op(m, "index_put_", &index_put_at_, "indices"_a, "values"_a, "accumulate"_a = false,
         R"(``x[indices] = values``; with ``accumulate``, the values are added.
    input: what is changed.
    indices: a tuple of tensors, one for each dimension; None for all of a dimension.
    values: what is written; it broadcasts to the places.
    accumulate: whether to add to what is there, rather than to write over it.
    >>> facula.index_put_(facula.zeros(3), (facula.tensor([1]),), facula.tensor(5.))
    tensor([0., 5., 0.]))"_doc);
}

}  // namespace facula
