import type { Template, TemplateType } from '../model.ts';

/**
 * Templates every platform of our form has, so that a cluster type can name them at once. A Template of the same name
 * replaces one. They are Go templates only because that engine has all that they need.
 */

const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: {{ .Namespace }}
  labels:
    fleet-ferry/environment: {{ .Environment | quote }}
    fleet-ferry/workspace: {{ .Workspace | quote }}
    fleet-ferry/workload: {{ .Workload | quote }}
    fleet-ferry/deployment-target: {{ .DeploymentTargetName | quote }}
`;

/** Every value of a ConfigMap is text; mappings and lists become YAML text. */
const CONFIG_MAP = `{{- if .ConfigData -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: platform-config
  namespace: {{ .Namespace }}
data:
{{- range $key, $value := .ConfigData }}
  {{ $key | quote }}: {{ if or (kindIs "map" $value) (kindIs "slice" $value) }}{{ toYaml $value | quote }}
  {{- else if kindIs "invalid" $value }}""
  {{- else }}{{ toString $value | quote }}{{ end }}
{{- end }}
{{ end -}}
`;

/**
 * systemd's EnvironmentFile, which a POSIX shell reads the same way: in double quotes only these four characters need
 * a backslash, and a line end stands for itself.
 */
const ENV_FILE = `{{- range $key, $value := .ConfigData -}}
{{- if not (regexMatch "^[A-Za-z_][A-Za-z0-9_]*$" $key) -}}
{{- fail (printf "the configuration key %s is no name for an environment variable" $key) -}}
{{- end -}}
{{- $text := "" -}}
{{- if or (kindIs "map" $value) (kindIs "slice" $value) }}{{ $text = toJson $value -}}
{{- else if not (kindIs "invalid" $value) }}{{ $text = toString $value }}{{ end -}}
{{ $key }}="{{ $text | replace "\\\\" "\\\\\\\\" | replace "\\"" "\\\\\\"" | replace "$" "\\\\$" | replace "\`" "\\\\\`" }}"
{{ end -}}
`;

const builtIn = (
  name: string,
  type: TemplateType,
  contentType: string | undefined,
  text?: string,
): Template => {
  const at = { file: `built-in template ${name}`, line: 1, column: 1 };
  return {
    name,
    type,
    engine: 'go',
    contentType,
    manifests: text === undefined ? [] : [{ text, at, indent: 0 }],
    at,
  };
};

export const BUILT_IN_TEMPLATES: readonly Template[] = [
  builtIn('none', 'namespace', undefined),
  builtIn('namespace', 'namespace', 'yaml', NAMESPACE),
  builtIn('configmap', 'config', 'yaml', CONFIG_MAP),
  builtIn('env-file', 'config', 'env', ENV_FILE),
  // Our agent applies the package itself, so there is nothing to tell another reconciler.
  builtIn('fleet', 'reconciler', undefined),
];
