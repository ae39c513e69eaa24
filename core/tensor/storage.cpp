#include "tensor/storage.h"

#include <cstring>
#include <new>

#include "base/error.h"
#include "tensor/backend.h"

namespace facula {

Storage* Storage::allocate(int64_t nbytes, Device device) {
  Backend& backend = backend_of(device);
  void* stream = backend.current_stream(device);
  void* data = backend.allocator(device).allocate(nbytes, stream);
  Storage* storage = new Storage;
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->capacity_ = nbytes;
  storage->device_ = device;
  storage->stream_ = stream;
  return storage;
}

Storage* Storage::wrap(void* data, int64_t nbytes, Device device, Deleter deleter, void* context) {
  Storage* storage = new Storage;
  storage->data_ = data;
  storage->nbytes_ = nbytes;
  storage->capacity_ = nbytes;
  storage->device_ = device;
  storage->deleter_ = deleter;
  storage->context_ = context;
  return storage;
}

void Storage::free_data() {
  if (deleter_) {
    deleter_(context_);
  } else if (data_) {
    backend_of(device_).allocator(device_).deallocate(data_, capacity_, stream_);
  }
}

void Storage::destroy() {
  drop_kept();
  free_data();
  delete this;
}

void Storage::resize(int64_t nbytes) {
  check(is_resizable(),
        "resize_: the memory is shared with another library or process and cannot be resized.");
  note_write();
  if (nbytes <= capacity_) {
    nbytes_ = nbytes;
    return;
  }
  Backend& backend = backend_of(device_);
  void* bigger = backend.allocator(device_).allocate(nbytes, stream_);
  backend.copy_bytes(bigger, device_, data_, device_, std::min(nbytes, nbytes_));
  free_data();
  data_ = bigger;
  nbytes_ = nbytes;
  capacity_ = nbytes;
}

void Storage::swap_memory(Storage& other) {
  // What is known of the memory, who has its address, stays with the storage.
  forbid_keeping();
  other.forbid_keeping();
  std::swap(data_, other.data_);
  std::swap(nbytes_, other.nbytes_);
  std::swap(capacity_, other.capacity_);
  std::swap(device_, other.device_);
  std::swap(deleter_, other.deleter_);
  std::swap(context_, other.context_);
  std::swap(stream_, other.stream_);
}

}  // namespace facula
