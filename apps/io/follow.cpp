// SPDX-License-Identifier: Apache-2.0
#include "apps/io/follow.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <system_error>

namespace io {
namespace fs = std::filesystem;

Drawing Drawing::of_running_job() {
  Drawing drawing;
  drawing.running_ = true;
  // File systems stamp with the time of the last clock tick, a little before now.
  drawing.begin_ = fs::file_time_type::clock::now() - std::chrono::milliseconds(50);
  return drawing;
}

bool Drawing::has(const fs::path& source) const {
  std::error_code error;
  const auto written = fs::last_write_time(source, error);
  return !error && (!running_ || written >= begin_);
}

void Drawing::once(const fs::path& source, const std::function<void()>& draw) {
  if (!has(source)) return;
  if (!running_) return draw();
  std::error_code error;
  const auto written = fs::last_write_time(source, error);
  const auto known = drawn_.find(source);
  if (error || (known != drawn_.end() && known->second == written)) return;
  try {
    draw();
    drawn_[source] = written;
  } catch (const std::exception&) {
    drawn_.erase(source);  // next time; what is wrong for good is said when the run has ended
  }
}

void follow(pid_t process, const std::function<void()>& draw) {
  constexpr int interval = 2000;  // ms
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor < 0) return;
  pollfd ended{descriptor, POLLIN, 0};
  do draw();
  while (poll(&ended, 1, interval) <= 0);
  close(descriptor);
}

}  // namespace io
