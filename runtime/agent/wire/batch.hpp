// SPDX-License-Identifier: Apache-2.0
// What travels in one POST /v1/agent: messages of one agent to another, in order.
#pragma once
#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace empi::agent {

using MessageBytes = std::string;  // a message in CBOR

// How an agent names the age of its reactor, in milliseconds, in a receipt and in its health.
inline constexpr char kReactorAge[] = "reactorMillis";

// No receiver takes a longer body.
inline constexpr std::size_t kMostBatchBytes = std::size_t{16} << 20;
// Nor a longer uid or name of a session, which it remembers.
inline constexpr std::size_t kLongestBatchName = 253;

struct Batch {
  std::string from, to;                // UIDs of pods
  std::string session;                 // of the sender's Outbox
  std::uint64_t sequence;              // in that session, from 1
  std::vector<MessageBytes> messages;  // each on its own: a malformed one spoils no other

  bool operator==(const Batch&) const = default;
};

// The answer to a batch that was taken. It comes from a thread of the receiver that only takes it.
struct Receipt {
  std::chrono::milliseconds reactor_age{0};  // since the thread that is to act on it went round last
};
std::string encode(const Receipt& receipt);
Receipt decode_receipt(std::string_view text);  // age 0 where it says none

void to_json(nlohmann::json& j, const Batch& batch);
void from_json(const nlohmann::json& j,
               Batch& batch);  // throws nlohmann::json::exception, std::invalid_argument

}  // namespace empi::agent
