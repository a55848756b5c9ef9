{{- define "elastic-mpi.name" -}}
{{ .Values.fullnameOverride | default "elastic-mpi-operator" }}
{{- end }}

{{- define "elastic-mpi.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "elastic-mpi.name" .) }}
{{- end }}

{{/* The name whatever fullnameOverride says: workers admit pods that have it (operator/objects/job_objects.cpp). */}}
{{- define "elastic-mpi.selector" -}}
app.kubernetes.io/name: elastic-mpi-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "elastic-mpi.labels" -}}
{{ include "elastic-mpi.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Of what Prometheus and Grafana are to find. */}}
{{- define "elastic-mpi.monitoringLabels" -}}
{{ include "elastic-mpi.labels" . }}
{{- with .Values.monitoringLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "elastic-mpi.image" -}}
{{- $tag := .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- $registry := required "image.registry: say where your nodes pull the images from, as registry.example/hpc (docs/operate.md, Images), or localhost if you have loaded them into each node" .root.Values.image.registry -}}
{{ $registry }}/{{ .name }}{{ with .digest }}@{{ . }}{{ else }}:{{ $tag }}{{ end }}
{{- end }}

{{- define "elastic-mpi.rootKeySecret" -}}
{{ .Values.rootKey.existingSecret | default .Values.rootKey.name | default (printf "%s-root-key" (include "elastic-mpi.name" .)) }}
{{- end }}

{{- define "elastic-mpi.queueRules" -}}
- apiGroups: [elasticmpi.io]
  resources: [elasticqueues]
  verbs: [list, watch]
- apiGroups: [elasticmpi.io]
  resources: [elasticqueues/status]
  verbs: [update]
{{- end }}
