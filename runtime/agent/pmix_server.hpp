// SPDX-License-Identifier: Apache-2.0
// This pod's PMIx server, by which unmodified Open MPI ranks find each other.
#pragma once
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/rendezvous.hpp"
#include "runtime/protocol/namespaces.hpp"

namespace empi::agent {

using StatusReply = std::function<void(int status)>;
using BlobReply = std::function<void(int status, std::string blob)>;
using LookupReply = std::function<void(int status, std::vector<Published> found)>;

// What ranks ask of the world outside their pod. Called on PMIx's own thread: implementations post the
// request and return; replies may be given from any thread, once each.
class PmixUpcalls {
 public:
  virtual ~PmixUpcalls() = default;
  virtual void collective(std::string kind, std::vector<ProcId> procs, std::string blob, BlobReply reply) = 0;
  virtual void direct_modex(ProcId proc, BlobReply reply) = 0;
  virtual void publish(std::vector<Published> data, StatusReply reply) = 0;
  virtual void lookup(std::vector<std::string> keys, bool wait, int timeout_seconds, LookupReply reply) = 0;
  virtual void unpublish(std::vector<std::string> keys, ProcId owner, StatusReply reply) = 0;
  virtual void client_connected(ProcId proc) = 0;
  virtual void client_finalized(ProcId proc) = 0;
  // Open MPI's own messages: for the user, to standard output (target 1) or standard error (2), or
  // kMpiMessages.
  virtual void client_said(ProcId proc, int target, std::string text, StatusReply reply) = 0;
  virtual void client_aborted(ProcId proc, int status, std::string message) = 0;
  virtual void event(int code, ProcId source, std::size_t infos, std::string packed) = 0;
};

// One per process (PMIx keeps global state).
class PmixServer {
 public:
  // Starts the server with its files in `folder`. Throws std::runtime_error.
  PmixServer(const std::string& folder, const std::string& host, const std::string& pod_uid,
             PmixUpcalls& upcalls);
  // Without PMIx's finalize once is_damaged(): its thread goes on until the process ends.
  ~PmixServer();
  PmixServer(const PmixServer&) = delete;
  PmixServer& operator=(const PmixServer&) = delete;

  // These wait for PMIx's thread (never for another pod). They throw std::runtime_error when PMIx refuses.
  void add_namespace(const Namespace& ns, std::uint32_t universe_size);
  void remove_namespace(const std::string& name);
  void add_client(const ProcId& proc);
  // A rank has ended, and PMIx has not told that it connected: neither its namespace nor the server may be
  // taken down from then on (quirk client-dies-connecting).
  void died_unconnected(const ProcId& proc) { damaged_.insert(proc.nspace); }
  bool is_damaged() const { return !damaged_.empty(); }
  // Environment entries ("NAME=value") that connect a rank to this server.
  std::vector<std::string> client_environment(const ProcId& proc);

  // Does not wait: `reply` comes from PMIx's thread once the local rank has put its data.
  void modex_of_local(const ProcId& proc, BlobReply reply);
  // Tells the local ranks that `proc` died (decision: code -402, PMIX_ERR_PROC_ABORTED_BY_SIG).
  void notify_dead(const ProcId& proc);
  // Passes an event of another pod's rank on to the local ranks.
  void notify(int code, const ProcId& source, std::size_t infos, const std::string& packed);

 private:
  std::string folder_, pod_uid_;
  std::set<std::string> damaged_;  // namespaces
};

}  // namespace empi::agent
