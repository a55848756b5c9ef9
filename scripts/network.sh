# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# How it is known that packages could not be fetched for want of a network, and what to do then. Sourced by what makes
# roots and images.

# As apt, mmdebstrap, podman, docker and buildah say it. (Of a full disk, of unknown keys and of files that a server does
# not have apt says "Failed to fetch", too.)
says_no_network() { # LOG
  ! grep -qE "No space left on device|NO_PUBKEY|signatures couldn't be verified" "$1" &&
    grep -qE 'Could not (resolve|connect)|Unable to connect|Temporary failure|etwork is unreachable|onnection (timed out|refused|failed)|no such host|i/o timeout|Failed to fetch .* (403|407|50[0-9]) ' "$1"
}
# shellcheck disable=SC2034  # whoever sources this says it
no_network='packages of Debian could not be fetched: check the network and the proxy (http_proxy), then try again'
