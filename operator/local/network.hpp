// SPDX-License-Identifier: Apache-2.0
#pragma once

// The job's own network: a bridge in the job process's network namespace, one link per pod, with the
// delay and bandwidth that the manifest asks for. Uses the programs `ip` and `tc` of iproute2.

#include <stdexcept>
#include <string>
#include <vector>

#include "operator/api/job.hpp"

namespace emj::local {

// No bridge is to be had: pods can only share the loopback interface.
struct NoBridge : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Network {
 public:
  // Makes the bridge, an interface of that name (15 characters at most). Throws NoBridge when this kernel or
  // user cannot, std::runtime_error when the limits in `spec` are not to be had (netem is a kernel module of
  // its own).
  Network(const LocalSpec& spec, const std::string& bridge);

  std::string new_address();  // never the same twice
  // Gives process `pid`, in its own network namespace, an eth0 on the bridge.
  void connect(int pid, const std::string& address);
  // `tc -batch` lines that the pod applies to its eth0: what it sends is delayed and limited.
  const std::vector<std::string>& pod_shaping() const { return shaping_; }

 private:
  std::string bridge_;
  std::vector<std::string> shaping_;
  std::string bandwidth_;  // tc arguments for the bridge's end of a link: what a pod receives
  int count_ = 0;
};

}  // namespace emj::local
