// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/writer.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "runtime/base/positioned.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/checkpoint/series.hpp"

namespace empi::checkpoint {
namespace {

using SteadyClock = std::chrono::steady_clock;

std::string failed(const std::string& doing, const std::string& path) {
  return doing + " " + path + ": " + std::strerror(errno);
}

// Ranks write to one file, and the system lets one of them at a time: where they also compete with those that
// compute, the turns cost more than what is written in them.
constexpr std::size_t kRun = std::size_t{64} << 20;

constexpr char kNotNeeded[] = "it is not needed any more";

// The older ones of this program beyond the newest `keep`.
void prune(const std::string& folder, const std::string& program, int keep) {
  std::string error;
  int kept = 0;
  for (const std::string& name : newest_first(program, list(folder, error)))
    if (++kept > keep) unlink(std::string(folder).append("/").append(name).c_str());
}

}  // namespace

std::string write_share(const Share& share, const Abandoned& abandoned) {
  if (abandoned) return kNotNeeded;
  const UniqueFd file(open(share.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!file) return failed("opening", share.path);
  if (share.rank == 0 && ftruncate(file.get(), static_cast<off_t>(share.places.file_bytes)) != 0)
    return failed("sizing", share.path);
  std::uint64_t at = 0;
  std::vector<std::uint64_t> checksums;
  std::uint64_t first = 0, number = 0;
  struct {
    std::span<const std::byte> bytes;
    std::uint64_t offset = 0;
  } run;  // that is not written yet
  const auto flush = [&]() -> std::string {
    if (write_fully(file.get(), run.bytes, run.offset)) return {};
    return failed("writing " + std::to_string(run.bytes.size()) + " bytes to", share.path);
  };
  for (const Chunk& chunk : chunks(share.contents)) {
    if (chunk.rank != share.rank) {
      if (checksums.empty()) first = number + 1;
      ++number;
      continue;
    }
    if (abandoned) return kNotNeeded;
    const std::span bytes(share.data.data() + at, chunk.bytes);
    checksums.push_back(checksum(bytes));
    const std::uint64_t offset = share.places.parts[chunk.part] + chunk.begin;
    if (offset != run.offset + run.bytes.size() || run.bytes.size() >= kRun) {
      if (std::string error = flush(); !error.empty()) return error;
      run = {bytes.first(0), offset};
    }
    run.bytes = {run.bytes.data(), run.bytes.size() + bytes.size()};
    at += chunk.bytes;
    ++number;
  }
  if (std::string error = flush(); !error.empty()) return error;
  for (const Segment& segment : share.header)
    if (!write_fully(file.get(), segment.bytes, segment.offset))
      return failed("writing the header to", share.path);
  const auto table = std::as_bytes(std::span(checksums));
  if (!write_fully(file.get(), table, share.places.checksums + 8 * first))
    return failed("writing checksums to", share.path);
  if (abandoned) return kNotNeeded;
  if (fsync(file.get()) != 0) return failed("flushing", share.path);
  return {};
}

std::string finish(const std::string& folder, const std::string& part, const Contents& contents,
                   const Places& places, int keep, const Abandoned& abandoned) {
  const std::string now = folder + "/" + part;
  const std::string name = folder + "/" + whole_name(contents.program, contents.number);
  const auto all = chunks(contents);
  std::vector<std::uint64_t> table(all.size());
  const UniqueFd file(open(now.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failed("opening", now);
  if (!read_fully(file.get(), std::as_writable_bytes(std::span(table)), places.checksums))
    return failed("reading the checksums of", now);
  for (std::size_t c = 0; c < all.size(); ++c)
    if (table[c] == 0)
      return "what rank " + std::to_string(all[c].rank) + " wrote is not in " + now +
             " of rank 0: all pods need the same volume there";
  if (abandoned) return kNotNeeded;
  if (rename(now.c_str(), name.c_str()) != 0) return failed("renaming it to", name);
  if (const UniqueFd directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); directory)
    fsync(directory.get());  // not all file systems can
  prune(folder, contents.program, keep);
  return {};
}

std::vector<std::string> list(const std::string& folder, std::string& error) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  std::vector<std::string> names;
  for (auto entry = std::filesystem::directory_iterator(folder, code); !code && entry != end(entry);
       entry.increment(code))
    names.push_back(entry->path().filename());
  if (code) error = "reading the folder " + folder + ": " + code.message();
  return names;
}

struct Beside::Task {
  Abandoned abandoned = false;
  mutable std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::string result;
  SteadyClock::time_point begin = SteadyClock::now(), end;
};

Beside::~Beside() {
  if (!task_) return;
  task_->abandoned = true;
  std::unique_lock lock(task_->mutex);
  task_->ended.wait_for(lock, std::chrono::seconds(1), [this] { return task_->done; });
}

void Beside::start(Work work) {
  task_ = std::make_shared<Task>();
  // Not joined: a thread that hangs in a volume that is gone cannot be. It owns all that it uses.
  std::thread([task = task_, work = std::move(work)]() mutable {
    std::string result;
    try {
      result = work(task->abandoned);
    } catch (const std::exception& e) {
      result = e.what();
    }
    work = nullptr;
    const std::lock_guard lock(task->mutex);
    task->result = std::move(result);
    task->end = SteadyClock::now();
    task->done = true;
    task->ended.notify_all();
  }).detach();
}

bool Beside::busy() const {
  if (!task_) return false;
  const std::lock_guard lock(task_->mutex);
  return !task_->done;
}

std::string Beside::result() {
  const std::lock_guard lock(task_->mutex);
  return std::move(task_->result);
}

void Beside::abandon() {
  if (task_) task_->abandoned = true;
  task_.reset();
}

double Beside::seconds() const {
  if (!task_) return 0;
  const std::lock_guard lock(task_->mutex);
  return std::chrono::duration<double>((task_->done ? task_->end : SteadyClock::now()) - task_->begin)
      .count();
}

}  // namespace empi::checkpoint
