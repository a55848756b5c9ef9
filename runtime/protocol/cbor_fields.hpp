// SPDX-License-Identifier: Apache-2.0
// CBOR from and to structs that say what they consist of (describe.hpp): the same values as by their JSON,
// written at once. What has its JSON written by hand (json.hpp) goes through that. Include only in .cpp
// files.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/base/json_text.hpp"
#include "runtime/protocol/cbor.hpp"
#include "runtime/protocol/describe.hpp"

namespace empi::wire {

RankRun take_run(CborReader& in, std::size_t most);  // throws std::invalid_argument
inline void put_run(CborWriter& out, const std::string& nspace, std::uint32_t first, std::uint32_t count) {
  out.array(3);
  out.text(nspace);
  out.integer(first);
  out.integer(count);
}

// --- Writing. Those of lists find one another by their CborWriter.

template <class T>
void put(CborWriter& out, const T& value);

template <class Text>
void put(CborWriter& out, const Binary<Text>& blob) {
  out.binary(blob.bytes);
}
template <class Ranks>
void put_ranks(CborWriter& out, const Ranks& procs) {
  std::size_t runs = 0;
  each_run(procs, [&](const ProcId&, std::uint32_t) { ++runs; });
  out.array(runs);
  each_run(procs,
           [&](const ProcId& first, std::uint32_t count) { put_run(out, first.nspace, first.rank, count); });
}
inline void put(CborWriter& out, const std::vector<ProcId>& procs) { put_ranks(out, procs); }
inline void put(CborWriter& out, const std::set<ProcId>& procs) { put_ranks(out, procs); }
inline void put(CborWriter& out, const RankRuns& procs) {
  out.array(procs.runs().size());
  for (const RankRun& run : procs.runs()) put_run(out, run.nspace, run.first, run.count);
}
template <class List>
void put_list(CborWriter& out, const List& list) {
  out.array(list.size());
  for (const auto& value : list) put(out, value);
}
template <class T>
void put(CborWriter& out, const std::vector<T>& list) {
  put_list(out, list);
}
template <class T>
void put(CborWriter& out, const std::deque<T>& list) {
  put_list(out, list);
}
template <class T>
void put(CborWriter& out, const std::optional<T>& value) {
  if (value)
    put(out, *value);
  else
    out.null();
}
template <class T>
void put(CborWriter& out, const std::map<ProcId, T>& by_rank) {
  out.array(by_rank.size());
  for (const auto& [proc, value] : by_rank) {
    out.array(2);
    put(out, proc);
    put(out, value);
  }
}
template <class Tag>
void put(CborWriter& out, const Number<Tag>& number) {
  out.integer(number.value);
}

template <class T>
std::size_t count_fields(const T& value) {
  std::size_t count = 0;
  T::describe(value, [&](const char*, const auto&) { ++count; });
  return count;
}
template <class T>
void put_fields(CborWriter& out, const T& value) {
  T::describe(value, [&](const char* name, const auto& field) {
    out.text(name);
    put(out, field);
  });
}
template <class T>
void put(CborWriter& out, const T& value) {
  if constexpr (std::same_as<T, ProcId>) {
    out.array(2);
    out.text(value.nspace);
    out.integer(value.rank);
  } else if constexpr (std::same_as<T, std::chrono::seconds>) {
    out.integer(value.count());
  } else if constexpr (Named<T>) {
    out.text(to_string(value));
  } else if constexpr (Described<const T>) {
    out.map(count_fields(value));
    put_fields(out, value);
  } else if constexpr (std::same_as<T, bool>) {
    out.boolean(value);
  } else if constexpr (WholeNumber<T>) {
    out.integer(value);
  } else if constexpr (std::same_as<T, double>) {
    out.number(value);
  } else if constexpr (std::same_as<T, std::string>) {
    out.text(value);
  } else {
    const std::vector<std::uint8_t> bytes = json_text::cbor(value);
    out.encoded({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
}

// --- Reading: throws std::exception for what is none.

template <class T>
void take(CborReader& in, T& value);

inline void take(CborReader& in, Binary<std::string>& blob) { blob.bytes = in.binary(); }
inline void take(CborReader& in, std::vector<ProcId>& procs) {
  procs.clear();
  for (std::size_t left = in.array(); left > 0; --left) {
    const RankRun run = take_run(in, kMostRanks - procs.size());
    for (std::uint32_t i = 0; i < run.count; ++i) procs.push_back({run.nspace, run.first + i});
  }
}
inline void take(CborReader& in, std::set<ProcId>& procs) {
  std::vector<ProcId> all;
  take(in, all);
  procs = {all.begin(), all.end()};
}
inline void take(CborReader& in, RankRuns& procs) {
  std::vector<RankRun> runs;
  for (std::size_t left = in.array(); left > 0; --left) runs.push_back(take_run(in, kMostRanks));
  procs = RankRuns(std::move(runs));
}
template <class List>
void take_list(CborReader& in, List& list) {
  list.clear();
  for (std::size_t left = in.array(); left > 0; --left) take(in, list.emplace_back());
}
template <class T>
void take(CborReader& in, std::vector<T>& list) {
  take_list(in, list);
}
template <class T>
void take(CborReader& in, std::deque<T>& list) {
  take_list(in, list);
}
template <class T>
void take(CborReader& in, std::optional<T>& value) {
  if (in.null()) return value.reset();
  take(in, value ? *value : value.emplace());
}
inline void take_pair(CborReader& in) {
  if (in.array() != 2) throw std::invalid_argument("a list has not two elements");
}
template <class T>
void take(CborReader& in, std::map<ProcId, T>& by_rank) {
  by_rank.clear();
  for (std::size_t left = in.array(); left > 0; --left) {
    ProcId proc;
    take_pair(in);
    take(in, proc);
    take(in, by_rank[proc]);
  }
}
template <class Tag>
void take(CborReader& in, Number<Tag>& number) {
  number.value = in.integer<decltype(number.value)>();
}

template <class T>
void take_fields(CborReader& in, CborMembers& members, T& value) {
  T::describe(value, [&](const char* name, auto&& field) {
    members.find(name);
    take(in, field);
  });
  members.leave();
}
template <class T>
void take(CborReader& in, T& value) {
  if constexpr (std::same_as<T, ProcId>) {
    take_pair(in);
    value.nspace = in.text();
    value.rank = in.integer<std::uint32_t>();
  } else if constexpr (std::same_as<T, std::chrono::seconds>) {
    value = std::chrono::seconds(in.integer<std::int64_t>());
  } else if constexpr (Named<T>) {
    const std::string_view text = in.text();
    if (!enum_from(text, value))
      throw std::invalid_argument("'" + std::string(text) + "' is no word of the protocol");
  } else if constexpr (Described<T>) {
    CborMembers members(in);
    take_fields(in, members, value);
  } else if constexpr (std::same_as<T, bool>) {
    value = in.boolean();
  } else if constexpr (WholeNumber<T>) {
    value = in.integer<T>();
  } else if constexpr (std::same_as<T, std::string>) {
    value = in.text();
  } else {
    if constexpr (std::same_as<T, double>)
      if (in.number(value)) return;
    json_text::from_cbor(in.value()).get_to(value);
  }
}

}  // namespace empi::wire
