// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/informer.hpp"

namespace emj::kube {

using nlohmann::json;

Informer::Informer(Client& client, Resource resource, WatcherOptions options,
                   std::function<void(const Change&)> on_change, Clock& clock)
    : client_(client),
      resource_(resource),
      reduce_(options.reduce),
      log_(options.log),
      clock_(clock),
      expectations_(clock),
      on_change_(std::move(on_change)),
      watcher_(client, std::move(resource), *this, std::move(options), clock) {}

bool Informer::synced() const {
  std::lock_guard lock(mutex_);
  return synced_;
}

bool Informer::wait_synced(Millis timeout) {
  std::unique_lock lock(mutex_);
  return condition_.wait_for(lock, timeout, [this] { return synced_; });
}

void Informer::wrote(const std::string& owner, json answer) {
  const std::string uid = uid_of(answer);
  const ObjectKey key = key_of(answer);
  expectations_.wrote(owner, answer);
  if (reduce_) reduce_(answer);
  tell(store_.learn(std::move(answer)), {});
  expectations_.cached(uid, store_.get(key));
}

void Informer::wrote_beside(const std::string& owner, const json& answer) {
  expectations_.wrote(owner, answer);
  expectations_.cached(uid_of(answer), store_.get(key_of(answer)));
}

void Informer::deleted(const std::string& owner, const ObjectKey& key, const std::string& uid) {
  expectations_.deleted(owner, key, uid);
  expectations_.cached(uid, store_.get(key));
}

void Informer::outdated(const std::string& owner, const json& object) {
  expectations_.outdated(owner, object);
  expectations_.cached(uid_of(object), store_.get(key_of(object)));
}

bool Informer::settled(const std::string& owner) {
  std::vector<ObjectKey> given_up;
  const bool settled = expectations_.settled(owner, &given_up);
  for (const ObjectKey& key : given_up) read_live(key);
  return settled;
}

void Informer::read_live(const ObjectKey& key) {
  const auto answer = client_.get(resource_, key);
  const ObjectPtr known = store_.get(key);
  std::vector<Change> changes;
  if (answer) {
    json object = answer.value();
    if (reduce_) reduce_(object);
    changes = store_.learn(std::move(object));
  } else if (answer.error().kind == ApiError::Kind::NotFound && known) {
    changes = store_.apply(WatchEvent::Type::Deleted, *known);
  }
  if (!changes.empty() && log_)
    log_("no watch has told the news of " + resource_.plural + " " + to_string(key) + ": read live");
  tell(std::move(changes), clock_.now());
}

void Informer::tell(std::vector<Change> changes, Instant received) {
  for (Change& change : changes) {
    change.received = received;
    const bool awaited = expectations_.seen(change);
    if (on_change_ && (awaited || is_news(change))) on_change_(change);
  }
}

void Informer::replaced(std::vector<json> objects, const std::string& version) {
  tell(store_.replace(std::move(objects), version), clock_.now());
  {
    std::lock_guard lock(mutex_);
    synced_ = true;
  }
  condition_.notify_all();
}

void Informer::changed(WatchEvent event, Instant received) {
  tell(store_.apply(event.type, std::move(event.object)), received);
}

}  // namespace emj::kube
