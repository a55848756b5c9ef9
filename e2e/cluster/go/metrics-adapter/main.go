// SPDX-License-Identifier: Apache-2.0
// Serves a figure of the workers' sidecars as custom.metrics.k8s.io, so that a HorizontalPodAutoscaler can go by it: what
// Prometheus and its adapter do on a real cluster, without storing anything. It finds the pods through the API server,
// asks each one's sidecar, and answers with the average over the pod's series.
//
// It is an aggregated API server: only the real one, known by its front-proxy certificate, may ask.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	group   = "custom.metrics.k8s.io"
	version = group + "/v1beta2"
	path    = "/apis/" + version
)

type object map[string]any

type pod struct {
	Metadata struct{ Name string }
	Status   struct {
		PodIP string
		Phase string
	}
}

type adapter struct {
	metric string
	port   string
	api    *http.Client // whose every connection leads to the API server, by a kubectl proxy (which wants to be called localhost)
	direct *http.Client // for sidecars
}

func main() {
	listen := flag.String("listen", "", "ADDRESS:PORT to serve at")
	certificate := flag.String("cert", "", "file of the certificate to serve with")
	key := flag.String("key", "", "file of its key")
	authority := flag.String("client-ca", "", "file of the authority of who may ask")
	socket := flag.String("api", "", "socket of a kubectl proxy")
	metric := flag.String("metric", "empi_parallel_efficiency_ratio", "the series that is served")
	port := flag.String("port", "7401", "where sidecars serve it")
	flag.Parse()

	authorities, err := os.ReadFile(*authority)
	if err != nil {
		log.Fatalf("the authority of clients cannot be read: %v", err)
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authorities) {
		log.Fatalf("%s has no certificate", *authority)
	}
	a := &adapter{
		metric: *metric,
		port:   *port,
		api: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", *socket)
			}}},
		direct: &http.Client{Timeout: 3 * time.Second},
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET "+path, a.resources)
	routes.HandleFunc("GET "+path+"/namespaces/{namespace}/pods/{pod}/{metric}", a.values)
	server := &http.Server{
		Addr:              *listen,
		Handler:           routes,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients},
	}
	log.Fatal(server.ListenAndServeTLS(*certificate, *key))
}

// What discovery is told: the figure is one of pods.
func (a *adapter) resources(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version,
		"resources": []object{{"name": "pods/" + a.metric, "singularName": "", "namespaced": true,
			"kind": "MetricValueList", "verbs": []string{"get"}}}})
}

// The figure of one pod, or (pod "*") of all that the selector finds. Pods that have none are left out.
func (a *adapter) values(w http.ResponseWriter, r *http.Request) {
	if asked := r.PathValue("metric"); asked != a.metric {
		refuse(w, http.StatusNotFound, fmt.Sprintf("there is no metric %q, but %s", asked, a.metric))
		return
	}
	namespace := r.PathValue("namespace")
	pods, err := a.pods(r.Context(), namespace, r.URL.Query().Get("labelSelector"))
	if err != nil {
		refuse(w, http.StatusBadGateway, err.Error())
		return
	}
	items := []object{}
	var all sync.WaitGroup
	var mutex sync.Mutex
	for _, p := range pods {
		if wanted := r.PathValue("pod"); p.Status.PodIP == "" || p.Status.Phase != "Running" || (wanted != "*" && wanted != p.Metadata.Name) {
			continue
		}
		all.Add(1)
		go func() {
			defer all.Done()
			value, err := a.scrape(r.Context(), p.Status.PodIP)
			if err != nil {
				log.Printf("%s/%s is left out: %v", namespace, p.Metadata.Name, err)
				return
			}
			log.Printf("%s/%s: %.3f", namespace, p.Metadata.Name, value)
			mutex.Lock()
			defer mutex.Unlock()
			items = append(items, object{
				"describedObject": object{"kind": "Pod", "namespace": namespace, "name": p.Metadata.Name, "apiVersion": "/v1"},
				"metric":          object{"name": a.metric, "selector": nil},
				"timestamp":       time.Now().UTC().Format(time.RFC3339),
				"value":           fmt.Sprintf("%dm", int64(value*1000+.5)),
			})
		}()
	}
	all.Wait()
	answer(w, http.StatusOK, object{"kind": "MetricValueList", "apiVersion": version, "metadata": object{}, "items": items})
}

func (a *adapter) pods(ctx context.Context, namespace, selector string) ([]pod, error) {
	text, err := get(ctx, a.api, "http://localhost/api/v1/namespaces/"+namespace+"/pods?labelSelector="+url.QueryEscape(selector))
	if err != nil {
		return nil, fmt.Errorf("the pods cannot be listed: %w", err)
	}
	var list struct{ Items []pod }
	err = json.Unmarshal([]byte(text), &list)
	return list.Items, err
}

func (a *adapter) scrape(ctx context.Context, address string) (float64, error) {
	text, err := get(ctx, a.direct, "http://"+net.JoinHostPort(address, a.port)+"/metrics")
	if err != nil {
		return 0, err
	}
	return average(text, a.metric)
}

// The average over all series of that name in the Prometheus text format.
func average(text, metric string) (float64, error) {
	sum, count := 0., 0
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if rest, ours := strings.CutPrefix(line, metric); !ours || (!strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ")) {
			continue
		}
		words := strings.Fields(line[strings.LastIndexByte(line, '}')+1:])
		value, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("%q has no value: %w", line, err)
		}
		sum += value
		count++
	}
	if count == 0 {
		return 0, fmt.Errorf("it has no %s yet", metric)
	}
	return sum / float64(count), lines.Err()
}

func get(ctx context.Context, client *http.Client, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", address, response.Status)
	}
	return string(text), err
}

func answer(w http.ResponseWriter, status int, value object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Printf("an answer was not taken: %v", err)
	}
}

func refuse(w http.ResponseWriter, status int, why string) {
	log.Print(why)
	answer(w, status, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": why, "code": status})
}
