#include "ops/linalg/linalg.h"

#include "base/python_error.h"

namespace facula {

void check_matrices(const char* op, const char* name, const Tensor& x) {
  check(x.dim() >= 2, op, ": expected ", name,
        " to be a matrix or a batch of them (at least 2 dimensions), got ", x, ".");
  check(is_floating(x.dtype()) || is_complex(x.dtype()), op,
        ": expected a floating point or complex tensor as ", name, ", got ", x,
        ". Convert it with .float().");
  check_not_implemented(!is_reduced_float(x.dtype()), op,
                        ": low precision dtypes are not supported, got ", x,
                        ". Convert it with .float().");
}

void check_square(const char* op, const char* name, const Tensor& x) {
  check_matrices(op, name, x);
  check(x.size(-1) == x.size(-2), op, ": expected ", name,
        " to be batches of square matrices, got ", x, ".");
}

void check_same_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), op, ": expected tensors of the same dtype, got ", a, " and ", b,
        ".");
  check_same_device(op, {a, b});
}

void check_info(const char* op, const Tensor& info, std::string (*text)(int64_t code),
                nb::handle type) {
  if (info.is_meta()) return;
  Tensor host = on_host(info);
  const int32_t* codes = host.data_as<int32_t>();
  const int32_t* bad = std::find_if(codes, codes + info.numel(), [](int32_t c) { return c != 0; });
  if (bad == codes + info.numel()) return;
  std::string message = std::string(op) + ": ";
  if (info.dim() > 0) message += "(Batch element " + std::to_string(bad - codes) + "): ";
  message += *bad < 0
                 ? "the algorithm failed because the input has values that are infinite or NaN."
                 : text(*bad);
  nb::object usual = nb::module_::import_("facula.linalg").attr("LinAlgError");
  PyErr_SetString(type.is_valid() ? type.ptr() : usual.ptr(), message.c_str());
  throw_python_error();
}

int64_t n_matrices(const Tensor& x) {
  int64_t n = 1;
  for (int64_t d = 0; d + 2 < x.dim(); ++d) n *= x.size(d);
  return n;
}

Dims with_matrix(Dims batch, int64_t rows, int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Dims broadcast_batches(const char* op, const Tensor& a, const Tensor& b) {
  Dims x = batch_of(a), y = batch_of(b);
  if (x.size() < y.size()) std::swap(x, y);
  size_t shift = x.size() - y.size();
  for (size_t i = 0; i < y.size(); ++i) {
    int64_t& size = x[i + shift];
    check(size == y[i] || size == 1 || y[i] == 1, op,
          ": the batch dimensions do not broadcast (must match the size of) each other, got ", a,
          " and ", b, ".");
    if (size == 1) size = y[i];
  }
  return x;
}

Tensor empty_columns(const Dims& sizes, DType dtype, Device device) {
  Dims strides = contiguous_strides(sizes);
  size_t n = sizes.size();
  strides[n - 2] = 1;
  strides[n - 1] = std::max<int64_t>(sizes[n - 2], 1);
  return empty_strided(sizes, strides, dtype, device);
}

Tensor copy_columns(const Tensor& x) {
  Tensor y = empty_columns(x.sizes(), x.dtype(), x.device());
  copy_into(y, x);
  return y;
}

Tensor as_columns(const Tensor& x) {
  return x.numel() > 0 && transposed(alias(x)).is_contiguous() ? x : copy_columns(x);
}

namespace {

// f(column, index of the column, rows) for the columns of all matrices.
template <class F>
void for_columns(const Tensor& x, F f) {
  visit_lapack(x, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* column = x.data_as<T>();
    int64_t rows = x.size(-2), columns = x.size(-1);
    for (int64_t i = 0, n = rows ? n_matrices(x) * columns : 0; i < n; ++i, column += rows)
      f(column, i % columns, rows);
  });
}

}  // namespace

void clear_below(const Tensor& x) {
  if (!x.is_cpu()) {
    NoGradGuard guard;
    copy_into(x, triu(x));
    return;
  }
  for_columns(x, [](auto* column, int64_t j, int64_t rows) {
    if (j + 1 < rows) std::fill(column + j + 1, column + rows, 0);
  });
}

void clear_above(const Tensor& x) {
  if (!x.is_cpu()) {
    NoGradGuard guard;
    copy_into(x, lower(x));
    return;
  }
  for_columns(x, [](auto* column, int64_t j, int64_t rows) {
    std::fill(column, column + std::min(j, rows), 0);
  });
}

Tensor with_diagonal(const Tensor& x, const Tensor& numbers) {
  return where(identity(x, DType::Bool), to_dtype(unsqueeze(numbers, -1), x.dtype()), x);
}

Tensor with_diagonal(const Tensor& x, Scalar number) {
  return where(identity(x, DType::Bool), scalar_tensor(number, x.dtype()), x);
}

nb::tuple as_tuple(std::initializer_list<Tensor> values) {
  nb::list items;
  for (const Tensor& value : values) items.append(value);
  return nb::tuple(items);
}

nb::tuple on_device(const nb::tuple& values, Device device) {
  nb::list items;
  for (nb::handle value : values) {
    Tensor x = nb::cast<Tensor>(value);
    items.append(to(x, device, x.dtype(), /*copy=*/false));
  }
  return nb::tuple(items);
}

}  // namespace facula
