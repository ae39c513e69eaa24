#pragma once
#include "ops/result.h"
