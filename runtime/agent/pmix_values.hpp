// SPDX-License-Identifier: Apache-2.0
// PMIx's C values in C++ hands: owners, conversions, packing, and the description of a namespace.
#pragma once
#include <pmix_common.h>

#include <string>
#include <vector>

#include "runtime/protocol/namespaces.hpp"

namespace empi::agent {

// Owns an array of pmix_info_t and what they point to.
class InfoList {
 public:
  InfoList() = default;
  InfoList(InfoList&&) = default;
  InfoList& operator=(InfoList&&) = delete;
  InfoList(const InfoList&) = delete;
  ~InfoList();

  void add(const char* key, const std::string& text);
  template <class T>
  void add(const char* key, T value, pmix_data_type_t type) {
    load(key, &value, type);
  }
  void add_proc(const char* key, const pmix_proc_t& proc) { load(key, &proc, PMIX_PROC); }
  void add_array(const char* key, InfoList list);  // list becomes the array's content
  void adopt(const pmix_info_t& info) { infos_.push_back(info); }

  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type);
  std::vector<pmix_info_t> infos_;
};

ProcId to_proc_id(const pmix_proc_t& proc);
std::vector<ProcId> to_proc_ids(const pmix_proc_t procs[], std::size_t n);
pmix_proc_t to_pmix(const ProcId& proc);
std::vector<std::string> to_strings(char** list);

std::string pack(const pmix_info_t& info);
InfoList unpack(const std::string& bytes, std::size_t infos);

// What PMIx_server_register_nspace wants to know of `ns` on the pod `own` (null: none of its ranks is here).
InfoList describe(const Namespace& ns, const NamespaceNode* own, std::uint32_t universe_size,
                  const std::string& folder, const std::string& ns_folder);

}  // namespace empi::agent
