// SPDX-License-Identifier: Apache-2.0
#include "apps/io/vtkhdf_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <elastic_mpi/comm.hpp>
#include <exception>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "apps/io/collective_try.hpp"
#include "apps/io/file_error.hpp"
#include "apps/io/vtkhdf_layout.hpp"
#include "runtime/base/positioned.hpp"
#include "runtime/base/unique_fd.hpp"

namespace io {
namespace {

using elastic::check_mpi;
using empi::UniqueFd;

constexpr std::size_t kMessage = std::size_t{16} << 20;  // bytes that rank 0 takes from another one at once
constexpr int kTag = 1;

std::uint64_t random_token() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// The file while it grows, under another name. Behind its end stands a random number, by which a rank knows
// that what it has opened is the file of rank 0. All public calls are collective and throw FileError.
class GrowingFile {
 public:
  GrowingFile(MPI_Comm world, std::string path)
      : world_(world), path_(std::move(path)), part_(path_ + ".part"), rank_(elastic::rank_of(world)) {}
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;
  ~GrowingFile() {
    if (rank_ == 0 && !whole_) unlink(part_.c_str());
  }

  void lay_out(const GridHead& head, const GridPiece& piece) {
    corners_ = piece.corners;
    const GridSize mine{static_cast<std::int64_t>(piece.point_count()),
                        static_cast<std::int64_t>(piece.cells())};
    static_assert(sizeof mine == 2 * sizeof(std::int64_t));
    sizes_.resize(static_cast<std::size_t>(elastic::size_of(world_)));
    check_mpi(MPI_Allgather(&mine, 2, MPI_INT64_T, sizes_.data(), 2, MPI_INT64_T, world_), "counting cells");
    on_first_rank(world_, [&] {
      const GridLayout layout = laid_out(head, piece);
      columns_ = layout.columns;
      file_bytes_ = layout.rest.file_bytes;
      token_ = random_token();
      UniqueFd file(open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
      if (!file) fail(errno);
      for (const empi::Segment& segment : layout.rest.segments)
        if (!empi::write_fully(file.get(), segment.bytes, segment.offset)) fail(errno);
      if (!empi::write_fully(file.get(), std::as_bytes(std::span(&token_, 1)), file_bytes_)) fail(errno);
      end(std::move(file));
    });
    std::vector<std::uint64_t> numbers{token_, file_bytes_};
    numbers.insert(numbers.end(), columns_.begin(), columns_.end());
    numbers.resize(2 + kFixedColumns + piece.cell_data.size());
    check_mpi(MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, 0, world_),
              "telling where to write");
    token_ = numbers[0], file_bytes_ = numbers[1];
    columns_.assign(numbers.begin() + 2, numbers.end());
  }

  void write(const std::vector<GridColumn>& mine) {
    const int seen = sees() ? 1 : 0;
    std::vector<int> see(sizes_.size());
    check_mpi(MPI_Allgather(&seen, 1, MPI_INT, see.data(), 1, MPI_INT, world_), "asking who sees the file");
    together(world_, [&] {
      if (seen == 0 && rank_ == 0) fail(EIO);  // it has just been written here
      if (seen == 0) return;
      UniqueFd file = opened();
      for (std::size_t c = 0; file && c < mine.size(); ++c)
        if (!empi::write_fully(file.get(), mine[c].bytes, stretch(c, mine[c], rank_).offset)) fail(errno);
      end(std::move(file));
    });
    for (int r = 1; r < static_cast<int>(see.size()); ++r)
      if (see[static_cast<std::size_t>(r)] == 0) hand_over(r, mine);
  }

  void finish() {
    on_first_rank(world_, [&] {
      if (truncate(part_.c_str(), static_cast<off_t>(file_bytes_)) != 0 ||
          std::rename(part_.c_str(), path_.c_str()) != 0)
        fail(errno);
    });
    whole_ = true;
  }

 private:
  struct Stretch {
    std::uint64_t offset = 0, bytes = 0;  // in the file
  };

  GridLayout laid_out(const GridHead& head, const GridPiece& piece) const {
    try {
      return io::lay_out(head, piece, sizes_);
    } catch (const std::exception& error) {
      throw FileError(path_, "", "to lay out this file in memory", error.what(), "is /dev/shm full?");
    }
  }

  [[noreturn]] void fail(int reason) const { throw FileError::unwritten(path_, reason); }

  UniqueFd opened() const { return UniqueFd(open(part_.c_str(), O_RDWR | O_CLOEXEC)); }

  // Some file systems say only now that there is no space.
  void end(UniqueFd file) const {
    if (!file || close(file.release()) != 0) fail(errno);
  }

  bool sees() const {
    std::uint64_t found = 0;
    const UniqueFd file = opened();
    return file && empi::read_fully(file.get(), std::as_writable_bytes(std::span(&found, 1)), file_bytes_) &&
           found == token_;
  }

  // Where a rank's part of a column goes.
  Stretch stretch(std::size_t column, const GridColumn& like, int rank) const {
    const auto before = [&](int ranks) {
      return rows_before(like.row, corners_, sizes_, static_cast<std::size_t>(ranks)) * like.row_bytes;
    };
    return {columns_[column] + before(rank), before(rank + 1) - before(rank)};
  }

  // From a rank that cannot write to rank 0, which does; it takes all, whether it can write it or not.
  void hand_over(int from, const std::vector<GridColumn>& mine) {
    int reason = 0;
    UniqueFd file = rank_ == 0 ? opened() : UniqueFd();
    if (rank_ == 0 && !file) reason = errno;
    std::vector<std::byte> buffer;
    for (std::size_t c = 0; c < mine.size(); ++c) {
      const Stretch all = stretch(c, mine[c], from);
      for (std::uint64_t done = 0; done < all.bytes; done += kMessage) {
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kMessage, all.bytes - done));
        if (rank_ == from)
          check_mpi(MPI_Send(mine[c].bytes.data() + done, static_cast<int>(size), MPI_BYTE, 0, kTag, world_),
                    "sending cells to rank 0");
        if (rank_ != 0) continue;
        buffer.resize(size);
        check_mpi(
            MPI_Recv(buffer.data(), static_cast<int>(size), MPI_BYTE, from, kTag, world_, MPI_STATUS_IGNORE),
            "taking another rank's cells");
        if (reason == 0 && !empi::write_fully(file.get(), buffer, all.offset + done)) reason = errno;
      }
    }
    on_first_rank(world_, [&] {
      if (reason != 0) fail(reason);
      end(std::move(file));
    });
  }

  MPI_Comm world_;
  const std::string path_, part_;
  const int rank_;
  int corners_ = 3;
  std::vector<GridSize> sizes_;         // of each rank's piece
  std::vector<std::uint64_t> columns_;  // where each begins
  std::uint64_t file_bytes_ = 0, token_ = 0;
  bool whole_ = false;
};

}  // namespace

void write_vtkhdf(MPI_Comm world, const GridHead& head, const GridPiece& piece, const std::string& path) {
  std::optional<GridColumns> columns;
  together(world, [&] { columns.emplace(piece); });
  GrowingFile file(world, path);
  file.lay_out(head, piece);
  file.write(columns->all());
  file.finish();
}

}  // namespace io
