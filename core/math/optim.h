// The rules of the optimisers, each once: what a step does to one element of a parameter.
//
// A rule is written over K, its numbers, and over X, the row of values that it updates: the
// parameter, its gradient and the rule's states. On the CPU numbers are double and values are
// vectors of elements. Where a gradient of the step itself is wanted, or on a device without a
// kernel, both are tensors (core/ops/optim/optim.cpp).
//
//   kNumbers   states that are one number per parameter; the first is the count of steps
//   kStates    states as large as the parameter; has_state says which of them are in use
//   read       names the options of a group, each before the member or members that it goes to
//   begin      once per parameter and step: updates the numbers, derives what update needs
//   update     the formula
//   is_first   only in a rule that needs it: whether this step made the states
#pragma once
#ifndef __CUDACC_RTC__
#include <cmath>
#endif

#include "math/primitives.h"

namespace facula::math {
inline namespace FACULA_ISA {

FACULA_FN bool is_zero(double x) { return x == 0; }
FACULA_FN double number(double x) { return x; }
#ifndef __CUDACC_RTC__
inline double raised(double base, double exponent) { return std::pow(base, exponent); }
#endif

// Two members that one option of a group goes to.
template <class K>
struct Members {
  K &first, &second;
};
template <class K>
Members<K> members(K& first, K& second) {
  return {first, second};
}

// What every rule starts with: the gradient, downhill, with the L2 penalty's part.
template <class V, class K>
FACULA_FN V slope(V g, V p, bool maximize, const K& weight_decay) {
  if (maximize) g = -g;
  if (!is_zero(weight_decay)) g = g + V(weight_decay) * p;
  return g;
}
// The average moved towards x by the fraction `weight`.
template <class V>
FACULA_FN V moved(V average, V x, V weight) {
  return average + weight * (x - average);
}
// The average of squares, of which `keep` stays.
template <class V, class K>
FACULA_FN V mixed(V average, V x, const K& keep) {
  return average * V(keep) + V(1 - keep) * x * x;
}

template <class K>
struct SGD {
  static constexpr int kNumNumbers = 0, kNumStates = 1;
  static constexpr const char* kNumbers[] = {nullptr};
  static constexpr const char* kStates[] = {"momentum_buffer"};
  bool has_state(int) const { return !is_zero(momentum); }

  K lr, momentum, dampening, weight_decay;
  bool nesterov, maximize;
  bool is_first = false;  // there is no momentum yet: the gradient itself becomes it
  template <class F>
  void read(F& of) {
    of("lr", lr, "momentum", momentum, "dampening", dampening, "weight_decay", weight_decay,
       "nesterov", nesterov, "maximize", maximize);
  }
  void begin(K*) {}

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    if (!is_zero(momentum)) {
      V m = is_first ? g : x.state(0) * V(momentum) + V(1 - dampening) * g;
      x.set_state(0, m);
      g = nesterov ? g + V(momentum) * m : m;
    }
    x.set_param(p - V(lr) * g);
  }
};

template <class K>
struct Adam {
  static constexpr int kNumNumbers = 1, kNumStates = 3;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  bool has_state(int i) const { return i < 2 || amsgrad; }

  K lr, beta1, beta2, eps, weight_decay;
  bool amsgrad, maximize, decoupled;
  K step_size, correction;  // reciprocals, here and below: a division costs as much as the rest
  template <class F>
  void read(F& of) {
    of("lr", lr, "betas", members(beta1, beta2), "eps", eps, "weight_decay", weight_decay,
       "amsgrad", amsgrad, "maximize", maximize, "decoupled_weight_decay", decoupled);
  }
  void begin(K* numbers) {
    K step = numbers[0] = numbers[0] + 1;
    step_size = lr / (1 - raised(beta1, step));
    correction = 1 / sqrt(1 - raised(beta2, step));
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, decoupled ? K(0) : weight_decay);
    if (decoupled) p = p * V(1 - lr * weight_decay);
    V m = moved(x.state(0), g, V(1 - beta1)), v = mixed(x.state(1), g, beta2);
    x.set_state(0, m);
    x.set_state(1, v);
    if (amsgrad) {
      v = max(x.state(2), v);
      x.set_state(2, v);
    }
    x.set_param(p - V(step_size) * m / (sqrt(v) * V(correction) + V(eps)));
  }
};

// Adam with Nesterov's momentum (Dozat, 2016).
template <class K>
struct NAdam {
  static constexpr int kNumNumbers = 2, kNumStates = 2;
  static constexpr const char* kNumbers[] = {"step", "mu_product"};
  static constexpr const char* kStates[] = {"exp_avg", "exp_avg_sq"};
  bool has_state(int) const { return true; }

  K lr, beta1, beta2, eps, weight_decay, momentum_decay;
  bool maximize, decoupled;
  K correction, of_grad, of_average;
  template <class F>
  void read(F& of) {
    of("lr", lr, "betas", members(beta1, beta2), "eps", eps, "weight_decay", weight_decay,
       "momentum_decay", momentum_decay, "maximize", maximize, "decoupled_weight_decay", decoupled);
  }
  K momentum_at(const K& step) const {
    return beta1 * (1 - 0.5 * raised(K(0.96), step * momentum_decay));
  }
  void begin(K* numbers) {
    K step = numbers[0] = numbers[0] + 1;
    K mu = momentum_at(step), next = momentum_at(step + 1);
    K product = numbers[1] = numbers[1] * mu;
    correction = 1 / (1 - raised(beta2, step));
    of_grad = lr * (1 - mu) / (1 - product);
    of_average = lr * next / (1 - product * next);
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, decoupled ? K(0) : weight_decay);
    if (decoupled) p = p * V(1 - lr * weight_decay);
    V m = moved(x.state(0), g, V(1 - beta1)), v = mixed(x.state(1), g, beta2);
    x.set_state(0, m);
    x.set_state(1, v);
    V scale = sqrt(v * V(correction)) + V(eps);
    x.set_param(p - (V(of_grad) * g + V(of_average) * m) / scale);
  }
};

// Adam with its variance rectified (Liu et al., 2019): plain momentum for the first steps.
template <class K>
struct RAdam {
  static constexpr int kNumNumbers = 1, kNumStates = 2;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"exp_avg", "exp_avg_sq"};
  bool has_state(int) const { return true; }

  K lr, beta1, beta2, eps, weight_decay;
  bool maximize, decoupled;
  K step_size, rectified_root;
  bool is_rectified;
  template <class F>
  void read(F& of) {
    of("lr", lr, "betas", members(beta1, beta2), "eps", eps, "weight_decay", weight_decay,
       "maximize", maximize, "decoupled_weight_decay", decoupled);
  }
  void begin(K* numbers) {
    K step = numbers[0] = numbers[0] + 1;
    K decay = raised(beta2, step), correction2 = 1 - decay;
    step_size = lr / (1 - raised(beta1, step));
    // The length of the average, and what it tends to.
    K limit = 2 / (1 - beta2) - 1, length = limit - 2 * step * decay / correction2;
    is_rectified = number(length) > 5;
    if (!is_rectified) return;
    K ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length);
    rectified_root = sqrt(correction2) * sqrt(ratio);
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, decoupled ? K(0) : weight_decay);
    if (decoupled) p = p * V(1 - lr * weight_decay);
    V m = moved(x.state(0), g, V(1 - beta1)), v = mixed(x.state(1), g, beta2);
    x.set_state(0, m);
    x.set_state(1, v);
    V d = V(step_size) * m;
    if (is_rectified) d = V(rectified_root) * d / (sqrt(v) + V(eps));
    x.set_param(p - d);
  }
};

template <class K>
struct Adamax {
  static constexpr int kNumNumbers = 1, kNumStates = 2;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"exp_avg", "exp_inf"};
  bool has_state(int) const { return true; }

  K lr, beta1, beta2, eps, weight_decay;
  bool maximize;
  K step_size;
  template <class F>
  void read(F& of) {
    of("lr", lr, "betas", members(beta1, beta2), "eps", eps, "weight_decay", weight_decay,
       "maximize", maximize);
  }
  void begin(K* numbers) {
    K step = numbers[0] = numbers[0] + 1;
    step_size = lr / (1 - raised(beta1, step));
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    V m = moved(x.state(0), g, V(1 - beta1));
    V largest = max(x.state(1) * V(beta2), abs(g) + V(eps));
    x.set_state(0, m);
    x.set_state(1, largest);
    x.set_param(p - V(step_size) * m / largest);
  }
};

template <class K>
struct Adagrad {
  static constexpr int kNumNumbers = 1, kNumStates = 1;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"sum"};
  bool has_state(int) const { return true; }

  K lr, lr_decay, eps, weight_decay;
  bool maximize;
  K step_size;
  template <class F>
  void read(F& of) {
    of("lr", lr, "lr_decay", lr_decay, "eps", eps, "weight_decay", weight_decay, "maximize",
       maximize);
  }
  void begin(K* numbers) {
    K before = numbers[0];
    numbers[0] = before + 1;
    step_size = lr / (1 + before * lr_decay);
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    V sum = x.state(0) + g * g;
    x.set_state(0, sum);
    x.set_param(p - V(step_size) * g / (sqrt(sum) + V(eps)));
  }
};

template <class K>
struct Adadelta {
  static constexpr int kNumNumbers = 1, kNumStates = 2;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"square_avg", "acc_delta"};
  bool has_state(int) const { return true; }

  K lr, rho, eps, weight_decay;
  bool maximize;
  template <class F>
  void read(F& of) {
    of("lr", lr, "rho", rho, "eps", eps, "weight_decay", weight_decay, "maximize", maximize);
  }
  void begin(K* numbers) { numbers[0] = numbers[0] + 1; }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    V squares = mixed(x.state(0), g, rho), steps = x.state(1);
    V d = sqrt(steps + V(eps)) / sqrt(squares + V(eps)) * g;
    x.set_state(0, squares);
    x.set_state(1, mixed(steps, d, rho));
    x.set_param(p - V(lr) * d);
  }
};

template <class K>
struct RMSprop {
  static constexpr int kNumNumbers = 1, kNumStates = 3;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"square_avg", "momentum_buffer", "grad_avg"};
  bool has_state(int i) const { return i == 0 || (i == 1 ? number(momentum) > 0 : centered); }

  K lr, alpha, eps, weight_decay, momentum;
  bool centered, maximize;
  template <class F>
  void read(F& of) {
    of("lr", lr, "alpha", alpha, "eps", eps, "weight_decay", weight_decay, "momentum", momentum,
       "centered", centered, "maximize", maximize);
  }
  void begin(K* numbers) { numbers[0] = numbers[0] + 1; }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    V squares = mixed(x.state(0), g, alpha), variance = squares;
    x.set_state(0, squares);
    if (centered) {
      V mean = moved(x.state(2), g, V(1 - alpha));
      x.set_state(2, mean);
      variance = squares - mean * mean;
    }
    V scale = sqrt(variance) + V(eps);
    if (has_state(1)) {
      V m = x.state(1) * V(momentum) + g / scale;
      x.set_state(1, m);
      x.set_param(p - V(lr) * m);
    } else {
      x.set_param(p - V(lr) * g / scale);
    }
  }
};

template <class K>
struct Rprop {
  static constexpr int kNumNumbers = 1, kNumStates = 2;
  static constexpr const char* kNumbers[] = {"step"};
  static constexpr const char* kStates[] = {"prev", "step_size"};
  bool has_state(int) const { return true; }

  K shrink, grow, smallest, largest;
  bool maximize;
  template <class F>
  void read(F& of) {
    of("etas", members(shrink, grow), "step_sizes", members(smallest, largest), "maximize",
       maximize);
  }
  void begin(K* numbers) { numbers[0] = numbers[0] + 1; }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V zero = V(0), g = x.grad(), size = x.state(1);
    if (maximize) g = -g;
    V agreement = g * x.state(0);
    size =
        select(agreement > zero, size * V(grow), select(agreement < zero, size * V(shrink), size));
    size = max(min(size, V(largest)), V(smallest));
    g = select(agreement < zero, zero, g);
    x.set_state(0, g);
    x.set_state(1, size);
    x.set_param(x.param() - select(g > zero, size, select(g < zero, -size, zero)));
  }
};

template <class K>
struct ASGD {
  static constexpr int kNumNumbers = 3, kNumStates = 1;
  static constexpr const char* kNumbers[] = {"step", "eta", "mu"};
  static constexpr const char* kStates[] = {"ax"};
  bool has_state(int) const { return true; }

  K lr, lambd, alpha, t0, weight_decay;
  bool maximize;
  K eta, mu;
  template <class F>
  void read(F& of) {
    of("lr", lr, "lambd", lambd, "alpha", alpha, "t0", t0, "weight_decay", weight_decay, "maximize",
       maximize);
  }
  // The rates of this step were made by the last one.
  void begin(K* numbers) {
    K step = numbers[0] = numbers[0] + 1, late = step - t0;
    eta = numbers[1];
    mu = numbers[2];
    numbers[1] = lr / raised(1 + lambd * lr * step, alpha);
    numbers[2] = number(late) > 1 ? 1 / late : K(1);
  }

  template <class X>
  FACULA_FN void update(X& x) const {
    using V = typename X::V;
    V p = x.param(), g = slope(x.grad(), p, maximize, weight_decay);
    p = p * V(1 - lambd * eta) - V(eta) * g;
    x.set_param(p);
    x.set_state(0, number(mu) == 1 ? p : moved(x.state(0), p, V(mu)));
  }
};

}  // namespace FACULA_ISA
}  // namespace facula::math

// Every rule, with the name of its function.
// clang-format off
#define FACULA_OPTIM_RULES(_)                                                   \
  _(SGD, sgd) _(Adam, adam) _(NAdam, nadam) _(RAdam, radam) _(Adamax, adamax)   \
  _(Adagrad, adagrad) _(Adadelta, adadelta) _(RMSprop, rmsprop) _(Rprop, rprop) \
  _(ASGD, asgd)
// clang-format on
