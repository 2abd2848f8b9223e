{{- define "fleet-agent.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- /* Name of an object without a namespace, different for each installation. */ -}}
{{- define "fleet-agent.clusterName" -}}
{{ if eq .Release.Namespace "fleet-agent" }}fleet-agent{{ else }}fleet-agent-{{ .Release.Namespace }}{{ end }}
{{- end -}}

{{- /* Empty if something else than this release made the object of the cluster: it is shared, and stays as it is. Expects [root, apiVersion, kind, name]. */ -}}
{{- define "fleet-agent.isOurs" -}}
{{- $root := index . 0 -}}
{{- $found := lookup (index . 1) (index . 2) "" (index . 3) -}}
{{- $notes := ($found.metadata | default dict).annotations | default dict -}}
{{- $owner := printf "%s/%s" (get $notes "meta.helm.sh/release-namespace") (get $notes "meta.helm.sh/release-name") -}}
{{- if or (not $found) (eq $owner (printf "%s/%s" $root.Release.Namespace $root.Release.Name)) }}yes{{ end -}}
{{- end -}}

{{- /* A place of the node, as a volume for one claim alone. Expects [root, claim, path, type, access mode]. */ -}}
{{- define "fleet-agent.nodeVolume" -}}
{{- $root := index . 0 }}
{{- $name := printf "%s%s" (include "fleet-agent.clusterName" $root) (trimPrefix "fleet-agent" (index . 1)) }}
{{- $mode := index . 4 }}
apiVersion: v1
kind: PersistentVolume
metadata:
  name: {{ $name }}
spec:
  capacity: { storage: 1Gi }
  accessModes: [{{ $mode }}]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: ''
  claimRef: { apiVersion: v1, kind: PersistentVolumeClaim, namespace: {{ $root.Release.Namespace | quote }}, name: {{ index . 1 }} }
  hostPath: { path: {{ index . 2 | quote }}, type: {{ index . 3 }} }
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ index . 1 }}
  namespace: {{ $root.Release.Namespace | quote }}
spec:
  accessModes: [{{ $mode }}]
  storageClassName: ''
  volumeName: {{ $name }}
  resources:
    requests: { storage: 1Gi }
{{- end -}}
