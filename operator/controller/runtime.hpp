// SPDX-License-Identifier: Apache-2.0
// What the controller needs from the running job: its agents, reached over HTTP (http_runtime.hpp).
// Every verb blocks for a bounded time and throws nothing.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "operator/controller/cluster.hpp"

namespace emj {

class Runtime {
 public:
  virtual ~Runtime() = default;

  // Whether observe() has its answer. If not it is being found out: the pass over the job ends, and is made
  // again when it is there (operator/agents/asking_runtime.hpp). A runtime that asks in observe() always has.
  virtual bool prepared(const ElasticMPIJob&, const std::vector<PodView>&) { return true; }
  // No program runs: an answer about the one before must not be taken for one about the next.
  virtual void nothing_runs(const JobKey&) {}
  // Asks the lead, and when it does not answer some other members, for all that they know: one request each.
  virtual RuntimeView observe(const ElasticMPIJob& job, const std::vector<PodView>& pods) = 0;
  // Which of these pods, that are no members yet, have agents that answer as theirs: uids. Asked in this
  // order up to the first that does not, with little patience for all of them together: there may be more.
  virtual std::set<std::string> answering(const ElasticMPIJob& job,
                                          const std::vector<PodView>& newcomers) = 0;
  // The newest measuring windows that observe() has read from a lead so far, oldest first.
  virtual std::vector<Sample> samples(const ElasticMPIJob& job) = 0;

  virtual Outcome start(const ElasticMPIJob& job, const StartJob& start) = 0;
  virtual Outcome name_lead(const ElasticMPIJob& job, const NameLead& lead) = 0;
  virtual Outcome change(const ElasticMPIJob& job, const SendChange& change) = 0;
  virtual Outcome cancel(const ElasticMPIJob& job, const CancelChange& cancel) = 0;
  // All of `notice.members` have been told when it is done. Who was told by this id is not told again.
  virtual Outcome give_notice(const ElasticMPIJob& job, const GiveNotice& notice) = 0;
  // Ends the program everywhere. The agents answer before they do it.
  virtual Outcome stop(const ElasticMPIJob& job, const StopJob& stop) = 0;
  // Nothing about this job needs to be remembered any more.
  virtual void forget(const JobKey& key) = 0;
};

}  // namespace emj
