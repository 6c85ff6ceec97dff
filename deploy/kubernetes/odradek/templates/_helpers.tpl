{{/* Names, labels and what all pods have in common. */}}

{{- define "odradek.name" -}}
{{- if contains .Chart.Name .Release.Name -}}{{ .Release.Name | trunc 36 | trimSuffix "-" }}
{{- else -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 36 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{/* (list root component) */}}
{{- define "odradek.labels" -}}
{{- $root := index . 0 -}}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
{{ include "odradek.selector" . }}
{{- end }}

{{- define "odradek.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: odradek
app.kubernetes.io/instance: {{ $root.Release.Name }}
{{- with index . 1 }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* (list root target own): a whole image of one's own, or the target's. */}}
{{- define "odradek.image" -}}
{{- $root := index . 0 -}}{{- $image := $root.Values.image -}}
{{- index . 2 | default (printf "%s%s/%s:%s" (empty $image.registry | ternary "" (printf "%s/" $image.registry)) $image.repository (index . 1) ($image.tag | default $root.Chart.AppVersion)) -}}
{{- end }}

{{/* (list root name): the settings of a pool with what it has in common with the others, as JSON. */}}
{{- define "odradek.pool" -}}
{{- $root := index . 0 -}}
{{- mergeOverwrite (deepCopy $root.Values.poolDefaults) (deepCopy (index $root.Values.pools (index . 1))) | toJson -}}
{{- end }}

{{- define "odradek.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "odradek.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* What all pods' specs begin with. Service links would bring variables of our own prefix that are no settings. */}}
{{- define "odradek.podSpec" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext: {{- include "odradek.podSecurity" . | nindent 2 }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* Where its pods run: nodeSelector, tolerations, affinity of a block of values. */}}
{{- define "odradek.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (list root pool): an address of a load exporter's pool, from any namespace. */}}
{{- define "odradek.loadUrl" -}}
{{- $root := index . 0 -}}
http://{{ include "odradek.name" $root }}-load-exporter.{{ $root.Release.Namespace }}.svc:9400/pools/{{ index . 1 }}
{{- end }}

{{- define "odradek.frontEnd" -}}
{{- $gateway := include "odradek.pool" (list . "model-gateway") | fromJson -}}
{{- if and $gateway.enabled $gateway.frontEnd }}true{{ end -}}
{{- end }}

{{/* The values' own models, as JSON; one that is null was taken away by a later file of values. */}}
{{- define "odradek.ownModels" -}}
{{- $own := dict -}}
{{- range $name, $model := .Values.models -}}
{{- if $model }}{{ $_ := set $own $name $model }}{{ end -}}
{{- end -}}
{{- toJson $own -}}
{{- end }}

{{/* All models, as JSON: those of odradek.toml, and before them those of the values. A file that is no TOML: {"Error": why}. */}}
{{- define "odradek.models" -}}
{{- $file := empty .Values.odradekToml | ternary dict (fromToml .Values.odradekToml) -}}
{{- if hasKey $file "Error" -}}
{{- dict "Error" (get $file "Error") | toJson -}}
{{- else -}}
{{- merge (include "odradek.ownModels" . | fromJson) (get $file "models" | default dict) | toJson -}}
{{- end -}}
{{- end }}

{{/* From a pod's deletion to the kill: the time before SIGTERM, what a worker may need at most to drain, to close what
     it can't finish, to say so and to leave (three times its drain and a minute, docs/kubernetes.md). */}}
{{- define "odradek.graceSeconds" -}}
{{- add (int .preStopSeconds) (mul 3 (int .drainSeconds)) 60 -}}
{{- end }}
