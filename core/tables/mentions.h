// For rows whose text says what has to be kept.
#pragma once

namespace facula {

// Whether the text of a formula has `name` as a word of its own.
constexpr bool mentions(const char* text, char name) {
  auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (const char* c = text; *c; ++c) {
    bool begins = c == text || !in_word(c[-1]);
    if (*c == name && begins && !in_word(c[1])) return true;
  }
  return false;
}

// Whether a row has a gradient: its text is not "none".
constexpr bool has_gradient(const char* text) {
  const char none[] = "none";
  for (int i = 0; i < 5; ++i)
    if (text[i] != none[i]) return true;
  return false;
}

}  // namespace facula
