// SPDX-License-Identifier: Apache-2.0
// An agent that answers what it is told to, for tests of who asks it.
#pragma once
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "operator/agents/http_runtime.hpp"
#include "runtime/protocol/json.hpp"

namespace emj::testing_lead {

// The lead of a job of one pod, which takes one token.
class Lead {
 public:
  explicit Lead(std::string takes_token) : takes(std::move(takes_token)) {
    server_.Get(empi::paths::kReport, [this](const httplib::Request& request, httplib::Response& response) {
      if (is_right(request, response))
        response.set_content(nlohmann::json(report).dump(), "application/json");
    });
    server_.Get(empi::paths::kMembership,
                [this](const httplib::Request& request, httplib::Response& response) {
                  if (is_right(request, response))
                    response.set_content(nlohmann::json(report.view).dump(), "application/json");
                });
    server_.Post(empi::paths::kNotice, [this](const httplib::Request& request, httplib::Response& response) {
      is_right(request, response);
    });
    server_.Post(empi::paths::kStop, [this](const httplib::Request& request, httplib::Response& response) {
      if (!is_right(request, response)) return;
      const auto stop = nlohmann::json::parse(request.body);
      const bool for_itself = stop.value("thisPod", false);
      if (const int refusal = for_itself ? refuses_alone_by : refuses_by; refusal != 0)
        response.status = refusal;
      else if (stop.value("pod", report.view.uid) != report.view.uid)
        response.status = 404;
      else
        ++(for_itself ? stopped_alone : stopped);
    });
    server_.Put(empi::paths::kChange, [this](const httplib::Request& request, httplib::Response& response) {
      is_right(request, response);
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    server_.wait_until_ready();
    report.view.uid = "uid-0";
    report.view.membership.epoch.value = 1;
    report.view.membership.members = {{"uid-0", "w-0", address(), 1, "n", 0}};
  }
  ~Lead() {
    server_.stop();
    thread_.join();
  }
  // Once the body has been read: an agent lingers, too, so that its answer arrives.
  bool is_right(const httplib::Request& request, httplib::Response& response) {
    ++asked;
    std::this_thread::sleep_for(takes_time);
    const bool right = request.get_header_value("Authorization") == "Bearer " + takes;
    if (!right) response.status = 401;
    return right;
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  PodView pod() const {
    PodView pod;
    pod.name = "job-w-0";
    pod.uid = "uid-0";
    pod.ip = address();
    return pod;
  }

  empi::Report report;
  std::atomic<int> asked{0}, stopped{0}, stopped_alone{0};
  std::atomic<int> refuses_by{0}, refuses_alone_by{0};  // to stop its job, itself: an HTTP status
  std::string takes;                                    // these two: set while nobody asks
  Millis takes_time{0};

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
};

inline ElasticMPIJob a_job() {
  ElasticMPIJob job;
  job.metadata.name = "job";
  job.status.epoch = 1;
  return job;
}

}  // namespace emj::testing_lead
