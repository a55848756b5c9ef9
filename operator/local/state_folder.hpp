// SPDX-License-Identifier: Apache-2.0
// What is on disk of a local job, so that other terminals can look at it and it outlives its controller:
//
//   $EMPI_STATE_DIR (default ~/.local/state/elastic-mpi)/<job>/
//     spec.yaml     the job as it is now      status.json  its status
//     events.log    one line per event        socket       commands to the running controller
//     lock          locked while it runs      token        the job's bearer token (0600)
//     run           of which `empi run` it is one, while it runs      efficiency.json  of the last window
//     tls/          a folder for each pod: its certificate (0700, files 0600), while it runs
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/local/process.hpp"

namespace emj::local {

inline constexpr char kCertificates[] = "tls";

std::string state_root();
std::vector<std::string> known_jobs();  // names, sorted

class StateFolder {
 public:
  explicit StateFolder(const std::string& job) : path_(state_root() + "/" + job) {}

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // Makes the folder and takes the lock for as long as the result lives. Throws std::runtime_error with the
  // reason: another `empi run` has this name, or the folder cannot be written.
  UniqueFd claim();
  // Takes away what an earlier run of the job has left here. For who has claimed it.
  void clear() const;
  bool claimed() const;  // a controller is alive
  bool exists() const;

  void write_spec(const ElasticMPIJob& job) const;
  void write_status(const JobStatus& status) const;
  void append_event(const std::string& line) const;

  std::optional<ElasticMPIJob> read() const;  // spec and status
  std::optional<std::string> read_events() const;

 private:
  std::string path_;
};

}  // namespace emj::local
