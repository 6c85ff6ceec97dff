{{/* Rules of network policies. What a rule names by address is any address unless the values say where; its ports are
     always those of the addresses that the processes are given. */}}

{{/* (list peers ports [protocols]) */}}
{{- define "odradek.rule.to" -}}
- ports:
{{- range index . 1 }}
    - {port: {{ . }}, protocol: TCP}
{{- end }}
{{- with index . 0 }}
  to: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- define "odradek.rule.dns" -}}
- ports:
    - {port: 53, protocol: UDP}
    - {port: 53, protocol: TCP}
{{- with .Values.networkPolicy.dns.to }}
  to: {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{/* Ports of host:port,host:port, as {"ports": [...]}. */}}
{{- define "odradek.kafkaPorts" -}}
{{- $ports := list -}}
{{- range splitList "," .Values.kafka.bootstrapServers -}}
{{- $ports = append $ports (trim . | regexFind "[0-9]+$" | int) -}}
{{- end -}}
{{- dict "ports" ($ports | uniq) | toJson -}}
{{- end }}

{{/* The port of a URL, or its scheme's. */}}
{{- define "odradek.port" -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $port | default (get (dict "http" "80" "https" "443" "redis" "6379" "rediss" "6379") $url.scheme) | default "443" -}}
{{- end }}

{{/* Ports of all models' addresses, as {"ports": [...]}; a model without one asks its provider, over https. */}}
{{- define "odradek.modelPorts" -}}
{{- $ports := list -}}
{{- range $name, $model := omit (include "odradek.models" . | fromJson) "Error" -}}
{{- range $at := (kindIs "slice" $model.base_url | ternary $model.base_url (list $model.base_url)) -}}
{{- $url := kindIs "map" $at | ternary (get (kindIs "map" $at | ternary $at dict) "url") $at -}}
{{- $ports = append $ports (include "odradek.port" ($url | default "https://provider") | int) -}}
{{- end -}}
{{- end -}}
{{- dict "ports" ($ports | uniq | sortAlpha) | toJson -}}
{{- end }}

{{- define "odradek.rule.kafka" -}}
{{- include "odradek.rule.to" (list .Values.networkPolicy.kafka.to (include "odradek.kafkaPorts" . | fromJson).ports) }}
{{- if eq .Values.kafka.saslMechanism "AWS_MSK_IAM" }}
{{ include "odradek.rule.identity" . }}
{{- end }}
{{- end }}

{{/* Where a pod's cloud identity gets its credentials: STS, or EKS' agent on the node. */}}
{{- define "odradek.rule.identity" -}}
{{- include "odradek.rule.to" (list .Values.networkPolicy.cloudIdentity.to (list 443)) }}
- ports: [{port: 80, protocol: TCP}]
  to: [{ipBlock: {cidr: 169.254.170.23/32}}]
{{- end }}

{{- define "odradek.rule.blobs" -}}
{{- with .Values.blobs.s3 }}
{{- if .url }}
{{ include "odradek.rule.to" (list $.Values.networkPolicy.blobs.to (list (include "odradek.port" (.endpoint | default "https://s3")))) }}
{{- if and (not .credentialsSecret.name) (ne $.Values.kafka.saslMechanism "AWS_MSK_IAM") }}
{{ include "odradek.rule.identity" $ }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "odradek.rule.redis" -}}
{{- with .Values.redis }}
{{- if .url }}
{{ include "odradek.rule.to" (list $.Values.networkPolicy.redis.to (list (include "odradek.port" .url))) }}
{{- else if .urlSecret.name }}
{{ include "odradek.rule.to" (list $.Values.networkPolicy.redis.to (list .port)) }}
{{- end }}
{{- end }}
{{- end }}

{{/* (list root component): our own pods of that kind. */}}
{{- define "odradek.peer" -}}
- podSelector:
    matchLabels: {{- include "odradek.selector" . | nindent 6 }}
{{- end }}
