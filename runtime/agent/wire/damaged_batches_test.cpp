// SPDX-License-Identifier: Apache-2.0
// Whatever bytes another agent sends, the channel takes or refuses them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/agent/wire/batch.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/requests.hpp"
#include "runtime/protocol/testing/damage.hpp"

namespace empi::agent {
namespace {

using testing::bytes_of;
using testing::decode_damaged;
using testing::expect_bounded_as_cbor;

Batch batch() { return {"a", "b", "session", 7, {encode(Beat{.leave = true}), encode(Reply{.id = 1})}}; }

TEST(DamagedBatches, AreTakenOrRefused) { expect_bounded_as_cbor(batch()); }

TEST(DamagedBatches, ASequenceIsAWholeNumberInRange) {
  for (const nlohmann::json& wrong :
       {nlohmann::json(1e300), nlohmann::json(1.5), nlohmann::json(-1), nlohmann::json("7")}) {
    nlohmann::json written = batch();
    written["sequence"] = wrong;
    EXPECT_THROW(written.get<Batch>(), nlohmann::json::exception) << wrong;
  }
}

TEST(DamagedBatches, AReceiptIsReadOrSaysNothing) {
  EXPECT_EQ(decode_receipt(encode(Receipt{std::chrono::seconds(7)})).reactor_age, std::chrono::seconds(7));
  for (const char* none : {"", "{}", "[]", "{\"reactorMillis\":\"x\"}", "{\"reactorMillis\":-5}"})
    EXPECT_EQ(decode_receipt(none).reactor_age.count(), 0) << none;
  decode_damaged({encode(Receipt{std::chrono::seconds(7)})},
                 [](const std::string& text) { EXPECT_GE(decode_receipt(text).reactor_age.count(), 0); });
}

// As an agent takes them: the batch, each message in it, and answers to what it has asked.
TEST(DamagedBatches, LeaveTheChannelUsable) {
  Inbox inbox("b");
  Requests requests;
  int answered = 0, arrived = 0;
  const auto done = [&](const Reply&) { ++answered; };
  requests.open(Publish{}, "", done);
  const int taken = decode_damaged({bytes_of(json_text::cbor(batch()))}, [&](const std::string& bytes) {
    const Batch b = json_text::from_cbor(bytes).get<Batch>();
    if (inbox.accept(b) != Arrival::New) return;
    ++arrived;
    for (const std::string& message : b.messages) {
      const Message m = decode_message(message);
      if (const Reply* reply = std::get_if<Reply>(&m)) requests.answered(*reply);
    }
  });
  EXPECT_GT(taken, 0);
  EXPECT_GT(arrived, 0);
  EXPECT_LE(answered, 1);
  Batch next = batch();
  next.session = "another";
  next.sequence = 1;
  EXPECT_EQ(inbox.accept(next), Arrival::New);
  const Message request = requests.open(Publish{}, "", done);
  answered = 0;
  requests.answered({.id = std::get<Publish>(request).id});
  EXPECT_EQ(answered, 1);
}

}  // namespace
}  // namespace empi::agent
