// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/outcome.hpp"

#include <algorithm>

namespace emj::manager {
namespace {

// The cause by which API servers tell this from other refusals (corev1.NamespaceTerminatingCause).
bool is_of_ending_namespace(const kube::ApiError& error) {
  return std::ranges::any_of(error.causes,
                             [](const kube::Cause& cause) { return cause.reason == "NamespaceTerminating"; });
}

}  // namespace

Outcome outcome_of(const kube::ApiError& error) {
  using Kind = kube::ApiError::Kind;
  switch (error.kind) {
    case Kind::Conflict:
    case Kind::AlreadyExists:
      return {Outcome::Kind::Conflict, error.message};
    case Kind::Forbidden:
      return {is_of_ending_namespace(error) ? Outcome::Kind::Ending : Outcome::Kind::Denied, error.message};
    case Kind::Invalid:
      return Outcome::refused(error.message);
    default:
      return Outcome::retry(error.message);
  }
}

}  // namespace emj::manager
