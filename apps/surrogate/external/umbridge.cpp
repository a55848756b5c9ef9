// SPDX-License-Identifier: Apache-2.0
// The client's side of UM-Bridge, protocol version 1.0.
#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>

#include "apps/surrogate/external/child.hpp"
#include "apps/surrogate/external/model.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/plain_http.hpp"

namespace surrogate {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// One that is free now; whoever takes it before the server does makes that one end, and it is started again.
int free_port() {
  const empi::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("there is no free port");
  return ntohs(address.sin_port);
}

class UmBridgeRunner : public Runner {
 public:
  UmBridgeRunner(UmBridge server, double timeout)
      : server_(std::move(server)), timeout_(timeout), configuration_(json::parse(server_.configuration)) {}

  void run(std::span<const double> parameters, std::span<double> outputs) override {
    if (!client_) connect(parameters.size(), outputs.size());
    json input = json::array();
    std::size_t at = 0;
    for (const std::size_t size : input_sizes_) {
      input.push_back(std::vector<double>(parameters.begin() + static_cast<std::ptrdiff_t>(at),
                                          parameters.begin() + static_cast<std::ptrdiff_t>(at + size)));
      at += size;
    }
    const json answer =
        ask("/Evaluate", {{"name", server_.name}, {"input", std::move(input)}, {"config", configuration_}});
    json all = json::array();
    for (const json& part : answer.value("output", json::array()))
      if (part.is_array()) all.insert(all.end(), part.begin(), part.end());
    take_outputs(all, outputs);
  }

  void restart() override {
    client_.reset();
    child_.reset();
  }

 private:
  void connect(std::size_t parameters, std::size_t outputs) {
    std::string address = server_.address;
    if (address.empty()) {
      const int port = free_port();
      address = "http://127.0.0.1:" + std::to_string(port);
      child_.emplace(Child::Start{server_.words, "", {"PORT=" + std::to_string(port)}});
    }
    client_.emplace(address);
    if (!client_->is_valid()) {
      client_.reset();
      throw Hopeless("'" + address + "' is no address of a UM-Bridge server: http://HOST:PORT");
    }
    empi::want_plain_answers(*client_);
    client_->set_connection_timeout(std::chrono::seconds(10));
    wait_for(address);
    const json info = ask("/Info");
    if (const json version = info.value("protocolVersion", json());
        !version.is_number() || version.get<double>() != 1.0)
      throw Hopeless(address + " speaks UM-Bridge's protocol version " + version.dump() + ", not 1.0");
    std::string names;
    for (const json& name : info.value("models", json::array()))
      if (name.is_string()) names += (names.empty() ? "" : ", ") + name.get<std::string>();
    if ((", " + names + ", ").find(", " + server_.name + ", ") == std::string::npos)
      throw Hopeless(address + " has no model '" + server_.name + "': it has " +
                     (names.empty() ? "none" : names));
    const json question = {{"name", server_.name}, {"config", configuration_}};
    input_sizes_ = sizes(ask("/InputSizes", question), "inputSizes");
    check(input_sizes_, parameters, "parameters");
    check(sizes(ask("/OutputSizes", question), "outputSizes"), outputs, "outputs");
    client_->set_read_timeout(
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::duration<double>(timeout_)));
  }

  // Until it answers anything.
  void wait_for(const std::string& address) {
    const Deadline until = deadline_in(server_.start_seconds);
    client_->set_read_timeout(std::chrono::seconds(10));
    while (!client_->Get("/Info")) {
      if (child_ && !child_->running())
        throw std::runtime_error(server_.words[0] + " has ended before it listened: see above");
      if (steady_clock::now() >= until)
        throw std::runtime_error("there is no UM-Bridge server at " + address);
      std::this_thread::sleep_for(milliseconds(20));
    }
  }

  json ask(const std::string& path, const json& question = nullptr) {
    const httplib::Result result =
        question.is_null() ? client_->Get(path)
                           : client_->Post(path, empi::json_text::text(question), "application/json");
    if (!result) throw std::runtime_error(path + ": " + httplib::to_string(result.error()));
    json answer = empi::json_text::try_parse(result->body);
    if (result->status == 200 && answer.is_object()) return answer;
    std::string words = "status " + std::to_string(result->status);
    if (answer.is_object())
      if (const auto error = answer.find("error"); error != answer.end() && error->is_object())
        words += ", " + error->value("type", "") + ": " + error->value("message", "");
    throw std::runtime_error(path + ": " + words);
  }

  static std::vector<std::size_t> sizes(const json& answer, const char* key) {
    std::vector<std::size_t> result;
    for (const json& size : answer.value(key, json::array()))
      if (size.is_number_unsigned()) result.push_back(size.get<std::size_t>());
    return result;
  }

  void check(const std::vector<std::size_t>& sizes, std::size_t wanted, const char* what) const {
    const std::size_t all = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
    if (all != wanted)
      throw Hopeless("the model '" + server_.name + "' has " + std::to_string(all) + " " + what +
                     ", and the problem file " + std::to_string(wanted));
  }

  UmBridge server_;
  double timeout_;
  json configuration_;
  std::optional<Child> child_;
  std::optional<httplib::Client> client_;
  std::vector<std::size_t> input_sizes_;
};

}  // namespace

std::unique_ptr<Runner> make_umbridge(const UmBridge& server, double timeout_seconds) {
  return std::make_unique<UmBridgeRunner>(server, timeout_seconds);
}

}  // namespace surrogate
