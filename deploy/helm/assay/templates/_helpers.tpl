{{- define "assay.labels" -}}
app.kubernetes.io/name: assay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "assay.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end }}

{{- define "assay.claim" -}}
{{ .Values.files.existingClaim | default (printf "%s-files" .Release.Name) }}
{{- end }}

{{- define "assay.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "assay.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "assay.environment" -}}
- {name: SECRET_KEY_FILE, value: /run/secrets/assay/secret_key}
- {name: DATABASE_URL, value: {{ .databaseUrl | default .Values.databaseUrl | quote }}}
- {name: DATABASE_PASSWORD_FILE, value: /run/secrets/assay/postgres_password}
- {name: REDIS_URL, value: {{ .Values.redisUrl | quote }}}
- {name: REDIS_PASSWORD_FILE, value: /run/secrets/assay/redis_password}
- {name: ALLOWED_HOSTS, value: {{ printf "%s,localhost" .Values.host | quote }}}
- {name: CSRF_TRUSTED_ORIGINS, value: {{ printf "https://%s" .Values.host | quote }}}
- {name: SITE_URL, value: {{ printf "https://%s" .Values.host | quote }}}
- {name: TRUSTED_PROXIES, value: "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7"}
- {name: TMPDIR, value: /data/uploads}
{{- range $name, $value := .Values.settings }}
{{- if not (and $.databaseUrl (eq $name "DATABASE_POOLER")) }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- end }}

{{- define "assay.mounts" -}}
- {name: files, mountPath: /data}
- {name: secrets, mountPath: /run/secrets/assay, readOnly: true}
- {name: temporary, mountPath: /tmp}
{{- end }}

{{- define "assay.volumes" -}}
- name: files
  persistentVolumeClaim: {claimName: {{ include "assay.claim" . }}}
- name: secrets
  secret: {secretName: {{ .Values.secretName }}, defaultMode: 0440}
- name: temporary
  emptyDir: {medium: Memory, sizeLimit: 256Mi}
{{- end }}
