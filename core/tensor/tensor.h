// The tensor: a view (offset, sizes, strides) of a storage, with its autograd record.
//
// Note [One object on both sides]
// A TensorImpl is a Python object: C++ handles and Python references count in the same field,
// `x.grad is x.grad` holds without a table, attributes set in Python live as long as the tensor,
// and the garbage collector sees every reference that C++ keeps. The price is that handles may be
// copied only while the interpreter lock is held; kernels, which run without it, get raw pointers.
#pragma once
#include <Python.h>

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "base/device.h"
#include "base/dims.h"
#include "base/dtype.h"
#include "base/scalar.h"
#include "tensor/storage.h"

namespace facula {

class Tensor;
struct Node;
struct AutogradMeta;

enum class MemoryFormat : uint8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

// How a view came to be: some of them may not be written to in place while gradients are recorded.
enum class ViewKind : uint8_t { Plain, MadeInNoGrad, OneOfMany, MadeInFunction };

// Note [Lazy views]
// conj() of a complex tensor shares its memory and has a mark: its elements are the conjugates of
// the numbers that lie there. The imaginary part of such a view is marked as negated. Views of a
// marked tensor, and detached ones, have its marks. Kernels know nothing of marks, and no operation
// in C++ meets them: the seam gives it a copy with the elements as they are and writes back what it
// wrote (bind/seam.cpp). Those that the seam lets through (tables/lazy.def) look at no elements, or
// read and write them by copy_into(), which turns them on the way. Derivatives compute conjugates
// at once.
enum LazyMark : uint8_t { kLazyConj = 1, kLazyNeg = 2 };

struct TensorImpl : PyObject {
  PyObject* dict;
  PyObject* weakrefs;
  Storage* storage;         // owned; never null
  VersionCounter* version;  // the storage's, or an own one after `.data`
  int64_t offset;           // in elements
  int64_t numel;
  Dims sizes;
  Dims strides;           // in elements
  TensorImpl* base;       // of a view: the tensor it looks at, never itself a view; owned
  AutogradMeta* meta;     // owned; null until something about gradients has to be remembered
  uint32_t view_version;  // of a view: the version for which its grad_fn is right
  DType dtype;
  Device device;
  ViewKind view_kind;
  bool is_contiguous;
  bool is_wrapped_number;  // made from a Python number: takes part in type promotion with lower
                           // priority
  bool requires_grad;      // a leaf that wants a gradient, or a result with history
  bool is_volatile;        // historic: results are volatile too and have no history
  bool is_inference;       // made in inference mode: can never be part of a graph
  uint8_t lazy;            // LazyMarks: how the elements differ from the memory; 0 for most tensors
};

struct AutogradMeta {
  TensorImpl* grad = nullptr;   // owned
  Node* grad_fn = nullptr;      // owned
  Node* accumulator = nullptr;  // of a leaf: its AccumulateGrad node, which owns the tensor and
                                // clears this at its end
  uint32_t output_nr = 0;       // which output of grad_fn this is
  bool retains_grad = false;
  PyObject* hooks =
      nullptr;  // of a leaf: dict of register_hook; owned. A result has it on its node
  PyObject* post_accumulate_hooks = nullptr;  // dict; owned
};

extern PyTypeObject* tensor_type;  // set by the Python layer before the first tensor is made

// A counted handle, null when empty.
class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& o) : impl_(o.impl_) { Py_XINCREF(impl_); }
  Tensor(Tensor&& o) noexcept : impl_(std::exchange(o.impl_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(impl_, o.impl_);
    return *this;
  }
  ~Tensor() { Py_XDECREF(impl_); }

  static Tensor steal(TensorImpl* impl) {
    Tensor t;
    t.impl_ = impl;
    return t;
  }
  static Tensor borrow(TensorImpl* impl) {
    Py_XINCREF(impl);
    return steal(impl);
  }
  TensorImpl* get() const { return impl_; }
  TensorImpl* release() { return std::exchange(impl_, nullptr); }
  TensorImpl* operator->() const { return impl_; }
  bool defined() const { return impl_ != nullptr; }
  explicit operator bool() const = delete;  // ask defined()
  bool is_same(const Tensor& o) const { return impl_ == o.impl_; }
  bool is_only_handle() const { return Py_REFCNT(impl_) == 1; }

  int64_t dim() const { return static_cast<int64_t>(impl_->sizes.size()); }
  const Dims& sizes() const { return impl_->sizes; }
  const Dims& strides() const { return impl_->strides; }
  int64_t size(int64_t d) const { return impl_->sizes[d < 0 ? d + dim() : d]; }
  int64_t stride(int64_t d) const { return impl_->strides[d < 0 ? d + dim() : d]; }
  int64_t numel() const { return impl_->numel; }
  int64_t offset() const { return impl_->offset; }
  DType dtype() const { return impl_->dtype; }
  Device device() const { return impl_->device; }
  int64_t itemsize() const { return item_size(impl_->dtype); }
  bool is_contiguous() const { return impl_->is_contiguous; }
  bool is_contiguous(MemoryFormat format) const;
  bool is_cpu() const { return impl_->device.is_cpu(); }
  bool is_meta() const { return impl_->device.is_meta(); }
  // The first element, as its device counts. Only for who asks the device before going there: on
  // meta there is nothing.
  char* address() const { return impl_->storage->data() + impl_->offset * itemsize(); }
  // The same for who reads or writes at once: raises elsewhere than on the CPU, so that an
  // operation which does not know of other devices, or got tensors of two, ends with an error.
  char* data() const {
    if (__builtin_expect(!is_cpu(), 0)) fail_without_data();
    return address();
  }
  template <class T>
  T* data_as() const {
    return reinterpret_cast<T*>(data());
  }
  template <class T>
  T* address_as() const {
    return reinterpret_cast<T*>(address());
  }
  Storage* storage() const { return impl_->storage; }
  uint32_t version() const { return impl_->version->value; }
  bool is_view() const { return impl_->base != nullptr; }
  bool is_lazy() const { return __builtin_expect(impl_->lazy != 0, false); }
  bool is_conj() const { return impl_->lazy & kLazyConj; }
  bool is_neg() const { return impl_->lazy & kLazyNeg; }

  // Autograd. A view learns of writes through its base or its siblings lazily, so both ask more
  // than a field.
  bool requires_grad() const;
  Node* grad_fn() const;  // borrowed; null for a leaf
  bool is_leaf() const { return grad_fn() == nullptr; }
  AutogradMeta& meta() const;  // made on first use

 private:
  [[noreturn]] void fail_without_data() const;

  TensorImpl* impl_ = nullptr;
};

using TensorList = std::vector<Tensor>;

// For lists of arguments: `{x, y}` without counting references.
struct TensorRef {
  const Tensor* tensor;
  TensorRef(const Tensor& t) : tensor(&t) {}
  const Tensor& operator*() const { return *tensor; }
  const Tensor* operator->() const { return tensor; }
};

// ---- making tensors (no history is recorded here)
Tensor empty(const Dims& sizes, DType dtype, Device device = {},
             MemoryFormat format = MemoryFormat::Contiguous);
Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype, Device device = {});
Tensor full(const Dims& sizes, Scalar value, DType dtype, Device device = {});
inline Tensor zeros(const Dims& sizes, DType dtype, Device device = {}) {
  return full(sizes, 0, dtype, device);
}
Tensor scalar_tensor(Scalar value, DType dtype, Device device = {});
// A 0-d CPU tensor that promotes as the Python number it was made from.
Tensor wrapped_number(Scalar value);
// A tensor over an existing storage, which it retains; no base, no history.
Tensor from_storage(Storage* storage, DType dtype, const Dims& sizes, const Dims& strides,
                    int64_t offset);

// Another tensor over the same memory and version counter, without history: what detach() returns.
Tensor alias(const Tensor& x);
// The same with a version counter of its own: writes through it are not seen by backward.
Tensor alias_uncounted(const Tensor& x);
// The same as an object of a Python subclass of Tensor.
Tensor alias_as(PyTypeObject* type, const Tensor& x);
// A view of x for in-place bookkeeping: as alias, and remembers its base. The caller records the
// derivative.
Tensor make_view(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);
// Sets how the elements of x differ from what lies in memory. See Note [Lazy views].
void set_lazy(const Tensor& x, uint8_t marks);
// The number of tensors with marks has changed by this; the seam takes it in.
extern void (*count_lazy)(int64_t change);

// ---- geometry
Dims contiguous_strides(const Dims& sizes);
Dims channels_last_strides(const Dims& sizes);
int64_t checked_numel(
    const Dims& sizes);  // raises on negative sizes, too many dimensions and overflow
bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides);
// Whether two elements of the tensor may share memory (exact for stride 0, conservative otherwise).
bool has_internal_overlap(const Tensor& x);
// Whether a tensor of the sizes `from` broadcasts to `to`.
bool is_expandable_to(const Dims& from, const Dims& to);
int64_t wrap_dim(const char* op, int64_t dim, int64_t n_dims);
// Changes the geometry of x itself, keeping storage and identity.
void set_geometry(const Tensor& x, const Dims& sizes, const Dims& strides, int64_t offset);

Scalar item(const Tensor& x);  // of a tensor with one element

std::ostream& operator<<(std::ostream& out,
                         const Tensor& x);  // "float32 (2, 3)": for error messages

// ---- ends of a Python object's life, for the type object
void destroy_tensor(TensorImpl* impl);
int traverse_tensor(TensorImpl* impl, visitproc visit, void* arg);
void clear_tensor(TensorImpl* impl);

}  // namespace facula
