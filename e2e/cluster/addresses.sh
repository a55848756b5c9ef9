# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One network for control plane and nodes, one for each node's pods, one for services. They exist inside the cluster's
# network namespaces only, so that every cluster may use the same. A cluster has addresses of IPv4 or of IPv6, and no
# others. Sourced by lib.sh.

# shellcheck disable=SC2034  # the other scripts use them
use_addresses() { # 4|6
  ip_family=$1
  case $ip_family in
    4)
      address_type=IPv4 any_address=0.0.0.0 everywhere=0.0.0.0/0 node_bits=24 forwarding=ipv4/ip_forward
      control_address=10.88.0.1
      pod_networks=10.89.0.0/16
      service_network=10.96.0.0/16 api_service_address=10.96.0.1 dns_service_address=10.96.0.10
      ;;
    6)
      address_type=IPv6 any_address=:: everywhere=::/0 node_bits=64 forwarding=ipv6/conf/all/forwarding
      control_address=fd00:88::1
      pod_networks=fd00:89::/48
      service_network=fd00:96::/112 api_service_address=fd00:96::1 dns_service_address=fd00:96::a
      ;;
    *) fail "EMPI_IP_FAMILY: '$ip_family' is neither 4 nor 6" ;;
  esac
}
node_address() { # NUMBER
  if [[ $ip_family == 4 ]]; then echo "10.88.0.$((10 + $1))"; else printf 'fd00:88::%x\n' "$((16 + $1))"; fi
}
pod_network() { # NUMBER
  if [[ $ip_family == 4 ]]; then echo "10.89.$1.0/24"; else printf 'fd00:89:0:%x::/64\n' "$1"; fi
}
# shellcheck disable=SC2034
node_dns_address=169.254.20.10 # of a DNS server on each node, where Kubernetes' NodeLocal DNSCache has it
# As an address stands before :PORT.
host() { if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi; }

# Nobody else can have it: the kernel need not ask the network first, for which it would wait.
give_address() { # ADDRESS INTERFACE
  if [[ $ip_family == 4 ]]; then ip address add "$1/$node_bits" dev "$2"; else ip address add "$1/$node_bits" dev "$2" nodad; fi
}
forward_packets() { echo 1 >"/proc/sys/net/$forwarding"; }
