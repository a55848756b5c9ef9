// SPDX-License-Identifier: Apache-2.0
// Writes page files as a rank does, for tests of the readers.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include "runtime/protocol/names.hpp"
#include "runtime/protocol/page.hpp"

namespace empi::profile::testing {

inline constexpr std::uint64_t kSecond = 1'000'000'000;

// A fresh folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "empi-pages-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot make a folder like " + name);
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A rank's page file. The file goes with the object.
class SyntheticPage {
 public:
  SyntheticPage(const std::filesystem::path& folder, std::uint32_t rank, std::uint64_t start_ns)
      : file_(folder / (names::kPagePrefix + std::string("job-0.") + std::to_string(rank))) {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof(Page)) != 0)
      throw std::runtime_error("cannot make " + file_.string());
    void* address = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (address == MAP_FAILED) throw std::runtime_error("cannot map " + file_.string());
    page_ = new (address) Page;
    std::strcpy(page_->nspace, "job-0");
    page_->rank = page_->world_rank = rank;
    page_->counters.start_ns = start_ns;
    page_->counters.progress = -1;
    page_->rank_state.phase = RankPhase::Running;
    page_->bytes = sizeof(Page);
    page_->magic = kPageMagic;
  }
  SyntheticPage(const SyntheticPage&) = delete;
  ~SyntheticPage() {
    ::munmap(page_, sizeof(Page));
    std::filesystem::remove(file_);
  }
  Page* operator->() { return page_; }
  Counters& counters() { return page_->counters; }
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  Page* page_;
};

}  // namespace empi::profile::testing
