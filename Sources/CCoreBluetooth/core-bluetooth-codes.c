#include "core-bluetooth-codes.h"
