// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/following.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "operator/api/condition_types.hpp"
#include "operator/api/parse.hpp"
#include "operator/api/yaml.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/programs/empi/cluster/log_lines.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli::cluster {

namespace {

using Kind = kube::ApiError::Kind;
using nlohmann::json;
namespace resources = kube::resources;

constexpr const char* kWorker = "worker";  // container

// --- logs -------------------------------------------------------------------------------------------

class LogFollower {
 public:
  LogFollower(ClusterAccess& access, std::string job, std::ostream& out, const Note& note, Millis pause)
      : access_(access), name_(std::move(job)), out_(out), note_(note), pause_(pause) {}

  void once() {
    const ElasticMPIJob job = access_.job(name_);
    if (job.status.lead_pod.empty())
      throw Refusal("job " + name_ + " is " + to_string(job.status.state) +
                    ": no worker has run yet; -f waits for one, kubectl empi why " + name_ + " says more");
    pod_ = job.status.lead_pod;
    const auto error = stream(false);
    if (!error) return;
    if (error->kind == Kind::NotFound)
      throw Refusal("pod " + pod_ + " of job " + name_ +
                    " is gone, and its log with it: spec.runPolicy.cleanPodPolicy None keeps both");
    throw access_.refusal(*error);
  }

  void until_the_end() {
    for (;; std::this_thread::sleep_for(pause_)) {
      const auto job = look();
      if (!job) continue;
      const bool ended = is_terminal(job->status.state);  // then what comes is the rest
      if (job->status.lead_pod.empty()) {
        if (ended) return;
        say("waiting for the workers of job " + name_);
        continue;
      }
      if (pod_ != job->status.lead_pod) move_to(job->status.lead_pod);
      const auto error = stream(true);
      if (ended) return error ? say(error->message) : void();
      if (error && error->kind == Kind::Forbidden) throw access_.refusal(*error);
    }
  }

 private:
  // Nothing: the cluster does not answer for a while.
  std::optional<ElasticMPIJob> look() {
    try {
      return access_.job(name_);
    } catch (const Refusal& problem) {
      if (!problem.may_pass()) throw;
      say(problem.what());
      return std::nullopt;
    }
  }

  void move_to(const std::string& pod) {
    if (!pod_.empty()) {
      say("rank 0 is in pod " + pod + " now");
      since_ = lines_.last_time();
      lines_.another_log();
    }
    pod_ = pod;
  }

  std::optional<kube::ApiError> stream(bool follow) {
    kube::Query query;
    query.add("container", kWorker).add("timestamps", "true");
    if (follow) query.add("follow", "true");
    const std::string& since = lines_.last_time().empty() ? since_ : lines_.last_time();
    if (!since.empty()) query.add("sinceTime", since);
    const std::string target = kube::object_path(resources::kPods, access_.key(pod_), "log") + query.text();
    const auto error = access_.client().stream_text(target, [&](const char* data, std::size_t size) {
      out_ << lines_.feed({data, size}) << std::flush;
      return out_.good();
    });
    out_ << lines_.end() << std::flush;
    return error;
  }

  void say(const std::string& text) {
    if (text != said_) note_(text);
    said_ = text;
  }

  ClusterAccess& access_;
  const std::string name_;
  std::ostream& out_;
  const Note note_;
  const Millis pause_;
  LogLines lines_;
  std::string pod_, since_, said_;
};

// --- run --------------------------------------------------------------------------------------------

bool names_a_namespace(const std::string& text, const std::string& file) {
  const auto document = load_yaml(text, file);
  return document && document.value().object.contains(json::json_pointer("/metadata/namespace"));
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// As it is created: what a server fills in is left out.
json object_of(const ElasticMPIJob& job, const std::string& namespace_name) {
  json object = to_json(job);
  object.erase("status");
  json& metadata = object["metadata"];
  metadata["namespace"] = namespace_name;
  for (const char* name : {"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"})
    metadata.erase(name);
  return object;
}

// What happens to the job, in lines.
class Story {
 public:
  explicit Story(const Note& note) : note_(note) {}

  void look(const ElasticMPIJob& job) {
    const JobStatus& status = job.status;
    std::string now = job.metadata.name + "  " + to_string(status.state);
    if (status.joined_replicas > 0) now += "  " + sizes_text(status);
    if (!status.reason.empty() && !is_terminal(status.state)) {
      const Condition* why = find_condition(status, status.reason);
      now += "  " + status.reason + (why ? ": " + why->message : "");
    }
    if (now != last_) note_(now);
    last_ = now;
    for (const DecisionRecord& decision : status.decisions) {
      if (decision.time <= told_ || decision.action != DecisionAction::Scale) continue;
      note_("decision " + decision_text(decision));
      told_ = decision.time;
    }
  }

 private:
  const Note& note_;
  std::string last_;
  Time told_{};
};

int exit_code_of_program(ClusterAccess& access, const std::string& job) {
  kube::ListOptions options;
  options.label_selector = worker_selector(job);
  const auto pods = access.client().list(resources::kPods, access.namespace_name(), options);
  if (!pods) return 1;
  for (const json& pod : pods.value().items) {
    const auto code = manager::to_pod_view(pod, job).exit_code;
    if (code && *code > 0 && *code < 128) return *code;
  }
  return 1;
}

std::string end_text(const ElasticMPIJob& job) {
  const JobStatus& status = job.status;
  std::string text = "job " + job.metadata.name + ": " + to_string(status.state);
  const Condition* failed = find_condition(status, condition::kFailed);
  if (status.state == JobState::Failed && failed) text += ", " + failed->reason + ": " + failed->message;
  if (status.start_time && status.completion_time)
    text +=
        "; ran " +
        duration_text(std::chrono::duration<double>(*status.completion_time - *status.start_time).count());
  return text;
}

// The job that is over. Throws Refusal when it is deleted.
ElasticMPIJob watch_until_the_end(ClusterAccess& access, const std::string& name, const Note& note,
                                  Millis pause) {
  Story story(note);
  std::string problem;
  for (;; std::this_thread::sleep_for(pause)) {
    try {
      ElasticMPIJob job = access.job(name);
      problem.clear();
      if (is_terminal(job.status.state)) return job;
      story.look(job);
    } catch (const Refusal& refusal) {
      if (!refusal.may_pass()) throw;
      if (problem != refusal.what()) note(refusal.what());
      problem = refusal.what();
    }
  }
}

// The namespace of the manifest counts where the command line names none, and must be the same where it does.
void choose_namespace(ClusterAccess& access, const ElasticMPIJob& job, const std::string& file, bool given) {
  const std::string& named = job.metadata.namespace_name;
  if (named.empty() || named == access.namespace_name()) return;
  if (given)
    throw Refusal(file + ": metadata.namespace is " + named + ", but -n says " + access.namespace_name() +
                  ": leave one of them out");
  access.use_namespace(named);
}

std::string create(ClusterAccess& access, const RunOnCluster& options, bool namespace_given) {
  const std::string text = read_input(options.manifest);
  auto loaded = load_manifest(text, options.manifest, options.overrides);
  if (!loaded) throw Refusal(first_line(loaded.message()));
  ElasticMPIJob& job = loaded.value();
  auto violations = validate_for_cluster(job);
  std::ranges::move(validate_start(job, std::chrono::floor<Millis>(std::chrono::system_clock::now())),
                    std::back_inserter(violations));
  if (refuses(violations)) throw Refusal(to_string(violations.front(), options.manifest));
  if (!names_a_namespace(text, options.manifest)) job.metadata.namespace_name.clear();
  choose_namespace(access, job, options.manifest, namespace_given);
  const auto created = access.client().create(resources::kElasticMpiJobs, access.namespace_name(),
                                              object_of(job, access.namespace_name()), {.strict = true});
  if (created) return job.metadata.name;
  if (created.error().kind == Kind::AlreadyExists)
    throw Refusal("job " + job.metadata.name + " is in namespace " + access.namespace_name() +
                  " already: name this one differently, or kubectl delete emj " + job.metadata.name);
  if (created.error().kind == Kind::NotFound)
    throw Refusal(created.error().message +
                  "; is Elastic MPI installed there (docs/operate.md), and is there a namespace " +
                  access.namespace_name() + "?");
  throw access.refusal(created.error());
}

}  // namespace

void logs(ClusterAccess& access, const std::string& job, bool follow, std::ostream& out, const Note& note,
          Millis pause) {
  LogFollower follower(access, job, out, note, pause);
  if (follow)
    follower.until_the_end();
  else
    follower.once();
}

int run(ClusterAccess& access, const RunOnCluster& options, bool namespace_given, std::ostream& out,
        const Note& note) {
  const std::string name = create(access, options, namespace_given);
  note("job " + name + " is created in namespace " + access.namespace_name() +
       "; Ctrl-C leaves it running, kubectl empi cancel " + name + " ends it");
  std::exception_ptr trouble;
  std::thread printing;
  if (!options.quiet)
    printing = std::thread([&] {
      try {
        logs(access, name, true, out, note, options.pause);
      } catch (const std::exception&) {  // a user may follow a job whose logs are not for all
        trouble = std::current_exception();
      }
    });
  const auto join = [&] {
    if (printing.joinable()) printing.join();
  };
  std::optional<ElasticMPIJob> ended;
  try {
    ended = watch_until_the_end(access, name, note, options.pause);
  } catch (const Refusal&) {
    join();
    throw;
  }
  join();
  if (trouble) {
    try {
      std::rethrow_exception(trouble);
    } catch (const std::exception& error) {
      note(std::string("no output: ") + error.what());
    }
  }
  note(end_text(*ended));
  return ended->status.state == JobState::Succeeded ? 0 : exit_code_of_program(access, name);
}

}  // namespace emj::cli::cluster
