#include "tensor/tensor.h"

#include <algorithm>
#include <cstring>

#include "tensor/backend.h"
#include "tensor/modes.h"
#include "tensor/sparse.h"

namespace facula {

PyTypeObject* tensor_type = nullptr;
void (*count_lazy)(int64_t change) = nullptr;

namespace {

bool compute_contiguous(const Dims& sizes, const Dims& strides) {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) {
      for (size_t j = 0; j < i; ++j)
        if (sizes[j] == 0) return true;
      return false;
    }
    expected *= sizes[i];
  }
  return true;
}

// Fills a fresh object. Takes over the caller's reference to `storage`. Sizes are already checked.
void init_tensor(TensorImpl* x, Storage* storage, DType dtype, const Dims& sizes,
                 const Dims& strides, int64_t offset, int64_t numel) {
  x->dict = nullptr;
  x->weakrefs = nullptr;
  x->storage = storage;
  x->version = &storage->version;
  x->offset = offset;
  x->numel = numel;
  new (&x->sizes) Dims(sizes);
  new (&x->strides) Dims(strides);
  x->base = nullptr;
  x->meta = nullptr;
  x->view_version = 0;
  x->dtype = dtype;
  x->device = storage->device();
  x->view_kind = ViewKind::Plain;
  x->is_contiguous = compute_contiguous(sizes, strides);
  x->is_wrapped_number = false;
  x->requires_grad = false;
  x->is_volatile = false;
  x->is_inference = is_inference_mode_enabled();
  x->lazy = 0;
}

Tensor make_tensor(Storage* storage, DType dtype, const Dims& sizes, const Dims& strides,
                   int64_t offset, int64_t numel) {
  TensorImpl* x = PyObject_GC_New(TensorImpl, tensor_type);
  if (!x) {
    storage->release();
    fail(ErrorKind::OutOfMemory, "out of memory while making a tensor");
  }
  init_tensor(x, storage, dtype, sizes, strides, offset, numel);
  PyObject_GC_Track(x);
  return Tensor::steal(x);
}

int64_t storage_extent(const Dims& sizes, const Dims& strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  int64_t extent = 1, step;
  bool overflows = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    overflows |= __builtin_mul_overflow(sizes[i] - 1, strides[i], &step) ||
                 __builtin_add_overflow(extent, step, &extent);
  }
  check(!overflows, "sizes ", sizes, " and strides ", strides,
        " reach further than an int64 can count.");
  return extent;
}

}  // namespace

int64_t checked_numel(const Dims& sizes) {
  check(sizes.size() <= kMaxDims, "a tensor can have at most ", kMaxDims, " dimensions, got ",
        sizes.size(), ".");
  int64_t numel = 1;
  bool overflow = false;
  for (int64_t size : sizes) {
    check(size >= 0, "expected sizes of at least 0, got the shape ", sizes, ".");
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  if (overflow) {
    // A zero later in the shape makes the product 0 whatever came before.
    for (int64_t size : sizes)
      if (size == 0) return 0;
    fail(ErrorKind::Runtime, "the shape ", sizes, " has more elements than an int64 can count.");
  }
  return numel;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides;
  strides.resize(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step))
      step = 1;  // only if numel is 0
  }
  return strides;
}

Dims channels_last_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  int64_t step = 1;
  auto set = [&](size_t i) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  };
  set(1);
  for (size_t i = sizes.size(); i-- > 2;) set(i);
  set(0);
  return strides;
}

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::Contiguous || format == MemoryFormat::Preserve)
    return is_contiguous();
  if (dim() != (format == MemoryFormat::ChannelsLast ? 4 : 5)) return false;
  Dims expected = channels_last_strides(sizes());
  for (int64_t i = 0; i < dim(); ++i)
    if (size(i) != 1 && stride(i) != expected[i] && numel() != 0) return false;
  return true;
}

Tensor empty(const Dims& sizes, DType dtype, Device device, MemoryFormat format) {
  int64_t numel = checked_numel(sizes), nbytes;
  check(!__builtin_mul_overflow(numel, item_size(dtype), &nbytes), "the shape ", sizes, " of ",
        dtype, " needs more bytes than an int64 can count.");
  if (!device.is_cpu()) device = backend_of(device).resolve(device);
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    size_t wanted = format == MemoryFormat::ChannelsLast ? 4 : 5;
    check(sizes.size() == wanted, "channels_last: expected ", wanted, " dimensions, got the shape ",
          sizes, ".");
    return make_tensor(Storage::allocate(nbytes, device), dtype, sizes,
                       channels_last_strides(sizes), 0, numel);
  }
  return make_tensor(Storage::allocate(nbytes, device), dtype, sizes, contiguous_strides(sizes), 0,
                     numel);
}

Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype, Device device) {
  check(sizes.size() == strides.size(), "empty_strided: expected a stride for each size, got ",
        strides, " for ", sizes, ".");
  int64_t numel = checked_numel(sizes);
  for (int64_t stride : strides)
    check(stride >= 0, "empty_strided: strides must not be negative, got ", strides, ".");
  if (!device.is_cpu()) device = backend_of(device).resolve(device);
  int64_t nbytes;
  check(!__builtin_mul_overflow(storage_extent(sizes, strides), item_size(dtype), &nbytes),
        "empty_strided: sizes ", sizes, " and strides ", strides, " of ", dtype,
        " need more bytes than an int64 can count.");
  return make_tensor(Storage::allocate(nbytes, device), dtype, sizes, strides, 0, numel);
}

Tensor scalar_tensor(Scalar value, DType dtype, Device device) {
  Tensor x = empty({}, dtype);
  visit_any_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *x.data_as<T>() = value.to<T>();
  });
  if (device.is_cpu()) return x;
  Tensor y = empty({}, dtype, device);
  backend_of(device).copy_bytes(y.address(), y.device(), x.data(), x.device(), x.itemsize());
  return y;
}

Tensor wrapped_number(Scalar value) {
  DType dtype = value.dtype();
  // Numbers keep all their digits; the default dtype enters by promotion.
  if (value.is_floating()) dtype = DType::Float64;
  if (value.is_complex()) dtype = DType::Complex128;
  Tensor x = scalar_tensor(value, dtype);
  x->is_wrapped_number = true;
  return x;
}

Tensor from_storage(Storage* storage, DType dtype, const Dims& sizes, const Dims& strides,
                    int64_t offset) {
  storage->retain();
  return make_tensor(storage, dtype, sizes, strides, offset, checked_numel(sizes));
}

// Cold: what makes and ends all other tensors must not pay for its registers.
[[gnu::cold, gnu::noinline]] void set_lazy(const Tensor& x, uint8_t marks) {
  if (!marks != !x->lazy) count_lazy(marks ? 1 : -1);
  x->lazy = marks;
}

namespace {
// For another tensor over the same memory.
void share_memory(const Tensor& to, const Tensor& from) {
  to->version = from->version;
  to->is_inference = from->is_inference;
  if (!to->version->in_storage) ++to->version->n_refs;
  if (from.is_lazy()) set_lazy(to, from->lazy);
}
}  // namespace

Tensor alias(const Tensor& x) {
  x.storage()->retain();
  Tensor y = make_tensor(x.storage(), x.dtype(), x.sizes(), x.strides(), x.offset(), x.numel());
  share_memory(y, x);
  return y;
}

Tensor alias_uncounted(const Tensor& x) {
  Tensor y = alias(x);
  if (!y->version->in_storage && --y->version->n_refs == 0) delete y->version;
  auto* own = new VersionCounter;
  own->in_storage = false;
  own->n_refs = 1;
  y->version = own;
  return y;
}

Tensor alias_as(PyTypeObject* type, const Tensor& x) {
  TensorImpl* impl = reinterpret_cast<TensorImpl*>(type->tp_alloc(type, 0));
  if (!impl) fail(ErrorKind::OutOfMemory, "out of memory while making a tensor");
  x.storage()->retain();
  init_tensor(impl, x.storage(), x.dtype(), x.sizes(), x.strides(), x.offset(), x.numel());
  Tensor y = Tensor::steal(impl);
  share_memory(y, x);
  return y;
}

Tensor make_view(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset) {
  int64_t numel = 1;
  for (int64_t size : sizes) numel *= size;
  x.storage()->retain();
  Tensor y = make_tensor(x.storage(), x.dtype(), sizes, strides, offset, numel);
  share_memory(y, x);
  y->base = x->base ? x->base : x.get();
  Py_INCREF(y->base);
  y->view_version = y.version();
  y->view_kind = is_grad_enabled() ? x->view_kind : ViewKind::MadeInNoGrad;
  return y;
}

bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides) {
  // Sorted by stride, the dimensions must tile memory without holes.
  size_t n = sizes.size();
  size_t order[kMaxDims];
  size_t n_used = 0;
  for (size_t i = 0; i < n; ++i) {
    if (sizes[i] == 0) return true;
    if (sizes[i] != 1) order[n_used++] = i;
  }
  std::sort(order, order + n_used, [&](size_t a, size_t b) { return strides[a] < strides[b]; });
  int64_t expected = 1;
  for (size_t i = 0; i < n_used; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= sizes[order[i]];
  }
  return true;
}

bool has_internal_overlap(const Tensor& x) {
  if (x.is_contiguous()) return false;
  for (int64_t i = 0; i < x.dim(); ++i)
    if (x.stride(i) == 0 && x.size(i) > 1) return true;
  return false;
}

bool is_expandable_to(const Dims& from, const Dims& to) {
  if (from.size() > to.size()) return false;
  size_t missing = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != to[i + missing] && from[i] != 1) return false;
  return true;
}

int64_t wrap_dim(const char* op, int64_t dim, int64_t n_dims) {
  int64_t range = std::max<int64_t>(n_dims, 1);
  check_index(dim >= -range && dim < range, op, ": expected dim in [", -range, ", ", range - 1,
              "], got ", dim, ". (Dimension out of range)");
  return dim < 0 ? dim + range : dim;
}

void set_geometry(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset) {
  x->numel = checked_numel(sizes);
  x->sizes = sizes;
  x->strides = strides;
  x->offset = offset;
  x->is_contiguous = compute_contiguous(sizes, strides);
}

Scalar item(const Tensor& x) {
  check(!is_sparse(x), "item: expected a dense tensor, got a sparse one. Use to_dense() first.");
  check(!x.is_meta(),
        "item: Tensor.item() cannot be called on meta tensors, which have no elements.");
  check(x.numel() == 1, "item: expected a tensor of one element, got ", x, ". (a Tensor with ",
        x.numel(), " elements cannot be converted to Scalar)");
  return visit_any_dtype(x.dtype(), [&](auto tag) -> Scalar {
    using T = typename decltype(tag)::type;
    T value;
    if (x.is_cpu()) {
      value = *x.data_as<T>();
    } else {
      backend_of(x.device()).copy_bytes(&value, Device{}, x.address(), x.device(), sizeof(T));
    }
    auto turned = [&x](auto number) { return x.is_neg() ? -number : number; };
    auto turned_complex = [&](std::complex<double> number) {
      return Scalar(turned(x.is_conj() ? std::conj(number) : number));
    };
    if constexpr (is_complex_v<T>) {
      return turned_complex(std::complex<double>(value));
    } else if constexpr (std::is_same_v<T, Complex32>) {
      return turned_complex(std::complex<double>(Complex64(value)));
    } else if constexpr (is_reduced_float_v<T> || is_float8_v<T>) {
      return Scalar(turned(static_cast<double>(static_cast<float>(value))));
    } else {
      return Scalar(static_cast<T>(turned(value)));
    }
  });
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << "None";
  out << x.dtype() << ' ' << x.sizes();
  if (!x.is_cpu()) out << " on " << x.device();
  return out;
}

void Tensor::fail_without_data() const {
  check(is_meta(), "expected a tensor in the memory of the CPU, got ", *this,
        ". Move it with .cpu(), or the others with .to(device). (Expected all tensors to be on the "
        "same device.)");
  fail(
      ErrorKind::NotImplemented,
      "this operation reads the elements of its tensors, and a tensor on the device meta has none; "
      "got ",
      *this, ".");
}

AutogradMeta& Tensor::meta() const {
  if (!impl_->meta) impl_->meta = new AutogradMeta;
  return *impl_->meta;
}

void clear_tensor(TensorImpl* x) {
  Py_CLEAR(x->dict);
  Py_CLEAR(x->base);
  if (AutogradMeta* meta = std::exchange(x->meta, nullptr)) {
    Py_XDECREF(meta->grad);
    Py_XDECREF(reinterpret_cast<PyObject*>(meta->grad_fn));
    Py_XDECREF(meta->hooks);
    Py_XDECREF(meta->post_accumulate_hooks);
    delete meta;
  }
}

int traverse_tensor(TensorImpl* x, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(x));
  Py_VISIT(x->dict);
  Py_VISIT(x->base);
  if (x->meta) {
    Py_VISIT(x->meta->grad);
    Py_VISIT(reinterpret_cast<PyObject*>(x->meta->grad_fn));
    Py_VISIT(x->meta->hooks);
    Py_VISIT(x->meta->post_accumulate_hooks);
  }
  return 0;
}

void destroy_tensor(TensorImpl* x) {
  clear_tensor(x);
  if (__builtin_expect(x->lazy != 0, false)) count_lazy(-1);
  if (!x->version->in_storage && --x->version->n_refs == 0) delete x->version;
  x->storage->release();
  x->sizes.~Dims();
  x->strides.~Dims();
}

}  // namespace facula
