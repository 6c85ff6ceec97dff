{{/* Settings and secrets of processes. Secrets are files beneath one folder: what is mounted at /run/secrets itself
     would hide the folder in which cloud identities are put. */}}

{{- define "odradek.secrets" -}}/run/secrets/odradek{{- end }}

{{/* What all processes are told, as YAML: name: value. */}}
{{- define "odradek.settings" -}}
{{- $kafka := .Values.kafka -}}{{- $secrets := include "odradek.secrets" . -}}
ODRADEK_BOOTSTRAP_SERVERS: {{ $kafka.bootstrapServers | quote }}
ODRADEK_TOPIC_PREFIX: {{ $kafka.topicPrefix | quote }}
ODRADEK_PARTITIONS: {{ $kafka.partitions | quote }}
ODRADEK_BLOB_STORE: {{ .Values.blobs.s3.url | default "file:///var/lib/odradek/blobs" | quote }}
ODRADEK_HTTP_HOST: "0.0.0.0"
ODRADEK_HTTP_PORT: "9400"
ODRADEK_LOG_LEVEL: {{ .Values.logs.level | quote }}
ODRADEK_LOG_FORMAT: {{ .Values.logs.format | quote }}
ODRADEK_KAFKA_SECURITY_PROTOCOL: {{ $kafka.securityProtocol | quote }}
{{- with $kafka.saslMechanism }}
ODRADEK_KAFKA_SASL_MECHANISM: {{ . | quote }}
{{- end }}
{{- with $kafka.username }}
ODRADEK_KAFKA_USERNAME: {{ . | quote }}
{{- end }}
{{- if $kafka.passwordSecret.name }}
ODRADEK_KAFKA_PASSWORD_FILE: {{ $secrets }}/kafka_password
{{- end }}
{{- if or $kafka.tokenSecret.name $kafka.serviceAccountToken.audience }}
ODRADEK_KAFKA_TOKEN_FILE: {{ $secrets }}/kafka_token
{{- end }}
{{- if $kafka.caSecret.name }}
ODRADEK_KAFKA_CA_FILE: {{ $secrets }}/kafka_ca.pem
{{- end }}
{{- if $kafka.certificateSecret.name }}
ODRADEK_KAFKA_CERTIFICATE_FILE: {{ $secrets }}/kafka_certificate.pem
ODRADEK_KAFKA_KEY_FILE: {{ $secrets }}/kafka_key.pem
{{- end }}
{{- with $kafka.awsRegion }}
ODRADEK_KAFKA_AWS_REGION: {{ . | quote }}
{{- end }}
{{- with .Values.blobs.s3.region }}
AWS_DEFAULT_REGION: {{ . | quote }}
{{- end }}
{{- with .Values.blobs.s3.endpoint }}
AWS_ENDPOINT_URL_S3: {{ . | quote }}
{{- end }}
{{- end }}

{{/* What all processes read from secrets into their environment: libraries of others take it from nowhere else. */}}
{{- define "odradek.secretEnvironment" -}}
{{- $kafka := .Values.kafka -}}{{- $s3 := .Values.blobs.s3.credentialsSecret -}}
{{- if $kafka.passwordSecret.usernameKey }}
- name: ODRADEK_KAFKA_USERNAME
  valueFrom: {secretKeyRef: {name: {{ $kafka.passwordSecret.name }}, key: {{ $kafka.passwordSecret.usernameKey }}}}
{{- end }}
{{- if $s3.name }}
- name: AWS_ACCESS_KEY_ID
  valueFrom: {secretKeyRef: {name: {{ $s3.name }}, key: {{ $s3.accessKeyIdKey }}}}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom: {secretKeyRef: {name: {{ $s3.name }}, key: {{ $s3.secretAccessKeyKey }}}}
{{- end }}
{{- end }}

{{/* The sources of the secrets' volume that every process needs: Kafka's. */}}
{{- define "odradek.kafkaFiles" -}}
{{- $kafka := .Values.kafka -}}
{{- with $kafka.passwordSecret }}{{ if .name }}
- secret: {name: {{ .name }}, items: [{key: {{ .passwordKey }}, path: kafka_password}]}
{{- end }}{{ end }}
{{- with $kafka.tokenSecret }}{{ if .name }}
- secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: kafka_token}]}
{{- end }}{{ end }}
{{- with $kafka.serviceAccountToken }}{{ if .audience }}
- serviceAccountToken: {audience: {{ .audience }}, expirationSeconds: {{ .expirationSeconds }}, path: kafka_token}
{{- end }}{{ end }}
{{- with $kafka.caSecret }}{{ if .name }}
- secret: {name: {{ .name }}, items: [{key: {{ .key }}, path: kafka_ca.pem}]}
{{- end }}{{ end }}
{{- with $kafka.certificateSecret }}{{ if .name }}
- secret:
    name: {{ .name }}
    items: [{key: {{ .certificateKey }}, path: kafka_certificate.pem}, {key: {{ .keyKey }}, path: kafka_key.pem}]
{{- end }}{{ end }}
{{- end }}

{{/* (list root pool values): the secrets that this pool alone needs. */}}
{{- define "odradek.poolFiles" -}}
{{- $root := index . 0 -}}{{- $pool := index . 1 -}}{{- $values := index . 2 -}}
{{- $sealing := $root.Values.sealing -}}{{- $access := $root.Values.access -}}
{{- if or (eq $pool "task-producer") $values.opensAnswers }}
- secret: {name: {{ $sealing.secretName }}, items: [{key: {{ $sealing.publicKey }}, path: sealing_public_key}]}
{{- end }}
{{- if or (eq $pool "verifier-worker") $values.opensAnswers }}
- secret: {name: {{ $sealing.secretName }}, items: [{key: {{ $sealing.privateKey }}, path: sealing_private_key}]}
{{- end }}
{{- if and (has $pool (list "env-worker" "model-gateway")) (include "odradek.frontEnd" $root) }}
- secret: {name: {{ $access.secretName }}, items: [{key: {{ $access.key }}, path: access_secret}]}
{{- end }}
{{- end }}

{{/* (list root pool values): the settings that this pool alone has. */}}
{{- define "odradek.poolSettings" -}}
{{- $root := index . 0 -}}{{- $pool := index . 1 -}}{{- $values := index . 2 -}}{{- $secrets := include "odradek.secrets" $root -}}
- {name: ODRADEK_DRAIN_TIMEOUT_SECONDS, value: {{ $values.drainSeconds | quote }}}
{{- if or (eq $pool "task-producer") $values.opensAnswers }}
- {name: ODRADEK_SEALING_PUBLIC_KEY_FILE, value: {{ $secrets }}/sealing_public_key}
{{- end }}
{{- if or (eq $pool "verifier-worker") $values.opensAnswers }}
- {name: ODRADEK_SEALING_PRIVATE_KEY_FILE, value: {{ $secrets }}/sealing_private_key}
{{- end }}
{{- if and (has $pool (list "env-worker" "model-gateway")) (include "odradek.frontEnd" $root) }}
- {name: ODRADEK_ACCESS_SECRET_FILE, value: {{ $secrets }}/access_secret}
{{- end }}
{{- if eq $pool "env-worker" }}
- {name: ODRADEK_FLIGHTS_FILE, value: /var/lib/odradek/state/flights}
{{- if include "odradek.frontEnd" $root }}
- {name: ODRADEK_GATEWAY_URL, value: "http://{{ include "odradek.name" $root }}-gateway:8400"}
{{- end }}
{{- end }}
{{- if eq $pool "model-gateway" }}
{{- if include "odradek.frontEnd" $root }}
- {name: ODRADEK_FRONT_HOST, value: "0.0.0.0"}
- {name: ODRADEK_FRONT_PORT, value: "8400"}
{{- end }}
{{- if include "odradek.ownModels" $root | fromJson }}
- name: ODRADEK_MODELS
  valueFrom: {configMapKeyRef: {name: {{ include "odradek.name" $root }}-models, key: models.json}}
{{- end }}
{{- if $root.Values.odradekToml }}
- {name: ODRADEK_CONFIG, value: /etc/odradek/odradek.toml}
{{- end }}
{{- with $root.Values.redis }}
{{- if .url }}
- {name: ODRADEK_REDIS_URL, value: {{ .url | quote }}}
{{- else if .urlSecret.name }}
- name: ODRADEK_REDIS_URL
  valueFrom: {secretKeyRef: {name: {{ .urlSecret.name }}, key: {{ .urlSecret.key }}}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A block's own settings and variables, whose names are sorted. */}}
{{- define "odradek.ownEnvironment" -}}
{{- range $name, $value := merge dict (.settings | default dict) .env }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- range $name, $from := .secretEnv }}
- name: {{ $name }}
  valueFrom: {secretKeyRef: {name: {{ $from.secret }}, key: {{ $from.key }}}}
{{- end }}
{{- end }}

{{/* (list root sources): volumes that every process has. */}}
{{- define "odradek.volumes" -}}
{{- $root := index . 0 -}}
- name: tmp
  emptyDir: {sizeLimit: {{ index . 1 }}}
{{- with index . 2 }}
- name: secrets
  projected:
    defaultMode: 0440
    sources: {{- . | trim | nindent 6 }}
{{- end }}
{{- if not $root.Values.blobs.s3.url }}
- name: blobs
  persistentVolumeClaim: {claimName: {{ $root.Values.blobs.volume.existingClaim | default (printf "%s-blobs" (include "odradek.name" $root)) }}}
{{- end }}
{{- end }}

{{- define "odradek.volumeMounts" -}}
{{- $root := index . 0 -}}
- {name: tmp, mountPath: /tmp}
{{- if index . 2 }}
- {name: secrets, mountPath: {{ include "odradek.secrets" $root }}, readOnly: true}
{{- end }}
{{- if not $root.Values.blobs.s3.url }}
- {name: blobs, mountPath: /var/lib/odradek/blobs}
{{- end }}
{{- end }}

{{/* What the command may know besides: the key to seal imported answers, and the secret for trainers' tokens. */}}
{{- define "odradek.cliFiles" -}}
{{- with .Values.sealing }}
- secret: {name: {{ .secretName }}, items: [{key: {{ .publicKey }}, path: sealing_public_key}]}
{{- end }}
{{- with .Values.access }}{{ if .secretName }}
- secret: {name: {{ .secretName }}, items: [{key: {{ .key }}, path: access_secret}]}
{{- end }}{{ end }}
{{- end }}
