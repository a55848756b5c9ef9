// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pmix_values.hpp"

#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace empi::agent {

InfoList::~InfoList() {
  for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
}

void InfoList::load(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, key, value, type);
  infos_.push_back(info);
}

void InfoList::add(const char* key, const std::string& text) { load(key, text.c_str(), PMIX_STRING); }

void InfoList::add_array(const char* key, InfoList list) {
  pmix_data_array_t* array;
  PMIX_DATA_ARRAY_CREATE(array, list.size(), PMIX_INFO);
  std::memcpy(array->array, list.data(), list.size() * sizeof(pmix_info_t));
  list.infos_.clear();  // the array owns them now
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_LOAD_KEY(info.key, key);
  info.value.type = PMIX_DATA_ARRAY;
  info.value.data.darray = array;
  infos_.push_back(info);
}

ProcId to_proc_id(const pmix_proc_t& proc) { return {proc.nspace, proc.rank}; }

std::vector<ProcId> to_proc_ids(const pmix_proc_t procs[], std::size_t n) {
  std::vector<ProcId> ids;
  for (std::size_t i = 0; i < n; ++i) ids.push_back(to_proc_id(procs[i]));
  return ids;
}

pmix_proc_t to_pmix(const ProcId& proc) {
  pmix_proc_t p;
  PMIX_LOAD_PROCID(&p, proc.nspace.c_str(), proc.rank);
  return p;
}

std::vector<std::string> to_strings(char** list) {
  std::vector<std::string> strings;
  for (char** at = list; at && *at; ++at) strings.push_back(*at);
  return strings;
}

std::string pack(const pmix_info_t& info) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  PMIx_Data_pack(nullptr, &buffer, const_cast<pmix_info_t*>(&info), 1, PMIX_INFO);
  std::string bytes(buffer.base_ptr ? buffer.base_ptr : "", buffer.bytes_used);
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return bytes;
}

InfoList unpack(const std::string& bytes, std::size_t infos) {
  pmix_data_buffer_t buffer;
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  std::ranges::copy(bytes, copy);
  buffer.base_ptr = buffer.unpack_ptr = copy;
  buffer.pack_ptr = copy + bytes.size();
  buffer.bytes_allocated = buffer.bytes_used = bytes.size();
  InfoList list;
  for (std::size_t i = 0; i < infos; ++i) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    std::int32_t count = 1;
    if (PMIx_Data_unpack(nullptr, &buffer, &info, &count, PMIX_INFO) != PMIX_SUCCESS) break;
    list.adopt(info);
  }
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);
  return list;
}

namespace {

std::string rank_list(const NamespaceNode& node) {
  std::string text;
  for (std::uint32_t i = 0; i < node.count; ++i) text += (i ? "," : "") + std::to_string(node.first + i);
  return text;
}

void add_maps(InfoList& infos, const Namespace& ns) {
  std::string hosts, ranks;
  for (const NamespaceNode& node : ns.nodes) {
    hosts += (hosts.empty() ? "" : ",") + node.host;
    ranks += (ranks.empty() ? "" : ";") + rank_list(node);
  }
  char *node_map = nullptr, *proc_map = nullptr;
  PMIx_generate_regex(hosts.c_str(), &node_map);
  PMIx_generate_ppn(ranks.c_str(), &proc_map);
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_NODE_MAP, node_map, PMIX_REGEX);
  infos.adopt(info);
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_PROC_MAP, proc_map, PMIX_REGEX);
  infos.adopt(info);
  std::free(node_map);
  std::free(proc_map);
}

InfoList describe_rank(const NamespaceNode& node, std::uint32_t index, std::uint32_t node_id, bool own,
                       const std::string& ns_folder) {
  const pmix_rank_t rank = node.first + index;
  const auto local = static_cast<std::uint16_t>(index);
  InfoList data;
  for (const char* key : {PMIX_RANK, PMIX_GLOBAL_RANK, PMIX_APP_RANK}) data.add(key, rank, PMIX_PROC_RANK);
  data.add(PMIX_APPNUM, std::uint32_t{0}, PMIX_UINT32);
  data.add(PMIX_LOCAL_RANK, local, PMIX_UINT16);
  data.add(PMIX_NODE_RANK, local, PMIX_UINT16);
  data.add(PMIX_NODEID, node_id, PMIX_UINT32);
  data.add(PMIX_HOSTNAME, node.host);
  if (own) data.add(PMIX_PROCDIR, ns_folder + "/" + std::to_string(rank));
  return data;
}

}  // namespace

InfoList describe(const Namespace& ns, const NamespaceNode* own, std::uint32_t universe_size,
                  const std::string& folder, const std::string& ns_folder) {
  InfoList infos;
  add_maps(infos, ns);
  const std::uint32_t size = ns.size(), universe = std::max(size, universe_size);
  infos.add(PMIX_JOBID, ns.name);
  infos.add(PMIX_JOB_SIZE, size, PMIX_UINT32);
  infos.add(PMIX_UNIV_SIZE, universe, PMIX_UINT32);
  infos.add(PMIX_MAX_PROCS, universe, PMIX_UINT32);
  infos.add(PMIX_JOB_NUM_APPS, std::uint32_t{1}, PMIX_UINT32);
  infos.add(PMIX_NUM_NODES, static_cast<std::uint32_t>(ns.nodes.size()), PMIX_UINT32);
  if (own) {
    infos.add(PMIX_LOCAL_SIZE, own->count, PMIX_UINT32);
    infos.add(PMIX_LOCAL_PEERS, rank_list(*own));
    infos.add(PMIX_LOCALLDR, pmix_rank_t{own->first}, PMIX_PROC_RANK);
    infos.add(PMIX_TMPDIR, folder);
    infos.add(PMIX_NSDIR, ns_folder);
    infos.add(PMIX_TDIR_RMCLEAN, true, PMIX_BOOL);
  }
  std::uint32_t node_id = 0;
  for (const NamespaceNode& node : ns.nodes) {
    for (std::uint32_t i = 0; i < node.count; ++i)
      infos.add_array(PMIX_PROC_DATA,
                      describe_rank(node, i, node_id, own && node.uid == own->uid, ns_folder));
    ++node_id;
  }
  return infos;
}

}  // namespace empi::agent
