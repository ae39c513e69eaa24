// The name of a derivative in Python, made from that of its operation: log1p has Log1PBackward0.
#pragma once
#include <cstddef>

namespace facula {

class NodeName {
 public:
  // Letters at the start, after a digit and after an underscore, which goes, are capital.
  constexpr explicit NodeName(const char* op) : text_{} {
    size_t n = 0;
    bool begins = true;
    for (; *op; ++op) {
      if (*op != '_') text_[n++] = begins && *op >= 'a' && *op <= 'z' ? *op - 'a' + 'A' : *op;
      begins = *op == '_' || (*op >= '0' && *op <= '9');
    }
    for (const char* end = "Backward0"; *end; ++end) text_[n++] = *end;
  }
  constexpr operator const char*() const { return text_; }

 private:
  char text_[64];
};

}  // namespace facula
