// Shared libraries that are looked for at run time.
#pragma once
#include <string>
#include <vector>

namespace facula::cuda {

// Folders that may hold pip's `nvidia` package; the Python layer installs a function that knows
// them.
using FolderFinder = std::vector<std::string> (*)();
void set_package_folders(FolderFinder finder);

class Library {
 public:
  // The newest of pip's libraries of this name (libnvrtc, say), else the system's. Versions as in
  // libnvrtc.so.13. What is in the folder FACULA_LIBRARY_PATH comes before both.
  static Library open_nvidia(const std::string& name, const std::vector<std::string>& versions);
  static Library open_system(const std::string& file_name);

  bool is_open() const { return handle_ != nullptr; }
  // Why it is not open.
  const std::string& reason() const { return reason_; }
  // Null if there is no such symbol.
  void* symbol(const char* name) const;

  // Sets `function` to the symbol, or fails.
  template <class F>
  void load(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(required(name));
  }

 private:
  static Library open_file(const std::string& path);
  void* required(const char* name) const;
  void* handle_ = nullptr;  // never closed: kernels may still run when the process ends
  std::string name_;
  std::string reason_;
};

}  // namespace facula::cuda
