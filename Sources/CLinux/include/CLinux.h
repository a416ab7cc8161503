// What Glibc's Swift module hides. `_GNU_SOURCE` is defined in the .c alone: in a header that Swift
// imports it breaks debug builds.
#pragma once
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
