// Storage: one flat piece of memory. Tensors are views of it.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "base/allocator.h"
#include "base/device.h"
#include "base/location.h"

namespace facula {

// Counts the writes to a piece of memory. Backward compares it with the number it saved, and so
// finds tensors that were overwritten since. Views share it, detach() too; `.data` starts a new
// one.
struct VersionCounter {
  uint32_t value = 0;
  uint32_t n_refs =
      0;  // of a counter that stands alone; one inside a storage lives as long as the storage
  bool in_storage = true;
  SourceLocation last_write;

  void bump() {
    ++value;
    last_write = SourceLocation::here();
  }
};

struct KeptForms;
struct KeptKey;

// Counted without atomics: handles are copied only while the interpreter lock is held. Kernels that
// run without the lock see raw pointers only.
class Storage {
 public:
  using Deleter = void (*)(void* context);

  // Fresh memory from the device's allocator.
  static Storage* allocate(int64_t nbytes, Device device);
  // Memory that belongs to somebody else (NumPy, DLPack): `deleter(context)` is called at the end.
  static Storage* wrap(void* data, int64_t nbytes, Device device, Deleter deleter, void* context);

  void retain() { ++n_refs_; }
  void release() {
    if (--n_refs_ == 0) destroy();
  }
  int64_t n_refs() const { return n_refs_; }

  char* data() const { return static_cast<char*>(data_); }
  int64_t nbytes() const { return nbytes_; }
  Device device() const { return device_; }
  bool is_resizable() const { return deleter_ == nullptr && !is_exported_; }
  // Somebody outside (NumPy, DLPack) has the address from now on.
  void forbid_resize() {
    is_exported_ = true;
    forbid_keeping();
  }
  // Keeps the common prefix. Raises for memory that other libraries own or look at. A block that
  // shrinks keeps its memory: tensors that still look at its end must not read what is not theirs.
  void resize(int64_t nbytes);
  // Exchanges the memory of two storages; the tensors that look at them stay with the storage.
  void swap_memory(Storage& other);
  bool is_exported() const { return is_exported_; }
  // Call after the memory was written to. What kernels keep of it has other numbers then.
  void note_write() {
    ++n_writes_;
    if (__builtin_expect(kept_ != nullptr, false)) drop_kept();
  }
  uint32_t n_writes() const { return n_writes_; }
  // Somebody has the address from now on who may write without a note.
  void forbid_keeping() {
    may_keep_ = false;
    if (kept_ != nullptr) drop_kept();
  }
  // What wrap() was given, by which its caller knows its own memory again.
  Deleter deleter() const { return deleter_; }
  void* context() const { return context_; }

  VersionCounter version;
  void* python_object =
      nullptr;  // the UntypedStorage that shows it in Python, while there is one; not owned

 private:
  Storage() = default;
  ~Storage() = default;
  void destroy();
  void free_data();
  void drop_kept();

  void* data_ = nullptr;
  int64_t nbytes_ = 0;
  int64_t capacity_ = 0;  // bytes allocated
  int64_t n_refs_ = 1;
  Device device_;
  bool is_exported_ = false;
  Deleter deleter_ = nullptr;
  void* context_ = nullptr;
  void* stream_ = nullptr;  // the stream the block was allocated on

  // See Note [Kept forms] in kept.h.
  friend std::shared_ptr<const void> find_kept(const Storage&, const KeptKey&);
  friend void keep_form(Storage&, const KeptKey&, std::shared_ptr<const void>, int64_t, uint32_t);
  KeptForms* kept_ = nullptr;  // owned
  uint32_t n_writes_ = 0;
  bool may_keep_ = true;
};

}  // namespace facula
