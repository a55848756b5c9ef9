#include "operator/kube/informer.hpp"

namespace emj::kube {

using nlohmann::json;

Informer::Informer(Client& client, Resource resource, WatcherOptions options,
                   std::function<void(const Change&)> on_change, Clock& clock)
    : clock_(clock),
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

void Informer::wrote(const std::string& owner, const json& answer) {
  expectations_.wrote(owner, answer);
  expectations_.cached(uid_of(answer), store_.get(key_of(answer)));
}

void Informer::deleted(const std::string& owner, const ObjectKey& key, const std::string& uid) {
  expectations_.deleted(owner, uid);
  expectations_.cached(uid, store_.get(key));
}

void Informer::tell(std::vector<Change> changes, Instant received) {
  for (Change& change : changes) {
    change.received = received;
    expectations_.seen(change);
    if (on_change_) on_change_(change);
  }
}

void Informer::replaced(std::vector<json> objects) {
  tell(store_.replace(std::move(objects)), clock_.now());
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
