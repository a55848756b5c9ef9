# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Images of one static program, for the cluster's own use; written directly, which takes no time and needs no
# storage for an image builder. Sourced.

# static_image FILE NAME ENTRYPOINT PROGRAM [LINKS...]: a docker-archive with PROGRAM in /, and links to it.
static_image() {
  local file=$1 name=$2 entrypoint=$3 program=$4 folder link
  shift 4
  folder=$(mktemp -d)
  mkdir "$folder/layer"
  cp "$program" "$folder/layer/"
  for link in "$@"; do
    mkdir -p "$folder/layer/$(dirname "$link")"
    ln -s "/$(basename "$program")" "$folder/layer/$link"
  done
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$folder/layer" -cf "$folder/layer.tar" .
  local digest
  digest=$(sha256sum "$folder/layer.tar" | cut -d' ' -f1)
  printf '{"architecture": "%s", "os": "linux", "config": {"Entrypoint": %s, "Env": ["PATH=/bin"]}, "rootfs": {"type": "layers", "diff_ids": ["sha256:%s"]}}' \
    "$(dpkg --print-architecture)" "$entrypoint" "$digest" >"$folder/config.json"
  printf '[{"Config": "config.json", "RepoTags": ["%s"], "Layers": ["layer.tar"]}]' "$name" >"$folder/manifest.json"
  tar -C "$folder" -cf "$file" manifest.json config.json layer.tar
  rm -rf "$folder"
}
