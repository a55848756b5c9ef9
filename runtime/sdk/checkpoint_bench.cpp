// SPDX-License-Identifier: Apache-2.0
// What checkpoints cost: ./dev bench checkpoint. Starts its ranks itself, each in an agent of its own; prints
//   bench checkpoint.bandwidth_ratio <bytes per second until a checkpoint is whole, over plain writing> ratio
//   bench checkpoint.beside_ratio    <the same over plain writing by a thread beside the same loop> ratio
//   bench checkpoint.bandwidth       <of all ranks, until a checkpoint is whole> GB/s
//   bench checkpoint.overhead        <share of the run time that one checkpoint a minute takes> share
//   bench checkpoint.restart         <start with a checkpoint, over a start that reads the same bytes> ratio
// Plain writing and reading: each rank a file of its own on the same volume, with fsync.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <elastic_mpi.hpp>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/options.hpp"

namespace {

namespace fs = std::filesystem;

struct Options {
  std::string role, folder;
  double megabytes = 128;
  int ranks = 2, iterations = 1600;
};

constexpr double kIterationSeconds = 0.01;
constexpr int kTimes =
    3;  // that each is written; the best counts: memory that a machine has not given before is slow

// What a run prints after "bench ", of rank 0; and how long it took.
std::pair<std::string, double> run(const Options& o, const std::string& role) {
  empi::testing::LocalPods pods;
  pods.slots = 1;
  pods.command = {fs::read_symlink("/proc/self/exe"),
                  "--role",
                  role,
                  "--folder",
                  o.folder,
                  "--megabytes",
                  std::to_string(o.megabytes),
                  "--iterations",
                  std::to_string(o.iterations)};
  const auto members = pods.launch(o.ranks);
  const auto begin = std::chrono::steady_clock::now();
  pods.start(members);
  for (const auto& m : members)
    if (pods.wait_for_end(m.uid) != 0) throw std::runtime_error("the ranks failed:\n" + pods.all_logs());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  std::istringstream log(pods.log(members[0].uid));
  std::string found;
  for (std::string line; std::getline(log, line);)
    if (const auto at = line.find("bench "); at != line.npos) found += line.substr(at) + "\n";
  return {found, elapsed.count()};
}

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + " failed");
}

// A new one each time, as each checkpoint is.
std::string own_file(const Options& o, int rank, const std::string& which) {
  return o.folder + "/" + which + "." + std::to_string(rank);
}

void write_plainly(const std::string& path, const std::vector<double>& data) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const auto* from = reinterpret_cast<const char*>(data.data());
  for (std::size_t left = data.size() * sizeof(double); left > 0;) {
    const ssize_t count = write(file, from, left);
    must(count > 0, "writing");
    from += count;
    left -= static_cast<std::size_t>(count);
  }
  must(fsync(file) == 0, "fsync");
  close(file);
}

void read_plainly(const std::string& path, std::vector<double>& data) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  auto* to = reinterpret_cast<char*>(data.data());
  for (std::size_t left = data.size() * sizeof(double); left > 0;) {
    const ssize_t count = read(file, to, left);
    must(count > 0, "reading");
    to += count;
    left -= static_cast<std::size_t>(count);
  }
  close(file);
}

// Passes that take as long whatever is in the caches, and some of the data's bandwidth.
double compute(std::vector<double>& data) {
  const double end = MPI_Wtime() + kIterationSeconds;
  double sum = 0;
  for (std::size_t at = 0; MPI_Wtime() < end; at = (at + 4096) % (data.size() - 4096))
    for (std::size_t i = at; i < at + 4096; ++i) sum += data[i] = .5 * (data[i] + 1);
  return sum;
}

// As a checkpoint is written: of a copy, by a thread, while the ranks compute. Seconds until all have.
// Collective.
double write_beside(const std::string& path, std::vector<double>& data) {
  const std::vector<double> copy = data;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  std::atomic<bool> done = false;
  std::thread writer([&] {
    write_plainly(path, copy);
    done = true;
  });
  for (int all = 0; all == 0;) {
    compute(data);
    const int mine = done ? 1 : 0;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  writer.join();
  return MPI_Wtime() - begin;
}

int of_a_rank(int argc, char** argv, const Options& o) {
  elastic::Loop loop(argc, argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<double> data;
  long done = 0;
  const auto rows = static_cast<std::int64_t>(o.megabytes * 1e6 / 8192) * ranks;
  loop.replicate(done);
  loop.block(data, rows, 1024);
  const double bytes = static_cast<double>(rows) * 8192;
  if (o.role == "read") read_plainly(own_file(o, rank, "plain0"), data);
  if (o.role == "restore") loop.checkpoint(1 << 30, o.folder);
  if (o.role != "write") {
    loop.run([](MPI_Comm) { return false; });
    must(o.role != "restore" || loop.restored(), "restoring");
    return 0;
  }

  std::ranges::fill(data, 1.25);
  // In turns, for the memory that files take is not always as slow.
  double plain = 1e9, beside = 1e9, ours = 1e9;
  const auto write_without = [&](int number) {
    beside = std::min(beside, write_beside(own_file(o, rank, "beside" + std::to_string(number)), data));
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    write_plainly(own_file(o, rank, "plain" + std::to_string(number)), data);
    MPI_Barrier(MPI_COMM_WORLD);
    plain = std::min(plain, MPI_Wtime() - begin);
  };
  const auto is_whole = [&](int number) {
    return fs::exists(o.folder + "/" + program_invocation_short_name + ".00000" + std::to_string(number) +
                      ".h5");
  };
  // In the first part nothing is written; at the end of it, and of each that follows, a checkpoint begins.
  const int part = o.iterations / (kTimes + 1);
  int whole = 0;
  double taken = 0, quiet = 0, busy = 0, last = MPI_Wtime();
  loop.checkpoint(part, o.folder);
  loop.run([&](MPI_Comm world) {
    compute(data);
    MPI_Barrier(world);
    const double now = MPI_Wtime();
    (done < part ? quiet : busy) += now - last;
    last = now;
    ++done;
    if (done % part == 0 && done / part == whole + 1) taken = now;
    int now_whole = done > part * (whole + 1) && is_whole(whole + 1) ? 1 : 0;
    MPI_Bcast(&now_whole, 1, MPI_INT, 0, world);
    if (now_whole != 0) {
      ours = std::min(ours, now - taken);
      write_without(whole++);
      last = MPI_Wtime();
    }
    return whole < kTimes && done < 1000000;
  });
  if (rank != 0) return 0;
  const double undisturbed = quiet / part * static_cast<double>(done - part);
  std::printf("bench checkpoint.bandwidth_ratio %.3f ratio\n", plain / ours);
  std::printf("bench checkpoint.beside_ratio %.3f ratio\n", beside / ours);
  std::printf("bench checkpoint.bandwidth %.3f GB/s\n", bytes / ours / 1e9);
  std::printf("bench checkpoint.overhead %.4f share\n", std::max(0.0, busy - undisturbed) / kTimes / 60);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  const empi::options::Program program{
      .what = "Measures checkpoints against plain writing and reading of the same bytes.",
      .options = {
          {"--megabytes",
           &o.megabytes,
           "data per rank",
           {.check = empi::options::in_range(1.0, 16384.0), .shows_default = true}},
          {"--ranks", &o.ranks, "ranks", {.check = empi::options::in_range(1, 64), .shows_default = true}},
          {"--iterations",
           &o.iterations,
           "of 10 ms; after each quarter a checkpoint begins",
           {.check = empi::options::in_range(30, 100000), .shows_default = true}},
          {"--folder", &o.folder, "on the volume to measure (default: a new one in the working directory)"},
          {"--role", &o.role, "of a rank; set by the program itself"}}};
  empi::options::read_or_exit(program, argc, argv);
  try {
    if (!o.role.empty()) return of_a_rank(argc, argv, o);
    const bool own = o.folder.empty();
    o.folder = fs::absolute(own ? "checkpoint-bench." + std::to_string(getpid()) : o.folder);
    fs::create_directories(o.folder);
    std::cout << run(o, "write").first;
    const double plain = run(o, "read").second, ours = run(o, "restore").second;
    std::fprintf(stderr, "start with plain reading %.2f s, from a checkpoint %.2f s\n", plain, ours);
    std::printf("bench checkpoint.restart %.3f ratio\n", ours / plain);
    if (own) fs::remove_all(o.folder);
  } catch (const std::exception& e) {
    std::cerr << "bench_checkpoint: " << e.what() << "\n";
    return 1;
  }
  return 0;
}
