import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { formatError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import type { BuildOutcome } from '../../../../scheduler/build/build-outcome.ts';
import { build } from '../../../../scheduler/build/build.ts';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import { problemsOf } from '../../../../scheduler/model/problems.ts';
import { initDevRoot } from '../../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../../kalypso-platform.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

/** One cluster type and one application, which is registered unless `files` say otherwise. */
const platform = (reconciler: string, files: Readonly<Record<string, string>>): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: prod}]\n'),
  'platform/base/edge.yaml': ours('ClusterType', 'edge', `spec: {reconciler: ${reconciler}}\n`),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'all',
    'spec: {values: {LOG: info, reconciler: {registry: registry.example/halden}}}\n',
  ),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n',
  ),
  'platform/base/sales.yaml': ours(
    'Workspace',
    'sales',
    'spec: {repositories: ["https://git.example/shop"]}\n',
  ),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:
  deploymentTargets:
    - {name: web, environment: prod, manifests: {path: k8s, playbook: site.yml${reconciler === 'flux' ? ', repo: https://git.example/shop, branch: main' : ''}}}
`,
  ),
  'apps/shop/k8s/text.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\n',
  ...files,
});

const built = async (
  reconciler: string,
  files: Readonly<Record<string, string>> = {},
): Promise<{ readonly outcome: BuildOutcome; readonly layer: Readonly<Record<string, string>> }> => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, platform(reconciler, files));
  await initDevRoot(join(folder, 'keys'), 'halden', NOW);
  const outcome = await build({
    platform: join(folder, 'platform'),
    maps: [],
    cacheDirectory: join(folder, 'cache'),
    layout: join(folder, 'releases'),
    keys: await openKeyDirectory(join(folder, 'keys')),
    now: NOW,
    signal: new AbortController().signal,
  });
  const [channel] = outcome.channels;
  if (channel?.outcome !== 'released') return { outcome, layer: {} };
  const { blobs } = await openLayout(join(folder, 'releases'));
  const { manifest } = await readBundle(blobs, channel.bundle as never);
  const [descriptor] = manifest.layers;
  const bytes = await readBlob(blobs, descriptor?.digest as never, 1 << 20);
  const unpacked = unpackLayer(bytes, { maxBytes: 1 << 20, maxEntries: 1000 });
  const layer = Object.fromEntries([...unpacked].map(([path, file]) => [path, file.bytes.toString()]));
  return { outcome, layer };
};

const resources = (yaml: string | undefined): readonly string[] =>
  [...(yaml ?? '').matchAll(/- "(.*)"/g)].map(([, path = '']) => path);

describe('the bundle of a cluster type', () => {
  test.each(['flux-oci', 'argocd-oci'])(
    "with %s lists the reconciler.yaml of each package, which is not in the package's kustomization",
    async (reconciler) => {
      const { layer } = await built(reconciler);
      expect(resources(layer['kustomization.yaml'])).toEqual(['shop-web/reconciler.yaml']);
      expect(resources(layer['shop-web/kustomization.yaml'])).toEqual([
        'manifests/text.yaml',
        'namespace.yaml',
        'platform-config.yaml',
      ]);
      expect(layer['shop-web/reconciler.yaml']).toContain('oci://registry.example/halden/prod/edge');
    },
  );

  test('with zarf has a Zarf package beside the files, with valid fields only', async () => {
    const { layer } = await built('zarf');
    expect(resources(layer['kustomization.yaml'])).toEqual(['shop-web']);
    expect(resources(layer['shop-web/kustomization.yaml'])).not.toContain('reconciler.yaml');
    expect(layer['shop-web/reconciler.yaml']).toMatch(
      /kind: ZarfPackageConfig\nmetadata:\n {2}name: prod-edge-shop-web\n {2}desc/,
    );
    expect(layer['shop-web/manifests/text.yaml']).toContain('namespace: prod-edge-shop-web');
  });

  test('with flux has no manifests of the application, and a reconciler that refers to them', async () => {
    const { layer } = await built('flux');
    expect(resources(layer['shop-web/kustomization.yaml'])).toEqual([
      'namespace.yaml',
      'platform-config.yaml',
      'reconciler.yaml',
    ]);
    expect(Object.keys(layer).filter((path) => path.includes('manifests/'))).toEqual([]);
  });

  test('with ansible-local has a playbook as a file outside of the kustomization', async () => {
    const { layer } = await built('ansible-local');
    expect(layer['shop-web/reconciler.yaml']).toContain('ansible.builtin.import_playbook: "site.yml"');
    expect(resources(layer['shop-web/kustomization.yaml'])).toEqual([
      'namespace.yaml',
      'platform-config.yaml',
    ]);
  });
});

describe("an application's manifest outside of its namespace", () => {
  const foreign = {
    'apps/shop/k8s/role.yaml':
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: all}\n',
    'apps/shop/k8s/other.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: kube-system\n',
  };
  const annotated = (annotations: string): Record<string, string> => ({
    'platform/base/shop.yaml': ours(
      'WorkloadRegistration',
      'shop',
      `  annotations: ${annotations}\nspec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n`,
    ),
  });

  test('holds its assignment, with the position of each such object', async () => {
    const { outcome } = await built('fleet', foreign);
    const [held] = outcome.channels.flatMap((channel) => channel.held);
    expect(held?.assignment).toBe('shop-web');
    expect(problemsOf(held?.error).map(formatError)).toEqual([
      expect.stringMatching(/apps\/shop\/k8s\/other\.yaml:5:14: NAMESPACE_FOREIGN: ConfigMap a: /),
      expect.stringMatching(/apps\/shop\/k8s\/role\.yaml:1:1: CLUSTER_SCOPED: ClusterRole all: /),
    ]);
  });

  test('is built when the registration allows it', async () => {
    const allowed = annotated(
      '{fleet-ferry/allow-cluster-scoped: ClusterRole, fleet-ferry/allow-namespaces: kube-system, other/x: y}',
    );
    const { outcome, layer } = await built('fleet', { ...foreign, ...allowed });
    expect(outcome.channels.flatMap((channel) => channel.held)).toEqual([]);
    expect(layer['shop-web/manifests/other.yaml']).toContain('namespace: kube-system');
    expect(layer['shop-web/manifests/role.yaml']).not.toContain('namespace:');
  });
});

describe('built-in templates', () => {
  test('are used by the name in a cluster type, and replaced by a Template of the platform', async () => {
    const load = async (more: Readonly<Record<string, string>>) => {
      const folder = await temporaryDirectory();
      await writeFiles(folder, { ...fleetPlatform(), ...more });
      const platform = join(folder, 'platform');
      return loadPlatform({
        platform,
        environment: 'prod',
        maps: [],
        cacheDirectory: join(folder, 'c'),
        env: {},
      });
    };
    const named = await load({});
    expect([...named.templates.keys()].toSorted()).toEqual([
      'configmap',
      'env-file',
      'fleet',
      'namespace',
      'none',
    ]);
    expect(named.templates.get('namespace')?.at.file).toBe('built-in namespace.yaml');
    const own = ours(
      'Template',
      'namespace',
      'spec:\n  type: namespace\n  manifests:\n    - |\n      x: {{namespace}}\n',
    );
    const replaced = await load({ 'platform/base/own.yaml': own });
    expect(replaced.templates.get('namespace')?.engine).toBe('handlebars');
  });

  test("work in Kalypso's form, too", async () => {
    const folder = await temporaryDirectory();
    const under = (name: string, files: Readonly<Record<string, string>>): Record<string, string> =>
      Object.fromEntries(Object.entries(files).map(([path, text]) => [`${name}/${path}`, text]));
    const dev = Object.entries(kalypsoDev(CONTROL_PLANE, 'c'.repeat(40))).map(([path, text]) => [
      path,
      text.replace('reconciler: rec', 'reconciler: argocd'),
    ]);
    await writeFiles(folder, {
      ...under('main', kalypsoMain()),
      ...under('dev', Object.fromEntries(dev) as Record<string, string>),
      ...under('shop', shopRepository()),
    });
    const { templates } = await loadPlatform({
      platform: join(folder, 'main'),
      environment: 'dev',
      fleet: 'halden',
      maps: [
        { repo: CONTROL_PLANE, ref: 'dev', directory: join(folder, 'dev') },
        { repo: CONTROL_PLANE, ref: 'main', directory: join(folder, 'main') },
        { repo: SHOP, directory: join(folder, 'shop') },
      ],
      cacheDirectory: join(folder, 'cache'),
      env: {},
    });
    expect(templates.get('argocd')?.at.file).toBe('built-in argocd.yaml');
    expect(templates.get('ns')?.at.file).not.toContain('built-in');
  });
});
