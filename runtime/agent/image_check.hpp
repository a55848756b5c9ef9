// SPDX-License-Identifier: Apache-2.0
// Whether the image's Open MPI is the one that the runtime is made for (decision K4), before a rank is
// started.
#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace empi::agent {

// What the libmpi.so.40 says of itself that programs of this image get by default: "Open MPI v5.0.7, package:
// ...". Asked in a process of its own, for a library of another make may do anything. Empty: it does not say.
// nullopt: there is none, and a program may bring its own; or it did not answer within `patience`, which says
// more of a busy node than of the library. Before any thread exists.
std::optional<std::string> default_mpi(std::chrono::microseconds patience = std::chrono::seconds(30));

// Why ranks cannot be made malleable with an Open MPI that says this of itself, and what to do; "" if they
// can.
std::string mpi_problem(const std::string& version);

}  // namespace empi::agent
