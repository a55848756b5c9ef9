// SPDX-License-Identifier: Apache-2.0
// What is behind elastic::MasterWorker, for its sources.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "elastic_master_worker.hpp"
#include "runtime/queue/packing.hpp"
#include "runtime/queue/participant.hpp"

namespace elastic {

/// What phases ask of checkpoints. Behind an interface, so that only programs that have them need HDF5.
class PhaseCheckpoints {
 public:
  virtual ~PhaseCheckpoints() = default;
  /// Before a phase: the values are those that it begins with. Local.
  virtual void before_phase(const MasterWorker& job) = 0;
};

struct MasterWorker::State {
  // Order of the agent, on a thread of the library; the first two may come before there is a participant.
  std::mutex mutex;
  std::condition_variable ordered;
  std::string attach_to;
  std::vector<std::string> leave_ids;
  std::optional<empi::queue::Participant> participant;
  bool joining = false, left = false;
  bool starts = false;       // with the job
  bool values_known = true;  // not on a joiner before it has the values
  std::vector<std::unique_ptr<detail::Value>> values;
  std::size_t received = 0;  // values that have been taken from what a joiner got
  empi::queue::Bytes arrived;
  std::size_t arrived_at = 0;
  empi::queue::SharedBytes results;
  int workers = 1;
  bool changed = false, uses_world = false;
  double busy = 0;
  std::int64_t change_ns = 0;  // of which the agent knows
  int passing_exceptions = 0;
  std::int64_t phases =
      0;  // that this rank has taken part in, and those before the checkpoint it went on from
  std::unique_ptr<PhaseCheckpoints> checkpoints;

  empi::queue::Bytes pack() const;
  void take_one(detail::Value& value);
  void make_participant(const std::string& id, const std::string& host);
  void join();
  void start(int rank);
  void leave_as_told();
  void hear(int what, const std::string& text);
  void report_changes();
};

}  // namespace elastic
