// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pmix_server.hpp"

#include <fcntl.h>
#include <pmix.h>
#include <pmix_server.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <future>
#include <stdexcept>
#include <string_view>

#include "runtime/agent/mpi_messages.hpp"
#include "runtime/agent/output.hpp"
#include "runtime/agent/pmix_values.hpp"
#include "runtime/base/no_devices.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

static_assert(kAllRanks == PMIX_RANK_WILDCARD);
static_assert(kPmixSuccess == PMIX_SUCCESS && kPmixError == PMIX_ERROR);
static_assert(kPmixTimeout == PMIX_ERR_TIMEOUT && kPmixNotFound == PMIX_ERR_NOT_FOUND);

PmixUpcalls* g_upcalls = nullptr;  // PMIx's module has no user data
std::string g_nspace;              // of this process

// --- upcalls: copy the arguments, post, return -------------------------------------------------------------

void release_blob(void* blob) { std::free(blob); }

BlobReply modex_reply(pmix_modex_cbfunc_t callback, void* data) {
  return [=](int status, std::string blob) {
    char* copy = static_cast<char*>(std::malloc(blob.size() + 1));
    std::ranges::copy(blob, copy);
    callback(status, copy, blob.size(), data, release_blob, copy);
  };
}

StatusReply op_reply(pmix_op_cbfunc_t callback, void* data) {
  return [=](int status) { callback(status, data); };
}

pmix_status_t on_connected(const pmix_proc_t* proc, void*, pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  g_upcalls->client_connected(to_proc_id(*proc));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  g_upcalls->client_finalized(to_proc_id(*proc));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char message[], pmix_proc_t[],
                       size_t, pmix_op_cbfunc_t, void*) {
  g_upcalls->client_aborted(to_proc_id(*proc), status, message ? message : "");
  return PMIX_OPERATION_SUCCEEDED;
}

std::string_view text_of(const pmix_info_t infos[], size_t n, const char* key) {
  for (size_t i = 0; i < n; ++i)
    if (PMIX_CHECK_KEY(&infos[i], key) && infos[i].value.type == PMIX_STRING && infos[i].value.data.string)
      return infos[i].value.data.string;
  return "";
}

// Ranks log through PMIx, and believe it to be done: what MPI says of a fatal error comes this way. So does,
// from our own PMIx, what it counts of messages that came several times.
void on_log(const pmix_proc_t* client, const pmix_info_t data[], size_t n, const pmix_info_t directives[],
            size_t directive_count, pmix_op_cbfunc_t callback, void* cbdata) {
  std::string text[3];  // by target
  for (size_t i = 0; i < n; ++i) {
    const bool error = PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDERR);
    if (!error && !PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDOUT)) continue;
    if (data[i].value.type == PMIX_STRING && data[i].value.data.string)
      text[error ? 2 : 1] += data[i].value.data.string;
  }
  const bool ours = PMIX_CHECK_NSPACE(client->nspace, g_nspace.c_str());
  const bool kept = ours || is_the_runtimes(text_of(directives, directive_count, PMIX_LOG_KEY),
                                            text_of(directives, directive_count, PMIX_LOG_VAL));
  const int target = kept ? kMpiMessages : text[2].empty() ? 1 : 2;
  g_upcalls->client_said(to_proc_id(*client), target, text[2] + text[1], op_reply(callback, cbdata));
}

pmix_status_t on_fence(const pmix_proc_t procs[], size_t n, const pmix_info_t[], size_t, char* data,
                       size_t bytes, pmix_modex_cbfunc_t callback, void* cbdata) {
  std::string blob(data ? data : "", data ? bytes : 0);
  std::free(data);  // ours by contract
  g_upcalls->collective("fence", to_proc_ids(procs, n), std::move(blob), modex_reply(callback, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t on_direct_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                              pmix_modex_cbfunc_t callback, void* cbdata) {
  g_upcalls->direct_modex(to_proc_id(*proc), modex_reply(callback, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t info[], size_t n,
                         pmix_op_cbfunc_t callback, void* cbdata) {
  std::vector<Published> data;
  bool first_read = false;
  for (size_t i = 0; i < n; ++i) {
    if (!std::strcmp(info[i].key, PMIX_PERSISTENCE)) {
      first_read = info[i].value.data.persist == PMIX_PERSIST_FIRST_READ;
    } else if (std::strncmp(info[i].key, "pmix.", 5) != 0) {  // the others are range, user, group, timeout
      data.push_back({info[i].key, to_proc_id(*proc), pack(info[i]), false});
    }
  }
  for (Published& datum : data) datum.first_read = first_read;
  g_upcalls->publish(std::move(data), op_reply(callback, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t*, char** keys, const pmix_info_t info[], size_t n,
                        pmix_lookup_cbfunc_t callback, void* cbdata) {
  bool wait = false;
  int timeout = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!std::strcmp(info[i].key, PMIX_WAIT)) wait = true;
    if (!std::strcmp(info[i].key, PMIX_TIMEOUT)) timeout = info[i].value.data.integer;
  }
  g_upcalls->lookup(to_strings(keys), wait, timeout, [=](int status, std::vector<Published> found) {
    if (found.empty()) return callback(status ? status : PMIX_ERR_NOT_FOUND, nullptr, 0, cbdata);
    pmix_pdata_t* data;
    PMIX_PDATA_CREATE(data, found.size());
    for (size_t i = 0; i < found.size(); ++i) {
      data[i].proc = to_pmix(found[i].publisher);
      PMIX_LOAD_KEY(data[i].key, found[i].key.c_str());
      InfoList value = unpack(found[i].value, 1);
      if (value.size()) PMIx_Value_xfer(&data[i].value, &value.data()[0].value);
    }
    callback(PMIX_SUCCESS, data, found.size(), cbdata);
    PMIX_PDATA_FREE(data, found.size());
  });
  return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t[], size_t,
                           pmix_op_cbfunc_t callback, void* cbdata) {
  g_upcalls->unpublish(to_strings(keys), to_proc_id(*proc), op_reply(callback, cbdata));
  return PMIX_SUCCESS;
}

pmix_status_t collective_without_data(const char* kind, const pmix_proc_t procs[], size_t n,
                                      pmix_op_cbfunc_t callback, void* cbdata) {
  g_upcalls->collective(kind, to_proc_ids(procs, n), "",
                        [=](int status, const std::string&) { callback(status, cbdata); });
  return PMIX_SUCCESS;
}

pmix_status_t on_connect(const pmix_proc_t procs[], size_t n, const pmix_info_t[], size_t,
                         pmix_op_cbfunc_t cb, void* cbdata) {
  return collective_without_data("connect", procs, n, cb, cbdata);
}

pmix_status_t on_disconnect(const pmix_proc_t procs[], size_t n, const pmix_info_t[], size_t,
                            pmix_op_cbfunc_t cb, void* cbdata) {
  return collective_without_data("disconnect", procs, n, cb, cbdata);
}

pmix_status_t on_register_events(pmix_status_t*, size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t,
                                 void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t, pmix_info_t info[],
                       size_t n, pmix_op_cbfunc_t, void*) {
  std::string packed;
  for (size_t i = 0; i < n; ++i) packed += pack(info[i]);
  g_upcalls->event(code, to_proc_id(*source), n, std::move(packed));
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_job_control(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                             pmix_info_cbfunc_t, void*) {
  return PMIX_OPERATION_SUCCEEDED;
}

void ignore_server_event(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t*,
                         size_t, pmix_event_notification_cbfunc_fn_t callback, void* data) {
  if (callback) callback(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

pmix_server_module_t module() {
  pmix_server_module_t m{};
  m.client_connected2 = on_connected;
  m.client_finalized = on_finalized;
  m.abort = on_abort;
  m.fence_nb = on_fence;
  m.direct_modex = on_direct_modex;
  m.publish = on_publish;
  m.lookup = on_lookup;
  m.unpublish = on_unpublish;
  m.connect = on_connect;
  m.disconnect = on_disconnect;
  m.register_events = on_register_events;
  m.deregister_events = on_deregister_events;
  m.notify_event = on_event;
  m.job_control = on_job_control;
  m.log = on_log;
  return m;
}

// --- downcalls
// ----------------------------------------------------------------------------------------------

void fulfil(pmix_status_t status, void* promise) {
  static_cast<std::promise<int>*>(promise)->set_value(status);
}

// Runs a PMIx call that answers through a callback and waits for the answer.
template <class Call>
void complete(const std::string& what, Call call) {
  std::promise<int> promise;
  int status = call(fulfil, &promise);
  if (status == PMIX_SUCCESS) status = promise.get_future().get();
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
    throw std::runtime_error("PMIx: cannot " + what + ": " + PMIx_Error_string(status));
}

struct ModexRequest {
  BlobReply reply;
};

void modex_done(pmix_status_t status, char* data, size_t bytes, void* request) {
  std::unique_ptr<ModexRequest> mine(static_cast<ModexRequest*>(request));
  mine->reply(status, std::string(data ? data : "", data ? bytes : 0));
}

void notified(pmix_status_t, void* infos) { delete static_cast<InfoList*>(infos); }

// PMIx reads the infos until it has called `notified`.
void notify_local(int code, const ProcId& source, std::unique_ptr<InfoList> infos) {
  const pmix_proc_t proc = to_pmix(source);
  InfoList* list = infos.release();
  const int status =
      PMIx_Notify_event(code, &proc, PMIX_RANGE_LOCAL, list->data(), list->size(), notified, list);
  if (status != PMIX_SUCCESS) delete list;
}

// PMIx complains on stderr of what the runtime takes care of (a connection that a dead rank has left): into a
// file in its folder with that, which goes with the pod.
void keep_messages_apart(const std::string& folder) {
  static const int file =
      open((folder + "/messages").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0) setenv(names::kPmixMessages, std::to_string(file).c_str(), 0);
}

}  // namespace

PmixServer::PmixServer(const std::string& folder, const std::string& host, const std::string& pod_uid,
                       PmixUpcalls& upcalls)
    : folder_(folder), pod_uid_(pod_uid) {
  g_upcalls = &upcalls;
  g_nspace = "agent." + pod_uid;
  keep_messages_apart(folder);
  static pmix_server_module_t upcall_table = module();
  InfoList infos;
  infos.add(PMIX_SERVER_TMPDIR, folder);
  infos.add(PMIX_SYSTEM_TMPDIR, folder);
  infos.add(PMIX_HOSTNAME, host);
  infos.add(PMIX_SERVER_NSPACE, g_nspace);
  infos.add(PMIX_SERVER_RANK, pmix_rank_t{0}, PMIX_PROC_RANK);
  infos.add(PMIX_SERVER_TOOL_SUPPORT, false, PMIX_BOOL);
  const int status = [&] {
    const NoDevices are_asked_for(NoDevices::Plugins::None);
    return PMIx_server_init(&upcall_table, infos.data(), infos.size());
  }();
  if (status != PMIX_SUCCESS)
    throw std::runtime_error("cannot start the PMIx server in '" + folder +
                             "': " + PMIx_Error_string(status));
  PMIx_Register_event_handler(nullptr, 0, nullptr, 0, ignore_server_event, nullptr, nullptr);
}

PmixServer::~PmixServer() {
  if (!is_damaged()) PMIx_server_finalize();
}

void PmixServer::add_namespace(const Namespace& ns, std::uint32_t universe_size) {
  const NamespaceNode* own = ns.node_of_pod(pod_uid_);
  const std::string ns_folder = folder_ + "/" + ns.name;
  if (own) {
    mkdir(ns_folder.c_str(), 0700);
    for (std::uint32_t i = 0; i < own->count; ++i)
      mkdir((ns_folder + "/" + std::to_string(own->first + i)).c_str(), 0700);
  }
  InfoList infos = describe(ns, own, universe_size, folder_, ns_folder);
  complete("register namespace " + ns.name, [&](pmix_op_cbfunc_t callback, void* data) {
    return PMIx_server_register_nspace(ns.name.c_str(), own ? static_cast<int>(own->count) : 0, infos.data(),
                                       infos.size(), callback, data);
  });
}

void PmixServer::remove_namespace(const std::string& name) {
  if (damaged_.contains(name)) return;
  std::promise<int> done;
  PMIx_server_deregister_nspace(name.c_str(), fulfil, &done);
  done.get_future().wait();
}

void PmixServer::add_client(const ProcId& proc) {
  const pmix_proc_t p = to_pmix(proc);
  complete("register rank " + name_of(proc), [&](pmix_op_cbfunc_t cb, void* data) {
    return PMIx_server_register_client(&p, getuid(), getgid(), nullptr, cb, data);
  });
}

std::vector<std::string> PmixServer::client_environment(const ProcId& proc) {
  const pmix_proc_t p = to_pmix(proc);
  char** env = nullptr;
  const int status = PMIx_server_setup_fork(&p, &env);
  std::vector<std::string> entries = to_strings(env);
  PMIX_ARGV_FREE(env);
  if (status != PMIX_SUCCESS)
    throw std::runtime_error(std::string("PMIx: cannot prepare a rank's environment: ") +
                             PMIx_Error_string(status));
  return entries;
}

void PmixServer::modex_of_local(const ProcId& proc, BlobReply reply) {
  const pmix_proc_t p = to_pmix(proc);
  auto* request = new ModexRequest{std::move(reply)};
  const int status = PMIx_server_dmodex_request(&p, modex_done, request);
  if (status != PMIX_SUCCESS) modex_done(status, nullptr, 0, request);
}

void PmixServer::notify_dead(const ProcId& proc) {
  auto infos = std::make_unique<InfoList>();
  infos->add_proc(PMIX_EVENT_AFFECTED_PROC, to_pmix(proc));
  infos->add(PMIX_EVENT_NON_DEFAULT, true, PMIX_BOOL);
  notify_local(PMIX_ERR_PROC_ABORTED_BY_SIG, proc, std::move(infos));
}

void PmixServer::notify(int code, const ProcId& source, std::size_t infos, const std::string& packed) {
  notify_local(code, source, std::make_unique<InfoList>(unpack(packed, infos)));
}

}  // namespace empi::agent
