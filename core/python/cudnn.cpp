// cuDNN's version, and the switches of facula.backends.
#include "cuda/nn/cudnn.h"
#include "bind/bind.h"
#include "cuda/cuda.h"

namespace facula {

FACULA_BINDINGS {
  m.def("_cudnn_problem", &cuda::cudnn::problem);
  m.def("_cudnn_version", &cuda::cudnn::version);
  auto def_switch = [&](const char* name, bool cuda::cudnn::Settings::*member) {
    m.def((std::string("_cudnn_") + name).c_str(),
          [member] { return cuda::cudnn::settings().*member; });
    m.def((std::string("_set_cudnn_") + name).c_str(),
          [member](bool value) { cuda::cudnn::settings().*member = value; });
  };
  def_switch("enabled", &cuda::cudnn::Settings::enabled);
  def_switch("benchmark", &cuda::cudnn::Settings::benchmark);
  def_switch("deterministic", &cuda::cudnn::Settings::deterministic);
  def_switch("allow_tf32", &cuda::cudnn::Settings::allow_tf32);
  m.def("_cuda_matmul_allow_tf32", [] { return cuda::allows_tf32_matmul; });
  m.def("_set_cuda_matmul_allow_tf32", [](bool value) { cuda::allows_tf32_matmul = value; });
}

}  // namespace facula
