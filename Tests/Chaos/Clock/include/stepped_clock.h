#pragma once
// Nothing to call: the library is for LD_PRELOAD (ld.so(8)). See stepped_clock.c.
