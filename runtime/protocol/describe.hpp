// SPDX-License-Identifier: Apache-2.0
// JSON of structs that say once what they consist of, by a member
//
//   static void describe(auto& m, auto&& field) { field("id", m.id); field("blob", binary(m.blob)); }
//
// Every field travels, and every field must be there. Ranks travel as runs [namespace, first, how many]. All
// can be written; read is what ranks say in JSON (rank_messages.cpp). Agents say the same values in CBOR
// (cbor_fields.hpp). Include only in .cpp files.
#pragma once
#include <chrono>
#include <concepts>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/protocol/binary.hpp"
#include "runtime/protocol/ids.hpp"
#include "runtime/protocol/integers.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/rank_runs.hpp"

namespace empi::wire {

template <class T>
concept Described = requires(T& t) { std::remove_const_t<T>::describe(t, [](const char*, auto&&) {}); };
// Enumerations have to_string(), and enum_from() beside it.
template <class T>
concept Named = std::is_enum_v<T> && requires(T t, std::string_view text) {
  to_string(t);
  enum_from(text, t);
};

// A message names fewer ranks than this, whatever its bytes say.
inline constexpr std::uint32_t kMostRanks = 1u << 20;

// The runs of ranks in their order: call(first, how many).
template <class Ranks>
void each_run(const Ranks& procs, const auto& call) {
  for (auto at = procs.begin(); at != procs.end();) {
    const ProcId& first = *at;
    std::uint32_t length = 1;
    for (++at; at != procs.end() && at->nspace == first.nspace; ++at, ++length)
      if (at->rank != std::uint64_t{first.rank} + length) break;
    call(first, length);
  }
}
// A run of at most so many ranks, whose numbers fit; else throws std::invalid_argument.
RankRun bounded(RankRun run, std::size_t most);

nlohmann::json written(const RankRuns& procs);
nlohmann::json written_runs(const std::vector<ProcId>& procs);
std::vector<ProcId> read_runs(const nlohmann::json& runs);  // throws std::invalid_argument

template <class T>
nlohmann::json written(const T& value);
template <class T>
void read(const nlohmann::json& from, T& value);

template <class Text>
nlohmann::json written(const Binary<Text>& blob) {
  return nlohmann::json::binary(std::vector<std::uint8_t>(blob.bytes.begin(), blob.bytes.end()));
}

template <class T>
nlohmann::json written(const std::vector<T>& list) {
  nlohmann::json array = nlohmann::json::array();
  for (const T& value : list) array.push_back(written(value));
  return array;
}
inline nlohmann::json written(const std::vector<ProcId>& procs) { return written_runs(procs); }
inline nlohmann::json written(const std::set<ProcId>& procs) {
  return written_runs({procs.begin(), procs.end()});
}
template <class T>
nlohmann::json written(const std::deque<T>& list) {
  return written(std::vector<T>(list.begin(), list.end()));
}
template <class T>
nlohmann::json written(const std::optional<T>& value) {
  return value ? written(*value) : nlohmann::json();
}
template <class T>
nlohmann::json written(const std::map<ProcId, T>& by_rank) {
  nlohmann::json array = nlohmann::json::array();
  for (const auto& [proc, value] : by_rank)
    array.push_back(nlohmann::json::array({written(proc), written(value)}));
  return array;
}
template <class Tag>
nlohmann::json written(const Number<Tag>& number) {
  return number.value;
}
template <class T>
nlohmann::json written(const T& value) {
  if constexpr (std::same_as<T, ProcId>) {
    return nlohmann::json::array({value.nspace, value.rank});
  } else if constexpr (std::same_as<T, std::chrono::seconds>) {
    return value.count();
  } else if constexpr (Named<T>) {
    return to_string(value);
  } else if constexpr (Described<const T>) {
    nlohmann::json object = nlohmann::json::object();
    T::describe(value, [&](const char* name, const auto& field) { object[name] = written(field); });
    return object;
  } else {
    return value;
  }
}

inline void read(const nlohmann::json& from, std::vector<ProcId>& procs) { procs = read_runs(from); }
template <class T>
void read(const nlohmann::json& from, T& value) {
  if constexpr (std::same_as<T, ProcId>) {
    value = {from.at(0).template get<std::string>(), integer<std::uint32_t>(from.at(1))};
  } else if constexpr (std::integral<T> && !std::same_as<T, bool>) {
    value = integer<T>(from);
  } else if constexpr (Named<T>) {
    const auto text = from.template get<std::string>();
    if (!enum_from(text, value)) throw std::invalid_argument("'" + text + "' is no word of the protocol");
  } else if constexpr (Described<T>) {
    T::describe(value, [&](const char* name, auto&& field) { read(from.at(name), field); });
  } else {
    from.get_to(value);
  }
}

}  // namespace empi::wire
