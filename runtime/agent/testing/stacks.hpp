// SPDX-License-Identifier: Apache-2.0
// What a test that hangs says of processes: where they wait.
#pragma once
#include <sys/types.h>

#include <string>

namespace empi::testing {

// Name, state and place in the kernel of each thread, and of each child's first one, a line each.
std::string threads_and_children(pid_t process);

// By gdb, at most 20 s; "" where it is not installed or may not look.
std::string stacks(pid_t process);

}  // namespace empi::testing
