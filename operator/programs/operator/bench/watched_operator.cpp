// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/operator/bench/watched_operator.hpp"

#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace emj::bench {

using nlohmann::json;

static double status_of(int pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1));
  throw std::runtime_error("the operator (process " + std::to_string(pid) + ") is gone: see its log");
}

double memory_mib(int pid, const std::string& field) { return status_of(pid, field) / 1024; }
int threads_of(int pid) { return static_cast<int>(status_of(pid, "Threads")); }

double cpu_seconds(int pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state ... cmajflt
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Metrics read_metrics(int port) {
  httplib::Client http("127.0.0.1", port);
  const auto answer = http.Get("/metrics");
  if (!answer || answer->status != 200) throw std::runtime_error("the operator shows no metrics");
  Metrics metrics;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.rfind(' ');
    if (!line.starts_with('#') && space != std::string::npos)
      metrics[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
  }
  return metrics;
}

double grown(const Metrics& before, const Metrics& after, const std::string& name,
             const std::vector<std::string>& words) {
  double sum = 0;
  for (const auto& [series, value] : after) {
    if (!series.starts_with(name + "{") && series != name) continue;
    if (!std::ranges::all_of(words, [&](const auto& word) { return series.find(word) != std::string::npos; }))
      continue;
    const auto old = before.find(series);
    sum += value - (old == before.end() ? 0 : old->second);
  }
  return sum;
}

static constexpr const char* kRequests = "empi_operator_api_requests_total";

// Of a series of requests: "create pods"; of those that write nothing, and of leases, "".
static std::string kind_of_write(const std::string& series) {
  const auto label = [&](const std::string& name) {
    const auto begin = series.find(name + "=\"");
    if (begin == std::string::npos) return std::string();
    const auto value = begin + name.size() + 2;
    return series.substr(value, series.find('"', value) - value);
  };
  const std::string verb = label("verb"), resource = label("resource");
  const bool writes = verb == "create" || verb == "update" || verb == "patch" || verb == "delete";
  return series.starts_with(kRequests) && writes && resource != "leases" ? verb + " " + resource : "";
}

static std::map<std::string, double> writes_of_kinds(const Metrics& before, const Metrics& after) {
  std::map<std::string, double> sums;
  for (const auto& [series, value] : after) {
    const std::string kind = kind_of_write(series);
    const auto old = before.find(series);
    if (!kind.empty()) sums[kind] += value - (old == before.end() ? 0 : old->second);
  }
  return sums;
}

double writes(const Metrics& before, const Metrics& after) {
  double sum = 0;
  for (const auto& [kind, count] : writes_of_kinds(before, after)) sum += count;
  return sum;
}

std::string writes_by_kind(const Metrics& before, const Metrics& after, double count) {
  std::ostringstream text;
  text.precision(3);
  for (const auto& [kind, written] : writes_of_kinds(before, after))
    if (written > 0) text << (text.tellp() > 0 ? ", " : "") << kind << ' ' << written / count;
  return text.str();
}

double quantile_of(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

double quantile(const Metrics& before, const Metrics& after, const std::string& name, double q) {
  std::map<double, double> buckets;  // upper bound -> count up to it
  for (const auto& [series, value] : after) {
    const std::string prefix = name + "_bucket{le=\"";
    if (!series.starts_with(prefix)) continue;
    const auto old = before.find(series);
    buckets[std::strtod(series.c_str() + prefix.size(), nullptr)] =
        value - (old == before.end() ? 0 : old->second);
  }
  if (buckets.empty() || buckets.rbegin()->second == 0) throw std::runtime_error(name + " counted nothing");
  const double wanted = q * buckets.rbegin()->second;
  double low = 0, below = 0;
  for (const auto& [bound, count] : buckets) {
    if (count >= wanted)
      return std::isinf(bound) ? low : low + (bound - low) * (wanted - below) / std::max(count - below, 1.);
    low = bound;
    below = count;
  }
  return low;
}

double load_of(int pid, int seconds) {
  const auto begin = Clock::now();
  const double before = cpu_seconds(pid);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  return (cpu_seconds(pid) - before) / seconds_since(begin);
}

kube::ClientOptions quick_client() {
  kube::ClientOptions options;
  options.requests_per_second = 1000;
  options.burst = 1000;
  options.idle_connections = 16;
  return options;
}

namespace {

json simulated_pod() {
  const json container = {{"name", "worker"},
                          {"image", "example.com/simulated:1"},
                          {"command", json::array({"simulated"})},
                          {"resources", {{"requests", {{"cpu", "100m"}}}}}};
  // Simulated nodes that get no processor time are late with their leases: that evicts nobody.
  json tolerations = json::array();
  for (const char* taint :
       {"kwok.x-k8s.io/node", "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"})
    tolerations.push_back({{"key", taint}, {"operator", "Exists"}});
  return {{"nodeSelector", {{"type", "kwok"}}},
          {"tolerations", tolerations},
          {"containers", json::array({container})}};
}

}  // namespace

json simulated_job(const std::string& name, int workers, int least, int most) {
  return {{"apiVersion", "elasticmpi.io/v1alpha1"},
          {"kind", "ElasticMPIJob"},
          {"metadata", {{"name", name}, {"namespace", kNamespace}}},
          {"spec",
           {{"worker",
             {{"replicas", workers},
              {"minReplicas", least},
              {"maxReplicas", most},
              {"template", {{"spec", simulated_pod()}}}}},
            {"resize", {{"joinTimeoutSeconds", 1800}}}}}};
}

void keep_size(json& job) {
  const json status = job.value("status", json::object());
  job["metadata"] = {{"name", job["metadata"]["name"]},
                     {"namespace", job["metadata"]["namespace"]},
                     {"uid", job["metadata"]["uid"]},
                     {"resourceVersion", job["metadata"]["resourceVersion"]}};
  job.erase("spec");
  job["status"] = {{"state", status.value("state", "")}, {"joined", status.value("joinedReplicas", 0)}};
}

}  // namespace emj::bench
