// SPDX-License-Identifier: Apache-2.0
// The process that holds one local pod: it makes the pod's namespaces, starts the agent as process 1 in
// them and the sidecar beside it, passes SIGTERM on, and ends when the agent ends. Executed as a hidden
// subcommand of `empi`, single-threaded, so that it may fork and clone freely.
#pragma once
#include <string>
#include <vector>

#include "operator/local/isolation.hpp"

namespace emj::local {

struct PodProcess {
  std::string name;  // host name
  Isolation isolation = Isolation::None;
  int parent = 0;       // process id of the job process
  std::string address;  // IPv4 of the pod, with Isolation::Namespaces
  std::string run_dir;  // below /dev/shm, which is the pod's own unless isolation is None
  std::string working_directory;
  std::vector<std::string> agent;        // absolute program and arguments
  std::vector<std::string> sidecar;      // empty: none
  std::vector<std::string> environment;  // NAME=VALUE
  std::vector<std::string> shaping;      // `tc -batch` lines for the pod's end of its link
};

std::string encode(const PodProcess& pod);
PodProcess decode_pod_process(const std::string& text);

inline constexpr char kPodHolderCommand[] = "__hold-pod";
inline constexpr int kPodNetworkPrefix = 16;

// Descriptor 3 is a socket to the job process. It reads the encoded PodProcess (length in decimal, newline,
// text); it writes "cloned <pid>\n", waits for "go\n", then writes "started\n" or "error <text>\n".
// Returns the exit code of the agent.
int hold_pod();

}  // namespace emj::local
