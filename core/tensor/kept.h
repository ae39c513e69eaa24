// What kernels keep of a storage's memory in another form, to find it again.
//
// Note [Kept forms]
// Convolutions pack their weight in the order in which the inner loop reads it; for a single image
// that may take as long as to multiply. Where no gradients are recorded the packed form stays with
// the storage of the weight and is found again by a key, which says how it was made:
// - A write to the memory through any tensor drops it (bump_version()), be it a view or `.data`.
// - Of memory that others may write to without a note nothing is kept: where NumPy, DLPack, other
//   processes or a caller of data_ptr() have its address.
// - Kernels run without the interpreter lock: a form that was begun before a write is not kept, and
//   who computes with a form holds it, though another thread may drop it meanwhile.
// - It is no part of a tensor: copies and files know nothing of it, and it ends with the storage.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "tensor/storage.h"

namespace facula {

struct KeptKey {
  std::array<int64_t, 24> numbers{};
  bool operator==(const KeptKey& o) const { return numbers == o.numbers; }
};

struct KeptForms {
  struct Form {
    KeptKey key;
    std::shared_ptr<const void> data;
    int64_t nbytes;
  };
  std::vector<Form> forms;  // the oldest first
};

// All need the interpreter lock. Null if there is none.
std::shared_ptr<const void> find_kept(const Storage& storage, const KeptKey& key);
// Unless the memory was written to since it was at `n_writes`, or may not be kept. The oldest forms
// make room: all together take at most twice the memory itself, of which Winograd's need 16/9.
void keep_form(Storage& storage, const KeptKey& key, std::shared_ptr<const void> data,
               int64_t nbytes, uint32_t n_writes);

}  // namespace facula
