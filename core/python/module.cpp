#include <pthread.h>

#include <atomic>

#include "autograd/node.h"
#include "base/parallel.h"
#include "blas/openblas.h"
#include "cpu/isa.h"
#include "python/cuda.h"

namespace facula {

void put_calls_in_front(nb::module_& m);  // of all functions bound so far
void bind_activation(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_conv(nb::module_& m);
void bind_dropout(nb::module_& m);
void bind_file(nb::module_& m);
void bind_loader_streams(nb::module_& m);
void bind_optim(nb::module_& m);
void bind_loss(nb::module_& m);
void bind_pad(nb::module_& m);
void bind_pool(nb::module_& m);
void bind_resample(nb::module_& m);
void bind_rnn(nb::module_& m);
void bind_roi(nb::module_& m);
void bind_embedding(nb::module_& m);
void bind_module_attribute(nb::module_& m);
void bind_norm(nb::module_& m);

namespace {

// Long kernels run without the interpreter lock. A thread that does not hold it (or a process that
// is ending) leaves it alone.
std::atomic<int64_t> n_computing{0};
void* leave_interpreter() {
  if (!PyGILState_Check()) return nullptr;
  ++n_computing;
  return PyEval_SaveThread();
}
void enter_interpreter(void* state) {
  if (!state) return;
  PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  --n_computing;
}

void bind_all(nb::module_& m) {
  bind_types(m);
  bind_tensor_type(m);
  init_node_type(m.ptr());
  bind_creation(m);
  bind_arithmetic(m);
  bind_unary(m);
  bind_activation(m);
  bind_binary(m);
  bind_compare(m);
  bind_ternary(m);
  bind_view(m);
  bind_reduce(m);
  bind_sort(m);
  bind_matmul(m);
  bind_conv(m);
  bind_indexing(m);
  bind_scan(m);
  bind_softmax(m);
  bind_loss(m);
  bind_attention(m);
  bind_order_stats(m);
  bind_pad(m);
  bind_pool(m);
  bind_resample(m);
  bind_file(m);
  bind_convert(m);
  bind_shape(m);
  bind_copy(m);
  bind_random(m);
  bind_loader_streams(m);
  bind_norm(m);
  bind_embedding(m);
  bind_dropout(m);
  bind_rnn(m);
  bind_roi(m);
  bind_autograd(m);
  bind_interop(m);
  bind_dlpack(m);
  bind_storage(m);
  bind_legacy(m);
  bind_runtime(m);
  bind_module_attribute(m);
  bind_optim(m);
  bind_cuda(m);
}

}  // namespace

bool is_any_thread_computing() { return n_computing.load() > 0; }

void bind_runtime(nb::module_& m) {
  m.def("get_num_threads", &get_num_threads, "The number of threads that kernels may use.");
  m.def(
      "set_num_threads",
      [](int n) {
        check(n > 0, "set_num_threads: expects a positive integer, got ", n, ".");
        set_num_threads(n);
      },
      "n"_a, "Sets the number of threads that kernels may use. Results do not depend on it.");
  m.def("set_flush_denormal", &set_flush_denormal, "mode"_a,
        "Whether denormal numbers are treated as zero. False if the machine cannot.");
  m.def("_cpu_capability", &cpu::isa_name);
  m.def("_blas_config", &blas::FACULA_BLAS(openblas_get_config));
}

}  // namespace facula

NB_MODULE(_core, m) {
  using namespace facula;
  nb::set_leak_warnings(false);
  pthread_atfork(nullptr, nullptr, [] { n_computing = 0; });  // a child has one thread
  set_blocking_hooks({leave_interpreter, enter_interpreter});
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const PythonError&) {
      set_python_exception();
    } catch (const Error&) {
      set_python_exception();
    }
  });
  try {
    bind_all(m);
    put_calls_in_front(m);
  } catch (const PythonError& error) {
    error.restore();
    throw nb::python_error();
  }
}
