// SPDX-License-Identifier: Apache-2.0
// The page files of one pod, mapped read-only. Pages come and go with ranks: `refresh` follows the folder.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/protocol/page.hpp"

namespace empi::profile {

// A read-only mapping of a page file. It stays readable after the file was removed.
class MappedPage {
 public:
  // Nothing is mapped (operator bool) when the file is not a finished page; `foreign` says that it is one
  // of another build.
  static MappedPage open(const std::filesystem::path& file, bool& foreign);
  MappedPage() = default;
  MappedPage(MappedPage&& other) noexcept;
  MappedPage& operator=(MappedPage&& other) noexcept;
  ~MappedPage();

  explicit operator bool() const { return page_ != nullptr; }
  const Page& operator*() const { return *page_; }
  const Page* operator->() const { return page_; }
  bool same_file(dev_t device, ino_t inode) const { return device == device_ && inode == inode_; }

 private:
  const Page* page_ = nullptr;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// All pages of a run directory. Keys are file names: page.<namespace>.<rank>.
class PageFolder {
 public:
  explicit PageFolder(std::filesystem::path run_dir) : run_dir_(std::move(run_dir)) {}

  // Maps pages that are new, and forgets those whose file is gone or was replaced; the latter are handed
  // back for a last look. Files of another build are named once on stderr and left alone.
  std::map<std::string, MappedPage> refresh();
  const std::map<std::string, MappedPage>& pages() const { return pages_; }

 private:
  std::filesystem::path run_dir_;
  std::map<std::string, MappedPage> pages_;
  std::set<std::string> reported_;
};

}  // namespace empi::profile
