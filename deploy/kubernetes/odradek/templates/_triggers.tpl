{{/* What KEDA asks. Each takes (list root pool autoscaling). Of several triggers the one that wants most workers counts. */}}

{{- define "odradek.trigger.metrics-api" -}}
{{- $root := index . 0 -}}{{- $pool := index . 1 -}}{{- $own := index . 2 }}
{{- range $field, $target := dict "load" $own.load "in_flight" $own.inFlight }}
{{- if $target }}
- type: metrics-api
  name: {{ $field | replace "_" "-" }}
  metricType: AverageValue
  metadata:
    url: {{ include "odradek.loadUrl" (list $root $pool) }}
    valueLocation: {{ $field }}
    targetValue: {{ $target | quote }}
    activationTargetValue: "0"
{{- end }}
{{- end }}
{{- end }}

{{- define "odradek.trigger.prometheus" -}}
{{- $root := index . 0 -}}{{- $pool := index . 1 -}}{{- $own := index . 2 -}}
{{- $asked := $root.Values.autoscaling.prometheus }}
{{- range $field, $target := dict "load" $own.load "in_flight" $own.inFlight }}
{{- if $target }}
- type: prometheus
  name: {{ $field | replace "_" "-" }}
  metricType: AverageValue
  metadata:
    serverAddress: {{ $asked.serverAddress }}
    query: {{ $asked.query | replace "{metric}" (printf "odradek_pool_%s" $field) | replace "{pool}" $pool | replace "{namespace}" $root.Release.Namespace | quote }}
    threshold: {{ $target | quote }}
    activationThreshold: "0"
    ignoreNullValues: "false"
{{- with $asked.authentication }}
  authenticationRef: {name: {{ . }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Raw lag: transaction markers count as records, and calls or sessions in hand don't. */}}
{{- define "odradek.trigger.kafka" -}}
{{- $root := index . 0 -}}{{- $pool := index . 1 -}}{{- $own := index . 2 -}}
{{- $kafka := $root.Values.kafka }}
{{- range $topic := index (include "odradek.inputs" $root | fromYaml) $pool }}
- type: kafka
  name: {{ $topic }}
  metricType: AverageValue
  metadata:
    bootstrapServers: {{ $kafka.bootstrapServers }}
    consumerGroup: {{ $kafka.topicPrefix }}{{ $pool }}
    topic: {{ $kafka.topicPrefix }}{{ $topic }}
    lagThreshold: {{ $own.lag | quote }}
    offsetResetPolicy: earliest
    allowIdleConsumers: "false"
    limitToPartitionsWithLag: "false"
    excludePersistentLag: "false"
    scaleToZeroOnInvalidOffset: "false"
{{- if has $kafka.securityProtocol (list "SSL" "SASL_SSL") }}
    tls: enable
{{- end }}
{{- with $kafka.saslMechanism }}
    sasl: {{ get (dict "PLAIN" "plaintext" "SCRAM-SHA-256" "scram_sha256" "SCRAM-SHA-512" "scram_sha512" "OAUTHBEARER" "oauthbearer" "AWS_MSK_IAM" "oauthbearer") . }}
{{- if eq . "AWS_MSK_IAM" }}
    saslTokenProvider: aws_msk_iam
    awsRegion: {{ $kafka.awsRegion }}
{{- end }}
{{- end }}
{{- if ne $kafka.securityProtocol "PLAINTEXT" }}
  authenticationRef: {name: {{ $root.Values.autoscaling.kafka.authentication | default (printf "%s-kafka" (include "odradek.name" $root)) }}}
{{- end }}
{{- end }}
{{- end }}

{{/* Each pool's inputs: `read_by` of odradek_schemas.topics, but for `control`, and logs that are only looked into. */}}
{{- define "odradek.inputs" -}}
task-producer: [runs, run-progress, rewards]
agent-worker: [tasks, model-results, observations]
env-worker: [tool-actions]
verifier-worker: [trajectories, judge-results, rescores]
model-gateway: [model-calls]
{{- end }}
