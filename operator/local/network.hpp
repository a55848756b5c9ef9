// SPDX-License-Identifier: Apache-2.0
// The network of all local jobs of a process: a bridge in its network namespace, one link per pod, with the
// delay and bandwidth that the pod's job asks for. Uses the programs `ip` and `tc` of iproute2.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

#include "operator/api/job.hpp"

namespace emj::local {

// No bridge is to be had: pods can only share the loopback interface.
struct NoBridge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How the links of a job's pods are delayed and limited.
struct LinkLimits {
  std::vector<std::string> pod;  // `tc -batch` lines that the pod applies to its eth0: what it sends
  std::string bandwidth;         // tc arguments for the bridge's end: what it receives
};
LinkLimits link_limits(const LocalSpec& spec);

class Network {
 public:
  // Makes the bridge, an interface of that name (15 characters at most). Throws NoBridge when this kernel or
  // user cannot.
  explicit Network(const std::string& bridge);

  // Throws std::runtime_error when the limits are not to be had: netem is a kernel module of its own.
  static void probe(const LinkLimits& limits, const LocalSpec& spec);
  std::string new_address();  // never the same twice
  // Gives process `pid`, in its own network namespace, an eth0 on the bridge.
  void connect(int pid, const std::string& address, const LinkLimits& limits);

 private:
  std::string bridge_;
  int count_ = 0;
};

}  // namespace emj::local
