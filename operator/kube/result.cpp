// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/result.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "operator/kube/resource.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::kube {

using nlohmann::json;

const char* to_string(ApiError::Kind kind) {
  using Kind = ApiError::Kind;
  switch (kind) {
    case Kind::BadRequest:
      return "bad request";
    case Kind::Unauthorized:
      return "unauthorized";
    case Kind::Forbidden:
      return "forbidden";
    case Kind::NotFound:
      return "not found";
    case Kind::AlreadyExists:
      return "exists already";
    case Kind::Conflict:
      return "conflict";
    case Kind::Expired:
      return "expired";
    case Kind::Invalid:
      return "invalid";
    case Kind::TooManyRequests:
      return "too many requests";
    case Kind::Unavailable:
      return "unavailable";
    case Kind::Timeout:
      return "timeout";
    case Kind::Server:
      return "server error";
    case Kind::Unreachable:
      return "unreachable";
    case Kind::Lost:
      return "connection lost";
    case Kind::Malformed:
      return "malformed answer";
    case Kind::Stopped:
      return "stopped";
  }
  return "unknown";
}

namespace {

ApiError::Kind kind_of(int status, const std::string& reason) {
  using Kind = ApiError::Kind;
  switch (status) {
    case 401:
      return Kind::Unauthorized;
    case 403:
      return Kind::Forbidden;
    case 404:
      return Kind::NotFound;
    case 409:
      return reason == "AlreadyExists" ? Kind::AlreadyExists : Kind::Conflict;
    case 410:
      return Kind::Expired;
    case 422:
      return Kind::Invalid;
    case 429:
      return Kind::TooManyRequests;
    case 503:
      return Kind::Unavailable;
    case 408:
    case 504:
      return Kind::Timeout;
    default:
      return status >= 500 ? Kind::Server : Kind::BadRequest;
  }
}

// Seconds; the other form of the header, a date, is not used by API servers.
std::optional<Millis> seconds_of(const std::string& text) {
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return Seconds(seconds);
}

// The first bytes of a body that is not a Status, on one line.
std::string excerpt(const std::string& body) {
  std::string text = empi::json_text::cut(body.substr(0, 300), 200);
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

}  // namespace

ApiError api_error(const std::string& asked, int status, const std::string& body,
                   const std::string& retry_after_header) {
  ApiError error;
  error.status = status;
  error.retry_after = seconds_of(retry_after_header);
  std::string message;
  const json answer = empi::json_text::try_parse(body);
  if (answer.is_object()) {
    error.reason = text_of(answer, "reason");
    message = text_of(answer, "message");
    const auto details = answer.find("details");
    if (details != answer.end() && details->is_object()) {
      const auto seconds = details->find("retryAfterSeconds");
      if (!error.retry_after && seconds != details->end() && seconds->is_number_integer() &&
          seconds->get<std::int64_t>() > 0)
        error.retry_after = Seconds(std::min<std::int64_t>(seconds->get<std::int64_t>(), 86400));
      const auto causes = details->find("causes");
      if (causes != details->end() && causes->is_array()) {
        for (const json& cause : *causes) {
          if (cause.is_object())
            error.causes.push_back(
                {text_of(cause, "field"), text_of(cause, "reason"), text_of(cause, "message")});
        }
      }
    }
  }
  if (message.empty()) message = excerpt(body);
  error.kind = kind_of(status, error.reason);
  error.message = asked + ": " + std::to_string(status) + " " +
                  (error.reason.empty() ? to_string(error.kind) : error.reason) +
                  (message.empty() ? "" : ": " + message);
  return error;
}

}  // namespace emj::kube
