// SPDX-License-Identifier: Apache-2.0
// A malleable program that checks all it owns in every iteration: what is replicated, what is in blocks, what
// is a sequence, what moves itself, and that objects of the old world are gone. Ends when the file `stop` is
// there. With a second argument it writes a checkpoint every so many iterations (0: none), with a third it
// goes on when ranks are lost, from copies every so many. Any finding ends the process with an exception, and
// so the job with an error.
#include <unistd.h>

#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elastic_mpi.hpp>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace {

constexpr std::int64_t kRows = 1003, kColumns = 5, kCells = 20011;

void expect(bool right, const char* what) {
  if (!right) throw std::runtime_error(std::string("loop_program: ") + what);
}

// Cells come in families of four that must stay together; later ones are heavier.
struct Cell {
  std::int64_t number;
  std::int32_t visits;
};
double weight(const Cell& c) { return 1 + static_cast<double>(c.number) / kCells; }
bool starts_family(const Cell& c) { return c.number % 4 == 0; }

int number(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::stoi(text) : 1;
}

struct Sizes {
  int rank = 0, size = 0;
  explicit Sizes(MPI_Comm comm) {
    elastic::check_mpi(MPI_Comm_rank(comm, &rank), "asking for the rank");
    elastic::check_mpi(MPI_Comm_size(comm, &size), "asking for the size");
  }
};

template <class T>
T sum_of(MPI_Comm comm, T value, MPI_Datatype type) {
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, MPI_SUM, comm), "summing");
  return value;
}

// The part [first, first + count) of this rank is where the parts of lower ranks end, and all together are
// total.
void expect_partition(MPI_Comm world, std::int64_t first, std::int64_t count, std::int64_t total,
                      const char* what) {
  std::int64_t end = 0;
  elastic::check_mpi(MPI_Scan(&count, &end, 1, MPI_INT64_T, MPI_SUM, world), "scanning");
  expect(count == 0 || first == end - count, what);
  expect(sum_of(world, count, MPI_INT64_T) == total, what);
}

class Program {
 public:
  Program(elastic::Loop& loop, std::string folder, std::int64_t checkpoint_every, std::int64_t recover_every)
      : loop_(loop), folder_(std::move(folder)) {
    loop.wish(1, 64);
    bool refused = false;
    try {
      loop.wish(3, 2);
    } catch (const elastic::Error&) {
      refused = true;
    }
    if (!refused) throw std::logic_error("loop_program: a wish for 3 to 2 workers was taken");
    if (!loop.joining()) start();
    loop.replicate(step_, name_, table_);
    block_ = &loop.block(u_, kRows, kColumns);
    loop.sequence(cells_, weight, starts_family);
    loop.data([this](MPI_Comm everybody, double capacity) { return move_tally(everybody, capacity); },
              [this] { tally_ = next_tally_; }, [this] { return save_tally(); },
              [this](MPI_Comm, const auto& parts) { load_tally(parts); });
    if (checkpoint_every > 0) loop.checkpoint(checkpoint_every, folder_ + "/checkpoints");
    if (recover_every > 0) loop.recoverable(recover_every);
    if (loop.joining() && file("mismatch")) loop.replicate(unexpected_);
    loop.on_release([this] {
      expect(duplicate_ != MPI_COMM_NULL || loop_.recoveries() > 0, "released twice");
      if (duplicate_ == MPI_COMM_NULL) return;
      was_revoked_ = 1;  // in a window all have released theirs before anybody goes on
      if (loop_.recovering()) MPIX_Comm_is_revoked(duplicate_, &was_revoked_);
      if (loop_.recovering() && file("keep-lost"))
        duplicate_ = MPI_COMM_NULL;  // as libraries do that an error leaves half way
      else
        MPI_Comm_free(&duplicate_);
    });
    loop.on_rebuild([this](MPI_Comm world) {
      if (loop_.recoveries() == 0 && !loop_.recovering()) die_if_told(Sizes(world).rank);
      expect(duplicate_ == MPI_COMM_NULL, "rebuilt before it was released");
      const bool goes_back = std::exchange(recoveries_, loop_.recoveries()) != loop_.recoveries();
      expect(loop_.recovering() == goes_back, "recovering() says otherwise");
      // Messages of those who are lost may still come; Open MPI would take them for some new communicator's.
      expect(!goes_back || was_revoked_,
             "an object of a world that has lost ranks was freed before it was revoked");
      was_revoked_ = 1;  // where a loss is met from here on, there is nothing yet that was freed
      MPI_Comm_dup(world, &duplicate_);
      if (step_ == 0) fill_block();
    });
  }

  void run() {
    loop_.run([this](MPI_Comm world) { return iterate(world); });
    if (loop_.left()) {
      expect(u_.empty() && cells_.empty(), "a leaver still holds data");
      std::printf("left after %" PRId64 " steps\n", step_);
      return;
    }
    const Sizes here(MPI_COMM_WORLD);
    MPI_Comm_free(&duplicate_);
    if (here.rank == 0 && loop_.restored()) std::printf("went on from step %" PRId64 "\n", first_step_);
    if (here.rank == 0) std::printf("finished ranks %d rollbacks %d\n", here.size, loop_.rollbacks());
    if (here.rank == 0 && loop_.recoveries() > 0) std::printf("recoveries %d\n", loop_.recoveries());
  }

 private:
  bool file(const std::string& name) const { return std::filesystem::exists(folder_ + "/" + name); }

  // RANK CHANGES. Right after the commit of a change nothing was copied in the new world yet.
  void die_if_told(int rank) const {
    int chosen = -1, changes = -1;
    std::ifstream(folder_ + "/die-in-rebuild") >> chosen >> changes;
    if (chosen == rank && changes == loop_.changes()) raise(SIGKILL);
  }

  void start() {
    const Sizes here(MPI_COMM_WORLD);
    name_ = "replicated";
    table_ = {1.5, 2.5, 4.5};
    tally_ = 1000;
    initial_ranks_ = here.size;
    for (std::int64_t i = here.rank * kCells / here.size; i < (here.rank + 1) * kCells / here.size; ++i)
      cells_.push_back({i, 0});
  }

  void fill_block() {
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = expected(i);
  }

  double expected(std::size_t local) const {
    return static_cast<double>(block_->first() * kColumns + static_cast<std::int64_t>(local)) * 1024 +
           static_cast<double>(step_);
  }

  // The tallies of leavers go to the first rank that stays.
  std::int64_t move_tally(MPI_Comm everybody, double capacity) {
    const Sizes here(everybody);
    const bool chosen =
        file("throw-last") ? here.rank == here.size - 1 : file("throw-first") && here.rank == 0;
    if (chosen) throw std::runtime_error("no room for the tally");
    int heir = capacity > 0 ? here.rank : here.size;
    elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &heir, 1, MPI_INT, MPI_MIN, everybody),
                       "choosing the heir");
    const auto inherited = sum_of(everybody, capacity > 0 ? std::int64_t{0} : tally_, MPI_INT64_T);
    next_tally_ = capacity > 0 ? tally_ + (here.rank == heir ? inherited : 0) : 0;
    return capacity > 0 ? 0 : static_cast<std::int64_t>(sizeof(tally_));
  }

  std::vector<std::byte> save_tally() const {
    const auto bytes = std::as_bytes(std::span(&tally_, 1));
    return {bytes.begin(), bytes.end()};
  }

  void load_tally(const std::vector<std::span<const std::byte>>& parts) {
    next_tally_ = 0;
    for (const auto part : parts) {
      std::int64_t tally = 0;
      expect(part.size() == sizeof(tally), "a part of a checkpoint has another size");
      std::memcpy(&tally, part.data(), sizeof(tally));
      next_tally_ += tally;
    }
  }

  bool iterate(MPI_Comm world) {
    const Sizes here(world);
    if (first_step_ < 0) first_step_ = step_;
    expect(here.size >= fewest_, "computed on fewer ranks than the job wants at least");
    expect(sum_of(world, step_, MPI_INT64_T) == step_ * here.size, "ranks are at different steps");
    expect(name_ == "replicated" && table_ == std::vector<double>{1.5, 2.5, 4.5}, "replicated values differ");
    expect(unexpected_ == 7, "a value that was not part of the job was overwritten");
    expect(sum_of(duplicate_, 1, MPI_INT) == here.size, "the duplicate is of another world");

    expect(block_->count() * kColumns == static_cast<std::int64_t>(u_.size()), "the block has a wrong size");
    expect_partition(world, block_->first(), block_->count(), kRows,
                     "rows were lost, duplicated or reordered");
    for (std::size_t i = 0; i < u_.size(); ++i) expect(u_[i] == expected(i), "a value of the block is wrong");

    const auto mine = static_cast<std::int64_t>(cells_.size());
    expect_partition(world, mine > 0 ? cells_[0].number : 0, mine, kCells,
                     "cells were lost, duplicated or reordered");
    for (std::int64_t i = 0; i < mine; ++i) {
      const Cell& c = cells_[static_cast<std::size_t>(i)];
      expect(c.number == cells_[0].number + i && c.visits == step_, "a cell is out of order or old");
    }
    const bool first_cut =
        initial_ranks_ == 0 || loop_.changes() > 0 || loop_.restored() || loop_.recoveries() > 0;
    expect(mine == 0 || !first_cut || starts_family(cells_[0]), "a family was cut");
    check_tally(world);

    if (++step_ == 1) std::ofstream(folder_ + "/iterating") << "\n";
    for (double& value : u_) value += 1;
    for (Cell& c : cells_) ++c.visits;
    usleep(4000);
    int stop = here.rank == 0 && file("stop");
    MPI_Bcast(&stop, 1, MPI_INT, 0, world);
    return stop == 0;
  }

  // Only ranks that started with the job brought 1000 each.
  void check_tally(MPI_Comm world) {
    const std::int64_t total = sum_of(world, tally_, MPI_INT64_T);
    if (total_tally_ == 0) total_tally_ = total;
    expect(total > 0 && total == total_tally_, "tallies were lost or duplicated");
  }

  elastic::Loop& loop_;
  std::string folder_;
  std::int64_t step_ = 0, first_step_ = -1;
  std::string name_;
  std::vector<double> table_, u_;
  std::vector<Cell> cells_;
  const elastic::Block* block_ = nullptr;
  std::int64_t tally_ = 0, next_tally_ = 0, total_tally_ = 0;
  int unexpected_ = 7, initial_ranks_ = 0;
  int fewest_ = number("EMPI_MIN_WORKERS") * number("EMPI_SLOTS");
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  int was_revoked_ = 0, recoveries_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr,
                 "usage: %s FOLDER [EVERY [EVERY]]; files in it (stop, throw-first, throw-last, mismatch, "
                 "die-in-rebuild, keep-lost) "
                 "steer the run\n",
                 argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  try {
    elastic::Loop loop(argc, argv);
    Program program(loop, folder, argc >= 3 ? std::stoll(argv[2]) : 0, argc == 4 ? std::stoll(argv[3]) : 0);
    program.run();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
  return 0;
}
