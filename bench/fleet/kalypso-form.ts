import { fleetFacts } from './fleet-facts.ts';
import type { FleetSize } from './fleet-size.ts';

/** A fleet as files by path; `directory` of a map is relative to them. */
export type FleetText = {
  readonly files: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly maps: readonly { readonly repo: string; readonly ref?: string; readonly directory: string }[];
  /** The folder of the configuration. */
  readonly configs: string;
};

const CONTROL_PLANE = 'https://git.example.com/platform/control-plane';
const APPLICATIONS = 'https://git.example.com/apps';

const object = (kind: string, name: string, labels: object, spec: object): string =>
  `apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n  labels: ${JSON.stringify(labels)}\nspec: ${JSON.stringify(spec, undefined, 2)}\n`;

/** Kalypso's form: Flux fetches the applications, so a package says where they are. */
export const kalypsoFiles = (size: FleetSize): FleetText => {
  const facts = fleetFacts(size);
  const files: Record<string, string> = {
    'main/.environments/prod.yaml': object(
      'Environment',
      'prod',
      {},
      {
        controlPlane: { repo: CONTROL_PLANE, branch: 'prod', path: '.' },
      },
    ),
    'main/.sourceignore': '.environments/\n',
    'main/templates/reconciler.yaml': template('flux', 'reconciler', RECONCILER),
    'main/templates/namespace.yaml': template('namespace', 'namespace', NAMESPACE),
    'main/templates/config.yaml': template('configmap', 'config', CONFIG_MAP),
    'prod/base-repo.yaml': object(
      'BaseRepo',
      'main',
      {},
      {
        repo: CONTROL_PLANE,
        branch: 'main',
        path: '.',
        commit: '0123456789abcdef0123456789abcdef01234567',
      },
    ),
    'prod/gitops-repo.yaml': object(
      'GitOpsRepo',
      'gitops',
      {},
      {
        repo: 'https://git.example.com/platform/gitops',
        branch: 'prod',
        path: '.',
      },
    ),
    'prod/schema.yaml': object(
      'ConfigSchema',
      'common',
      {},
      {
        schema: JSON.stringify({ type: 'object', required: ['LOG_LEVEL', 'TIMEZONE'] }),
      },
    ),
  };
  for (const { name, labels } of facts.clusterTypes) {
    files[`prod/cluster-types/${name}.yaml`] = object('ClusterType', name, labels, {
      reconciler: 'flux',
      namespaceService: 'namespace',
      configType: 'configmap',
    });
  }
  for (const { name, ring } of facts.policies) {
    files[`prod/policies/${name}.yaml`] = object(
      'SchedulingPolicy',
      name,
      {},
      {
        deploymentTargetSelector: { workspace: '', labelSelector: { matchLabels: { ring } } },
        clusterTypeSelector: { labelSelector: { matchLabels: { ring } } },
      },
    );
  }
  const configText = ({ name, selector, values, structured }: (typeof facts.configs)[number]): string =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  labels: ${JSON.stringify({
      'platform-config': 'true',
      ...selector,
    })}\ndata: ${JSON.stringify({
      ...values,
      ...Object.fromEntries(Object.entries(structured).map(([key, value]) => [key, JSON.stringify(value)])),
    })}\n`;
  for (const config of facts.configs) files[`prod/configs/${config.name}.yaml`] = configText(config);
  for (const { name, workspace } of facts.workloads) {
    files[`main/workloads/${name}.yaml`] = object(
      'WorkloadRegistration',
      name,
      {},
      {
        workspace,
        workload: { repo: `${APPLICATIONS}/${name}`, branch: 'main', path: 'workload' },
      },
    );
  }
  for (const { name, labels } of facts.workloads) {
    files[`apps/${name}/workload/workload.yaml`] = object(
      'Workload',
      name,
      {},
      {
        deploymentTargets: [
          {
            name: 'web',
            environment: 'prod',
            labels,
            manifests: { repo: `${APPLICATIONS}/${name}-gitops`, branch: 'prod', path: './prod' },
          },
        ],
      },
    );
  }
  return {
    files,
    platform: 'main',
    maps: [
      { repo: CONTROL_PLANE, ref: 'prod', directory: 'prod' },
      { repo: CONTROL_PLANE, ref: 'main', directory: 'main' },
      ...facts.workloads.map(({ name }) => ({ repo: `${APPLICATIONS}/${name}`, directory: `apps/${name}` })),
    ],
    configs: 'prod/configs',
  };
};

const template = (name: string, type: string, text: string): string =>
  object('Template', name, {}, { type, manifests: [text] });

const NAMESPACE = `apiVersion: v1
kind: Namespace
metadata:
  name: {{ .Namespace }}
  labels:
    environment: {{ .Environment }}
    workspace: {{ .Workspace }}
    workload: {{ .Workload }}
    someLabel: some-value
`;

const CONFIG_MAP = `apiVersion: v1
kind: ConfigMap
metadata:
  name: platform-config
  namespace: {{ .Namespace }}
data:
{{- range $key, $value := .ConfigData }}
  {{ $key }}: {{ toYaml $value | quote }}
{{- end }}
`;

const RECONCILER = `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: {{ .DeploymentTargetName }}
  namespace: flux-system
spec:
  interval: 30s
  url: {{ .Manifests.repo }}
  ref:
    branch: {{ .Manifests.branch }}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {{ .DeploymentTargetName }}
  namespace: flux-system
spec:
  interval: 30s
  targetNamespace: {{ .Namespace }}
  sourceRef:
    kind: GitRepository
    name: {{ .DeploymentTargetName }}
  path: {{ .Manifests.path }}
  prune: true
`;
