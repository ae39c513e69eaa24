#include "tensor/kept.h"

#include <algorithm>

namespace facula {

std::shared_ptr<const void> find_kept(const Storage& storage, const KeptKey& key) {
  if (storage.kept_ == nullptr) return nullptr;
  for (const KeptForms::Form& form : storage.kept_->forms)
    if (form.key == key) return form.data;
  return nullptr;
}

void keep_form(Storage& storage, const KeptKey& key, std::shared_ptr<const void> data,
               int64_t nbytes, uint32_t n_writes) {
  int64_t room = 2 * storage.nbytes();
  if (!storage.may_keep_ || storage.deleter_ != nullptr || storage.n_writes_ != n_writes ||
      nbytes > room)
    return;
  if (storage.kept_ == nullptr) storage.kept_ = new KeptForms;
  auto& forms = storage.kept_->forms;
  // Another thread may have been faster.
  forms.erase(std::remove_if(forms.begin(), forms.end(), [&](auto& f) { return f.key == key; }),
              forms.end());
  int64_t taken = nbytes;
  for (const KeptForms::Form& form : forms) taken += form.nbytes;
  while (taken > room) {
    taken -= forms.front().nbytes;
    forms.erase(forms.begin());
  }
  forms.push_back({key, std::move(data), nbytes});
}

void Storage::drop_kept() {
  delete kept_;
  kept_ = nullptr;
}

}  // namespace facula
