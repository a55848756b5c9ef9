module e2e/cluster/metrics-adapter

go 1.24.0
