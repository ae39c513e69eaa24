#include "cuda/library.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdlib>

#include "base/error.h"

namespace facula::cuda {

namespace {

FolderFinder package_folders = nullptr;

std::vector<std::string> matches(const std::string& pattern) {
  glob_t found;
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Where FACULA_LIBRARY_PATH says that libraries are looked for first, or nothing.
std::string own_path(const std::string& file_name) {
  const char* folder = std::getenv("FACULA_LIBRARY_PATH");
  return folder && *folder ? std::string(folder) + "/" + file_name : "";
}

}  // namespace

void set_package_folders(FolderFinder finder) { package_folders = finder; }

Library Library::open_system(const std::string& file_name) {
  if (std::string own = own_path(file_name); !own.empty())
    if (Library library = open_file(own); library.is_open()) return library;
  return open_file(file_name);
}

Library Library::open_file(const std::string& file_name) {
  Library library;
  library.name_ = file_name;
  library.handle_ = dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library.handle_) {
    const char* error = dlerror();
    library.reason_ = error ? error : file_name + " could not be opened";
  }
  return library;
}

Library Library::open_nvidia(const std::string& name, const std::vector<std::string>& versions) {
  std::string first_reason;
  for (const std::string& version : versions) {
    std::string file_name = name + ".so." + version;
    std::vector<std::string> candidates;
    if (std::string own = own_path(file_name); !own.empty()) candidates.push_back(own);
    if (package_folders)
      for (const std::string& folder : package_folders())
        for (const std::string& path : matches(folder + "/nvidia/*/lib/" + file_name))
          candidates.push_back(path);
    candidates.push_back(file_name);
    candidates.push_back("/usr/local/cuda/lib64/" + file_name);
    for (const std::string& candidate : candidates) {
      Library library = open_file(candidate);
      if (library.is_open()) return library;
      // That of the plain name, after which the user may look.
      if (first_reason.empty() && candidate == file_name) first_reason = library.reason();
    }
  }
  Library none;
  none.name_ = name;
  none.reason_ = first_reason;
  return none;
}

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

void* Library::required(const char* name) const {
  void* found = symbol(name);
  check(found != nullptr, "cuda: ", name_, " has no function ", name,
        "; it is too old for this version of facula.");
  return found;
}

}  // namespace facula::cuda
