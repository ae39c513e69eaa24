// Modes, one set for each thread: what new tensors and recorded operations are asked to do.
#pragma once

namespace facula {

bool is_grad_enabled();
void set_grad_enabled(bool on);
bool is_inference_mode_enabled();
void set_inference_mode_enabled(bool on);
bool is_anomaly_enabled();
void set_anomaly_enabled(bool on, bool check_nan);
bool is_anomaly_check_nan_enabled();

class GradModeGuard {
 public:
  explicit GradModeGuard(bool on) : before_(is_grad_enabled()) { set_grad_enabled(on); }
  ~GradModeGuard() { set_grad_enabled(before_); }
  GradModeGuard(const GradModeGuard&) = delete;

 private:
  bool before_;
};
struct NoGradGuard : GradModeGuard {
  NoGradGuard() : GradModeGuard(false) {}
};

}  // namespace facula
