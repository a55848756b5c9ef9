// SPDX-License-Identifier: Apache-2.0
#include "operator/local/network.hpp"

#include <algorithm>
#include <stdexcept>

#include "operator/local/process.hpp"

namespace emj::local {

namespace {

void run_or_throw(const std::string& what, const std::vector<std::string>& argv, const std::string& lines) {
  const ProgramResult result = run_program(argv, lines);
  if (!result.ok()) throw std::runtime_error(what + ": " + result.output);
}

}  // namespace

LinkLimits link_limits(const LocalSpec& spec) {
  LinkLimits limits;
  if (spec.network_emulation == LocalEmulation::Calls) return limits;
  if (spec.network_megabits_per_second > 0) {
    const int rate = spec.network_megabits_per_second;
    // The bucket holds 2 ms at that rate, and at least a few full segments (veth sends up to 64 KiB at once).
    const int burst = std::max(128 * 1024, rate * 250);
    limits.bandwidth =
        "tbf rate " + std::to_string(rate) + "mbit burst " + std::to_string(burst) + " latency 100ms";
  }
  if (spec.network_delay_microseconds > 0) {
    limits.pod.push_back("qdisc add dev eth0 root handle 1: netem delay " +
                         std::to_string(spec.network_delay_microseconds) + "us limit 100000");
  }
  if (!limits.bandwidth.empty()) {
    limits.pod.push_back("qdisc add dev eth0 " +
                         std::string(limits.pod.empty() ? "root handle 10: " : "parent 1:1 handle 10: ") +
                         limits.bandwidth);
  }
  return limits;
}

Network::Network(const std::string& bridge) : bridge_(bridge) {
  const ProgramResult made = run_program(
      {"ip", "-batch", "-"}, "link add " + bridge_ + " type bridge forward_delay 0 stp_state 0\n" +
                                 "addr add 10.77.0.1/16 dev " + bridge_ + "\nlink set " + bridge_ + " up\n");
  if (!made.ok()) throw NoBridge("making a bridge with iproute2's ip: " + made.output);
}

// Not every kernel has every queueing discipline: asked once a job, on an interface made for it.
void Network::probe(const LinkLimits& limits, const LocalSpec& spec) {
  if (limits.pod.empty()) return;
  run_or_throw("making a probe interface", {"ip", "-batch", "-"},
               "link add eth0 type veth peer name empi-probe\n");
  std::string text;
  for (const std::string& line : limits.pod) text += line + "\n";
  const ProgramResult result = run_program({"tc", "-batch", "-"}, text);
  run_or_throw("removing the probe interface", {"ip", "-batch", "-"}, "link del eth0\n");
  if (result.ok()) return;
  if (result.exit_code == 127)
    throw std::runtime_error(result.output +
                             ": it limits the pods' network; install the package iproute2, or set "
                             "spec.local.networkEmulation to Calls");
  const bool delay = spec.network_delay_microseconds > 0;
  throw std::runtime_error("this kernel cannot limit the pods' network: " + result.output + "; " +
                           (delay ? "spec.local.networkDelayMicroseconds needs the kernel module sch_netem: "
                                    "load it (modprobe sch_netem), or set "
                                    "the field to 0, or spec.local.networkEmulation to Calls"
                                  : "spec.local.networkMegabitsPerSecond needs the kernel module sch_tbf: "
                                    "load it, or set the field to 0, or "
                                    "spec.local.networkEmulation to Calls"));
}

std::string Network::new_address() {
  ++count_;
  const int host = count_ + 1;  // .0.1 is the bridge
  if (host >= 65535) throw std::runtime_error("no address is left in 10.77.0.0/16 for another pod");
  return "10.77." + std::to_string(host / 256) + "." + std::to_string(host % 256);
}

void Network::connect(int pid, const std::string& address, const LinkLimits& limits) {
  const std::string link = "p" + address.substr(6);  // p0.2: unique on the bridge
  run_or_throw("connecting a pod to the bridge", {"ip", "-batch", "-"},
               "link add " + link + " type veth peer name eth0 netns " + std::to_string(pid) + "\nlink set " +
                   link + " master " + bridge_ + " up\n");
  if (limits.bandwidth.empty()) return;
  run_or_throw("limiting a pod's bandwidth", {"tc", "-batch", "-"},
               "qdisc add dev " + link + " root handle 10: " + limits.bandwidth + "\n");
}

}  // namespace emj::local
