#include "tensor/modes.h"

namespace facula {

namespace {
struct Modes {
  bool grad = true;
  bool inference = false;
  bool anomaly = false;
  bool anomaly_check_nan = true;
};
thread_local Modes modes;
}  // namespace

bool is_grad_enabled() { return modes.grad; }
void set_grad_enabled(bool on) { modes.grad = on; }
bool is_inference_mode_enabled() { return modes.inference; }
void set_inference_mode_enabled(bool on) { modes.inference = on; }
bool is_anomaly_enabled() { return modes.anomaly; }
bool is_anomaly_check_nan_enabled() { return modes.anomaly_check_nan; }
void set_anomaly_enabled(bool on, bool check_nan) {
  modes.anomaly = on;
  modes.anomaly_check_nan = check_nan;
}

}  // namespace facula
