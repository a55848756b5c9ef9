#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schema of a worker's pod template into crds/elasticmpijob.yaml, from Kubernetes' published OpenAPI.

What a Pod may have, without descriptions and defaults, narrowed by what a worker must be (WORKER). Fields that a newer
Kubernetes has are kept; what a typo is, the strict dry run of the pod says.

Usage: pod_template_schema.py [--check] [OPENAPI]
OPENAPI  api__v1_openapi.json of k8s.io/kubernetes; by default that of the Go module which ./dev e2e builds, of the version
         in e2e/cluster/go/kube/go.mod (./dev e2e programs kube brings it)
--check  changes nothing. Exit status: 1 when the file would change, 77 when OPENAPI is not there
"""

import json
import pathlib
import re
import sys

PROJECT = pathlib.Path(__file__).resolve().parent.parent
CRD = PROJECT / "crds" / "elasticmpijob.yaml"
BEGIN = "# From here on by scripts/pod_template_schema.py, of Kubernetes %s.\n"
END = "# To here by scripts/pod_template_schema.py.\n"
WIDTH = 118

CORE = "io.k8s.api.core.v1."
QUANTITY = {
    "x-kubernetes-int-or-string": True,
    "minimum": 0,
    "pattern": r"^\+?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?$",
}
TEXTS = {"type": "object", "nullable": True, "additionalProperties": {"type": "string"}}
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"x-kubernetes-int-or-string": True},
    # Of an object's metadata a template has these two; others are kept.
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"labels": TEXTS, "annotations": TEXTS},
    },
}
# A pod is not made with them: the API server says so in the dry run.
ABSENT = {CORE + "PodSpec": ["ephemeralContainers"]}
KEPT = ("type", "format", "x-kubernetes-map-type")

# What is asked of a worker beyond what makes a Pod.
WORKER = {
    "required": ["spec"],
    "properties": {
        "spec": {
            "properties": {
                "restartPolicy": {"enum": ["Never"]},
                "containers": {
                    "minItems": 1,
                    "maxItems": 1,
                    "items": {
                        "required": ["name", "command"],
                        "properties": {
                            "name": {"enum": ["worker"]},
                            "command": {"minItems": 1},
                            "env": {"items": {"properties": {"name": {"minLength": 1}}}},
                        },
                    },
                },
            }
        }
    },
}


def die(message, status=1):
    print("pod_template_schema: " + message, file=sys.stderr)
    sys.exit(status)


def kubernetes_version():
    go_mod = (PROJECT / "e2e/cluster/go/kube/go.mod").read_text()
    return re.search(r"^\tk8s\.io/kubernetes (v\S+)$", go_mod, re.MULTILINE)[1]


def structural(schemas, node, within=()):
    """`node` of the OpenAPI as a structural schema: references resolved, one level after the other."""
    for reference in (node, *node.get("allOf", [])):
        if "$ref" not in reference:
            continue
        name = reference["$ref"].rsplit("/", 1)[1]
        if name in within:  # a kind within itself: from here on anything
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        if name in SPECIAL:
            return dict(SPECIAL[name])
        target = dict(schemas[name])
        absent = ABSENT.get(name, [])
        target["properties"] = {k: v for k, v in target.get("properties", {}).items() if k not in absent}
        return structural(schemas, target, (*within, name))

    schema = {key: node[key] for key in KEPT if key in node}
    if "additionalProperties" in node:
        schema["additionalProperties"] = structural(schemas, node["additionalProperties"], within)
    elif node.get("type") == "object":
        schema["x-kubernetes-preserve-unknown-fields"] = True
        required = node.get("required", [])
        if required:
            schema["required"] = required
        properties = {}
        for name, child in sorted(node.get("properties", {}).items()):
            properties[name] = structural(schemas, child, within)
            if name not in required:  # null is as good as absent, as in a Pod
                properties[name]["nullable"] = True
        if properties:
            schema["properties"] = properties
    if "items" in node:
        schema["items"] = structural(schemas, node["items"], within)
    # Lists are atomic where nothing else is said.
    if node.get("x-kubernetes-list-type", "atomic") != "atomic":
        schema["x-kubernetes-list-type"] = node["x-kubernetes-list-type"]
    keys = node.get("x-kubernetes-list-map-keys")
    if keys:
        schema["x-kubernetes-list-map-keys"] = keys
        give_defaults_to_keys(schemas, node["items"], schema["items"], keys)
    return schema


def give_defaults_to_keys(schemas, item, schema, keys):
    """What tells the entries of a list apart must be there, or have a default."""
    name = item.get("$ref", item.get("allOf", [{}])[0].get("$ref", "")).rsplit("/", 1)[1]
    for key in keys:
        if key in schema.get("required", []):
            continue
        schema["properties"][key].pop("nullable", None)
        schema["properties"][key]["default"] = schemas[name]["properties"][key]["default"]


def narrow(schema, by):
    for key, value in by.items():
        if isinstance(value, dict):
            narrow(schema[key], value)
        else:
            schema[key] = value
    # What has to be there is not null either.
    for name in by.get("required", []):
        schema["properties"][name].pop("nullable", None)


def scalar(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", value):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(inner) for inner in value) + "]"
    return scalar(value)


def block(value, indent):
    """Lines of YAML: what fits a line is on one."""
    lines = []
    for key, inner in value.items():
        line = f"{' ' * indent}{key}: {flow(inner)}"
        if len(line) <= WIDTH or not isinstance(inner, dict):
            lines.append(line)
        else:
            lines += [f"{' ' * indent}{key}:", *block(inner, indent + 2)]
    return lines


def template_schema(openapi):
    schemas = openapi["components"]["schemas"]
    schema = structural(schemas, {"$ref": "#/components/schemas/" + CORE + "PodTemplateSpec"})
    # Beside metadata and spec a template has nothing; what else stands there was meant to be in one of them.
    del schema["x-kubernetes-preserve-unknown-fields"]
    narrow(schema, WORKER)
    return schema


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    paths = [a for a in arguments if a != "--check"]
    if len(paths) > 1 or any(path.startswith("-") for path in paths):
        die(__doc__, 0 if paths[0] in ("-h", "--help") else 2)
    version = kubernetes_version()
    module = pathlib.Path(f"/cache/go/pkg/mod/k8s.io/kubernetes@{version}")
    source = pathlib.Path(paths[0]) if paths else module / "api/openapi-spec/v3/api__v1_openapi.json"
    if not source.exists():
        die(f"{source} is not there: ./dev e2e programs kube brings it, or name it as OPENAPI", 77)

    lines = CRD.read_text().splitlines(keepends=True)
    begins = [i for i, line in enumerate(lines) if line.lstrip().startswith(BEGIN.split("%")[0])]
    ends = [i for i, line in enumerate(lines) if line.lstrip() == END]
    if len(begins) != 1 or len(ends) != 1 or begins[0] > ends[0]:
        die(f"{CRD} needs one line '{BEGIN.strip()}' and below it one '{END.strip()}'")
    indent = len(lines[begins[0]]) - len(lines[begins[0]].lstrip())
    schema = template_schema(json.loads(source.read_text()))
    made = [" " * indent + BEGIN % version]
    made += [line + "\n" for line in block(schema, indent)]
    if lines[begins[0] : ends[0]] == made:
        return
    if check:
        die(f"{CRD} is not what this makes: ./dev shell scripts/pod_template_schema.py, and print helm/install.yaml anew")
    lines[begins[0] : ends[0]] = made
    CRD.write_text("".join(lines))


main()
