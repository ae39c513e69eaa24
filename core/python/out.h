#pragma once
#include "ops/result_binding.h"
