// SPDX-License-Identifier: Apache-2.0
// The sidecar's settings: from the environment that the agent's container has too, overridden by flags.
#pragma once
#include <string>

#include "runtime/sidecar/pod_state.hpp"

namespace empi::sidecar {

struct Options {
  std::string run_dir;
  std::string listen;
  int port = 0;            // 0: any free one, printed
  std::string agent_host;  // empty: no agent to ask (rigid runs without one)
  int agent_port = 0;
  std::string token_file;
  std::string tls_folder;  // empty: all is plain, and on one port
  int report_port = 0;     // by TLS; 0: any free one
  std::string pod_uid;
  int window_millis = 1000;
  Identity identity;
};

// Reads environment and flags. Prints help or what is wrong and exits (0 or 2) when there is nothing to run.
Options parse_options(int argc, char** argv);

}  // namespace empi::sidecar
