// SPDX-License-Identifier: Apache-2.0
// The network between simulated agents: loses requests and answers, repeats, delays, cuts.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/agent/lead/testing/events.hpp"
#include "runtime/protocol/agent_messages.hpp"

namespace empi::agent::histories {

// How often each kind of message was met with each fate.
enum class Fate { Arrived, Lost, AnswerLost, Late };
inline constexpr int kFates = 4;
using MessageCount = std::array<std::array<std::uint64_t, kFates>, std::variant_size_v<Message>>;

class Network {
 public:
  explicit Network(Dice& dice) : dice_(dice) {}
  bool faulty =
      false;  // 4 of 100 requests meet one of the fates, and more of those with messages of a rare kind

  // `kinds`: of the messages of a request, as indices of Message.
  Fate fate(const std::vector<std::size_t>& kinds) {
    if (!faulty) return Fate::Arrived;
    const int n = dice_.below(100), each = weight(kinds);
    return n < 2 * each   ? Fate::AnswerLost
           : n < 3 * each ? Fate::Lost
           : n < 4 * each ? Fate::Late
                          : Fate::Arrived;
  }
  void cut(const std::string& a, const std::string& b, Time until) { cut_[{a, b}] = cut_[{b, a}] = until; }
  // Its host answers, and nobody listens there.
  void refuse(const std::string& uid, Time until) { refuses_[uid] = until; }
  bool refuses(const std::string& uid, Time now) const {
    const auto at = refuses_.find(uid);
    return at != refuses_.end() && now < at->second;
  }
  bool is_cut(const std::string& a, const std::string& b, Time now) const {
    const auto at = cut_.find({a, b});
    return at != cut_.end() && now < at->second;
  }

 private:
  template <class Kind, std::size_t I = 0>
  static constexpr std::size_t index_of() {
    if constexpr (std::is_same_v<Kind, std::variant_alternative_t<I, Message>>)
      return I;
    else
      return index_of<Kind, I + 1>();
  }
  template <class... Kinds>
  static bool is_one_of(std::size_t kind) {
    return ((kind == index_of<Kinds>()) || ...);
  }
  // The rarer a kind is, the more often it meets something.
  static int weight(const std::vector<std::size_t>& kinds) {
    int most = 1;
    for (const std::size_t kind : kinds)
      if (is_one_of<RankAborted, Dropped, TakeOver, TakenOver>(kind))
        most = std::max(most, 15);
      else if (is_one_of<HandOver, HandedOver, NewLead, LeadKnown, PassedOn, RankEvent, Modex, Publish,
                         Lookup, Unpublish>(kind))
        most = std::max(most, 6);
    return most;
  }

  Dice& dice_;
  std::map<std::pair<std::string, std::string>, Time> cut_;
  std::map<std::string, Time> refuses_;
};

}  // namespace empi::agent::histories
