#pragma once
#include "bind/bind.h"
#include "ops/result.h"
