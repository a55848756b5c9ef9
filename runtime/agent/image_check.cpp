// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/image_check.hpp"

#include <dlfcn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace empi::agent {
namespace {

constexpr char kLibrary[] = "libmpi.so.40";   // of Open MPI 4 and 5
constexpr char kWanted[] = "Open MPI v5.0.";  // what libelastic_mpi and the agent's PMIx are compiled for
constexpr std::size_t kLongest = 8192;        // MPI_MAX_LIBRARY_VERSION_STRING and more

enum Answer { kSaid = 0, kSilent = 1, kNone = 2 };

// Never returns.
void tell(int out, std::chrono::microseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const itimerval limit{{0, 0}, {seconds.count(), (patience - seconds).count()}};
  setitimer(ITIMER_REAL, &limit, nullptr);
  for (const char* of_ucx : {"UCX_MEM_EVENTS", "UCX_VFS_ENABLE"}) setenv(of_ucx, "n", 0);  // quirk ucx-hooks
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (!library) _exit(kNone);
  using Version = int (*)(char*, int*);
  const auto version = reinterpret_cast<Version>(dlsym(library, "MPI_Get_library_version"));
  std::array<char, kLongest> text{};
  int length = 0;
  if (!version || version(text.data(), &length) != 0) _exit(kSilent);
  const std::size_t size = strnlen(text.data(), text.size());
  _exit(write(out, text.data(), size) == static_cast<ssize_t>(size) ? kSaid : kSilent);
}

}  // namespace

std::optional<std::string> default_mpi(std::chrono::microseconds patience) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    tell(ends[1], patience);
  }
  close(ends[1]);
  std::string text;
  std::array<char, kLongest> buffer;
  for (ssize_t n; (n = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNone) return std::nullopt;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return std::nullopt;
  return text;
}

std::string mpi_problem(const std::string& version) {
  if (version.starts_with(kWanted)) return "";
  const std::string said = version.empty() ? "something else" : version.substr(0, version.find(','));
  return std::string("the image's ") + kLibrary + " is " + said +
         ", but Elastic MPI's runtime is made for Open MPI 5.0.x: build the program with Open MPI 5.0 "
         "(Debian 13 has "
         "it), or set spec.runtime.mode: Rigid to run it at a fixed size; a program that brings its own Open "
         "MPI 5.0 "
         "says so by EMPI_CHECK_MPI=no";
}

}  // namespace empi::agent
