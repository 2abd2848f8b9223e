import { formatError } from '../../../../bundles/errors.ts';
import { builtInTemplates } from '../../../../scheduler/load/platform/built-in-templates.ts';
import type { ClusterType, DeploymentTarget, Value } from '../../../../scheduler/model/model.ts';
import { renderPlatform } from '../../../../scheduler/render/render-platform.ts';
import { schedulePlatform } from '../../../../scheduler/plan/schedule/schedule-platform.ts';
import { clusterType, layer, platform, policy, target } from '../../model-objects.ts';

export type Wanted = {
  readonly clusterType?: Partial<ClusterType>;
  readonly target?: Partial<DeploymentTarget>;
  readonly config?: Record<string, Value>;
};

/** What the built-in templates that a cluster type names write for team's shop-web on edge in dev. */
export const renderBuiltIn = (
  wanted: Wanted,
): { readonly files: Readonly<Record<string, string>>; readonly held: readonly string[] } => {
  const whole = platform({
    form: 'fleet',
    templates: new Map(builtInTemplates().map((one) => [one.name, one])),
    clusterTypes: [
      clusterType('edge', {
        reconciler: 'fleet',
        namespaceService: 'none',
        configType: 'configmap',
        ...wanted.clusterType,
      }),
    ],
    targets: [target('shop/web', wanted.target)],
    policies: [policy('all')],
    configs: [layer('x', { values: wanted.config ?? {} })],
  });
  const { packages, held } = renderPlatform(whole, schedulePlatform(whole));
  return {
    files: Object.fromEntries(packages.flatMap(({ files }) => files.map(({ path, text }) => [path, text]))),
    held: held.map(({ error }) => formatError(error)),
  };
};

/** What each built-in reconciler needs as parameters, with the values of these tests. */
export const RECONCILERS: Readonly<
  Record<string, { readonly manifests: Record<string, Value>; readonly settings: Record<string, Value> }>
> = {
  fleet: { manifests: {}, settings: {} },
  flux: {
    manifests: { repo: 'https://git.example/shop', branch: 'main', path: './deploy' },
    settings: {
      interval: '30s',
      secret: 'shop-git',
      serviceAccount: 'applier',
      timeout: '2m',
      sopsSecret: 'age',
    },
  },
  'flux-oci': {
    manifests: {},
    settings: {
      registry: 'registry.example/halden',
      plainHttp: true,
      secret: 'pull',
      caSecret: 'ca',
      cosignSecret: 'cosign',
      serviceAccount: 'applier',
    },
  },
  argocd: {
    manifests: { repo: 'https://git.example/shop', ref: 'v1.2.0', path: 'deploy' },
    settings: { project: 'team', namespace: 'argo' },
  },
  'argocd-oci': { manifests: {}, settings: { registry: 'oci://registry.example/halden/' } },
  'rancher-fleet': {
    manifests: { repo: 'https://git.example/shop', branch: 'main', path: 'deploy' },
    settings: { secret: 'shop-git', serviceAccount: 'applier', namespace: 'fleet-local' },
  },
  'rancher-fleet-helm': {
    manifests: { repo: 'https://charts.example', chart: 'shop', version: '1.2.3', values: { replicas: 2 } },
    settings: { secret: 'charts', serviceAccount: 'applier' },
  },
  zarf: {
    manifests: { images: [`registry.example/shop@sha256:${'0'.repeat(64)}`] },
    settings: { version: '1.2.3', architecture: 'amd64' },
  },
  symphony: {
    manifests: { repo: 'https://git.example/shop', branch: 'main', path: 'deploy' },
    settings: { secret: 'shop-git' },
  },
  'ansible-pull': {
    manifests: { repo: 'https://git.example/shop.git', branch: 'main', path: 'site.yml' },
    settings: { user: 'shop', interval: '5m' },
  },
  'ansible-local': { manifests: { playbook: 'manifests/site.yml' }, settings: {} },
};
