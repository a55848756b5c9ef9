// SPDX-License-Identifier: Apache-2.0
// Processor time of single threads of a process, by the names that debuggers and top show.
#pragma once
#include <sys/types.h>

#include <string_view>

namespace empi {

// The name of a thread of this process, from any thread; at most 15 characters. Nothing happens to one that
// has ended.
void name_thread(pid_t thread, std::string_view name);

// Seconds of processor time (user and system) that the threads called `name` have taken since they began; 0
// when there are none, or no such process.
double thread_seconds(pid_t process, std::string_view name);

}  // namespace empi
