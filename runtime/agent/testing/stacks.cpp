// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/testing/stacks.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <vector>

#include "runtime/agent/testing/whole_file.hpp"

namespace empi::testing {

namespace fs = std::filesystem;

std::string threads_and_children(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::vector<std::string> tasks;
  std::error_code error;
  for (fs::directory_iterator at(folder + "/task", error), end; !error && at != end; at.increment(error))
    tasks.push_back(at->path());
  std::istringstream children(whole_file(folder + "/task/" + std::to_string(process) + "/children"));
  for (std::string child; children >> child;) tasks.push_back("/proc/" + child);
  std::string text;
  for (const std::string& task : tasks) {
    const std::string stat = whole_file(task + "/stat");
    const auto end_of_name = stat.rfind(") ");
    if (end_of_name != stat.npos)
      text += stat.substr(0, end_of_name + 3) + " " + whole_file(task + "/wchan") + "\n";
  }
  return text;
}

std::string stacks(pid_t process) {
  const std::string gdb =
      "timeout 20 gdb --batch -p " + std::to_string(process) +
      " -ex 'thread apply all backtrace 24' 2>/dev/null </dev/null | grep -E '^(#|Thread)'";
  const auto close = [](FILE* file) { pclose(file); };
  const std::unique_ptr<FILE, decltype(close)> output(popen(gdb.c_str(), "r"), close);
  std::string text;
  std::array<char, 4096> line;
  while (output && fgets(line.data(), line.size(), output.get()) != nullptr) text += line.data();
  return text;
}

}  // namespace empi::testing
