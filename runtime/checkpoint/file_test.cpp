// SPDX-License-Identifier: Apache-2.0
// Promise: what any number of ranks write, any number of ranks read back bit by bit; what is damaged,
// truncated or not ours is refused with the reason, and never gives a wrong number. No MPI: the ranks are a
// loop.
#include "runtime/checkpoint/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "runtime/checkpoint/series.hpp"
#include "runtime/checkpoint/writer.hpp"

namespace empi::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kChunk = 64;  // small, so that parts have many

class CheckpointFile : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/empi-checkpoint.XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  // A part of `total` elements, shared out as unequally as it goes: the last ranks have most, the first none.
  static Part part(const std::string& description, const std::string& type, std::uint64_t bytes,
                   std::uint64_t columns, std::uint64_t total, std::size_t ranks) {
    Part p{description, type, bytes, columns, std::vector<std::uint64_t>(ranks)};
    for (std::uint64_t i = 0; i < total; ++i) ++p.counts[ranks - 1 - (i * i + i) % ranks];
    return p;
  }
  static Contents contents(std::size_t ranks) {
    Part values = part("values", "", 1, 1, 0, ranks);
    values.counts[0] = 37;  // replicated values: of rank 0
    return {.program = "test",
            .number = 7,
            .iteration = 1200,
            .chunk_bytes = kChunk,
            .parts = {values, part("rows", "f8", 24, 3, 50, ranks), part("cells", "", 20, 1, 33, ranks),
                      part("nothing", "i4", 4, 1, 0, ranks)}};
  }
  static std::byte value(std::size_t part, std::uint64_t at) {
    return static_cast<std::byte>(part * 101 + at * 7 + at / 256);
  }

  static LargeBytes share_of(const Contents& c, std::size_t rank) {
    std::vector<std::byte> data;
    for (std::size_t p = 0; p < c.parts.size(); ++p) {
      const std::uint64_t begin = c.parts[p].first(rank) * c.parts[p].element_bytes;
      const std::uint64_t end = begin + c.parts[p].counts[rank] * c.parts[p].element_bytes;
      for (std::uint64_t at = begin; at < end; ++at) data.push_back(value(p, at));
    }
    LargeBytes share;
    share.append(data);
    return share;
  }

  std::string write(const Contents& c, std::size_t missing = SIZE_MAX, int keep = 2) {
    const Laid laid = lay_out(c);
    const std::string name = part_name(c.program, c.number, 1);
    const Abandoned no = false;
    for (std::size_t rank = 0; rank < c.ranks(); ++rank) {
      if (rank == missing) continue;
      const Share share{folder + "/" + name, c,
                        laid.places,         rank,
                        share_of(c, rank),   rank == 0 ? laid.segments : std::vector<Segment>{}};
      if (const std::string error = write_share(share, no); !error.empty()) return error;
    }
    return finish(folder, name, c, laid.places, keep, no);
  }
  std::string path(const Contents& c) const { return folder + "/" + whole_name(c.program, c.number); }

  // What `ranks` ranks that share the elements equally read; "" when all of it is right.
  static std::string read(const std::string& file, std::size_t ranks) {
    const auto found = inspect(file);
    if (!found) return found.error();
    for (std::size_t p = 0; p < found.value().contents.parts.size(); ++p) {
      const Part& part = found.value().contents.parts[p];
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const std::uint64_t first = part.total() * rank / ranks, last = part.total() * (rank + 1) / ranks;
        std::vector<std::byte> data((last - first) * part.element_bytes);
        if (const auto error = read_elements(file, found.value(), p, first, last - first, data.data());
            !error.empty())
          return error;
        for (std::uint64_t i = 0; i < data.size(); ++i)
          EXPECT_EQ(data[i], value(p, first * part.element_bytes + i)) << "part " << p << " rank " << rank;
      }
    }
    return {};
  }

  void flip_byte(const std::string& file, std::uint64_t offset) {
    std::fstream f(file, std::ios::in | std::ios::out | std::ios::binary);
    f.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(f.get() ^ 0x10);
    f.seekp(static_cast<std::streamoff>(offset));
    f.put(byte);
  }

  std::string folder;
};

TEST_F(CheckpointFile, AnyNumberOfRanksReadsWhatAnyNumberWrote) {
  for (const std::size_t ranks : {1, 2, 3, 8}) {
    const Contents c = contents(ranks);
    ASSERT_EQ(write(c), "");
    const auto found = inspect(path(c));
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found.value().contents, c);
    for (const std::size_t readers : {1, 2, 5, 7})
      EXPECT_EQ(read(path(c), readers), "") << ranks << " to " << readers;
  }
}

TEST_F(CheckpointFile, AByteThatHasTurnedOverIsNeverReadAsRight) {
  const Contents c = contents(3);
  ASSERT_EQ(write(c), "");
  const std::uint64_t size = fs::file_size(path(c));
  const auto good = inspect(path(c));
  int refused = 0;
  for (std::uint64_t offset = 0; offset < size; offset += 61) {
    flip_byte(path(c), offset);
    // Either it is refused, or nothing that is read has changed (read() compares every value).
    const auto found = inspect(path(c));
    if (found) {
      EXPECT_EQ(found.value().contents, c) << "byte " << offset;
    }
    if (!read(path(c), 1).empty()) ++refused;
    flip_byte(path(c), offset);
  }
  EXPECT_GT(refused, 20);
  EXPECT_EQ(read(path(c), 2), "") << "all is as it was";
  for (std::size_t p = 0; p < 3; ++p) {
    flip_byte(path(c), good.value().places.parts[p] + 5);
    EXPECT_NE(read(path(c), 2).find("it is damaged: the checksum of what rank"), std::string::npos);
    flip_byte(path(c), good.value().places.parts[p] + 5);
  }
}

TEST_F(CheckpointFile, ATruncatedFileIsRefused) {
  const Contents c = contents(2);
  for (const double part : {0.0, .01, .3, .6, .9, .999}) {
    ASSERT_EQ(write(c), "");
    fs::resize_file(path(c), static_cast<std::uintmax_t>(part * static_cast<double>(fs::file_size(path(c)))));
    EXPECT_NE(read(path(c), 1), "") << part;
  }
}

TEST_F(CheckpointFile, WhatIsNoCheckpointIsRefusedWithTheReason) {
  EXPECT_EQ(inspect(folder + "/none.h5").error(), "it cannot be opened: No such file or directory");
  std::ofstream(folder + "/text.h5") << "this is no HDF5 file\n";
  EXPECT_NE(inspect(folder + "/text.h5").error().find("no HDF5 file, or truncated"), std::string::npos);
  EXPECT_FALSE(inspect(folder));
}

TEST_F(CheckpointFile, AnotherProgramsIsNamed) {
  const Contents c = contents(2);
  EXPECT_EQ(difference(c, "test", contents(5).parts), "");
  EXPECT_EQ(difference(c, "other", c.parts), "it is of the program test, this is other");
  auto others = c.parts;
  others[1].columns = 4;
  EXPECT_NE(difference(c, "test", others).find("registered [values; rows"), std::string::npos);
}

TEST_F(CheckpointFile, AShareThatIsMissingIsNoticedBeforeItGetsItsName) {
  const Contents c = contents(3);
  EXPECT_NE(write(c, 2).find("what rank 2 wrote is not in"), std::string::npos);
  EXPECT_FALSE(fs::exists(path(c)));
}

TEST_F(CheckpointFile, TheNewestAreKept) {
  std::ofstream(folder + "/other.000001.h5") << "somebody else's\n";
  Contents c = contents(1);
  for (c.number = 1; c.number <= 4; ++c.number) ASSERT_EQ(write(c), "");
  std::string error;
  EXPECT_EQ(newest_first("test", list(folder, error)),
            (std::vector<std::string>{"test.000004.h5", "test.000003.h5"}));
  EXPECT_TRUE(fs::exists(folder + "/other.000001.h5"));
}

TEST_F(CheckpointFile, AVolumeThatCannotBeWrittenIsSaid) {
  Contents c = contents(1);
  const Share share{"/proc/none/x.part", c, {}, 0, share_of(c, 0), {}};
  EXPECT_NE(write_share(share, false).find("opening /proc/none/x.part: "), std::string::npos);
  const Share full{"/dev/full", c, lay_out(c).places, 1, {}, {}};
  EXPECT_EQ(write_share(full, true), "it is not needed any more");
}

TEST(CheckpointBeside, OneThatHangsIsLeftBehind) {
  auto release = std::make_shared<std::atomic<bool>>(false);
  {
    Beside beside;
    EXPECT_FALSE(beside.busy());
    beside.start([release](const Abandoned&) {
      release->wait(false);
      return std::string("late");
    });
    EXPECT_TRUE(beside.busy());
    beside.abandon();
    EXPECT_FALSE(beside.busy()) << "the next may begin";
    beside.start([](const Abandoned&) -> std::string { throw std::runtime_error("no room"); });
    while (beside.busy()) usleep(100);
    EXPECT_EQ(beside.result(), "no room");
  }
  *release = true;
  release->notify_all();
}

}  // namespace
}  // namespace empi::checkpoint
