// Memory for the length of a block of code.
#pragma once
#include "base/allocator.h"

namespace facula {

template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t numel)
      : nbytes_(numel * static_cast<int64_t>(sizeof(T))),
        data_(static_cast<T*>(cpu_allocator().allocate(nbytes_, nullptr))) {}
  ~Scratch() { cpu_allocator().deallocate(data_, nbytes_, nullptr); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }

 private:
  int64_t nbytes_;
  T* data_;
};

}  // namespace facula
