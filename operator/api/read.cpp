// JSON (or YAML) -> values.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <type_traits>

#include "operator/api/fields.hpp"
#include "operator/api/parse.hpp"
#include "operator/api/template.hpp"
#include "operator/api/yaml.hpp"

namespace emj {
namespace {

using fields::Range;
using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The candidate that was probably meant, "" when none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& path, const std::string& name,
                         const std::vector<std::string>& siblings) {
  if (const std::string near = nearest(name, siblings); !near.empty()) return "did you mean " + near + "?";
  for (const FieldInfo& known : known_fields())
    if (known.path.ends_with("." + name) && known.path.substr(0, 4) == path.substr(0, 4))
      return "did you mean " + known.path + "?";
  std::string list;
  for (const std::string& sibling : siblings) list += (list.empty() ? "" : ", ") + sibling;
  return list.empty() ? "remove it" : "known here: " + list;
}

struct Context {
  std::vector<Violation> violations;
  const std::map<std::string, int>* lines = nullptr;
  const std::map<std::string, std::string>* boolean_words = nullptr;

  void refuse(const std::string& path, std::string reason, std::string expected, std::string hint = {}) {
    violations.push_back(
        {path, std::move(reason), std::move(expected), std::move(hint), lines ? line_of(*lines, path) : 0});
  }
  void refuse_type(const std::string& path, const json& found, std::string expected) {
    std::string hint;
    if (boolean_words)
      if (const auto word = boolean_words->find(path); word != boolean_words->end())
        hint = "YAML reads the bare word " + word->second + " as " + found.dump() + ": write \"" +
               word->second + "\"";
    std::string shown = found.dump();
    if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
    refuse(path, "is " + shown, std::move(expected), std::move(hint));
  }
};

std::string range_text(const Range& range) {
  const std::string low = range.minimum == Range{}.minimum ? "" : std::to_string(range.minimum);
  const std::string high = range.maximum == Range{}.maximum ? "" : std::to_string(range.maximum);
  if (!low.empty() && !high.empty()) return " from " + low + " to " + high;
  if (!low.empty()) return " of at least " + low;
  return high.empty() ? "" : " of at most " + high;
}

// Reads one JSON object; what is left unread when it goes out of scope is an unknown field.
class Reader {
 public:
  Reader(Context& context, const json& object, std::string path)
      : context_(context), object_(object), path_(std::move(path)) {}
  Reader(const Reader&) = delete;

  ~Reader() {
    for (const auto& [key, value] : object_.items())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        context_.refuse(at(key), "unknown field", "", did_you_mean(path_, key, known_));
  }

  template <class T>
  void field(const char* name, T& value, Range range = {}) {
    if (const json* found = take(name)) read(at(name), *found, value, range);
  }

  void choice(const char* name, std::string& value, std::initializer_list<const char*> choices) {
    const json* found = take(name);
    if (!found) return;
    const std::vector<std::string> names(choices.begin(), choices.end());
    if (const auto index = pick(at(name), *found, names)) value = names[*index];
  }

  void pod(const char* name, PodTemplate& value) {
    const json* found = take(name);
    if (!found) {
      context_.refuse(at(name), "missing", "a pod template with one container named worker and its command");
      return;
    }
    for (Violation& violation : read_pod_template(*found, at(name), value))
      context_.refuse(violation.field, violation.reason, violation.expected, violation.hint);
  }

  template <class F>
    requires std::is_invocable_v<F, Reader&>
  void object(const char* name, F describe_members) {
    static const json empty = json::object();
    const json* found = take(name);
    if (found && !found->is_object()) {
      context_.refuse_type(at(name), *found, "an object");
      return;
    }
    Reader inner(context_, found ? *found : empty, at(name));
    describe_members(inner);
  }
  template <class T>
  void object(const char* name, std::optional<T>& value) {
    const json* found = take(name);
    if (!found) return;
    if (!found->is_object()) {
      context_.refuse_type(at(name), *found, "an object");
      return;
    }
    Reader inner(context_, *found, at(name));
    fields::describe(inner, value.emplace());
  }
  template <class T>
  void group(const char* key, std::optional<T>& value) {
    T unused{};
    T& target = object_.contains(key) ? value.emplace() : unused;
    fields::describe(*this, target);
  }
  template <class T>
  void list(const char* name, std::vector<T>& values) {
    const json* found = take(name);
    if (!found) return;
    if (!found->is_array()) {
      context_.refuse_type(at(name), *found, "a list");
      return;
    }
    values.clear();
    for (std::size_t i = 0; i < found->size(); ++i) {
      const std::string path = at(name) + "[" + std::to_string(i) + "]";
      if (!(*found)[i].is_object()) {
        context_.refuse_type(path, (*found)[i], "an object");
        continue;
      }
      Reader inner(context_, (*found)[i], path);
      fields::describe(inner, values.emplace_back());
    }
  }

 private:
  std::string at(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

  // null means absent, as for the API server.
  const json* take(const char* name) {
    known_.emplace_back(name);
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::optional<std::size_t> pick(const std::string& path, const json& found,
                                  const std::vector<std::string>& names) {
    if (found.is_string())
      for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == found.get_ref<const std::string&>()) return i;
    std::string expected;
    for (const std::string& name : names) expected += (expected.empty() ? "" : ", ") + name;
    if (names.size() > 1) expected = "one of " + expected;
    if (!found.is_string()) {
      context_.refuse_type(path, found, expected);
    } else {
      const std::string near = nearest(found.get<std::string>(), names);
      context_.refuse(path, "is " + found.dump() + ", which is unknown or not implemented", expected,
                      near.empty() ? "" : "did you mean " + near + "?");
    }
    return std::nullopt;
  }

  template <class Int>
  bool read_integer(const std::string& path, const json& found, Int& value, const Range& range) {
    // The API server takes 3.0 for an integer, too.
    const bool whole =
        found.is_number_integer() ||
        (found.is_number_float() && std::nearbyint(found.get<double>()) == found.get<double>() &&
         std::abs(found.get<double>()) < 1e15);
    const bool too_large = found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX;
    const std::int64_t number = whole && !too_large ? found.get<std::int64_t>() : 0;
    if (!whole || too_large || number < range.minimum || number > range.maximum ||
        number < std::numeric_limits<Int>::min() || number > std::numeric_limits<Int>::max()) {
      context_.refuse_type(path, found, "a whole number" + range_text(range));
      return false;
    }
    value = static_cast<Int>(number);
    return true;
  }

  template <class T>
  void read(const std::string& path, const json& found, std::optional<T>& value, const Range& range) {
    read(path, found, value.emplace(), range);
  }
  void read(const std::string& path, const json& found, bool& value, const Range&) {
    if (found.is_boolean())
      value = found.get<bool>();
    else
      context_.refuse_type(path, found, "true or false");
  }
  void read(const std::string& path, const json& found, int& value, const Range& range) {
    read_integer(path, found, value, range);
  }
  void read(const std::string& path, const json& found, std::int64_t& value, const Range& range) {
    read_integer(path, found, value, range);
  }
  void read(const std::string& path, const json& found, double& value, const Range& range) {
    const bool fits = found.is_number() &&
                      (range.minimum == Range{}.minimum || found.get<double>() >= double(range.minimum)) &&
                      (range.maximum == Range{}.maximum || found.get<double>() <= double(range.maximum));
    if (fits)
      value = found.get<double>();
    else
      context_.refuse_type(path, found, "a number" + range_text(range));
  }
  void read(const std::string& path, const json& found, std::string& value, const Range&) {
    if (found.is_string())
      value = found.get<std::string>();
    else
      context_.refuse_type(path, found, "a text");
  }
  void read(const std::string& path, const json& found, Seconds& value, const Range& range) {
    std::int64_t seconds = 0;
    if (read_integer(path, found, seconds, range)) value = Seconds(seconds);
  }
  void read(const std::string& path, const json& found, Time& value, const Range&) {
    const auto time = found.is_string() ? parse_time(found.get_ref<const std::string&>()) : std::nullopt;
    if (time)
      value = *time;
    else
      context_.refuse_type(path, found, "a time such as 2026-01-31T12:00:00Z");
  }
  void read(const std::string& path, const json& found, IndexSet& value, const Range&) {
    const auto set = found.is_string() ? IndexSet::parse(found.get_ref<const std::string&>()) : std::nullopt;
    if (set)
      value = *set;
    else
      context_.refuse_type(path, found, "worker indices such as \"0-3,7\"");
  }
  void read(const std::string& path, const json& found, Step& value, const Range& range) {
    if (found == "Factor2")
      value.workers = 0;
    else if (found.is_string())
      context_.refuse_type(path, found, "Factor2 or a whole number" + range_text(range));
    else
      read_integer(path, found, value.workers, range);
  }
  void read(const std::string& path, const json& found, std::vector<int>& value, const Range& range) {
    if (!found.is_array()) {
      context_.refuse_type(path, found, "a list of whole numbers");
      return;
    }
    value.clear();
    for (std::size_t i = 0; i < found.size(); ++i)
      read_integer(path + "[" + std::to_string(i) + "]", found[i], value.emplace_back(), range);
  }
  template <class E>
    requires std::is_enum_v<E>
  void read(const std::string& path, const json& found, E& value, const Range&) {
    std::vector<std::string> names;
    for (const auto& entry : fields::Names<E>::all) names.emplace_back(entry.second);
    if (const auto index = pick(path, found, names)) value = fields::Names<E>::all[*index].first;
  }

  Context& context_;
  const json& object_;
  std::string path_;
  std::vector<std::string> known_;
};

void read_texts(Context& context, const json& object, const char* name,
                std::map<std::string, std::string>& values) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return;
  const std::string path = std::string("metadata.") + name;
  if (!found->is_object()) return context.refuse_type(path, *found, "an object of texts");
  for (const auto& [key, value] : found->items()) {
    if (value.is_string())
      values[key] = value.get<std::string>();
    else
      context.refuse_type(path + "." + key, value, "a text");
  }
}

void read_metadata(Context& context, const json& object, bool refuse_unknown, Metadata& metadata) {
  const auto found = object.find("metadata");
  if (found == object.end() || !found->is_object())
    return context.refuse("metadata.name", "missing", "a name for the job");
  const auto text = [&](const char* name, std::string& value) {
    const auto entry = found->find(name);
    if (entry == found->end() || entry->is_null()) return;
    if (entry->is_string())
      value = entry->get<std::string>();
    else
      context.refuse_type(std::string("metadata.") + name, *entry, "a text");
  };
  const auto time = [&](const char* name, std::optional<Time>& value) {
    std::string written;
    text(name, written);
    if (written.empty()) return;
    value = parse_time(written);
    if (!value)
      context.refuse(std::string("metadata.") + name, "is " + written, "a time such as 2026-01-31T12:00:00Z");
  };
  text("name", metadata.name);
  text("namespace", metadata.namespace_name);
  text("uid", metadata.uid);
  text("resourceVersion", metadata.resource_version);
  time("creationTimestamp", metadata.creation_time);
  time("deletionTimestamp", metadata.deletion_time);
  if (const auto generation = found->find("generation");
      generation != found->end() && generation->is_number_integer())
    metadata.generation = generation->get<std::int64_t>();
  read_texts(context, *found, "labels", metadata.labels);
  read_texts(context, *found, "annotations", metadata.annotations);
  if (metadata.name.empty() && !found->contains("name"))
    context.refuse("metadata.name", "missing", "a name for the job");
  if (!refuse_unknown) return;
  static const std::vector<std::string> known = {"name",
                                                 "namespace",
                                                 "labels",
                                                 "annotations",
                                                 "uid",
                                                 "resourceVersion",
                                                 "generation",
                                                 "creationTimestamp",
                                                 "managedFields",
                                                 "finalizers",
                                                 "deletionTimestamp",
                                                 "generateName",
                                                 "ownerReferences",
                                                 "deletionGracePeriodSeconds",
                                                 "selfLink"};
  for (const auto& [key, value] : found->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      context.refuse("metadata." + key, "unknown field", "", did_you_mean("metadata", key, known));
}

void read_type(Context& context, const json& object) {
  const auto expect = [&](const char* name, const char* wanted) {
    const auto found = object.find(name);
    if (found == object.end())
      context.refuse(name, "missing", wanted);
    else if (*found != wanted)
      context.refuse_type(name, *found, wanted);
  };
  expect("apiVersion", api_version);
  expect("kind", job_kind);
}

// Sections in the order users write them.
ElasticMPIJob read_job(Context& context, const json& object, bool refuse_unknown) {
  ElasticMPIJob job;
  read_type(context, object);
  read_metadata(context, object, refuse_unknown, job.metadata);
  const auto section = [&](const char* name) -> const json* {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return nullptr;
    if (found->is_object()) return &*found;
    context.refuse_type(name, *found, "an object");
    return nullptr;
  };
  if (const json* spec = section("spec")) {
    {
      Reader reader(context, *spec, "spec");
      fields::describe(reader, job.spec);
    }
    const json* const worker =
        spec->contains("worker") && (*spec)["worker"].is_object() ? &(*spec)["worker"] : nullptr;
    for (const char* required : {"minReplicas", "maxReplicas"})
      if (!worker || !worker->contains(required) || (*worker)[required].is_null())
        context.refuse(std::string("spec.worker.") + required, "missing", "a number of workers");
  } else if (!object.contains("spec")) {
    context.refuse("spec", "missing", "at least spec.worker with minReplicas, maxReplicas and template");
  }
  if (const json* status = section("status")) {
    Reader reader(context, *status, "status");
    fields::describe(reader, job.status);
  }
  static const std::vector<std::string> known = {"apiVersion", "kind", "metadata", "spec", "status"};
  for (const auto& [key, value] : object.items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      context.refuse(key, "unknown field", "", did_you_mean("", key, known));
  std::sort(job.spec.resize.allowed_replicas.begin(), job.spec.resize.allowed_replicas.end());
  return job;
}

Result<ElasticMPIJob> finish(Context& context, ElasticMPIJob job, const std::string& filename) {
  // A field that could not be read holds its default: checking it further would only mislead.
  if (context.violations.empty()) {
    std::vector<Violation> found = validate(job);
    for (Violation& violation : found)
      if (context.lines) violation.line = line_of(*context.lines, violation.field);
    if (!refuses(found)) return {std::move(job), std::move(found), filename};
    context.violations = std::move(found);
  }
  std::stable_sort(context.violations.begin(), context.violations.end(),
                   [](const Violation& a, const Violation& b) { return a.line < b.line; });
  return {std::move(context.violations), filename};
}

}  // namespace

Result<ElasticMPIJob> parse_yaml(const std::string& text, const std::string& filename) {
  Result<YamlDocument> loaded = load_yaml(text, filename);
  if (!loaded) return {loaded.violations(), filename};
  Context context;
  context.lines = &loaded.value().lines;
  context.boolean_words = &loaded.value().boolean_words;
  ElasticMPIJob job = read_job(context, loaded.value().object, true);
  return finish(context, std::move(job), filename);
}

Result<ElasticMPIJob> parse_json(const json& object, const std::string& filename) {
  if (!object.is_object())
    return {std::vector<Violation>{{"", "is no JSON object", "an ElasticMPIJob", ""}}, filename};
  Context context;
  ElasticMPIJob job = read_job(context, object, false);
  return finish(context, std::move(job), filename);
}

Result<JobStatus> parse_status(const json& object) {
  if (!object.is_object()) return std::vector<Violation>{{"status", "is no JSON object", "an object", ""}};
  Context context;
  JobStatus status;
  {
    Reader reader(context, object, "status");
    fields::describe(reader, status);
  }
  if (!context.violations.empty()) return std::move(context.violations);
  return status;
}

}  // namespace emj
