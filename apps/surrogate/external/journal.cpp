// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/external/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "apps/io/file_error.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/unique_fd.hpp"

namespace surrogate {
namespace {

namespace fs = std::filesystem;
using io::FileError;

constexpr const char* kEmptyIt = "empty the folder, or name another one";

// Numbers in hexadecimal are their bits; the hash says that the line is whole.
std::string line_of(std::span<const double> parameters, std::span<const double> outputs) {
  std::string line;
  for (const auto& values : {parameters, outputs})
    for (const double value : values) line += empi::format("%a ", value);
  return line + io::hex(empi::fnv1a(line)) + "\n";
}

class Journal {
 public:
  Journal(std::string folder, const std::string& identity, int parameters, int outputs)
      : folder_(std::move(folder)),
        head_("# finished runs of " + identity + ", " + std::to_string(parameters) + " parameters, " +
              std::to_string(outputs) + " outputs"),
        parameters_(static_cast<std::size_t>(parameters)),
        outputs_(static_cast<std::size_t>(outputs)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error)
      throw FileError(folder_, "", "a folder for finished runs", error.message(), "name another one");
    read_all();
  }

  // Also among the runs that others have finished since it was looked last.
  const std::vector<double>* find(std::span<const double> parameters) {
    const std::vector<double> wanted(parameters.begin(), parameters.end());
    auto found = runs_.find(wanted);
    if (found == runs_.end()) {
      read_all();
      found = runs_.find(wanted);
    }
    return found == runs_.end() ? nullptr : &found->second;
  }

  void keep(std::span<const double> parameters, std::span<const double> outputs) {
    if (!file_) open();
    write(line_of(parameters, outputs));
    runs_.insert_or_assign(std::vector(parameters.begin(), parameters.end()),
                           std::vector(outputs.begin(), outputs.end()));
  }

 private:
  struct ByBits {
    bool operator()(const std::vector<double>& a, const std::vector<double>& b) const {
      return a.size() != b.size() ? a.size() < b.size()
                                  : std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) < 0;
    }
  };

  void read_all() {
    std::error_code error;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder_, error))
      if (entry.path().extension() == ".runs") files.push_back(entry.path());
    if (error) throw FileError(folder_, "", "a folder that can be read", error.message(), "name another one");
    for (const fs::path& file : files) read(file);
  }

  // Whole lines that have come since the last time.
  void read(const fs::path& file) {
    std::uintmax_t& done = read_to_[file];
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(file, gone);
    if (gone || size <= done) return;
    const std::string grown = part_of(file, done, size - done);
    std::string_view text = grown;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) return;  // being written, or cut
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      if (done == 0 && line != head_)
        throw FileError::at_line(file.string(), 1, "'" + head_ + "'", io::in_quotes(line), kEmptyIt);
      if (done > 0) take(line);
      done += end + 1;
    }
  }

  static std::string part_of(const fs::path& file, std::uintmax_t from, std::uintmax_t size) {
    std::ifstream in(file, std::ios::binary);
    std::string part(size, '\0');
    if (!in.seekg(static_cast<std::streamoff>(from)).read(part.data(), static_cast<std::streamsize>(size)))
      throw FileError(file.string(), "", "a readable file", std::strerror(errno), kEmptyIt);
    return part;
  }

  void take(std::string_view line) {
    const std::size_t last = line.rfind(' ');
    if (last == std::string_view::npos ||
        io::hex(empi::fnv1a(line.substr(0, last + 1))) != line.substr(last + 1))
      return;
    std::vector<double> values;
    for (const std::string_view word : io::TextScanner::words(line.substr(0, last)))
      values.push_back(std::strtod(std::string(word).c_str(), nullptr));
    if (values.size() != parameters_ + outputs_) return;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(parameters_);
    runs_.insert_or_assign(std::vector(values.begin(), middle), std::vector(middle, values.end()));
  }

  void open() {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    for (int number = 0;; ++number) {
      path_ = folder_ + "/" + host + "-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".runs";
      file_ = empi::UniqueFd(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644));
      if (file_) break;
      if (errno != EEXIST) fail();
    }
    write(head_ + "\n");
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t now = ::write(file_.get(), text.data(), text.size());
      if (now < 0 && errno == EINTR) continue;
      if (now <= 0) fail();
      text.remove_prefix(static_cast<std::size_t>(now));
    }
    if (fdatasync(file_.get()) != 0) fail();
  }

  [[noreturn]] void fail() const {
    throw FileError(path_, "", "to write a finished run", std::strerror(errno), "name another folder");
  }

  std::string folder_, head_, path_;
  std::size_t parameters_, outputs_;
  std::map<std::vector<double>, std::vector<double>, ByBits> runs_;
  std::map<fs::path, std::uintmax_t> read_to_;
  empi::UniqueFd file_;
};

}  // namespace

ForwardModel with_journal(ForwardModel model, const std::string& folder, const std::string& identity,
                          int parameters, int outputs) {
  return
      [model = std::move(model), journal = std::make_shared<Journal>(folder, identity, parameters, outputs)](
          std::span<const double> parameters, std::span<double> outputs) {
        if (const auto* found = journal->find(parameters)) {
          std::ranges::copy(*found, outputs.begin());
          return;
        }
        model(parameters, outputs);
        journal->keep(parameters, outputs);
      };
}

}  // namespace surrogate
