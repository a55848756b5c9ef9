// SPDX-License-Identifier: Apache-2.0
#include "runtime/profile/read/pages.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::profile {
namespace {

struct Head {
  std::uint64_t magic = 0;
  std::uint32_t bytes = 0;
};
static_assert(offsetof(Page, magic) == offsetof(Head, magic) &&
              offsetof(Page, bytes) == offsetof(Head, bytes));

}  // namespace

MappedPage MappedPage::open(const std::filesystem::path& file, bool& foreign) {
  foreign = false;
  MappedPage mapped;
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info{};
  Head head;
  if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return mapped;
  if (::pread(fd.get(), &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return mapped;
  if (head.magic == 0) return mapped;  // made, but its rank has not filled it in yet
  foreign = head.magic != kPageMagic || (head.bytes != 0 && head.bytes != sizeof(Page));
  if (foreign || head.bytes == 0 || info.st_size < static_cast<off_t>(sizeof(Page))) return mapped;
  void* address = ::mmap(nullptr, sizeof(Page), PROT_READ, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) return mapped;
  mapped.page_ = static_cast<const Page*>(address);
  mapped.device_ = info.st_dev;
  mapped.inode_ = info.st_ino;
  return mapped;
}

MappedPage::MappedPage(MappedPage&& other) noexcept { *this = std::move(other); }

MappedPage& MappedPage::operator=(MappedPage&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

MappedPage::~MappedPage() {
  if (page_) ::munmap(const_cast<Page*>(page_), sizeof(Page));
}

std::map<std::string, MappedPage> PageFolder::refresh() {
  std::map<std::string, MappedPage> gone = std::move(pages_);
  pages_.clear();
  std::error_code error;  // no folder yet: no ranks yet
  for (auto entry = std::filesystem::directory_iterator(run_dir_, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(names::kPagePrefix)) continue;
    struct stat info{};
    if (::stat(entry->path().c_str(), &info) != 0) continue;
    if (auto known = gone.find(name);
        known != gone.end() && known->second.same_file(info.st_dev, info.st_ino)) {
      pages_.insert(gone.extract(known));
      continue;
    }
    bool foreign = false;
    if (MappedPage page = MappedPage::open(entry->path(), foreign)) {
      pages_.emplace(name, std::move(page));
    } else if (foreign && reported_.insert(name).second) {
      std::fprintf(stderr,
                   "elastic-mpi: %s was written by another build of libelastic_mpi (expected a page of %zu "
                   "bytes): this rank is not measured. Use the same version in agent, sidecar and program.\n",
                   entry->path().c_str(), sizeof(Page));
    }
  }
  return gone;
}

}  // namespace empi::profile
