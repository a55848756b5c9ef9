// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "apps/surrogate/external/child.hpp"
#include "apps/surrogate/external/model.hpp"
#include "runtime/base/text.hpp"

namespace surrogate {
namespace {

namespace fs = std::filesystem;

// A folder that goes when this does.
class Scratch {
 public:
  Scratch() : path_((fs::temp_directory_path() / "empi-model.XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class CommandRunner : public Runner {
 public:
  CommandRunner(Command command, double timeout) : command_(std::move(command)), timeout_(timeout) {}

  void run(std::span<const double> parameters, std::span<double> outputs) override {
    const Scratch scratch;
    std::string text;
    for (const double parameter : parameters) text += empi::format("%.17g\n", parameter);
    io::write_text(scratch.path() + "/parameters.txt", text);
    Child child({.words = command_.words, .folder = scratch.path(), .environment = {}});
    const Deadline until = deadline_in(timeout_);
    if (const std::string end = child.wait(until); !end.empty())
      throw std::runtime_error(command_.words[0] + ": " + end);
    read(scratch.path() + "/outputs.txt", outputs);
  }
  void restart() override {}

 private:
  static void read(const std::string& path, std::span<double> outputs) {
    const std::vector<char> bytes = io::read_bytes(path);
    io::TextScanner scanner("outputs.txt", std::string_view(bytes.data(), bytes.size()));
    for (std::size_t k = 0; k < outputs.size(); ++k)
      outputs[k] = scanner.next_number([k] { return "output " + std::to_string(k + 1); });
    if (const auto more = scanner.next_word())
      throw Hopeless("outputs.txt has more than the " + std::to_string(outputs.size()) +
                     " outputs that the problem file says: " + io::in_quotes(*more));
  }

  Command command_;
  double timeout_;
};

}  // namespace

std::unique_ptr<Runner> make_command(const Command& command, double timeout_seconds) {
  return std::make_unique<CommandRunner>(command, timeout_seconds);
}

}  // namespace surrogate
