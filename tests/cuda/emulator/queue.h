// How the libraries beside the driver put their work into its streams.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <string>

using EmulatedQueue = int (*)(void* stream, int (*run)(void*), void* context);

// run() in the order of the stream; what it holds lives on, as a graph may run it again.
template <class Run>
int in_stream(void* stream, Run run) {
  static const EmulatedQueue queue = [] {
    const char* folder = std::getenv("FACULA_LIBRARY_PATH");
    std::string path = std::string(folder ? folder : ".") + "/libcuda.so.1";
    void* driver = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<EmulatedQueue>(dlsym(driver, "emulated_queue")) : nullptr;
  }();
  if (!queue) return run();
  return queue(
      stream, [](void* kept) { return (*static_cast<Run*>(kept))(); }, new Run(run));
}
