// NVRTC for a GPU that is played by the CPU: the compiler of the machine makes a library of each
// program.
#include <unistd.h>

#include <sys/stat.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Program {
  std::string source;
  std::vector<std::string> names, texts;
  std::string log, code;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void replace(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The few lines of assembly that kernels have.
std::string without_assembly(std::string text) {
  replace(text, R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)))",
          "bits = emulated_half(value)");
  replace(text, R"(asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value)))",
          "bits = emulated_bfloat16(value)");
  replace(text, R"(asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits)))",
          "value = emulated_float(bits)");
  replace(text, R"(asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b)))",
          "product = uint64_t(a) * b");
  return text;
}

void write(const std::string& path, const std::string& text) {
  for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
    mkdir(path.substr(0, at).c_str(), 0777);
  std::ofstream(path, std::ios::binary) << text;
}

std::string own_folder() {
  const char* folder = std::getenv("FACULA_EMULATOR");
  return folder ? folder : ".";
}

// Where the headers of this process are, which are always the same.
const std::string& headers_of(const Program& program) {
  static const std::string folder = [&] {
    char name[] = "/tmp/facula-emulator-XXXXXX";
    std::string made = mkdtemp(name);
    for (size_t i = 0; i < program.names.size(); ++i)
      write(made + "/" + program.names[i], without_assembly(program.texts[i]));
    static std::string to_remove = made;
    std::atexit([] { std::system(("rm -rf " + to_remove).c_str()); });
    return made;
  }();
  return folder;
}

}  // namespace

extern "C" {

int nvrtcVersion(int* major, int* minor) {
  const char* given = std::getenv("FACULA_EMULATOR_NVRTC");
  *major = given ? std::atoi(given) : 0;
  *minor = 1;
  return 0;
}
int nvrtcGetNumSupportedArchs(int* n) {
  *n = 1;
  return 0;
}
int nvrtcGetSupportedArchs(int* list) {
  list[0] = 90;
  return 0;
}
int nvrtcCreateProgram(void** program, const char* source, const char*, int n_headers,
                       const char* const* texts, const char* const* names) {
  auto* made = new Program{source, {}, {}, {}, {}};
  for (int i = 0; i < n_headers; ++i) {
    made->names.push_back(names[i]);
    made->texts.push_back(texts[i]);
  }
  *program = made;
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}
int nvrtcCompileProgram(void* handle, int, const char* const*) {
  auto& program = *static_cast<Program*>(handle);
  std::string folder = headers_of(program), base = folder + "/program" + std::to_string(getpid());
  std::string text = "#include \"prelude.h\"\n" + program.source + "\n";
  static const std::regex entries(R"rx((?:__global__ void |FACULA_\w+\()(\w+)\s*[(,])rx");
  std::set<std::string> names;
  for (std::sregex_iterator it(program.source.begin(), program.source.end(), entries), end;
       it != end; ++it)
    names.insert((*it)[1]);
  // Programs of formulas have a namespace of their own.
  text += "namespace facula::program {}\nusing namespace facula::program;\n";
  for (const std::string& name : names) {
    text += "extern \"C\" void emulated_entry_" + name + "(const void* a) { emulated_call(&" +
            name + ", a); }\n";
    text += "extern \"C\" unsigned long emulated_size_" + name + "() { return emulated_size(&" +
            name + "); }\n";
  }
  write(base + ".cpp", text);
  std::string command =
      "g++ -std=gnu++17 -O1 -w -fPIC -shared -march=native -ffp-contract=off "
      "-fno-strict-aliasing -fpermissive -nostdinc++ -I" +
      own_folder() + " -I" + folder + " " + base + ".cpp -o " + base + ".so -lm > " + base +
      ".log 2>&1";
  int status = std::system(command.c_str());
  program.log = read(base + ".log");
  program.code = status == 0 ? read(base + ".so") : "";
  std::remove((base + ".so").c_str());
  return status == 0 ? 0 : 6;
}
int nvrtcGetProgramLogSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* text) {
  std::strcpy(text, static_cast<Program*>(program)->log.c_str());
  return 0;
}
int nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = static_cast<Program*>(program)->code.size();
  return 0;
}
int nvrtcGetCUBIN(void* program, char* code) {
  const std::string& made = static_cast<Program*>(program)->code;
  std::memcpy(code, made.data(), made.size());
  return 0;
}
int nvrtcGetPTXSize(void* program, size_t* size) { return nvrtcGetCUBINSize(program, size); }
int nvrtcGetPTX(void* program, char* code) { return nvrtcGetCUBIN(program, code); }
}
