#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same image under another name.
# Usage: rename_image.sh FILE NAME OUT      FILE, OUT: docker-archives
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tar -C "$folder" -xf "$1"
jq -c --arg name "$2" '.[0].RepoTags = [$name]' "$folder/manifest.json" >"$folder/manifest.json.new"
mv "$folder/manifest.json.new" "$folder/manifest.json"
rm -f "$folder/repositories" # names, as they were written before there was a manifest
tar -C "$folder" -cf "$3.new" .
mv "$3.new" "$3"
