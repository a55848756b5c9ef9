# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Certificates and kubeconfigs of a cluster, in $state/pki and $state/NAME.kubeconfig. Sourced after lib.sh.

days=30

# authority NAME SUBJECT
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days $days -subj "$2" \
    -keyout "$state/pki/$1.key" -out "$state/pki/$1.crt" 2>/dev/null || fail "could not make the authority $1"
}

# certificate NAME SUBJECT [ALTERNATIVE NAMES [AUTHORITY]]: key and certificate for client and server use.
certificate() {
  local key=$state/pki/$1.key crt=$state/pki/$1.crt authority=$state/pki/${4:-ca}
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$key" -subj "$2" 2>/dev/null |
    openssl x509 -req -CA "$authority.crt" -CAkey "$authority.key" -set_serial "0x$(openssl rand -hex 12)" \
      -days $days -out "$crt" -extfile <(echo "subjectAltName=${3:-DNS:$1}") 2>/dev/null ||
    fail "could not make the certificate of $1"
}

# kubeconfig NAME SUBJECT [ALTERNATIVE NAMES]: the same as a client's configuration.
kubeconfig() {
  certificate "$@"
  local pki=$state/pki
  cat >"$state/$1.kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters:
  - name: $cluster
    cluster: {server: "https://$(host "$control_address"):6443", certificate-authority-data: $(base64 -w0 "$pki/ca.crt")}
users:
  - name: $1
    user: {client-certificate-data: $(base64 -w0 "$pki/$1.crt"), client-key-data: $(base64 -w0 "$pki/$1.key")}
contexts:
  - name: $cluster
    context: {cluster: $cluster, user: $1}
current-context: $cluster
YAML
}

make_pki() {
  mkdir -p "$state/pki"
  chmod 700 "$state/pki"
  authority ca /CN=empi-e2e
  # By which aggregated API servers know that it is the API server who passes a request on, and for whom.
  authority front-proxy-ca /CN=empi-e2e-front-proxy
  openssl ecparam -name prime256v1 -genkey -noout -out "$state/pki/service-accounts.key"
  openssl ec -in "$state/pki/service-accounts.key" -pubout -out "$state/pki/service-accounts.pub" 2>/dev/null
  local names=DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local
  certificate apiserver /CN=kube-apiserver "$names,DNS:localhost,IP:127.0.0.1,IP:$api_service_address,IP:$control_address"
  certificate front-proxy-client /CN=front-proxy-client DNS:front-proxy-client front-proxy-ca
  certificate kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  kubeconfig admin /O=system:masters/CN=admin
  kubeconfig controller-manager /CN=system:kube-controller-manager
  kubeconfig scheduler /CN=system:kube-scheduler
  kubeconfig proxy /CN=system:kube-proxy
  kubeconfig dns /CN=system:coredns
  if [[ $cni == calico ]]; then kubeconfig calico /O=system:masters/CN=calico; fi
}
