// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/agent_edges.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/profile/read/window_reader.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

namespace fs = std::filesystem;

// MPI_UNIVERSE_SIZE of malleable jobs: room to grow.
constexpr std::uint32_t kUniverse = 1024;

// The library that belongs to this agent: beside it, in lib/ of a build folder or an image, or where it is
// installed.
std::string find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {".", "../lib", EMPI_LIBRARY_FOLDER}) {
    const fs::path candidate = (here / folder / EMPI_LIBRARY_FILE).lexically_normal();
    if (fs::exists(candidate, error)) return candidate;
  }
  return "";
}

Patience patience_of(const Options& options) {
  Patience patience;
  patience.silence =
      std::chrono::duration_cast<RunningTime>(std::chrono::duration<double>(options.partition_seconds));
  patience.refusal = std::max(patience.refusal, patience.silence);
  return patience;
}

}  // namespace

AgentEdges::AgentEdges(const Options& options, std::string shm_folder, Janitor& janitor, Reactor& reactor,
                       TokenFile& token, std::shared_ptr<tls::Credentials> credentials, Inward inward)
    : options_(options),
      shm_folder_(std::move(shm_folder)),
      library_(find_library()),
      reactor_(reactor),
      on_end_(std::move(inward.on_end)),
      pages_(options.run_dir),
      output_(options.prefix_output, options.pod_name),
      launcher_(output_, janitor),
      inbox_(options.pod_uid) {
  link_ = std::make_unique<RankLink>(reactor_, options_.run_dir + "/" + names::kSocketFile,
                                     std::move(inward.on_report));
  pmix_ = std::make_unique<PmixServer>(options_.run_dir + "/pmix", options_.pod_name, options_.pod_uid,
                                       inward.pmix);
  const auto tell = [this, on_news = std::move(inward.on_news)](DeliveryNews news) {
    reactor_.post([this, on_news, news = std::move(news)] {
      if (peers_->is_current(news)) on_news(news);
    });
  };
  peers_ = std::make_unique<Peers>(options_.pod_uid, token, clock_, patience_of(options_), tell,
                                   std::move(credentials));
}

void AgentEdges::stop() {
  peers_.reset();
  kill_all();
}

Moment AgentEdges::moment() {
  return {Clock::now(), clock_.now(),
          profile::window_index(profile::wall_ns(), std::int64_t{options_.window_millis} * 1'000'000)};
}

// --- Other pods.

void AgentEdges::admit(const std::string& uid, const std::string& address) {
  peers_->add(uid, address);  // first: a farewell to a pod of this uid is over then
  const std::lock_guard lock(inbox_mutex_);
  inbox_.admit(uid);
}

void AgentEdges::send(const std::vector<std::string>& uids, const Message& message) {
  const MessageBytes bytes = encode(message);
  for (const std::string& uid : uids) peers_->send(uid, bytes);
}

void AgentEdges::dismiss(const std::string& uid) {
  const auto refuse_it = [this, uid] {
    const std::lock_guard lock(inbox_mutex_);
    inbox_.dismiss(uid);
  };
  if (peers_->knows(uid))
    peers_->part(uid, refuse_it);
  else
    refuse_it();
}

void AgentEdges::drop(const std::string& uid) {
  peers_->drop(uid);
  const std::lock_guard lock(inbox_mutex_);
  inbox_.retire(uid);
}

Arrival AgentEdges::accept(const Batch& batch, const std::function<void()>& take) {
  const std::lock_guard lock(inbox_mutex_);  // until it is taken: the next may come on another connection
  const Arrival arrival = inbox_.accept(batch);
  if (arrival == Arrival::New) take();
  return arrival;
}

// --- Ranks.

RankPlace AgentEdges::place_of(const ProcId& proc, bool joining) const {
  RankPlace place;
  place.proc = proc;
  place.joining = joining;
  place.socket = options_.run_dir + "/" + names::kSocketFile;
  place.page = pages_.path(proc);
  place.shm_folder = shm_folder_;
  place.library = library_;
  place.crowded =
      options_.shares_processors || options_.slots > static_cast<int>(std::thread::hardware_concurrency());
  return place;
}

void AgentEdges::launch(const ProcId& proc, bool joining) {
  std::vector<std::string> inherited;
  for (char** at = environ; *at; ++at) inherited.push_back(*at);
  pmix_->add_client(proc);
  pages_.create(proc);
  launcher_.launch(
      proc, options_.command,
      rank_environment(options_, place_of(proc, joining), inherited, pmix_->client_environment(proc)));
}

void AgentEdges::kill_all() { launcher_.kill_all(SIGKILL); }

void AgentEdges::forget(const ProcId& proc) {
  output_.forget(proc);
  pages_.remove(proc);
}

std::uint64_t AgentEdges::highest_probe(const std::vector<ProcId>& procs, ProbeMode mode) {
  return pages_.highest_probe(pages_.probing(procs, mode));
}

std::vector<ProbeMark> AgentEdges::probe_marks(const std::vector<ProcId>& procs, ProbeMode mode) {
  return pages_.probe_marks(pages_.probing(procs, mode));
}

bool AgentEdges::arm(const std::vector<ProcId>& procs, const Step& step, ProbeMode mode) {
  return pages_.arm(procs, step.iteration, step.joiners_precede, mode);
}

// --- PMIx.

void AgentEdges::add_namespace(const Namespace& space) {
  pmix_->add_namespace(space, options_.malleable ? kUniverse : 0);
}

void AgentEdges::notify(const RankEvent& event) {
  pmix_->notify(event.code, event.source, event.infos, event.packed);
}

void AgentEdges::connection_data(const ProcId& proc, Blob reply) {
  pmix_->modex_of_local(proc, [this, reply = std::move(reply)](int status, std::string bytes) {
    reactor_.post([reply, status, bytes = std::move(bytes)] { reply(status, bytes); });
  });
}

void AgentEdges::ended(const JobOutcome& outcome) {
  kill_all();
  on_end_(outcome);
}

}  // namespace empi::agent
