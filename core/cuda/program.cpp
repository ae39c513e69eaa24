#include "cuda/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "cuda/device.h"
#include "cuda/library.h"

namespace facula::cuda {

namespace {

struct Compiler {
  int (*version)(int* major, int* minor);
  int (*n_architectures)(int* n);
  int (*architectures)(int* list);
  int (*create)(void** program, const char* source, const char* name, int n_headers,
                const char* const* texts, const char* const* names);
  int (*compile)(void* program, int n_options, const char* const* options);
  int (*destroy)(void** program);
  int (*log_size)(void* program, size_t* size);
  int (*log)(void* program, char* text);
  int (*cubin_size)(void* program, size_t* size);
  int (*cubin)(void* program, char* code);
  int (*ptx_size)(void* program, size_t* size);
  int (*ptx)(void* program, char* code);
};

struct Loaded {
  Compiler compiler{};
  std::string problem;
  std::string version;
  int major = 0;
  std::vector<int> architectures;
};

void load_functions(const Library& library, Compiler& c) {
  library.load(c.version, "nvrtcVersion");
  library.load(c.n_architectures, "nvrtcGetNumSupportedArchs");
  library.load(c.architectures, "nvrtcGetSupportedArchs");
  library.load(c.create, "nvrtcCreateProgram");
  library.load(c.compile, "nvrtcCompileProgram");
  library.load(c.destroy, "nvrtcDestroyProgram");
  library.load(c.log_size, "nvrtcGetProgramLogSize");
  library.load(c.log, "nvrtcGetProgramLog");
  library.load(c.cubin_size, "nvrtcGetCUBINSize");
  library.load(c.cubin, "nvrtcGetCUBIN");
  library.load(c.ptx_size, "nvrtcGetPTXSize");
  library.load(c.ptx, "nvrtcGetPTX");
}

Loaded load_compiler() {
  Loaded loaded;
  Library library = Library::open_nvidia("libnvrtc", {"13", "12"});
  if (!library.is_open()) {
    loaded.problem = "the compiler NVRTC was not found (" + library.reason() +
                     "). Install it with: pip install nvidia-cuda-nvrtc";
    return loaded;
  }
  try {
    load_functions(library, loaded.compiler);
  } catch (const Error& error) {
    loaded.problem = error.what();
    return loaded;
  }
  int major = 0, minor = 0, n = 0;
  loaded.compiler.version(&major, &minor);
  loaded.major = major;
  loaded.version = std::to_string(major) + "." + std::to_string(minor);
  loaded.compiler.n_architectures(&n);
  loaded.architectures.resize(n);
  loaded.compiler.architectures(loaded.architectures.data());
  return loaded;
}

const Loaded& loaded_compiler() {
  static const Loaded loaded = load_compiler();
  return loaded;
}

// FNV-1a, twice with different starts: 128 bits that say what was compiled.
class Hash {
 public:
  void add(const std::string& text) {
    for (unsigned char c : text + '\0') {
      a_ = (a_ ^ c) * 0x100000001b3u;
      b_ = (b_ ^ (c + 0x9eu)) * 0x100000001b3u;
    }
  }
  std::string digits() const {
    char text[33];
    std::snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(a_),
                  static_cast<unsigned long long>(b_));
    return text;
  }

 private:
  uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

// Empty if there is no place for it.
std::string cache_folder() {
  if (const char* own = std::getenv("FACULA_CACHE_DIR")) return own;
  if (const char* caches = std::getenv("XDG_CACHE_HOME")) return std::string(caches) + "/facula";
  if (const char* home = std::getenv("HOME")) return std::string(home) + "/.cache/facula";
  return "";
}

void make_folders(const std::string& path) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    mkdir(path.substr(0, at).c_str(), 0777);
  mkdir(path.c_str(), 0777);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

// Under another name first, then renamed: no reader ever sees a part. A cache that cannot be
// written is no error.
void write_file(const std::string& path, const std::string& content) {
  std::string unfinished = path + "." + std::to_string(getpid());
  {
    std::ofstream file(unfinished, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) {
      std::remove(unfinished.c_str());
      return;
    }
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) std::remove(unfinished.c_str());
}

struct Target {
  std::string architecture;
  bool is_machine_code;
};

// Machine code for the device, or PTX of the newest older architecture, which the driver then
// finishes.
Target target_of(int major, int minor) {
  const std::vector<int>& known = loaded_compiler().architectures;
  int wanted = major * 10 + minor, best = 0;
  for (int architecture : known) {
    if (architecture == wanted) return {"sm_" + std::to_string(wanted), true};
    if (architecture < wanted) best = std::max(best, architecture);
  }
  check(best > 0, "cuda: NVRTC ", loaded_compiler().version,
        " cannot compile for a GPU of compute capability ", major, ".", minor,
        "; install an older version of nvidia-cuda-nvrtc.");
  return {"compute_" + std::to_string(best), false};
}

const Compiler& compiler() {
  const Loaded& loaded = loaded_compiler();
  check(loaded.problem.empty(), "cuda: ", loaded.problem, ".");
  return loaded.compiler;
}

std::string compile_now(const std::string& source, const Target& target, Arithmetic arithmetic) {
  const Compiler& c = compiler();
  std::vector<const char*> names, texts;
  for (int i = 0; i < kNumKernelSources; ++i) {
    names.push_back(kKernelSources[i].name);
    texts.push_back(kKernelSources[i].text);
  }
  void* program = nullptr;
  check(c.create(&program, source.c_str(), "kernel.cu", kNumKernelSources, texts.data(),
                 names.data()) == 0,
        "cuda: NVRTC could not start a program.");
  std::string architecture = "--gpu-architecture=" + target.architecture;
  std::vector<const char*> options = {architecture.c_str(), "--std=c++17",
                                      "--device-as-default-execution-space"};
  if (arithmetic == Arithmetic::Exact) {
    options.push_back("--fmad=false");
  } else {
    options.push_back("--prec-div=false");
    options.push_back("--prec-sqrt=false");
  }
  int result = c.compile(program, static_cast<int>(options.size()), options.data());
  std::string code;
  size_t size = 0;
  if (result == 0) {
    (target.is_machine_code ? c.cubin_size : c.ptx_size)(program, &size);
    code.resize(size);
    (target.is_machine_code ? c.cubin : c.ptx)(program, code.data());
  } else {
    c.log_size(program, &size);
    code.resize(size);
    c.log(program, code.data());
  }
  c.destroy(&program);
  check(result == 0, "cuda: a kernel could not be compiled for ", target.architecture, ":\n", code);
  return code;
}

}  // namespace

std::string compiler_problem() { return loaded_compiler().problem; }

std::string version_problem() {
  int version = 0, wanted = loaded_compiler().major;
  if (driver().version(&version) != kSuccess || version / 1000 >= wanted) return "";
  return "the NVIDIA driver is too old: it runs programs of CUDA " +
         std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) +
         ", and the compiler NVRTC is of CUDA " + loaded_compiler().version +
         ". Update the driver, or install an older compiler with: pip install "
         "'nvidia-cuda-nvrtc<" +
         std::to_string(version / 1000 + 1) + "'";
}

std::string compile(const std::string& source, int major, int minor, Arithmetic arithmetic) {
  compiler();
  Target target = target_of(major, minor);
  static const std::string folder = [] {
    std::string path = cache_folder();
    if (!path.empty()) make_folders(path);
    return path;
  }();
  if (folder.empty()) return compile_now(source, target, arithmetic);
  Hash hash;
  hash.add(source);
  for (int i = 0; i < kNumKernelSources; ++i) hash.add(kKernelSources[i].text);
  hash.add(target.architecture);
  hash.add(arithmetic == Arithmetic::Exact ? "exact" : "rounded");
  hash.add(loaded_compiler().version);
  std::string path = folder + "/" + hash.digits() + (target.is_machine_code ? ".cubin" : ".ptx");
  std::string code = read_file(path);
  if (code.empty()) {
    code = compile_now(source, target, arithmetic);
    write_file(path, code);
  }
  return code;
}

namespace {

std::vector<void (*)(std::vector<Program>&)>& listers() {
  static std::vector<void (*)(std::vector<Program>&)> list;
  return list;
}

}  // namespace

ProgramLister::ProgramLister(void (*list)(std::vector<Program>&)) { listers().push_back(list); }

std::vector<Program> all_programs() {
  std::vector<Program> programs;
  for (auto list : listers()) list(programs);
  return programs;
}

void* load_kernel(const std::string& source, const char* entry, int index, Arithmetic arithmetic) {
  const Properties& p = properties(index);
  std::string code = compile(source, p.major, p.minor, arithmetic);
  enter(index);
  void *module = nullptr, *kernel = nullptr;
  check_result(driver().module_load(&module, code.c_str()), "cuModuleLoadData");
  check_result(driver().module_function(&kernel, module, entry), "cuModuleGetFunction");
  return kernel;
}

void launch(void* kernel, int index, Grid grid, int n_threads, const void* arguments) {
  check(grid.x < (int64_t(1) << 31) && grid.y < 65536,
        "cuda: a tensor of this size is beyond what one kernel can address.");
  void* pointers[] = {const_cast<void*>(arguments)};
  enter(index);
  void* stream = current_stream(index);
  check_result(
      driver().launch(kernel, static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), 1,
                      static_cast<unsigned>(n_threads), 1, 1, 0, stream, pointers, nullptr),
      "cuLaunchKernel");
  if (is_launch_blocking()) synchronize_stream(index, stream);
}

}  // namespace facula::cuda
