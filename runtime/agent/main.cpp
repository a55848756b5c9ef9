// SPDX-License-Identifier: Apache-2.0
// Entrypoint of a worker pod.
#include <linux/magic.h>
#include <signal.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/agent/agent.hpp"
#include "runtime/agent/image_check.hpp"
#include "runtime/agent/janitor.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/log_lines.hpp"
#include "runtime/protocol/names.hpp"

namespace {

namespace fs = std::filesystem;
using empi::agent::Options;

bool in_memory(const std::string& folder) {
  struct statfs info{};
  return statfs(folder.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

// Open MPI's shared-memory segments must be in memory; the run directory is preferred, because it goes with
// the pod.
std::string shm_folder(const Options& options) {
  const bool own = in_memory(options.run_dir) || access("/dev/shm", W_OK) != 0;
  return own ? options.run_dir + "/shm" : "/dev/shm/elastic-mpi." + options.pod_uid;
}

// What the agent keeps in its run directory; other things in there are not ours.
std::vector<std::string> own_files(const Options& options, const std::string& shm) {
  std::vector<std::string> paths = {options.run_dir + "/pmix",
                                    options.run_dir + "/" + empi::names::kSocketFile,
                                    options.run_dir + "/" + empi::names::kViewSocketFile, shm};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options.run_dir, error))
    if (entry.path().filename().string().starts_with(empi::names::kPagePrefix)) paths.push_back(entry.path());
  return paths;
}

void make_folders(const Options& options, const std::string& shm) {
  fs::create_directories(options.run_dir);
  for (const std::string& leftover : own_files(options, shm))
    fs::remove_all(leftover);  // a killed predecessor's
  for (const std::string& folder : {options.run_dir + "/pmix", shm}) {
    fs::create_directories(folder);
    fs::permissions(folder, fs::perms::owner_all);
  }
}

void set_up_logging(const Options& options) {
  empi::log::to_stderr("agent", empi::agent_log_pattern(options.pod_name), options.log_level);
}

// The signals that the agent reads from its event loop are blocked in every thread.
void block_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

// From when the end is certain until the agent has told others and written down why, and from then on.
constexpr std::chrono::seconds kToSaySo{30}, kToEnd{10};

// Ends the process by force when its end takes too long: a library hangs, or the janitor.
class LastResort {
 public:
  ~LastResort() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  // With this exit code, so long from now.
  void set(int code, std::chrono::seconds patience) {
    const std::lock_guard lock(mutex_);
    until_ = std::chrono::steady_clock::now() + patience;
    changed_.notify_all();
    if (!thread_.joinable()) try {
        thread_ = std::thread([this, code] { wait(code); });
      } catch (const std::system_error& error) {
        empi::log::warn("nobody watches over the end: {}", error.what());
      }
  }

 private:
  void wait(int code) {
    std::unique_lock lock(mutex_);
    while (!done_ && std::chrono::steady_clock::now() < until_) changed_.wait_until(lock, until_);
    if (done_) return;
    empi::log::error("the end takes too long: leaving by force");
    _exit(code);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::chrono::steady_clock::time_point until_;
  bool done_ = false;
  std::thread thread_;
};

// Ranks would die in their first call, or worse; so nothing is started.
void check_mpi(const Options& options) {
  if (!options.malleable || !options.check_mpi) return;
  const auto version = empi::agent::default_mpi();
  const std::string problem = version ? empi::agent::mpi_problem(*version) : "";
  if (!problem.empty()) throw std::runtime_error(problem);
}

int run(const Options& options) {
  check_mpi(options);
  const std::string shm = shm_folder(options);
  make_folders(options, shm);
  LastResort last_resort;
  // Before any thread exists. Pages are removed by name when their rank ends; the folder goes with the pod.
  empi::agent::Janitor janitor({options.run_dir + "/pmix", shm});
  block_signals();
  auto agent = std::make_unique<empi::agent::Agent>(options, shm, janitor,
                                                    [&](int code) { last_resort.set(code, kToSaySo); });
  const int code = agent->run();
  last_resort.set(code, kToEnd);
  if (!agent->stop()) {
    std::fflush(nullptr);
    _exit(code);
  }
  agent.reset();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options = empi::agent::read_options(argc, argv);
  try {
    set_up_logging(options);
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic-mpi-agent: %s\n", error.what());
    return 2;
  }
}
