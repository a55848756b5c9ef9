// SPDX-License-Identifier: Apache-2.0
// For test programs that read what is counted of them: the page that an agent would have made. To be made
// before MPI_Init.
#pragma once
#include <elastic_mpi.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "runtime/protocol/names.hpp"
#include "runtime/protocol/page.hpp"
#include "runtime/rank/testing/check.hpp"

namespace empi::testing {

class SharedPage {
 public:
  SharedPage() {
    std::string path = std::string(P_tmpdir) + "/empi-page.XXXXXX";
    const int fd = mkstemp(path.data());
    CHECK(fd >= 0 && ftruncate(fd, sizeof(Page)) == 0);
    path_ = path;
    page_ = new (mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) Page;
    close(fd);
    setenv(names::kPage, path_.c_str(), 1);
  }
  ~SharedPage() { unlink(path_.c_str()); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  Counters read() const {
    MPIX_Progress_adapt(0, -1);  // publishes what is counted
    Counters counters;
    CHECK(read_counters(*page_, counters));
    return counters;
  }
  const Page& page() const { return *page_; }
  Page::Control& control() { return page_->control; }  // the agent's part

 private:
  std::string path_;
  Page* page_;
};

}  // namespace empi::testing
