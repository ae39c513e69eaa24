// Warnings that name the user's line.
#pragma once

namespace facula {

// Warns at the line of the program that called the package, however deep in it we are. Throws where
// warnings are errors.
void warn_user(const char* text);

}  // namespace facula
