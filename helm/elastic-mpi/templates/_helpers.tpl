{{- define "elastic-mpi.name" -}}elastic-mpi-operator{{- end }}

{{- define "elastic-mpi.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "elastic-mpi.name" .) }}
{{- end }}

{{- define "elastic-mpi.selector" -}}
app.kubernetes.io/name: {{ include "elastic-mpi.name" . }}
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
{{- with .root.Values.image.registry }}{{ . }}/{{ end }}{{ .name }}{{ with .digest }}@{{ . }}{{ else }}:{{ $tag }}{{ end }}
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
