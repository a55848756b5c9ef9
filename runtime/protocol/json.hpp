// SPDX-License-Identifier: Apache-2.0
// JSON forms of the wire types, and the HTTP paths they travel on. Include only in .cpp files.
//
// Every request carries `Authorization: Bearer <job token>`; a wrong one is 401. Bodies are JSON.
// Errors are {"error": "<what was wrong and what was expected>"} with 400, 401, 404 or 409.
#pragma once
#include <nlohmann/json.hpp>

#include "runtime/protocol/change.hpp"
#include "runtime/protocol/membership.hpp"
#include "runtime/protocol/sample.hpp"
#include "runtime/protocol/start.hpp"

namespace empi {

namespace paths {
// Controller -> agent.
inline constexpr char kHealth[] = "/v1/healthz";         // GET, no token: 200 once the agent can be started
inline constexpr char kStart[] = "/v1/start";            // POST StartRequest, to the first member: the lead
inline constexpr char kChange[] = "/v1/change";          // PUT ChangeRequest to the lead; GET -> {"changes":
                                                         // [ChangeStatus, newest last]}; DELETE
                                                         // ?id=ID&fence=N cancels
inline constexpr char kMembership[] = "/v1/membership";  // GET -> MembershipView, from every agent
inline constexpr char kSample[] =
    "/v1/sample";  // GET -> {"windows": [WindowSample, newest last]} merged over pods, from the lead
inline constexpr char kReport[] = "/v1/report";  // GET ?since=INDEX -> Report: the three above, of one moment
inline constexpr char kFence[] = "/v1/fence";    // PUT {"fence": n}: this controller has the job from now on
inline constexpr char kLead[] = "/v1/lead";      // PUT LeadRequest, to the one that is to lead
inline constexpr char kNotice[] =
    "/v1/notice";  // POST {"id": text, "fence": n}: the program is to end, to be started again
inline constexpr char kStop[] = "/v1/stop";  // POST StopRequest
// Agent -> agent.
inline constexpr char kMessage[] = "/v1/agent";  // POST, see runtime/agent
}  // namespace paths

void to_json(nlohmann::json& j, const StopRequest& r);
void from_json(const nlohmann::json& j, StopRequest& r);
void to_json(nlohmann::json& j, const Member& m);
void from_json(const nlohmann::json& j, Member& m);
void to_json(nlohmann::json& j, const Membership& m);
void from_json(const nlohmann::json& j, Membership& m);
void to_json(nlohmann::json& j, const ChangeRequest& r);
void from_json(const nlohmann::json& j, ChangeRequest& r);
void to_json(nlohmann::json& j, const ChangeTimes& t);
void from_json(const nlohmann::json& j, ChangeTimes& t);
void to_json(nlohmann::json& j, const ChangeStatus& s);
void from_json(const nlohmann::json& j, ChangeStatus& s);
void to_json(nlohmann::json& j, const ChangeRecord& r);
void from_json(const nlohmann::json& j, ChangeRecord& r);
void to_json(nlohmann::json& j, const TaskSample& t);
void from_json(const nlohmann::json& j, TaskSample& t);
void to_json(nlohmann::json& j, const WindowSample& s);
void from_json(const nlohmann::json& j, WindowSample& s);
void to_json(nlohmann::json& j, const StartRequest& s);
void from_json(const nlohmann::json& j, StartRequest& s);
void to_json(nlohmann::json& j, const LeadRequest& r);
void from_json(const nlohmann::json& j, LeadRequest& r);
void to_json(nlohmann::json& j, const MembershipView& v);
void from_json(const nlohmann::json& j, MembershipView& v);
void to_json(nlohmann::json& j, const Report& r);
void from_json(const nlohmann::json& j, Report& r);
void to_json(nlohmann::json& j, const JobOutcome& o);
void from_json(const nlohmann::json& j, JobOutcome& o);

}  // namespace empi
