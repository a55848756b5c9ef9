// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/search.hpp"

#include <mpi-ext.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/rank/failed_requests.hpp"

namespace empi::rank {

// All that are here, and what Open MPI says of them.
struct Searches {
  std::mutex mutex;  // guards what they have, too
  std::vector<Search*> here;
  // Of what ranks exchange: a receive from the other side and a send to it. By Open MPI's request for both.
  std::map<const void*, std::array<MPI_Request, 2>> with_other_side;
  bool looked_after = false;
  static thread_local Search* beginning;  // in this thread

  // Lives for ever: other threads use it while the process exits.
  static Searches& all() {
    static Searches& instance = *new Searches;
    return instance;
  }

  Search* of(MPI_Comm from) const {
    const auto found = std::ranges::find(here, from, &Search::from_);
    return found == here.end() ? nullptr : *found;
  }

  // A step comes next once what is `begun` is over, of which there are `count`. Says whether the search has
  // been called off.
  bool goes_on(const void* request, MPI_Request* begun, int count) {
    if (here.empty()) return false;
    with_other_side.erase(request);
    if (count == 2) with_other_side[request] = {begun[0], begun[1]};
    if (beginning) beginning->request_ = request;  // the last of those that it makes
    const auto search = std::ranges::find(here, request, &Search::request_);
    if (search == here.end()) return false;
    (*search)->waits_for_ = count == 1 ? begun[0] : nullptr;
    look_after();
    return (*search)->called_off_;
  }

  // Open MPI may give it to another search from here on.
  void ended(const void* request) {
    with_other_side.erase(request);
    for (Search* s : here)
      if (s->request_ == request) s->request_ = s->waits_for_ = nullptr;
  }

  // Nobody does, of those that wait for the other side.
  void look_after() {
    const bool some =
        std::ranges::any_of(here, [](const Search* s) { return s->called_off_ && s->request_; });
    if (!some || !failed_requests().there() || std::exchange(looked_after, true)) return;
    failed_requests().call_in_progress(&end_what_is_lost);
  }
  static int end_what_is_lost() {
    Searches& all = Searches::all();
    const std::unique_lock lock(all.mutex, std::try_to_lock);
    if (!lock) return 0;
    int ended = 0;
    for (const Search* s : all.here) {
      const auto exchange = all.with_other_side.find(s->waits_for_);
      if (!s->called_off_ || exchange == all.with_other_side.end()) continue;
      for (MPI_Request& request : exchange->second)
        if (request && failed_requests().end(request)) {
          request = nullptr;  // Open MPI takes it back
          ++ended;
        }
    }
    return ended;
  }

  void leave(Search* search) {
    search->from_ = MPI_COMM_NULL;
    search->request_ = search->waits_for_ = nullptr;
    std::erase(here, search);
    if (!here.empty()) return;
    with_other_side.clear();
    if (std::exchange(looked_after, false)) failed_requests().call_no_more(&end_what_is_lost);
  }
};

thread_local Search* Searches::beginning = nullptr;

Search::Here::Here(Search& search, MPI_Comm from) : search_(search) {
  const std::lock_guard lock(Searches::all().mutex);
  search_.from_ = from;
  Searches::all().here.push_back(&search_);
}

Search::Here::~Here() {
  const std::lock_guard lock(Searches::all().mutex);
  Searches::all().leave(&search_);
}

void Search::call_off() {
  const std::lock_guard lock(Searches::all().mutex);
  called_off_ = true;
  Searches::all().look_after();
}

namespace {

// As a step of a search that has failed.
int fail(void*) { return MPIX_ERR_REVOKED; }

}  // namespace
}  // namespace empi::rank

// Of Open MPI 5.0 (ompi/communicator/comm_cid.c, comm_request.c), which calls them by these names.
using empi::rank::Searches;
using empi::rank::stood_before;
using Step = int (*)(void* request);

namespace {

// `call` begins something that makes a communicator of `of`.
template <class Call>
int begin(MPI_Comm of, Call call) {
  Searches& all = Searches::all();
  const auto set = [&](bool begins) {
    const std::lock_guard lock(all.mutex);
    Searches::beginning = begins ? all.of(of) : nullptr;
  };
  set(true);
  const int result = call();
  set(false);
  return result;
}

}  // namespace

// Begins a search.
extern "C" [[gnu::visibility("default")]] int ompi_comm_nextcid_nb(MPI_Comm made, MPI_Comm of,
                                                                   MPI_Comm bridge, const void* first,
                                                                   const void* second, bool send_first,
                                                                   int mode, void** request) {
  static const auto call = stood_before<decltype(&ompi_comm_nextcid_nb)>("ompi_comm_nextcid_nb");
  return begin(of, [&] { return call(made, of, bridge, first, second, send_first, mode, request); });
}

// Begins what comes after it.
extern "C" [[gnu::visibility("default")]] int ompi_comm_activate_nb(MPI_Comm* made, MPI_Comm of,
                                                                    MPI_Comm bridge, const void* first,
                                                                    const void* second, bool send_first,
                                                                    int mode, void** request) {
  static const auto call = stood_before<decltype(&ompi_comm_activate_nb)>("ompi_comm_activate_nb");
  return begin(of, [&] { return call(made, of, bridge, first, second, send_first, mode, request); });
}

// Says which step comes next, once what is begun is over.
extern "C" [[gnu::visibility("default")]] int ompi_comm_request_schedule_append(void* request, Step next,
                                                                                MPI_Request* begun,
                                                                                int count) {
  static const auto call =
      stood_before<decltype(&ompi_comm_request_schedule_append)>("ompi_comm_request_schedule_append");
  bool called_off = false;
  {
    const std::lock_guard lock(Searches::all().mutex);
    called_off = Searches::all().goes_on(request, begun, count);
  }
  return call(request, called_off ? &empi::rank::fail : next, begun, count);
}

// Gives back the request of a search that has ended.
extern "C" [[gnu::visibility("default")]] void ompi_comm_request_return(void* request) {
  static const auto call = stood_before<decltype(&ompi_comm_request_return)>("ompi_comm_request_return");
  {
    const std::lock_guard lock(Searches::all().mutex);
    Searches::all().ended(request);
  }
  call(request);
}
