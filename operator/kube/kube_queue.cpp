// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/kube_queue.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "operator/api/condition_types.hpp"
#include "operator/api/json_member.hpp"
#include "operator/kube/outcome.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/kube/queue_objects.hpp"
#include "operator/kube/unreadable.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using nlohmann::json;
namespace resources = kube::resources;

// Our own writes of a queue's status change nothing that is planned by.
bool is_news_of_queue(const kube::Change& change) {
  if (!change.before || !change.after) return true;
  return kube::uid_of(*change.before) != kube::uid_of(*change.after) ||
         member(*change.before, "spec") != member(*change.after, "spec");
}

// `served`: the namespace that is looked after; empty: all.
QueueRecord read_queue(const json& object, const std::string& served) {
  const kube::ObjectKey key = kube::key_of(object);
  const Result<ElasticQueue> queue = parse_stored_queue(object, key.name);
  if (queue && (served.empty() || queue.value().spec.namespaces == std::vector{served}))
    return {queue.value()};
  QueueRecord record;
  record.queue.metadata.name = key.name;
  record.queue.metadata.uid = kube::uid_of(object);
  record.queue.metadata.resource_version = kube::resource_version_of(object);
  record.others = queue.ok();
  record.unreadable = queue ? "this operator looks after namespace " + served +
                                  " and serves queues with spec.namespaces [" + served + "]"
                            : queue.message();
  return record;
}

}  // namespace

std::unique_ptr<kube::Informer> KubeQueue::make(const kube::Resource& resource,
                                                const kube::WatcherOptions& watch,
                                                std::function<void(const kube::Change&)> on_change) {
  auto informer = std::make_unique<kube::Informer>(client_, resource, watch, std::move(on_change));
  watches_.emplace_back(resource.plural == "pods" ? "foreignpods" : resource.plural, informer.get());
  return informer;
}

KubeQueue::KubeQueue(kube::Client& client, kube::Informer& jobs, kube::Informer& pods,
                     const kube::WatcherOptions& watch, Told told)
    : client_(client),
      jobs_(jobs),
      worker_use_([&pods](const kube::ObjectKey& key) { return pods.get(key); }),
      served_(watch.namespace_name),
      told_(std::move(told)) {
  const auto news = [this](const kube::Change&) { told_.news(); };
  kube::WatcherOptions options = watch;
  options.namespace_name.clear();
  queues_ = make(resources::kElasticQueues, options, [this](const kube::Change& change) {
    if (is_news_of_queue(change)) told_.news();
  });
  options.namespace_name = watch.namespace_name;
  options.reduce = reduce_quota;
  quotas_ = make(resources::kResourceQuotas, options, news);
  if (!watch.namespace_name.empty()) return;
  options.reduce = reduce_node;
  nodes_ = make(resources::kNodes, options, news);
  options.reduce = reduce_foreign_pod;
  options.label_selector = std::string(kLabelRole) + "!=worker";
  options.field_selector = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed";
  foreign_ = make(resources::kPods, options, [this](const kube::Change& change) {
    node_use_.set(change.key, change.after ? kept_placement(*change.after) : std::nullopt);
    told_.news();
  });
}

void KubeQueue::start() {
  for (kube::Informer* informer : {queues_.get(), quotas_.get(), nodes_.get(), foreign_.get()})
    if (informer) informer->start();
}

void KubeQueue::stop() {
  for (kube::Informer* informer : {queues_.get(), quotas_.get(), nodes_.get(), foreign_.get()})
    if (informer) informer->stop();
}

bool KubeQueue::wait_synced(Millis timeout) {
  for (kube::Informer* informer : {queues_.get(), quotas_.get(), nodes_.get(), foreign_.get()})
    if (informer && !informer->wait_synced(timeout)) return false;
  return true;
}

template <class T, class Read>
void KubeQueue::read_all(Readings<T>& readings, const std::vector<kube::ObjectPtr>& objects,
                         const Read& read) {
  Readings<T> now;
  for (const kube::ObjectPtr& object : objects) {
    const kube::ObjectKey key = kube::key_of(*object);
    auto known = readings.extract(key);
    if (known && known.mapped().first == object)
      now.insert(std::move(known));
    else
      now.emplace(key, std::pair(object, read(*object)));
  }
  readings = std::move(now);
}

void KubeQueue::read_queues() {
  read_all(queue_readings_, queues_->list(),
           [this](const json& object) { return read_queue(object, served_); });
}

std::vector<QueueRecord> KubeQueue::queues() {
  const std::lock_guard lock(mutex_);
  read_queues();
  std::erase_if(written_, [this](const auto& own) { return !queue_readings_.contains({"", own.first}); });
  std::vector<QueueRecord> records;
  for (const auto& [key, reading] : queue_readings_) records.push_back(reading.second);
  return records;
}

std::optional<QueueSpec> KubeQueue::spec_of(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  read_queues();
  const auto found = queue_readings_.find({"", queue});
  if (found == queue_readings_.end() || !found->second.second.unreadable.empty()) return std::nullopt;
  return found->second.second.queue.spec;
}

std::optional<std::vector<NodeView>> KubeQueue::nodes() {
  if (!nodes_) return std::nullopt;
  read_all(node_readings_, nodes_->list(), to_node_view);
  std::vector<NodeView> views;
  for (const auto& [key, reading] : node_readings_) views.push_back(reading.second);
  return views;
}

// Workers of jobs that are in no queue are foreign as well. Those of a job that is gone, or has left its
// queue, are still that queue's.
std::vector<ForeignPod> KubeQueue::foreign() {
  std::vector<ForeignPod> pods = node_use_.sums();
  const auto queues = queues_of_jobs();
  worker_use_.each([&](const WorkerGroup& group, const Requests& requests) {
    const auto job = queues.find(group.job);
    if (job != queues.end() && (group.queue.empty() || group.queue == *job->second))
      pods.push_back({group.node, requests.counted(), *job->second, group.pool});
    else if (!group.job.empty())
      pods.push_back({group.node, requests.counted(), group.queue, group.pool, group.namespace_name});
    else
      pods.push_back({group.node, requests.counted()});
  });
  return pods;
}

std::unordered_map<std::string_view, const std::string*> KubeQueue::queues_of_jobs() {
  read_all(job_readings_, jobs_.list(), [](const json& job) {
    return QueueOfJob{kube::uid_of(job), text(member(member(job, "spec"), "scheduling"), "queueName")};
  });
  std::unordered_map<std::string_view, const std::string*> queues;
  for (const auto& [key, reading] : job_readings_) queues[reading.second.uid] = &reading.second.queue;
  return queues;
}

bool KubeQueue::is_in_queue(const std::string& job, const std::string& queue) {
  const auto queues = queues_of_jobs();
  const auto found = queues.find(job);
  return found != queues.end() && *found->second == queue;
}

std::vector<WorkerPods> KubeQueue::workers() {
  std::map<std::tuple<std::string, std::string, std::string>, WorkerPods> found;  // on all nodes
  worker_use_.each([&](const WorkerGroup& group, const Requests& requests) {
    if (group.queue.empty() || group.job.empty() || group.ended) return;
    WorkerPods& pods = found[{group.job, group.queue, group.pool}];
    if (pods.job.empty()) pods = {group.job, group.namespace_name, group.queue, group.pool, {}};
    pods.requests += requests.counted();
  });
  std::vector<WorkerPods> workers;
  for (auto& [of, pods] : found) workers.push_back(std::move(pods));
  return workers;
}

std::vector<NamespaceQuota> KubeQueue::quotas() {
  read_all(quota_readings_, quotas_->list(), to_quota);
  std::vector<NamespaceQuota> quotas;
  for (const auto& [key, reading] : quota_readings_)
    if (reading.second) quotas.push_back(*reading.second);
  return quotas;
}

Outcome KubeQueue::write_queue_status(const ElasticQueue& read, const QueueStatus& status) {
  const std::string& name = read.metadata.name;
  const kube::ObjectKey key{"", name};
  const kube::ObjectPtr object = queues_->get(key);
  const std::string version = object ? kube::resource_version_of(*object) : std::string();
  bool as_read = object && kube::uid_of(*object) == read.metadata.uid;
  if (as_read && version != read.metadata.resource_version) {
    const std::lock_guard lock(mutex_);
    const auto own = written_.find(name);
    as_read = own != written_.end() && own->second == std::pair(read.metadata.resource_version, version);
  }
  if (!as_read) return {Outcome::Kind::Conflict, "the queue is another one by now, or was changed"};
  json changed = *object;  // with its resourceVersion: this write is a compare-and-swap
  changed["status"] = queue_status_to_json(status);
  const auto answer = client_.update(resources::kElasticQueues, key, changed, {.subresource = "status"});
  if (!answer) return outcome_of(answer.error());
  {
    const std::lock_guard lock(mutex_);
    written_[name] = {read.metadata.resource_version, kube::resource_version_of(answer.value())};
  }
  queues_->wrote(kube::uid_of(*object), answer.value());
  return Outcome::done();
}

Outcome KubeQueue::tell_unreadable(const QueueRecord& record) {
  const kube::ObjectKey key{"", record.queue.metadata.name};
  const kube::ObjectPtr object = queues_->get(key);
  if (!object || kube::resource_version_of(*object) != record.queue.metadata.resource_version)
    return {Outcome::Kind::Conflict, "the queue is another one by now, or was changed"};
  const auto changed =
      with_false_condition(*object, "Ready", condition::kReasonUnreadable, record.unreadable);
  if (!changed) return Outcome::done();
  const auto answer = client_.update(resources::kElasticQueues, key, *changed, {.subresource = "status"});
  if (!answer) return outcome_of(answer.error());
  queues_->wrote(kube::uid_of(*object), answer.value());
  return Outcome::done();
}

}  // namespace emj::manager
