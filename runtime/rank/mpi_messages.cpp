// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/mpi_messages.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/protocol/names.hpp"

namespace empi::rank {
namespace {

int g_messages = -1;  // a descriptor

void write_line(int, const char* text) { dprintf(g_messages, "libevent: %s\n", text); }

}  // namespace

void keep_libevent_apart() {
  const char* const number = std::getenv(names::kMpiMessages);
  if (!number) return;
  using Callback = void (*)(int severity, const char* text);
  using SetCallback = void (*)(Callback callback);
  // Open MPI may have a libevent of its own, or none that others see.
  const auto set = reinterpret_cast<SetCallback>(dlsym(RTLD_DEFAULT, "event_set_log_callback"));
  if (!set) return;
  g_messages = std::atoi(number);
  set(write_line);
}

}  // namespace empi::rank
