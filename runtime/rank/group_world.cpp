// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/group_world.hpp"

#include <pmix.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/hash.hpp"
#include "runtime/rank/found.hpp"
#include "runtime/rank/watched_receives.hpp"

namespace empi::rank {
namespace {

// Open MPI's table of communicators: the first free number becomes that of the next one.
class Numbers {
 public:
  bool there() const { return table_ && take_ && put_; }

  // All that are free below `bound`, so that this is the next one.
  void take_below(int bound) {
    for (int number = 0; number < bound; ++number)
      if (take_(table_, number, kTaken)) taken_.push_back(number);
  }
  void give_back() {
    for (const int number : taken_) put_(table_, number, nullptr);
    taken_.clear();
  }

 private:
  static inline void* const kTaken = reinterpret_cast<void*>(1);  // OMPI_COMM_SENTINEL

  void* table_ = found<void*>("ompi_mpi_communicators");
  bool (*take_)(void*, int,
                void*) = found<bool (*)(void*, int, void*)>("opal_pointer_array_test_and_set_item");
  int (*put_)(void*, int, void*) = found<int (*)(void*, int, void*)>("opal_pointer_array_set_item");
  std::vector<int> taken_;
};

// More communicators than these a program seldom has; and what travels of a number are 16 bits.
constexpr int kFirstNumber = 4096, kNumbers = 4096;

struct Naming {
  std::uint64_t context = 0;
  Numbers numbers;
};
thread_local Naming* naming = nullptr;  // by create_from_group, on this thread

}  // namespace

bool can_create_from_group() { return Numbers().there() && WatchedReceives::possible(); }

int create_from_group(MPI_Group group, const std::string& name, MPI_Comm* made) {
  const std::uint64_t hash = fnv1a(name);
  Naming mine{hash | 1, {}};
  mine.numbers.take_below(kFirstNumber + static_cast<int>(hash % kNumbers));
  naming = &mine;
  const WatchedReceives watched;
  const int result = PMPI_Comm_create_from_group(group, name.c_str(), MPI_INFO_NULL, MPI_ERRORS_RETURN, made);
  naming = nullptr;
  mine.numbers.give_back();
  return result;
}

namespace {

pmix_status_t name_it(pmix_info_t** results, std::size_t* result_count) {
  naming->numbers.give_back();  // ours is taken by now
  auto* const info = static_cast<pmix_info_t*>(std::calloc(1, sizeof(pmix_info_t)));
  if (!info) return PMIX_ERR_NOMEM;
  std::strncpy(info->key, PMIX_GROUP_CONTEXT_ID, PMIX_MAX_KEYLEN);
  info->value.type = PMIX_SIZE;
  info->value.data.size = naming->context;
  *results = info;
  *result_count = 1;
  return PMIX_SUCCESS;
}

}  // namespace
}  // namespace empi::rank

pmix_status_t PMIx_Group_construct(const char group[], const pmix_proc_t procs[], size_t proc_count,
                                   const pmix_info_t infos[], size_t info_count, pmix_info_t** results,
                                   size_t* result_count) {
  if (empi::rank::naming) return empi::rank::name_it(results, result_count);
  static const auto call = empi::rank::stood_before<decltype(&PMIx_Group_construct)>("PMIx_Group_construct");
  return call(group, procs, proc_count, infos, info_count, results, result_count);
}

pmix_status_t PMIx_Group_destruct(const char group[], const pmix_info_t infos[], size_t info_count) {
  if (empi::rank::naming) return PMIX_SUCCESS;
  static const auto call = empi::rank::stood_before<decltype(&PMIx_Group_destruct)>("PMIx_Group_destruct");
  return call(group, infos, info_count);
}
