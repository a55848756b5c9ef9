// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/resource.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "operator/kube/config.hpp"

namespace emj::kube {

using nlohmann::json;

std::string to_string(const ObjectKey& key) {
  return key.namespace_name.empty() ? key.name : key.namespace_name + "/" + key.name;
}

std::string percent_encode(const std::string& text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const unsigned char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      encoded += static_cast<char>(c);
    } else {
      encoded += '%';
      encoded += digits[c >> 4];
      encoded += digits[c & 15];
    }
  }
  return encoded;
}

std::string collection_path(const Resource& resource, const std::string& namespace_name) {
  std::string path = resource.group.empty() ? "/api/" : "/apis/" + resource.group + "/";
  path += resource.version;
  if (resource.namespaced && !namespace_name.empty()) path += "/namespaces/" + percent_encode(namespace_name);
  return path + "/" + resource.plural;
}

std::string object_path(const Resource& resource, const ObjectKey& key, const std::string& subresource) {
  std::string path = collection_path(resource, key.namespace_name) + "/" + percent_encode(key.name);
  if (!subresource.empty()) path += "/" + subresource;
  return path;
}

std::string key_problem(const Resource& resource, const ObjectKey& key) {
  const auto bad = [](const std::string& text) {
    return text == "." || text == ".." || text.find_first_of("/%") != std::string::npos;
  };
  if (key.name.empty()) return "no name is given";
  if (bad(key.name)) return "'" + key.name + "' is not a name";
  if (resource.namespaced && key.namespace_name.empty()) return "no namespace is given";
  if (bad(key.namespace_name)) return "'" + key.namespace_name + "' is not a namespace";
  return {};
}

Query& Query::add(const std::string& name, const std::string& value) {
  text_ += (text_.empty() ? "?" : "&") + percent_encode(name) + "=" + percent_encode(value);
  return *this;
}

namespace {

const json& metadata_of(const json& object) {
  static const json none = json::object();
  if (!object.is_object()) return none;
  const auto metadata = object.find("metadata");
  return metadata != object.end() && metadata->is_object() ? *metadata : none;
}

}  // namespace

std::string text_of(const json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

ObjectKey key_of(const json& object) {
  const json& metadata = metadata_of(object);
  return {text_of(metadata, "namespace"), text_of(metadata, "name")};
}

std::string uid_of(const json& object) { return text_of(metadata_of(object), "uid"); }

std::string resource_version_of(const json& object) {
  return text_of(metadata_of(object), "resourceVersion");
}

std::string controller_uid_of(const json& object) {
  const json& metadata = metadata_of(object);
  const auto owners = metadata.find("ownerReferences");
  if (owners == metadata.end() || !owners->is_array()) return {};
  for (const json& owner : *owners) {
    if (!owner.is_object()) continue;
    const auto controller = owner.find("controller");
    if (controller != owner.end() && controller->is_boolean() && controller->get<bool>())
      return text_of(owner, "uid");
  }
  return {};
}

bool is_being_deleted(const json& object) {
  return !text_of(metadata_of(object), "deletionTimestamp").empty();
}

namespace {

bool has_all(const json& there, const json& wanted) {
  if (wanted.is_object())
    return there.is_object() && std::ranges::all_of(wanted.items(), [&](const auto& entry) {
             const auto found = there.find(entry.key());
             return found != there.end() && has_all(*found, entry.value());
           });
  if (wanted.is_array()) return there.is_array() && std::ranges::equal(there, wanted, has_all);
  return there == wanted;
}

}  // namespace

bool is_as_written(const json& there, const json& object) {
  json kept = object;
  if (const auto texts = object.find("stringData"); texts != object.end()) {
    for (const auto& [name, text] : texts->items())
      kept["data"][name] = encode_base64(text.get<std::string>());
    kept.erase("stringData");
  }
  return has_all(there, kept);
}

std::optional<std::uint64_t> version_number(const std::string& version) {
  std::uint64_t number = 0;
  const char* const end = version.data() + version.size();
  const auto [stop, error] = std::from_chars(version.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace emj::kube
