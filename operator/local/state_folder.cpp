// SPDX-License-Identifier: Apache-2.0
#include "operator/local/state_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "operator/api/parse.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/names.hpp"

namespace emj::local {

namespace {

// Texts are quoted: a bare Off, 1 or null would be read back as something else.
void emit(YAML::Emitter& out, const nlohmann::json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, entry] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit(out, entry);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    out << YAML::BeginSeq;
    for (const auto& entry : value) emit(out, entry);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    out << YAML::DoubleQuoted << value.get<std::string>();
  } else {
    out << empi::json_text::text(value);
  }
}

std::string as_yaml(const nlohmann::json& object) {
  YAML::Emitter emitter;
  emit(emitter, object);
  return std::string(emitter.c_str()) + "\n";
}

}  // namespace

std::string state_root() {
  if (const char* folder = getenv(empi::names::kStateDir); folder && *folder) return folder;
  if (const char* folder = getenv("XDG_STATE_HOME"); folder && *folder)
    return std::string(folder) + "/elastic-mpi";
  const char* home = getenv("HOME");
  return std::string(home && *home ? home : "/tmp") + "/.local/state/elastic-mpi";
}

std::vector<std::string> known_jobs() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(state_root(), error)) {
    if (std::filesystem::exists(entry.path() / "status.json")) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

UniqueFd StateFolder::claim() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  UniqueFd lock(open(file("lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (error || !lock) {
    throw std::runtime_error("cannot write the state folder " + path_ + ": " +
                             (error ? error.message() : std::strerror(errno)) +
                             "; set EMPI_STATE_DIR to a folder that you own");
  }
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      throw std::runtime_error("cannot lock " + file("lock") + ": " + std::strerror(errno) +
                               "; set EMPI_STATE_DIR to a folder on a file system with locks (flock)");
    }
    throw std::runtime_error("a job of this name is running already (state in " + path_ +
                             "): wait for it, end it with `empi cancel`, or choose another metadata.name");
  }
  return lock;
}

void StateFolder::clear() const {
  std::error_code ignored;
  for (const char* old : {"spec.yaml", "status.json", "socket", "events.log", "token", "run"})
    std::filesystem::remove(file(old), ignored);
  std::filesystem::remove_all(file(kCertificates), ignored);
}

bool StateFolder::claimed() const {
  UniqueFd lock(open(file("lock").c_str(), O_RDWR | O_CLOEXEC));
  return lock && flock(lock.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool StateFolder::exists() const { return access(file("status.json").c_str(), R_OK) == 0; }

void StateFolder::write_spec(const ElasticMPIJob& job) const {
  nlohmann::json object = to_json(job);
  object.erase("status");
  write_file_atomically(file("spec.yaml"), as_yaml(object));
}

void StateFolder::write_status(const JobStatus& status) const {
  write_file_atomically(file("status.json"), empi::json_text::text(status_to_json(status), 1) + "\n");
}

void StateFolder::append_event(const std::string& line) const {
  UniqueFd log(open(file("events.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const std::string text = line + "\n";
  if (log) (void)!write(log.get(), text.data(), text.size());
}

std::optional<ElasticMPIJob> StateFolder::read() const {
  const auto spec = read_file(file("spec.yaml"));
  const auto status = read_file(file("status.json"));
  if (!spec || !status) return std::nullopt;
  auto job = parse_yaml(*spec, file("spec.yaml"));
  if (!job) throw std::runtime_error("reading the state of a job:\n" + job.message());
  const auto parsed = parse_status(empi::json_text::try_parse(*status));
  if (!parsed) throw std::runtime_error("reading " + file("status.json") + ":\n" + parsed.message());
  job.value().status = parsed.value();
  return job.value();
}

std::optional<std::string> StateFolder::read_events() const { return read_file(file("events.log")); }

}  // namespace emj::local
