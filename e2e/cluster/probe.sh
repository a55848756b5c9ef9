#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries what a cluster needs of the kernel, in namespaces like a cluster's. Prints what is missing; exit 1 then.
set -uo pipefail
# shellcheck source=e2e/cluster/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

missing() { echo "$1"; exit 1; }

ip link add probe0 type bridge 2>/dev/null || missing 'the kernel has no network bridges (module bridge)'
ip link add probe1 type veth peer name probe2 2>/dev/null || missing 'the kernel has no virtual wires (module veth)'
choose_iptables /run/iptables
iptables -t nat -N PROBE 2>/dev/null || missing 'the kernel has no NAT tables for services (modules nf_tables, nft_compat, nft_chain_nat; or iptable_nat)'
for match in '-m comment --comment x' '-m conntrack --ctstate NEW' '-m statistic --mode random --probability 0.5'; do
  # shellcheck disable=SC2086
  iptables -t nat -A PROBE $match 2>/dev/null || missing "the kernel lacks what services need: iptables $match"
done
echo 1 2>/dev/null >/proc/sys/net/ipv4/ip_forward || missing 'network settings are read-only: a container needs --privileged'
layers=$(mktemp -d /cache/probe.XXXXXX)
mkdir "$layers"/{lower,upper,work,all}
mount -t overlay overlay -o "lowerdir=$layers/lower,upperdir=$layers/upper,workdir=$layers/work" "$layers/all" 2>/dev/null
mounted=$?
umount "$layers/all" 2>/dev/null
rm -rf "$layers"
[[ $mounted == 0 ]] || missing 'images cannot be unpacked: overlay mounts do not work in the cache folder (EMPI_CACHE)'
unshare --mount --pid --fork --net --uts --ipc true 2>/dev/null || missing 'namespaces cannot be nested'
