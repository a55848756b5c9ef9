// SPDX-License-Identifier: Apache-2.0
// The namespaces that one local job lives in.
//
// `empi run` is two processes. The supervisor stays where the user started it, passes signals on and
// returns the exit code. The job process is the same program executed again as process 1 of a user, mount,
// pid and network namespace of its own: it runs the controller, holds the bridge and starts the pods. When
// it ends, in whatever way, the kernel ends every process, interface and mount of the job with it; and it
// ends when the supervisor does (parent-death signal).
#pragma once
#include <string>
#include <vector>

namespace emj::local {

enum class Isolation {
  Namespaces,     // pods have namespaces of their own, the network too
  SharedNetwork,  // all but the network: pods share the loopback interface
  None            // nothing is permitted here: process groups and parent-death signals only
};

const char* to_string(Isolation isolation);

// Runs this program again with `arguments` (argv without the program) as the job process, with as much of
// `wanted` as this machine permits, and returns its exit code. SIGINT, SIGTERM and SIGHUP are passed on.
// Call before any thread exists.
int supervise(const std::vector<std::string>& arguments, Isolation wanted);

// In the job process: what it got, and why it is less than wanted (empty when it is not).
struct JobNamespaces {
  Isolation isolation = Isolation::None;
  std::string reason;
  int lifeline = -1;  // a descriptor that reports hang-up when the supervisor is gone
};

// True when this process was started by supervise(). To be called once, first thing in main: it asks to die
// with the supervisor.
bool inside_job(JobNamespaces& out);

// --- building blocks, used for pods as well ---

// fork() into new namespaces (CLONE_NEW* flags). Only for processes with one thread. -1 and errno on failure.
int clone_process(int namespace_flags);
// Lets `pid`, in a new user namespace, keep every id that this process has; as an ordinary user outside any
// such namespace: becomes root there. Throws std::runtime_error.
void write_identity_maps(int pid);
// Brings up an interface of this network namespace. Throws std::runtime_error.
void set_interface_up(const char* name);

}  // namespace emj::local
