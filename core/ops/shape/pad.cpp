#include "ops/shape/pad.h"

#include <array>

#include "autograd/node.h"
#include "base/number.h"
#include "bind/bind.h"
#include "ops/ops.h"
#include "tensor/format.h"
#include "walk/reduction.h"

namespace facula {

namespace {

enum class Border { Reflect, Replicate, Circular };

constexpr const char* kReflectNodes[] = {"ReflectionPad1DBackward0", "ReflectionPad2DBackward0",
                                         "ReflectionPad3DBackward0"};
constexpr const char* kReplicateNodes[] = {"ReplicationPad1DBackward0", "ReplicationPad2DBackward0",
                                           "ReplicationPad3DBackward0"};

int64_t padded_dim(const Tensor& x, size_t i) { return x.dim() - 1 - static_cast<int64_t>(i / 2); }

Dims padded_sizes(const Tensor& x, const Dims& pad) {
  Dims sizes = x.sizes();
  for (size_t i = 0; i < pad.size(); ++i) sizes[padded_dim(x, i)] += pad[i];
  return sizes;
}

// x without the parts that negative padding takes away.
Tensor cropped(Tensor x, const Dims& pad) {
  for (size_t i = 0; i < pad.size(); i += 2) {
    int64_t dim = padded_dim(x, i);
    int64_t start = std::max<int64_t>(0, -pad[i]);
    int64_t stop = x.size(dim) - std::max<int64_t>(0, -pad[i + 1]);
    if (start != 0 || stop != x.size(dim))
      x = narrow(x, dim, start, std::max<int64_t>(0, stop - start));
  }
  return x;
}
Dims opposite(Dims pad) {
  for (int64_t& p : pad) p = -p;
  return pad;
}
Dims only_positive(Dims pad) {
  for (int64_t& p : pad) p = std::max<int64_t>(p, 0);
  return pad;
}
Dims only_negative(Dims pad) {
  for (int64_t& p : pad) p = std::min<int64_t>(p, 0);
  return pad;
}

// Where a border lies along a dimension, and which part of the middle it repeats.
struct Edge {
  int64_t start, length, source_start, source_length;
};

// The borders before and after a middle of this size.
std::array<Edge, 2> edges_of(int64_t size, int64_t before, int64_t after, Border border) {
  switch (border) {
    case Border::Reflect:
      return {{{0, before, before + 1, before},
               {before + size, after, before + size - 1 - after, after}}};
    case Border::Replicate:
      return {{{0, before, before, 1}, {before + size, after, before + size - 1, 1}}};
    case Border::Circular:
      break;
  }
  return {{{0, before, size, before}, {before + size, after, before, after}}};
}

Tensor border_pad_backward(const Tensor& g, const Dims& pad, Border border, const char* name,
                           const Tensor& place);

// Dimension after dimension: a border copies whole slices of y, so that corners come out of the
// borders filled before. What negative padding crops is filled first: a reflection may show it.
Tensor border_pad(const Tensor& x, const Dims& pad, Border border, const char* name) {
  Dims more = only_positive(pad);
  Tensor y = empty(padded_sizes(x, more), x.dtype(), x.device(), format_of(x));
  {
    NoGradGuard guard;
    copy_into(cropped(y, opposite(more)), x);
    for (size_t i = 0; i < pad.size(); i += 2) {
      int64_t dim = padded_dim(x, i);
      for (Edge edge : edges_of(x.size(dim), more[i], more[i + 1], border)) {
        if (edge.length == 0) continue;
        // The source as a walk sees it, which may go backwards or stand still.
        Dims steps = y.strides();
        int64_t first = edge.source_start;
        if (border == Border::Replicate) steps[dim] = 0;
        if (border == Border::Reflect) {
          first += edge.length - 1;
          steps[dim] = -steps[dim];
        }
        char* source = y.address() + first * y.stride(dim) * y.itemsize();
        copy_elements(make_walk(narrow(y, dim, edge.start, edge.length), source, steps), y.dtype());
      }
    }
    if (more != pad) y = clone(cropped(y, pad), format_of(x));
  }
  return record(name, y, {x}, [pad, border, name](const Tensor& g, Needs needs) -> TensorList {
    // PyTorch composes this one of copies, whose derivative does not depend on x.
    Tensor place = border == Border::Circular ? Tensor() : needs.place_of(0);
    return {border_pad_backward(g, pad, border, name, place)};
  });
}

// What of g belongs to the middle of the dimensions of pad[i] and after it: its own part, and that
// of each border, whose corners are counted first, added where its values came from.
Tensor fold_borders(const Tensor& g, const Dims& pad, size_t i, Border border) {
  if (i == pad.size()) return to(g, g.device(), wide_dtype(g.dtype()), /*copy=*/true);
  int64_t dim = padded_dim(g, i), before = pad[i], size = g.size(dim) - before - pad[i + 1];
  Tensor sums = fold_borders(narrow(g, dim, before, size), pad, i + 2, border);
  for (Edge edge : edges_of(size, before, pad[i + 1], border)) {
    if (edge.length == 0) continue;
    Tensor part = fold_borders(narrow(g, dim, edge.start, edge.length), pad, i + 2, border);
    if (border == Border::Replicate && edge.length > 1) part = sum(part, {dim}, true);
    if (border == Border::Reflect && edge.length > 1) part = flip(part, {dim});
    Tensor source = narrow(sums, dim, edge.source_start - before, edge.source_length);
    add_(source, part);
  }
  return sums;
}

Tensor border_pad_backward(const Tensor& g, const Dims& pad, Border border, const char* name,
                           const Tensor& place) {
  Tensor gx;
  {
    NoGradGuard guard;
    Dims less = only_negative(pad);
    Tensor whole = less == Dims(pad.size(), 0) ? g : constant_pad_nd(g, opposite(less), 0);
    gx = to_dtype(fold_borders(whole, only_positive(pad), 0, border), g.dtype());
  }
  return record_linear(name, gx, g, place, [pad, border, name](const Tensor& h) {
    return border_pad(h, pad, border, name);
  });
}

void check_border_pad(const Tensor& x, const Dims& pad, Border border, const char* mode) {
  int64_t n_dims = static_cast<int64_t>(pad.size()) / 2;
  check_not_implemented(
      n_dims >= 1 && n_dims <= 3 && (x.dim() == n_dims + 1 || x.dim() == n_dims + 2), "pad: mode '",
      mode, "' takes 2 numbers for an input of 2 or 3 dimensions, 4 for 3 or 4, ",
      "6 for 4 or 5, got ", pad.size(), " numbers for ", x, ".");
  for (int64_t d = x.dim() == n_dims + 2 ? 1 : 0; d < x.dim(); ++d)
    check(border == Border::Circular || x.size(d) > 0, "pad: mode '", mode,
          "' expects sizes that are not 0 (that of the batch may be), got ", x, ".");
  for (size_t i = 0; i < pad.size(); i += 2) {
    int64_t size = x.size(padded_dim(x, i)), most = std::max(pad[i], pad[i + 1]);
    if (border == Border::Reflect)
      check(most < size, "pad: mode 'reflect' expects padding less than the size, got (", pad[i],
            ", ", pad[i + 1], ") for dimension ", padded_dim(x, i), " of ", x, ".");
    if (border == Border::Circular) {
      int64_t left = size + std::min<int64_t>(0, pad[i]) + std::min<int64_t>(0, pad[i + 1]);
      check(most <= left, "pad: mode 'circular' expects padding of at most the size, got (", pad[i],
            ", ", pad[i + 1], ") for dimension ", padded_dim(x, i), " of ", x, ".");
    }
    int64_t result = size + pad[i] + pad[i + 1];
    check(result > 0 || (border == Border::Circular && result == 0), "pad: padding (", pad[i], ", ",
          pad[i + 1], ") leaves nothing of dimension ", padded_dim(x, i), " of ", x, ".");
  }
  check_not_implemented(border == Border::Circular || x.dtype() != DType::Bool, "pad: mode '", mode,
                        "' is not implemented for bool. Convert the input with input.byte().");
}

void check_number_count(const Tensor& x, const Dims& pad) {
  check(pad.size() % 2 == 0, "pad: expected an even number of numbers, got ", pad.size(), ".");
  check(static_cast<int64_t>(pad.size()) <= 2 * x.dim(), "pad: expected at most ", 2 * x.dim(),
        " numbers for ", x, ", got ", pad.size(), ".");
  constexpr int64_t kMost = int64_t(1) << 60;
  for (int64_t p : pad)
    check(-kMost < p && p < kMost, "pad: expected numbers between -2^60 and 2^60, got ", p, ".");
}

}  // namespace

Tensor constant_pad_nd(const Tensor& x, const Dims& pad, Scalar value) {
  check_number_count(x, pad);
  Dims sizes = padded_sizes(x, pad);
  for (size_t i = 0; i < pad.size(); i += 2) {
    int64_t dim = padded_dim(x, i);
    check(sizes[dim] >= 0 && x.size(dim) + std::min<int64_t>(0, pad[i]) >= 0 &&
              x.size(dim) + std::min<int64_t>(0, pad[i + 1]) >= 0,
          "pad: padding (", pad[i], ", ", pad[i + 1], ") takes more than there is of dimension ",
          dim, " of ", x, ".");
  }
  Tensor y = empty(sizes, x.dtype(), x.device(), format_of(x));
  {
    NoGradGuard guard;
    if (only_positive(pad) != Dims(pad.size(), 0)) {
      check_fits("pad", "value", value, x.dtype());
      fill_(y, value);
    }
    copy_into(cropped(y, opposite(pad)), cropped(x, pad));
  }
  return record("ConstantPadNdBackward0", y, {x},
                [pad](const Tensor& g) { return constant_pad_nd(g, opposite(pad), 0); });
}

namespace {

Tensor pad(const Tensor& x, const Dims& pad, const std::string& mode, std::optional<double> value) {
  if (mode == "constant") return constant_pad_nd(x, pad, value ? Scalar(*value) : Scalar(0));
  bool is_reflect = mode == "reflect", is_replicate = mode == "replicate";
  check_not_implemented(is_reflect || is_replicate || mode == "circular",
                        "pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got '",
                        mode, "'.");
  check(!value || *value == 0, "pad: mode '", mode, "' takes no value, got ", *value, ".");
  check_number_count(x, pad);
  Border border = is_reflect     ? Border::Reflect
                  : is_replicate ? Border::Replicate
                                 : Border::Circular;
  check_border_pad(x, pad, border, mode.c_str());
  const char* name = is_reflect     ? kReflectNodes[pad.size() / 2 - 1]
                     : is_replicate ? kReplicateNodes[pad.size() / 2 - 1]
                                    : "CircularPadBackward0";
  // What goes around does so after cropping.
  if (border != Border::Circular) return border_pad(x, pad, border, name);
  return border_pad(cropped(x, pad), only_positive(pad), border, name);
}

}  // namespace

FACULA_BINDINGS {
  m.def("constant_pad_nd", &constant_pad_nd, "input"_a, "pad"_a, "value"_a = Scalar(0),
        R"(Puts a border of one value around a tensor.
    input: any tensor.
    pad: numbers of elements (before, after), the last dimension first; negative ones crop.
    value: what the border is filled with.
    >>> facula.constant_pad_nd(facula.tensor([1, 2]), (1, 2), 7)
    tensor([7, 1, 2, 7, 7]))"_doc);
  m.def("_pad", &pad, "input"_a, "pad"_a, "mode"_a, "value"_a.none());
}

}  // namespace facula
