// SPDX-License-Identifier: Apache-2.0
// Reading kubeconfig files. Every message names file and field; what this client cannot do is refused
// instead of ignored, since ignoring a credential ends in a 401 that nobody understands.

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "operator/kube/config.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::kube {

namespace {

namespace fs = std::filesystem;

struct Entry {
  YAML::Node body;
  std::string file;
  std::string field;  // "users[admin]"
  std::string where(const std::string& name) const { return file + ": " + field + "." + name; }
};

struct Merged {
  std::map<std::string, Entry> clusters, users, contexts;
  std::string current_context;
  std::string files;  // those that were read, for messages
};

std::string text_of(const Entry& entry, const std::string& name) {
  const YAML::Node node = entry.body[name];
  if (!node || node.IsNull()) return {};
  if (!node.IsScalar()) throw ConfigError(entry.where(name) + ": expected text");
  return node.Scalar();
}

bool flag_of(const Entry& entry, const std::string& name) {
  const std::string text = text_of(entry, name);
  if (text.empty() || text == "false") return false;
  if (text == "true") return true;
  throw ConfigError(entry.where(name) + ": is '" + text + "', expected true or false");
}

void add_entries(const YAML::Node& root, const std::string& file, const std::string& list,
                 const std::string& inner, std::map<std::string, Entry>& into) {
  const YAML::Node entries = root[list];
  if (!entries || entries.IsNull()) return;
  if (!entries.IsSequence()) throw ConfigError(file + ": " + list + ": expected a list");
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::string at = file;
    at.append(": ").append(list).append("[").append(std::to_string(i)).append("].");
    const YAML::Node entry = entries[i];
    if (!entry.IsMap() || !entry["name"] || !entry["name"].IsScalar())
      throw ConfigError(at + "name: is missing");
    const std::string name = entry["name"].Scalar();
    YAML::Node body = entry[inner];
    if (!body || body.IsNull()) body = YAML::Node(YAML::NodeType::Map);
    if (!body.IsMap()) throw ConfigError(at + inner + ": expected an object");
    std::string field = list;
    field.append("[").append(name).append("]");
    into.emplace(name, Entry{body, file, std::move(field)});  // the first one stays
  }
}

void add_file(const std::string& file, Merged& merged) {
  YAML::Node root;
  try {
    root = YAML::LoadFile(file);
  } catch (const YAML::ParserException& error) {
    throw ConfigError(file + ":" + std::to_string(error.mark.line + 1) + ": is not YAML: " + error.msg);
  } catch (const YAML::BadFile&) {
    throw ConfigError(file + ": cannot be read: check its permissions");
  }
  merged.files += (merged.files.empty() ? "" : ", ") + file;
  if (root.IsNull()) return;
  if (!root.IsMap()) throw ConfigError(file + ": is no kubeconfig: expected an object");
  add_entries(root, file, "clusters", "cluster", merged.clusters);
  add_entries(root, file, "users", "user", merged.users);
  add_entries(root, file, "contexts", "context", merged.contexts);
  const YAML::Node current = root["current-context"];
  if (merged.current_context.empty() && current && current.IsScalar())
    merged.current_context = current.Scalar();
}

// `name`-data holds base64 and wins over `name`, a path relative to the kubeconfig's own folder.
Material material_of(const Entry& entry, const std::string& name) {
  const std::string data = text_of(entry, name + "-data");
  if (!data.empty()) {
    const std::string origin = entry.where(name + "-data");
    return {decode_base64(data, origin), {}, origin};
  }
  const std::string path = text_of(entry, name);
  if (path.empty()) return {};
  return {{}, (fs::absolute(entry.file).parent_path() / path).string(), entry.where(name)};
}

void read_cluster(const Entry& cluster, Config& config) {
  config.server = text_of(cluster, "server");
  if (config.server.empty()) throw ConfigError(cluster.where("server") + ": is missing");
  if (!config.server.starts_with("https://") && !config.server.starts_with("http://"))
    throw ConfigError(cluster.where("server") + ": is '" + config.server + "', expected https://HOST:PORT");
  if (!text_of(cluster, "proxy-url").empty())
    throw ConfigError(cluster.where("proxy-url") + ": proxies are not supported: use a direct address");
  config.tls_server_name = text_of(cluster, "tls-server-name");
  config.insecure_skip_tls_verify = flag_of(cluster, "insecure-skip-tls-verify");
  config.ca = material_of(cluster, "certificate-authority");
  if (config.insecure_skip_tls_verify && !config.ca.empty())
    throw ConfigError(cluster.where("insecure-skip-tls-verify") +
                      ": contradicts certificate-authority: remove one of them");
}

std::vector<std::string> texts_of(const Entry& entry, const std::string& name) {
  std::vector<std::string> texts;
  const YAML::Node list = entry.body[name];
  if (!list || list.IsNull()) return texts;
  bool good = list.IsSequence();
  for (std::size_t i = 0; good && i < list.size(); ++i) {
    good = list[i].IsScalar();
    if (good) texts.push_back(list[i].Scalar());
  }
  if (!good) throw ConfigError(entry.where(name) + ": expected a list of texts");
  return texts;
}

std::map<std::string, std::string> variables_of(const Entry& entry) {
  std::map<std::string, std::string> variables;
  const YAML::Node list = entry.body["env"];
  if (!list || list.IsNull()) return variables;
  bool good = list.IsSequence();
  for (std::size_t i = 0; good && i < list.size(); ++i) {
    const YAML::Node name = list[i].IsMap() ? list[i]["name"] : YAML::Node(),
                     value = list[i].IsMap() ? list[i]["value"] : YAML::Node();
    good = name && name.IsScalar() && !name.Scalar().empty() && value && value.IsScalar() &&
           name.Scalar().find('=') == std::string::npos;
    if (good) variables[name.Scalar()] = value.Scalar();
  }
  if (!good) throw ConfigError(entry.where("env") + ": expected a list of {name, value}");
  return variables;
}

// What a plugin is told of the cluster, as kubectl does.
std::string cluster_info(const Config& config) {
  nlohmann::json info = {{"server", config.server}};
  if (!config.tls_server_name.empty()) info["tls-server-name"] = config.tls_server_name;
  if (config.insecure_skip_tls_verify) info["insecure-skip-tls-verify"] = true;
  if (!config.ca.empty()) info["certificate-authority-data"] = encode_base64(read_material(config.ca));
  return empi::json_text::safe_text(info);
}

ExecPlugin plugin_of(const Entry& user, const Config& config) {
  const YAML::Node body = user.body["exec"];
  if (!body.IsMap()) throw ConfigError(user.where("exec") + ": expected an object");
  const Entry exec{body, user.file, user.field + ".exec"};
  ExecPlugin plugin{.command = text_of(exec, "command"),
                    .arguments = texts_of(exec, "args"),
                    .environment = variables_of(exec),
                    .api_version = text_of(exec, "apiVersion"),
                    .install_hint = text_of(exec, "installHint"),
                    .origin = user.where("exec")};
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1")
    throw ConfigError(exec.where("apiVersion") + ": is '" + plugin.api_version +
                      "', expected client.authentication.k8s.io/v1 or v1beta1");
  if (plugin.command.empty()) throw ConfigError(exec.where("command") + ": is missing");
  // With a slash it is a path, and then one from the kubeconfig's folder.
  if (plugin.command.find('/') != std::string::npos)
    plugin.command = (fs::absolute(user.file).parent_path() / plugin.command).string();
  if (text_of(exec, "interactiveMode") == "Always")
    throw ConfigError(
        exec.where("interactiveMode") +
        ": is Always: programs that ask on the terminal are not supported; take a token instead "
        "(kubectl create token ACCOUNT)");
  if (flag_of(exec, "provideClusterInfo")) plugin.cluster = cluster_info(config);
  return plugin;
}

void read_user(const Entry& user, Config& config) {
  for (const char* name : {"auth-provider", "username", "password", "as", "as-groups", "as-uid"}) {
    if (user.body[name])
      throw ConfigError(
          user.where(name) +
          ": is not supported: use exec, token, tokenFile or client-certificate with client-key");
  }
  if (user.body["exec"]) {
    config.exec = plugin_of(user, config);
    return;
  }
  config.client_certificate = material_of(user, "client-certificate");
  config.client_key = material_of(user, "client-key");
  if (config.client_certificate.empty() != config.client_key.empty())
    throw ConfigError(user.where(config.client_key.empty() ? "client-key" : "client-certificate") +
                      ": is missing: certificate and key belong together");
  const std::string token_file = text_of(user, "tokenFile");
  if (!token_file.empty()) {  // kubectl prefers the file, too
    config.token = {
        {}, (fs::absolute(user.file).parent_path() / token_file).string(), user.where("tokenFile")};
  } else {
    config.token = {text_of(user, "token"), {}, user.where("token")};
  }
}

}  // namespace

Config kubeconfig(const std::vector<std::string>& files, const std::string& wanted) {
  Merged merged;
  for (const std::string& file : files) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) add_file(file, merged);
  }
  if (merged.files.empty())
    throw ConfigError("no kubeconfig: " + empi::joined(files) + " does not exist; set KUBECONFIG");
  const std::string name = wanted.empty() ? merged.current_context : wanted;
  if (name.empty()) throw ConfigError(merged.files + ": current-context: is missing; name a context");
  const auto find = [&](const std::map<std::string, Entry>& entries, const std::string& key,
                        const std::string& by) -> const Entry& {
    const auto found = entries.find(key);
    if (found != entries.end()) return found->second;
    const std::string known = empi::joined(std::views::keys(entries));
    throw ConfigError(merged.files + ": " + by + ": there is no '" + key + "'" +
                      (known.empty() ? "" : "; there are: " + known));
  };
  const Entry& context = find(merged.contexts, name, wanted.empty() ? "current-context" : "contexts");
  const std::string cluster = text_of(context, "cluster");
  if (cluster.empty()) throw ConfigError(context.where("cluster") + ": is missing");
  Config config;
  config.origin = context.file + ", context " + name;
  read_cluster(find(merged.clusters, cluster, context.field + ".cluster"), config);
  const std::string user = text_of(context, "user");
  if (!user.empty()) read_user(find(merged.users, user, context.field + ".user"), config);
  const std::string space = text_of(context, "namespace");
  if (!space.empty()) config.namespace_name = space;
  return config;
}

}  // namespace emj::kube
