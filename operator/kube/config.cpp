// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/config.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/host_port.hpp"

namespace emj::kube {

namespace {

std::string read_file(const std::string& path, const std::string& origin) {
  const std::string where = origin.empty() || origin == path ? path : origin + ": " + path;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw ConfigError(where + ": cannot be opened: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.str().empty()) throw ConfigError(where + ": is empty or cannot be read");
  return text.str();
}

std::string trimmed(std::string text) {
  const auto last = text.find_last_not_of(" \t\r\n");
  text.erase(last == std::string::npos ? 0 : last + 1);
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string::npos ? std::string() : text.substr(first);
}

}  // namespace

Surroundings real_surroundings() {
  return {[](const std::string& name) {
            const char* value = std::getenv(name.c_str());
            return std::string(value ? value : "");
          },
          Surroundings{}.service_account};
}

std::string read_material(const Material& material) {
  return material.file.empty() ? material.text : read_file(material.file, material.origin);
}

std::string decode_base64(const std::string& text, const std::string& origin) {
  const auto value_of = [](char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
  };
  std::string bytes;
  unsigned buffer = 0;
  int bits = 0;
  std::size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    ++digits;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = value_of(c);
    if (value < 0 || padding > 0)
      throw ConfigError(origin + ": is not base64 (character " + std::to_string(digits) + ")");
    buffer = (buffer << 6 | static_cast<unsigned>(value)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(buffer >> bits & 0xff);
    }
  }
  if (digits % 4 != 0 || padding > 2) throw ConfigError(origin + ": is not base64: it was cut off");
  return bytes;
}

std::string encode_base64(const std::string& bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Config in_cluster_config(const Surroundings& surroundings) {
  const std::string host = surroundings.environment("KUBERNETES_SERVICE_HOST");
  const std::string port = surroundings.environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    throw ConfigError(
        "not in a Kubernetes pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give a "
        "kubeconfig");
  const std::string& folder = surroundings.service_account;
  Config config;
  config.origin = "in-cluster service account";
  config.server = "https://" + empi::in_brackets(host) + ":" + port;
  config.ca = {{}, folder + "/ca.crt", config.origin};
  config.token = {{}, folder + "/token", config.origin};
  for (const Material* material : {&config.ca, &config.token}) {
    try {
      read_material(*material);
    } catch (const ConfigError& error) {
      throw ConfigError(std::string(error.what()) +
                        "; the pod needs a service account with automountServiceAccountToken");
    }
  }
  std::error_code ignored;
  if (std::filesystem::exists(folder + "/namespace", ignored))
    config.namespace_name = trimmed(read_file(folder + "/namespace", config.origin));
  return config;
}

Config load_config(const std::string& explicit_file, const std::string& context,
                   const Surroundings& surroundings) {
  if (!explicit_file.empty()) return kubeconfig({explicit_file}, context);
  const std::string list = surroundings.environment("KUBECONFIG");
  std::vector<std::string> files;
  std::stringstream parts(list);
  for (std::string file; std::getline(parts, file, ':');)
    if (!file.empty()) files.push_back(file);
  if (!files.empty()) return kubeconfig(files, context);
  if (!surroundings.environment("KUBERNETES_SERVICE_HOST").empty() && context.empty())
    return in_cluster_config(surroundings);
  const std::string home = surroundings.environment("HOME");
  if (home.empty())
    throw ConfigError("no way to a cluster: neither KUBECONFIG, KUBERNETES_SERVICE_HOST nor HOME is set");
  return kubeconfig({home + "/.kube/config"}, context);
}

}  // namespace emj::kube
