// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/outcome.hpp"

namespace emj::manager {

Outcome outcome_of(const kube::ApiError& error) {
  using Kind = kube::ApiError::Kind;
  switch (error.kind) {
    case Kind::Conflict:
    case Kind::AlreadyExists:
      return {Outcome::Kind::Conflict, error.message};
    case Kind::Forbidden:
      return {Outcome::Kind::Denied, error.message};
    case Kind::Invalid:
      return Outcome::refused(error.message);
    default:
      return Outcome::retry(error.message);
  }
}

}  // namespace emj::manager
