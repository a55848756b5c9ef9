// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/thread_time.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace empi {

void name_thread(pid_t thread, std::string_view name) {
  std::ofstream("/proc/self/task/" + std::to_string(thread) + "/comm") << name;
}

double thread_seconds(pid_t process, std::string_view name) {
  static const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  double ticks = 0;
  std::error_code error;  // threads, and the process, may end at any time
  std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", error);
  for (; !error && thread != std::filesystem::directory_iterator(); thread.increment(error)) {
    // proc_pid_stat(5): "id (name) state" and 10 numbers, then the ticks in user mode and in the system.
    std::string stat;
    std::getline(std::ifstream(thread->path() / "stat"), stat);
    const std::size_t begin = stat.find('('), end = stat.rfind(')');
    if (begin == stat.npos || end == stat.npos || stat.substr(begin + 1, end - begin - 1) != name) continue;
    std::size_t at = end + 1;
    for (int field = 0; field < 11 && at != stat.npos; ++field) at = stat.find(' ', at + 1);
    if (at == stat.npos) continue;
    char* next = nullptr;
    ticks += static_cast<double>(std::strtoull(stat.c_str() + at, &next, 10));
    ticks += static_cast<double>(std::strtoull(next, nullptr, 10));
  }
  return ticks / ticks_per_second;
}

}  // namespace empi
