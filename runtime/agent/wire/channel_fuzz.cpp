// SPDX-License-Identifier: Apache-2.0
// Batches from another agent: taken or refused, whatever came before them.
#include <nlohmann/json.hpp>

#include "runtime/agent/wire/batch.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/requests.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/fuzz.hpp"
#include "runtime/protocol/agent_messages.hpp"

using namespace empi;
using namespace empi::agent;

namespace {

std::string bytes_of(const Batch& batch) {
  const std::vector<std::uint8_t> bytes = json_text::cbor(batch);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::vector<std::string> fuzz::seeds() {
  const std::vector<MessageBytes> messages = {encode(Beat{.leave = true}), encode(Reply{.id = 1})};
  return {field(bytes_of({"a", "b", "session", 1, messages})) +
              field(bytes_of({"a", "b", "session", 2, messages})),
          field(bytes_of({"a", "b", "session", 7, messages})) + field(bytes_of({"a", "b", "other", 1, {}}))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Inbox inbox("b");
  Requests requests;
  const auto done = [](const Reply&) {};
  requests.open(Publish{}, "", done);
  fuzz::Input input(fuzz::text_of(data, size));
  while (!input.empty()) {
    const std::string_view bytes = input.field();
    decode_receipt(bytes);
    const auto batch = fuzz::decoded([&] { return json_text::from_cbor(bytes).get<Batch>(); });
    if (!batch || inbox.accept(*batch) != Arrival::New) continue;
    for (const std::string& message : batch->messages) {
      const auto m = fuzz::decoded([&] { return decode_message(message); });
      if (const Reply* reply = m ? std::get_if<Reply>(&*m) : nullptr) requests.answered(*reply);
    }
  }
  return 0;
}
