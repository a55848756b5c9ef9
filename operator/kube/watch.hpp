// SPDX-License-Identifier: Apache-2.0
// One watch request over a connection of its own. The loop that keeps watching is in watcher.hpp.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "operator/kube/client.hpp"
#include "operator/kube/watch_framer.hpp"

namespace emj::kube {

class Connection;

struct WatchOptions {
  std::string resource_version;  // of the list, or of the last event or bookmark
  std::string label_selector, field_selector;
  Seconds timeout{240};  // after which the server ends the stream
};

// How a stream ended. Without error: properly, by the server or by the receiver.
struct WatchEnd {
  std::optional<ApiError> error;
  std::size_t events = 0;  // bookmarks too
  bool opened = false;     // the server answered 200
};

class Watch {
 public:
  ~Watch();
  // Blocks until the stream ends. `opened` is called when the server has accepted; `receive` gets everything
  // but ERROR events, which end the stream: their Status is the error (so both kinds of 410 are Expired).
  WatchEnd run(const Resource& resource, const std::string& namespace_name, const WatchOptions& options,
               const std::function<bool(WatchEvent event)>& receive,
               const std::function<void()>& opened = {});
  // From any thread, for good. Call again until run() has returned (see Connection::interrupt).
  void stop();

 private:
  friend class Client;
  explicit Watch(Client::Shared& shared);
  Client::Shared& shared_;
  std::mutex mutex_;
  std::unique_ptr<Connection> connection_;
  bool stopped_ = false;
};

}  // namespace emj::kube
