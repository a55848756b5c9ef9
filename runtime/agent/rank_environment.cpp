#include "runtime/agent/rank_environment.hpp"

#include <filesystem>
#include <map>

#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using Variables = std::map<std::string, std::string>;

void load(Variables& variables, const std::vector<std::string>& entries) {
  for (const std::string& entry : entries)
    if (const auto equals = entry.find('='); equals != entry.npos)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
}

// The agent's own PMIx connection, and what is no business of a rank.
void strip(Variables& variables) {
  std::erase_if(variables, [](const auto& entry) {
    const std::string& name = entry.first;
    return name.starts_with("PMIX_") && !name.starts_with("PMIX_MCA_");
  });
  for (const char* name : {names::kTokenFile, names::kTerminationLog}) variables.erase(name);
}

void prepend(Variables& variables, const char* name, const std::string& value) {
  std::string& now = variables[name];
  now = now.empty() ? value : value + ":" + now;
}

// Defaults that the pod's own environment may override.
void add_transport(Variables& v, const Options& options, const RankPlace& place) {
  const auto prefer = [&](const char* name, const std::string& value) { v.try_emplace(name, value); };
  prefer("OMPI_MCA_pml", "ob1");
  prefer("OMPI_MCA_btl", "self,tcp,sm");
  prefer("OMPI_MCA_btl_tcp_if_include", options.interface);
  prefer("OMPI_MCA_smsc", "^cma,xpmem,knem");  // single copy needs ptrace rights, restricted pods lack them
  if (options.interface == "lo") prefer("OMPI_MCA_if_base_retain_loopback", "1");
  if (place.crowded) prefer("OMPI_MCA_mpi_yield_when_idle", "1");
  // Start-up of many ranks collapses without these; they cost nothing afterwards.
  prefer("OMPI_MCA_async_mpi_init", "1");
  prefer("OMPI_MCA_pmix_base_async_modex", "1");
  prefer("OMPI_MCA_pmix_base_collect_data", "0");
  for (const char* name : {"OMPI_MCA_btl_sm_backing_directory", "OMPI_MCA_osc_sm_backing_directory",
                           "OMPI_MCA_osc_rdma_backing_directory"})
    prefer(name, place.shm_folder);  // so that the segments of killed ranks go with the folder
}

// Without these a world cannot change; not to be overridden.
void add_malleability(Variables& v) {
  v["OMPI_MCA_async_mpi_finalize"] = "1";
  v["OMPI_MCA_mpi_ft_enable"] = "1";
  v["OMPI_MCA_coll"] = "^han";  // recovery hangs now and then with it
}

}  // namespace

std::vector<std::string> rank_environment(const Options& options, const RankPlace& place,
                                          const std::vector<std::string>& inherited,
                                          const std::vector<std::string>& pmix) {
  Variables v;
  load(v, inherited);
  strip(v);
  add_transport(v, options, place);
  if (options.malleable) add_malleability(v);
  v[names::kMode] = options.malleable ? "malleable" : "rigid";
  v[names::kRunDir] = options.run_dir;
  v[names::kWindowMillis] = std::to_string(options.window_millis);
  v[names::kPodName] = options.pod_name;
  v[names::kPodAddress] = options.address;
  v[names::kSocket] = place.socket;
  v[names::kPage] = place.page;
  v[names::kStatus] = place.joining ? "joining" : "new";
  if (!place.library.empty()) {
    prepend(v, "LD_LIBRARY_PATH", std::filesystem::path(place.library).parent_path());
    if (!options.malleable) prepend(v, "LD_PRELOAD", place.library);
  }
  load(v, pmix);
  std::vector<std::string> entries;
  for (const auto& [name, value] : v) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace empi::agent
