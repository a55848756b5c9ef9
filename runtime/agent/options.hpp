// SPDX-License-Identifier: Apache-2.0
// What an agent is told by its environment (runtime/protocol/names.hpp) or by flags of the same names.
#pragma once
#include <string>
#include <vector>

#include "runtime/agent/restart_notice.hpp"

namespace empi::agent {

struct Options {
  std::string job_name = "job", job_namespace = "default", job_uid;
  std::string pod_name, pod_uid;
  std::string address;  // IP that the other pods reach us by
  int port = 0;
  int slots = 1;
  std::string token_file;
  std::string tls_folder;  // empty: plain HTTP
  bool malleable = true;
  bool check_mpi = true;
  std::string interface = "eth0";
  double partition_seconds = 10;
  std::string termination_log;
  std::string log_level = "info";
  std::string run_dir;
  int window_millis = 1000;
  bool shares_processors = false;  // with other pods
  bool prefix_output = true;
  RestartNotice restart;
  std::vector<std::string> command;

  std::string endpoint() const { return address + ":" + std::to_string(port); }
};

// Reads environment and command line. Prints help or what is wrong and ends the process (0 or 2) when there
// is nothing to run.
Options read_options(int argc, char** argv);

}  // namespace empi::agent
