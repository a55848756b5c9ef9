// SPDX-License-Identifier: Apache-2.0
// empi-queue-report DIR: pictures of many jobs on one machine, of what `empi simulate --out`, `empi run A B
// ... --out` or `./dev demo deadline` has left. A process of its own: the operator and `empi` draw nothing.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "apps/io/file_error.hpp"
#include "apps/queue/deadlines.hpp"
#include "apps/queue/shared.hpp"
#include "apps/queue/simulated.hpp"
#include "runtime/base/options.hpp"

namespace {

namespace fs = std::filesystem;

void draw(const fs::path& folder) {
  if (fs::exists(folder / "timeline.csv")) {
    for (const fs::path& picture : queue_pictures::draw_simulated(folder))
      std::printf("%s\n", picture.c_str());
    return;
  }
  if (fs::exists(folder / queue_pictures::kDeadlines)) {
    queue_pictures::write_due(folder, queue_pictures::read_due(folder));
    for (const char* name : {"deadlines.png", "workers.png", "summary.json"})
      std::printf("%s\n", (folder / name).c_str());
    return;
  }
  const auto jobs = queue_pictures::read_shared(folder);
  if (jobs.empty())
    throw io::FileError(
        folder.string(), "", "timeline.csv of a simulation, or folders of jobs", "neither",
        "name the --out of `empi simulate`, or of an `empi run` of several jobs that has ended");
  queue_pictures::write_shared(folder, jobs);
  std::printf("%s\n%s\n", (folder / "profile.png").c_str(), (folder / "summary.json").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  namespace options = empi::options;
  std::string dir;
  const options::Program program{
      .what = "Draws many jobs on one machine: a simulated one, or one that jobs have shared.",
      .options = {
          {"DIR", &dir, "folder with the results", {.check = options::existing_folder(), .required = true}}}};
  options::read_or_exit(program, argc, argv);
  try {
    draw(dir);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi-queue-report: %s\n", error.what());
    return 2;
  }
}
