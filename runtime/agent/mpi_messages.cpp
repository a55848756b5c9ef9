// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/mpi_messages.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace empi::agent {
namespace {

constexpr std::string_view kTcp = "help-mpi-btl-tcp.txt";

// Of Open MPI 5.0's btl/tcp. Not among them: what a user has set wrong ("invalid if_inexclude"), and what the
// machine lacks ("accept failed", "socket flag fail").
constexpr std::array<std::string_view, 7> kTopics = {
    "dropped inbound connection",      // a joiner connects while this rank learns of it (quirk tcp-drops)
    "server accept cannot find guid",  // as above, one moment earlier
    "server getpeername failed",       // gone before it was asked for its address
    "server did not receive magic string",
    "client handshake fail",  // the other side dropped us: the rank tries again
    "client connect fail",    // to a rank that is gone
    "peer hung up",           // a rank is gone; the agent says which, and why
};

constexpr std::string_view kNbc = "NBC_Progress: an error ";  // nbc.c

// Of each component that is chosen and was not written with failures in mind (io/ompio, with the first file).
constexpr std::string_view kFaultTolerance = "help-mpi-ft.txt", kUntested = "module:untested:";

bool is_topic(std::string_view text) { return std::ranges::find(kTopics, text) != kTopics.end(); }

// BTL_ERROR of btl_base_error.h begins with "[HOST][[JOB,0],RANK][FILE:LINE:FUNCTION] ".
bool is_of_btl(std::string_view line) {
  const std::size_t name = line.find("][["), path = line.find("opal/mca/btl/");
  return line.starts_with('[') && name < path && path < line.find("] ");
}

bool is_printed_by_mpi(std::string_view line) { return line.starts_with(kNbc) || is_of_btl(line); }

}  // namespace

bool is_the_runtimes(std::string_view help_file, std::string_view topic) {
  // Where the file is not installed, Open MPI says so and gives the two the other way round, with the file's
  // folder.
  if (topic.ends_with(".txt")) std::swap(help_file, topic);
  return (help_file.ends_with(kTcp) && is_topic(topic)) ||
         (help_file.ends_with(kFaultTolerance) && topic.starts_with(kUntested));
}

std::vector<std::string> PrintedByMpi::take(std::vector<std::string>& lines) {
  std::vector<std::string> taken, kept;
  for (std::string& line : lines) {
    const bool ends = blank_follows_ && line.empty();
    blank_follows_ = line.starts_with(kNbc);
    if (!ends) (is_printed_by_mpi(line) ? taken : kept).push_back(std::move(line));
  }
  lines = std::move(kept);
  return taken;
}

}  // namespace empi::agent
