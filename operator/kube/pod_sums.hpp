// SPDX-License-Identifier: Apache-2.0
// What pods hold, as sums over those that have a key in common: of clusters with many pods only these are
// looked at. One thread.
#pragma once
#include <map>
#include <utility>

#include "operator/kube/placement.hpp"
#include "operator/kube/store.hpp"

namespace emj::manager {

template <class Key>
class PodSums {
 public:
  void set(const kube::ObjectKey& pod, Key key, const Requests& requests) {
    remove(pod);
    const auto sum = sums_.try_emplace(std::move(key)).first;
    sum->second.requests += requests;
    ++sum->second.pods;
    pods_.emplace(pod, std::pair(sum, requests));
  }

  void remove(const kube::ObjectKey& pod) {
    const auto known = pods_.find(pod);
    if (known == pods_.end()) return;
    const auto& [sum, requests] = known->second;
    sum->second.requests -= requests;
    if (--sum->second.pods == 0) sums_.erase(sum);
    pods_.erase(known);
  }

  // visit(key, what its pods hold together), in the order of the keys.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const auto& [key, sum] : sums_) visit(key, sum.requests);
  }

 private:
  struct Sum {
    Requests requests;
    int pods = 0;
  };
  using Sums = std::map<Key, Sum>;

  Sums sums_;
  std::map<kube::ObjectKey, std::pair<typename Sums::iterator, Requests>> pods_;
};

}  // namespace emj::manager
