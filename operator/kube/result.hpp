// SPDX-License-Identifier: Apache-2.0
// What the API server (or the way to it) answers when it does not do what it was asked.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/clock.hpp"
#include "runtime/base/expected.hpp"

namespace emj::kube {

// One of the reasons of a refusal, as in Status.details.causes: which field, and what is wrong with it.
struct Cause {
  std::string field;    // spec.containers[0].image; may be empty
  std::string reason;   // FieldValueRequired, ...
  std::string message;  // the server's words
};

struct ApiError {
  enum class Kind {
    BadRequest,       // 400 and 4xx without a kind of their own; also requests refused before they are sent
    Unauthorized,     // 401, after the token was read again
    Forbidden,        // 403: RBAC, Pod Security, quota
    NotFound,         // 404
    AlreadyExists,    // 409 of a create
    Conflict,         // 409: resourceVersion, uid precondition or field manager: read again and recompute
    Expired,          // 410: this resourceVersion or continue token is too old
    Invalid,          // 422: `causes` say which fields
    TooManyRequests,  // 429, after the bounded retries
    Unavailable,      // 503
    Timeout,          // 408, 504: the server gave up
    Server,           // other 5xx
    Unreachable,      // no connection: the server has not seen the request
    Lost,             // the connection broke or timed out: the server may have done what was asked
    Malformed,        // an answer that cannot be read
    Stopped           // stop() was called
  };
  Kind kind = Kind::Server;
  int status = 0;                     // HTTP status, 0 without an answer
  std::string reason;                 // Status.reason
  std::string message;                // what was asked, and what came back
  std::optional<Millis> retry_after;  // Retry-After or details.retryAfterSeconds
  std::vector<Cause> causes;
};
const char* to_string(ApiError::Kind kind);

// The error that an answer with this status (>= 300) means. `retry_after_header` is in seconds, or empty.
ApiError api_error(const std::string& asked, int status, const std::string& body,
                   const std::string& retry_after_header);

template <class T>
using ApiResult = empi::Expected<T, ApiError>;

}  // namespace emj::kube
