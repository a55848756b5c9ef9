// SPDX-License-Identifier: Apache-2.0
#include "operator/decide/decide.hpp"

namespace emj {
namespace {

const char* text(DeleteReason reason) {
  switch (reason) {
    case DeleteReason::Released:
      return "released";
    case DeleteReason::NeverJoined:
      return "never joined";
    case DeleteReason::JobEnded:
      return "job ended";
    case DeleteReason::Suspended:
      break;
  }
  return "suspended";
}

struct Describe {
  std::string operator()(const CreatePod& a) const { return "create pod " + std::to_string(a.index); }
  std::string operator()(const DeletePod& a) const {
    return "delete pod " + a.name + " (" + text(a.reason) + ", uid " + a.uid + ")";
  }
  std::string operator()(const StartJob& a) const {
    return "start the program on " + std::to_string(a.members.size()) + " workers, lead " +
           a.members.front().name;
  }
  std::string operator()(const StopJob& a) const { return "stop the program: " + a.reason; }
  std::string operator()(const NameLead& a) const {
    return "tell " + a.lead.name + " that it leads, and who is lost: " + a.reason;
  }
  std::string operator()(const SendChange& a) const {
    return "send " + a.id + " from epoch " + std::to_string(a.epoch) + ": " + std::to_string(a.add.size()) +
           " join, " + std::to_string(a.remove.size()) + " leave";
  }
  std::string operator()(const CancelChange& a) const { return "cancel " + a.id; }
  std::string operator()(const GiveNotice& a) const {
    return "tell the program by " + a.id + " to write what it goes on from, and to end";
  }
  std::string operator()(const WriteScale& a) const { return "write scale " + std::to_string(a.replicas); }
  std::string operator()(const DeleteJob& a) const {
    return "delete the job (ended long ago, uid " + a.uid + ")";
  }
  std::string operator()(const Requeue& a) const {
    return "look again in " + std::to_string(a.after.count()) + " ms";
  }
  std::string operator()(const RecordEvent& a) const {
    return (a.warning ? "warning " : "event ") + a.reason + ": " + a.message;
  }
};

}  // namespace

std::string to_string(const Action& action) { return std::visit(Describe{}, action); }

}  // namespace emj
