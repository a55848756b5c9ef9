// SPDX-License-Identifier: Apache-2.0
#include "runtime/rank/pmix_store.hpp"

#include <pmix.h>

#include <atomic>
#include <cstring>
#include <map>

#include "runtime/rank/found.hpp"
#include "runtime/rank/rank_calls.hpp"

namespace empi::rank {
namespace {

void name(pmix_key_t& key, const char* text) { std::strncpy(key, text, PMIX_MAX_KEYLEN); }

struct Answer {
  std::map<std::string, std::string> values;  // by key
  std::atomic<bool> there{false};
};

void keep(pmix_status_t, pmix_pdata_t data[], size_t count, void* answer_of) {
  auto& answer = *static_cast<Answer*>(answer_of);
  for (size_t i = 0; i < count; ++i)
    if (data[i].value.type == PMIX_STRING && data[i].value.data.string)
      answer.values[data[i].key] = data[i].value.data.string;
  answer.there.store(true, std::memory_order_release);
  answer.there.notify_one();
}

}  // namespace

bool publish(const std::string& key, const std::string& value) {
  static const auto call = found<decltype(&PMIx_Publish)>("PMIx_Publish");
  if (!call) return false;
  pmix_info_t datum{};
  name(datum.key, key.c_str());
  datum.value.type = PMIX_STRING;
  std::string copy = value;
  datum.value.data.string = copy.data();
  return call(&datum, 1) == PMIX_SUCCESS;
}

std::optional<std::vector<std::string>> await_published(const std::vector<std::string>& keys, Meanwhile mpi) {
  static const auto call = found<decltype(&PMIx_Lookup_nb)>("PMIx_Lookup_nb");
  if (!call) return std::nullopt;
  std::vector<char*> names;
  for (const std::string& key : keys) names.push_back(const_cast<char*>(key.c_str()));
  names.push_back(nullptr);
  pmix_info_t wait{};
  name(wait.key, PMIX_WAIT);
  wait.value.type = PMIX_BOOL;
  wait.value.data.flag = true;
  Answer answer;
  if (call(names.data(), &wait, 1, &keep, &answer) != PMIX_SUCCESS) return std::nullopt;
  if (mpi == Meanwhile::MpiGoesOn)
    for (int turn = 0; !answer.there.load(std::memory_order_acquire); ++turn) wait_a_little(turn);
  answer.there.wait(false, std::memory_order_acquire);
  std::vector<std::string> values;
  for (const std::string& key : keys)
    if (const auto at = answer.values.find(key); at != answer.values.end()) values.push_back(at->second);
  if (values.size() < keys.size()) return std::nullopt;
  return values;
}

}  // namespace empi::rank
