// SPDX-License-Identifier: Apache-2.0

// Calico for the nodes of the end-to-end tests (--cni calico): its agent, which makes packet filters of NetworkPolicies,
// and its plugin, which wires pods. One program under two names, for most of both is the same: calico-felix is the agent.
package main

import (
	"os"
	"path/filepath"

	"github.com/projectcalico/calico/cni-plugin/pkg/plugin"
	"github.com/projectcalico/calico/felix/daemon"
)

var version = "unknown" // set by the linker

func main() {
	if filepath.Base(os.Args[0]) == "calico-felix" {
		daemon.Run("/etc/calico/felix.cfg", version, "", "") // which need not exist: the environment says all
		return
	}
	plugin.Main(version)
}
