#include <pthread.h>

#include <atomic>

#include "autograd/node.h"
#include "base/parallel.h"
#include "bind/bind.h"
#include "bind/seam.h"
#include "cpu/isa.h"
#include "products/openblas.h"

namespace facula {

void bind_types(nb::module_& m);
void bind_tensor_type(nb::module_& m);

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

}  // namespace

bool is_any_thread_computing() { return n_computing.load() > 0; }

FACULA_BINDINGS {
  def_state(m, "get_num_threads", &get_num_threads,
            R"(The number of threads that operations may use.
    >>> facula.get_num_threads() >= 1
    True)"_doc);
  def_state(
      m, "set_num_threads",
      [](int n) {
        check(n > 0, "set_num_threads: expects a positive integer, got ", n, ".");
        set_num_threads(n);
      },
      "n"_a, R"(Sets the number of threads that operations may use; results do not depend on it.
    n: the number of threads, at least 1.
    >>> n_before = facula.get_num_threads()
    >>> facula.set_num_threads(2)
    >>> facula.get_num_threads()
    2
    >>> facula.set_num_threads(n_before))"_doc);
  def_state(
      m, "set_flush_denormal", &set_flush_denormal, "mode"_a,
      R"(Sets whether denormal numbers are treated as zero; returns False where the machine cannot.
    mode: True to treat them as zero, False to compute with them, which is slower.
    >>> can_flush = facula.set_flush_denormal(True)
    >>> (facula.tensor(1e-310, dtype=facula.float64) * 1).item() == 0.0 or not can_flush
    True
    >>> _ = facula.set_flush_denormal(False))"_doc);
  m.def("_cpu_capability", &cpu::isa_name);
  m.def("_blas_config", &products::FACULA_BLAS(openblas_get_config));
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
    bind_types(m);
    bind_tensor_type(m);
    init_node_type(m.ptr());
    run_bindings(m);
    seam::put_in_front(m);
  } catch (const PythonError& error) {
    error.restore();
    throw nb::python_error();
  }
}
