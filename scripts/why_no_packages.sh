# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Why packages of Debian did not come, by what apt, mmdebstrap, podman, docker and buildah say. Sourced by what makes roots
# and images.

# Prints full (a disk), keys (unknown ones), network, or nothing: something else. apt says "Failed to fetch" of all of them,
# and of what a server does not have (404).
why_no_packages() { # LOG
  if grep -q 'No space left on device' "$1"; then
    echo full
  elif grep -qE "NO_PUBKEY|signatures couldn't be verified" "$1"; then
    echo keys
  elif grep -qE 'Could not (resolve|connect)|Unable to connect|Temporary failure|etwork is unreachable|onnection (timed out|refused|failed)|no such host|i/o timeout' "$1" ||
    { grep -q 'Failed to fetch' "$1" && ! grep -q 'Failed to fetch .* 404 ' "$1"; }; then
    echo network
  fi
}
# shellcheck disable=SC2034  # whoever sources this says it
no_network='packages of Debian could not be fetched: check the network and the proxy (http_proxy), then try again'
