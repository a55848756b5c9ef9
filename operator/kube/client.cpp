// SPDX-License-Identifier: Apache-2.0
// The verbs: what each one sends and how its answer is read.

#include "operator/kube/client.hpp"

#include "operator/kube/client_core.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::kube {

using nlohmann::json;

namespace {

std::string counted(const Resource& resource, const std::string& subresource) {
  return subresource.empty() ? resource.plural : resource.plural + "/" + subresource;
}

ApiError refused(const std::string& asked, const std::string& why) {
  ApiError error;
  error.kind = ApiError::Kind::BadRequest;
  error.message = asked + ": not sent: " + why;
  return error;
}

Query write_query(const CallOptions& options, const std::string& field_manager) {
  Query query;
  query.add("fieldManager", options.field_manager.empty() ? field_manager : options.field_manager);
  if (options.dry_run) query.add("dryRun", "All");
  if (options.strict) query.add("fieldValidation", "Strict");
  return query;
}

}  // namespace

ApiResult<json> Client::object_call(Call call) {
  auto answer = perform(call);
  if (!answer) return answer.error();
  json object = empi::json_text::try_parse(answer.value());
  if (object.is_object()) return object;
  ApiError error;
  error.kind = ApiError::Kind::Malformed;
  error.message = call.asked + " at " + config().server + ": the answer is no JSON object";
  return error;
}

Client::Object Client::get(const Resource& resource, const ObjectKey& key, const CallOptions& options) {
  const std::string what = counted(resource, options.subresource);
  Call call{"get", what, "GET", object_path(resource, key, options.subresource)};
  call.asked = "reading " + what + " " + to_string(key);
  if (const auto problem = key_problem(resource, key); !problem.empty()) return refused(call.asked, problem);
  call.urgent = options.urgent;
  call.answer_timeout = options.answer_timeout;
  return object_call(std::move(call));
}

ApiResult<ObjectList> Client::list_page(const Resource& resource, const std::string& namespace_name,
                                        const ListOptions& options, const std::string& continue_token) {
  Query query;
  query.add("limit", std::to_string(options.limit));
  if (!options.label_selector.empty()) query.add("labelSelector", options.label_selector);
  if (!options.field_selector.empty()) query.add("fieldSelector", options.field_selector);
  if (!continue_token.empty()) {
    query.add("continue", continue_token);  // which holds the version already
  } else if (!options.resource_version.empty()) {
    query.add("resourceVersion", options.resource_version);
    query.add("resourceVersionMatch", "NotOlderThan");
  }
  Call call{"list", resource.plural, "GET", collection_path(resource, namespace_name) + query.text()};
  call.asked = "listing " + resource.plural + (namespace_name.empty() ? "" : " in " + namespace_name);
  const std::string asked = call.asked;
  auto answer = object_call(std::move(call));
  if (!answer) return answer.error();
  json& body = answer.value();
  const json metadata = body.value("metadata", json::object());
  ObjectList list;
  list.resource_version = resource_version_of(body);
  if (metadata.is_object() && metadata.contains("continue") && metadata["continue"].is_string())
    list.continue_token = metadata["continue"].get<std::string>();
  const auto items = body.find("items");
  bool readable =
      !list.resource_version.empty() && items != body.end() && (items->is_array() || items->is_null());
  for (std::size_t i = 0; readable && i < items->size(); ++i) readable = (*items)[i].is_object();
  if (!readable) {
    ApiError error;
    error.kind = ApiError::Kind::Malformed;
    error.message = asked + " at " + config().server + ": the answer is no list";
    return error;
  }
  for (json& item : *items) {
    item["apiVersion"] = resource.api_version();
    item["kind"] = resource.kind;
    list.items.push_back(std::move(item));
  }
  return list;
}

ApiResult<ObjectList> Client::list(const Resource& resource, const std::string& namespace_name,
                                   const ListOptions& options, const std::function<void(json&)>& reduce) {
  ObjectList all;
  do {
    auto page = list_page(resource, namespace_name, options, all.continue_token);
    if (!page) return page.error();
    for (json& item : page.value().items) {
      if (reduce) reduce(item);
      all.items.push_back(std::move(item));
    }
    all.resource_version = page.value().resource_version;
    all.continue_token = page.value().continue_token;
  } while (!all.continue_token.empty());
  return all;
}

Client::Object Client::create(const Resource& resource, const std::string& namespace_name, const json& object,
                              const CallOptions& options) {
  const ObjectKey key{namespace_name, key_of(object).name};
  const std::string what = counted(resource, options.subresource);
  Call call{"create", what, "POST"};
  call.asked = "creating " + what + " " + to_string(key);
  if (resource.namespaced && namespace_name.empty()) return refused(call.asked, "no namespace is given");
  const Query query = write_query(options, shared_->options.field_manager);
  call.target = (options.subresource.empty() ? collection_path(resource, namespace_name)
                                             : object_path(resource, key, options.subresource)) +
                query.text();
  call.key = key;
  call.body = empi::json_text::safe_text(object);
  call.content_type = "application/json";
  call.write = true;
  call.dry_run = options.dry_run;
  call.urgent = options.urgent;
  call.answer_timeout = options.answer_timeout;
  return object_call(std::move(call));
}

Client::Object Client::update(const Resource& resource, const ObjectKey& key, const json& object,
                              const CallOptions& options) {
  const std::string what = counted(resource, options.subresource);
  Call call{"update", what, "PUT"};
  call.asked = "updating " + what + " " + to_string(key);
  if (const auto problem = key_problem(resource, key); !problem.empty()) return refused(call.asked, problem);
  if (resource_version_of(object).empty())
    return refused(call.asked,
                   "metadata.resourceVersion is missing, so it would overwrite what others wrote");
  call.target = object_path(resource, key, options.subresource) +
                write_query(options, shared_->options.field_manager).text();
  call.key = key;
  call.body = empi::json_text::safe_text(object);
  call.content_type = "application/json";
  call.write = true;
  call.dry_run = options.dry_run;
  call.urgent = options.urgent;
  call.answer_timeout = options.answer_timeout;
  return object_call(std::move(call));
}

Client::Object Client::patch(const char* type, const Resource& resource, const ObjectKey& key,
                             const json& body, const CallOptions& options, bool apply) {
  const std::string what = counted(resource, options.subresource);
  Call call{"patch", what, "PATCH"};
  call.asked = (apply ? "applying " : "patching ") + what + " " + to_string(key);
  if (const auto problem = key_problem(resource, key); !problem.empty()) return refused(call.asked, problem);
  Query query = write_query(options, shared_->options.field_manager);
  if (apply && options.force) query.add("force", "true");
  call.target = object_path(resource, key, options.subresource) + query.text();
  call.key = key;
  call.body = empi::json_text::safe_text(body);
  call.content_type = type;
  call.write = true;
  call.dry_run = options.dry_run;
  call.urgent = options.urgent;
  call.answer_timeout = options.answer_timeout;
  return object_call(std::move(call));
}

Client::Object Client::apply(const Resource& resource, const ObjectKey& key, const json& object,
                             const CallOptions& options) {
  // The server reads YAML here, of which JSON is a part.
  return patch("application/apply-patch+yaml", resource, key, object, options, true);
}

Client::Object Client::merge_patch(const Resource& resource, const ObjectKey& key, const json& body,
                                   const CallOptions& options) {
  return patch("application/merge-patch+json", resource, key, body, options, false);
}

Client::Object Client::remove(const Resource& resource, const ObjectKey& key, const DeleteOptions& options) {
  Call call{"delete", resource.plural, "DELETE", object_path(resource, key)};
  call.asked = "deleting " + resource.plural + " " + to_string(key);
  if (const auto problem = key_problem(resource, key); !problem.empty()) return refused(call.asked, problem);
  json body{{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", options.propagation}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  if (options.grace_seconds >= 0) body["gracePeriodSeconds"] = options.grace_seconds;
  if (options.dry_run) body["dryRun"] = {"All"};
  call.key = key;
  call.body = empi::json_text::safe_text(body);
  call.content_type = "application/json";
  call.write = true;
  call.dry_run = options.dry_run;
  return object_call(std::move(call));
}

ApiResult<std::string> Client::get_text(const std::string& target) {
  Call call{"get", target.substr(0, target.find('?')), "GET", target};
  call.asked = "reading " + target;
  return perform(call);
}

}  // namespace emj::kube
