#include <algorithm>
#include <array>

#include "runtime/agent/change_driver.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

int count_ranks(const std::vector<Member>& members) {
  int sum = 0;
  for (const Member& m : members) sum += m.slots;
  return sum;
}

constexpr std::array<std::pair<DriverStep::Kind, std::string_view>, 14> kStepNames = {{
    {DriverStep::Kind::Prepare, "prepare"},
    {DriverStep::Kind::Launch, "launch"},
    {DriverStep::Kind::Fetch, "fetch"},
    {DriverStep::Kind::Build, "build"},
    {DriverStep::Kind::ReadProbes, "read_probes"},
    {DriverStep::Kind::Arm, "arm"},
    {DriverStep::Kind::Confirm, "confirm"},
    {DriverStep::Kind::Interrupt, "interrupt"},
    {DriverStep::Kind::GiveUp, "give_up"},
    {DriverStep::Kind::Commit, "commit"},
    {DriverStep::Kind::Release, "release"},
    {DriverStep::Kind::Forget, "forget"},
    {DriverStep::Kind::Attach, "attach"},
    {DriverStep::Kind::Depart, "depart"},
}};

}  // namespace

bool ChangePlan::leaves(const std::string& uid) const {
  return std::ranges::find(remove, uid) != remove.end();
}

bool ChangePlan::joins(const std::string& uid) const {
  return std::ranges::find(add, uid, &Member::uid) != add.end();
}

int ChangePlan::leaving_ranks() const {
  int sum = 0;
  for (const Member& m : old.members)
    if (leaves(m.uid)) sum += m.slots;
  return sum;
}

int ChangePlan::joining_ranks() const { return count_ranks(add); }
int ChangePlan::staying_ranks() const { return count_ranks(old.members) - leaving_ranks(); }

void to_json(nlohmann::json& j, const ChangePlan& p) {
  j = {{"id", p.id},   {"next", p.next.value}, {"port", p.port},      {"old", p.old},
       {"add", p.add}, {"remove", p.remove},   {"joiners", p.joiners}};
}

void from_json(const nlohmann::json& j, ChangePlan& p) {
  j.at("id").get_to(p.id);
  j.at("next").get_to(p.next.value);
  j.at("port").get_to(p.port);
  j.at("old").get_to(p.old);
  j.at("add").get_to(p.add);
  j.at("remove").get_to(p.remove);
  j.at("joiners").get_to(p.joiners);
}

std::vector<ProcId> ranks_of(const Member& member) {
  std::vector<ProcId> ranks;
  for (int i = 0; i < member.slots; ++i)
    ranks.push_back({member.nspace, member.first_rank + static_cast<std::uint32_t>(i)});
  return ranks;
}

std::vector<ProcId> ranks_of(const std::vector<Member>& members) {
  std::vector<ProcId> ranks;
  for (const Member& m : members) std::ranges::copy(ranks_of(m), std::back_inserter(ranks));
  return ranks;
}

std::string_view to_string(DriverStep::Kind kind) {
  for (const auto& [k, name] : kStepNames)
    if (k == kind) return name;
  return "?";
}

std::optional<DriverStep::Kind> step_kind_from(std::string_view text) {
  for (const auto& [kind, name] : kStepNames)
    if (name == text) return kind;
  return std::nullopt;
}

}  // namespace empi::agent
