import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { describeWith } from '../../../harness/run/describe-with.ts';
import type { Cluster } from '../../../harness/kubernetes/cluster.ts';
import { applyYaml } from '../../../harness/flux/apply-definitions.ts';
import { gitKustomization } from '../../../harness/flux/git-kustomization.ts';
import { commitFolder, makeGitRepository } from '../../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../../harness/neighbours/git-server.ts';
import { LONG } from '../../../harness/run/long.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../../scheduler/file-tree.ts';
import { valuedClusters } from '../../../scheduler/deliver/tree/valued-clusters.ts';
import { ours } from '../../../scheduler/fleet-platform.ts';
import { expectDecrypted } from './encrypted-secrets.ts';
import {
  FLUX_OBJECTS,
  type FluxWorld,
  makeFleet,
  PATIENCE,
  releaseTo,
  removeFluxObjects,
  startFluxWorld,
} from './flux-world.ts';
import { expectNotified } from './notifications.ts';
import { expectVerifiedBesideSummary } from './verified-summaries.ts';

const GUIDE = join(import.meta.dirname, '../../../../docs/reconcilers.md');

const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {text: ${JSON.stringify(text)}}\n`;

const secret = (name: string, key: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, namespace: flux-system}\nstringData: {fleet.pub: ${JSON.stringify(key)}}\n`;

const workload = (name: string, manifests = '{path: manifests}'): string =>
  ours(
    'Workload',
    name,
    `spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: ${manifests}}]\n`,
  );

const registration = (name: string): string =>
  ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: sales\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  );

/** Two applications on one cluster type, whose reconciler is Flux. */
const platform = (reconciler: string, settings: object): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: prod}]\n'),
  'platform/base/edge.yaml': ours(
    'ClusterType',
    'edge',
    `spec: {reconciler: ${reconciler}, namespaceService: guarded-namespace}\n`,
  ),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'all',
    `spec:\n  values: ${JSON.stringify({ LOG: 'info', reconciler: settings })}\n`,
  ),
  'platform/base/shop.yaml': registration('shop'),
  'platform/base/wiki.yaml': registration('wiki'),
});

/** Tests of what stock Flux makes of our bundles and trees. @param cluster one that may have Flux's definitions, and is left with them */
export const stockFlux = (cluster: () => Cluster): void =>
  describeWith(['flux', 'dockerRegistry'], 'stock Flux', (paths) => {
    let world: FluxWorld;
    let folder: TemporaryDirectory;
    const stack = new AsyncDisposableStack();

    beforeAll(async () => {
      world = stack.use(await startFluxWorld(cluster(), paths));
      folder = stack.use(await temporaryDirectory('flux-test'));
      await makeFleet(folder.path);
    }, 300_000);
    afterAll(() => stack.disposeAsync());

    it('applies each release from the registry, package by package, and prunes removed objects', async () => {
      const { cluster, registry, field, text } = world;
      const release = (): Promise<void> => releaseTo(folder.path, registry);
      const { public: own } = await (await openKeyDirectory(join(folder.path, 'keys'))).key('bundle');
      const settings = {
        registry: `${registry.host}/fleet`,
        plainHttp: true,
        interval: '1s',
        cosignSecret: 'bundle-signers',
      };
      await writeFiles(folder.path, {
        ...platform('flux-oci', settings),
        'apps/shop/deploy/shop.yaml': workload('shop'),
        'apps/shop/manifests/text.yaml': configMap('text', 'one'),
        'apps/wiki/deploy/wiki.yaml': workload('wiki'),
        'apps/wiki/manifests/text.yaml': configMap('text', 'wiki'),
      });
      await release();
      const guide = await readFile(GUIDE, 'utf8');
      const [, root = ''] = /```yaml\n# flux-oci root\n(.*?)```/s.exec(guide) ?? [];
      const rootHere = root
        .replace('oci://registry.example/halden/prod/edge', `oci://${registry.host}/fleet/prod/edge`)
        .replace('  ref:\n', '  insecure: true\n  ref:\n')
        .replace('interval: 1m', 'interval: 1s');
      await applyYaml(cluster, `${secret('bundle-signers', own.pem)}---\n${rootHere}`);
      const shop = 'prod-edge-shop-web';
      const wiki = 'prod-edge-wiki-web';
      await expect.poll(() => text(shop), PATIENCE).toBe('one');
      await expect.poll(() => text(wiki), PATIENCE).toBe('wiki');
      const inShop = `/api/v1/namespaces/${shop}`;
      expect(await field(`${inShop}/configmaps/platform-config`, 'data')).toEqual({ LOG: 'info' });
      expect(await field(`${inShop}/resourcequotas/assignment`, 'spec', 'hard', 'pods')).toBe('50');
      const ready = async (): Promise<string | undefined> =>
        (await conditionOf(`${FLUX_OBJECTS.kustomizations}/${shop}`, 'Ready'))?.message;
      await expect.poll(ready, PATIENCE).toMatch(/^Applied revision: bundle@sha256:[0-9a-f]{64}$/);

      await writeFiles(folder.path, { 'apps/shop/manifests/text.yaml': configMap('text', 'two') });
      await release();
      await expect.poll(() => text(shop), PATIENCE).toBe('two');

      await rm(join(folder.path, 'platform/base/wiki.yaml'));
      await release();
      await expect.poll(() => world.exists(wiki), PATIENCE).toBe(false);
      expect(await text(shop)).toBe('two');

      await removeFluxObjects(world);
      await expect.poll(() => world.exists(shop), PATIENCE).toBe(false);
    }, 600_000);

    type Condition = { readonly type: string; readonly status: string; readonly message: string };
    const conditionOf = async (path: string, type: string): Promise<Condition | undefined> => {
      const conditions = (await world.field(path, 'status', 'conditions')) as
        | readonly Condition[]
        | undefined;
      return conditions?.find((condition) => condition.type === type);
    };

    /** Flux verifies what a tag names with these keys: what it says of it. */
    const verify = async (
      name: string,
      tag: string,
      key: string,
      url = `oci://${world.registry.host}/fleet/prod/edge`,
    ): Promise<string> => {
      await applyYaml(
        world.cluster,
        `${secret(name, key)}---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: ${name}, namespace: flux-system}
spec:
  interval: 1m
  url: ${url}
  ref: {tag: ${tag}}
  insecure: true
  verify: {provider: cosign, secretRef: {name: ${name}}}
`,
      );
      const said = async (): Promise<string> => {
        const found = await conditionOf(`${FLUX_OBJECTS.ocirepositories}/${name}`, 'SourceVerified');
        return found === undefined ? '' : `${found.status} ${found.message}`;
      };
      await expect.poll(said, PATIENCE).not.toBe('');
      return said();
    };

    it('applies an application from Git by the rendered tree, and prunes removed objects', async () => {
      await using git = await temporaryDirectory('flux-git');
      await using server = await startGitServer(git.path);
      const at = (name: string): string => join(git.path, name);
      const manifests = `{repo: '${server.url}/shop.git', branch: main, path: deploy}`;
      await writeFiles(git.path, {
        ...platform('flux', { interval: '1s', applyInterval: '1m' }),
        'platform/base/sales.yaml': ours('Workspace', 'sales', `spec: {repositories: ['${server.url}/']}\n`),
        'apps/shop/deploy/shop.yaml': workload('shop', manifests),
        'apps/wiki/deploy/wiki.yaml': workload('wiki', manifests),
        'shop/deploy/text.yaml': configMap('text', 'from Git'),
      });
      await makeGitRepository(at('shop.git'), { main: at('shop') });
      const render = async (): Promise<void> => {
        const words = ['render', '--platform', 'platform', '--environment', 'prod', '--out', 'tree'];
        succeed(await runScheduler(git.path, words));
      };
      await render();
      await makeGitRepository(at('gitops.git'), { prod: at('tree') });
      await applyYaml(
        world.cluster,
        gitKustomization('gitops', {
          url: `${server.url}/gitops.git`,
          branch: 'prod',
          applies: 'interval: 1m, path: ./edge',
        }),
      );
      for (const name of ['shop', 'wiki'])
        await expect.poll(() => world.text(`prod-edge-${name}-web`), PATIENCE).toBe('from Git');
      await writeFiles(git.path, { 'shop/deploy/text.yaml': configMap('text', 'changed') });
      await commitFolder(at('shop.git'), 'main', at('shop'));
      await expect.poll(() => world.text('prod-edge-shop-web'), PATIENCE).toBe('changed');
      await rm(at('platform/base/wiki.yaml'));
      await render();
      await commitFolder(at('gitops.git'), 'prod', at('tree'));
      await expect.poll(() => world.exists('prod-edge-wiki-web'), PATIENCE).toBe(false);
      expect(await world.text('prod-edge-shop-web')).toBe('changed');
      await removeFluxObjects(world);
    }, 600_000);

    it('applies the folder of a cluster with the values of its site, and a value that changes', async () => {
      await using tree = await valuedClusters();
      await tree.office.build();
      await tree.follow('plant-7/edge', { region: 'north' });
      await tree.follow('plant-8/edge');
      await tree.compose();
      await tree.set('plant-7', { lineNumber: 7 });
      expect(await tree.deliver()).toMatchObject({ outcome: 'pushed', heldAtClusters: [] });
      await using server = await startGitServer(dirname(tree.gitops));
      await applyYaml(
        world.cluster,
        gitKustomization('tree', {
          url: `${server.url}/gitops.git`,
          branch: 'dev',
          applies: 'interval: 1m, path: ./clusters/plant-7/edge',
        }),
      );
      const dataOf = (assignment: string) => () =>
        world.field(`/api/v1/namespaces/dev-press-${assignment}/configmaps/platform-config`, 'data');
      const common = { LEVEL: 'base', LINE: '0' };
      await expect.poll(dataOf('shop-web'), PATIENCE).toEqual({ ...common, gateway: '10.7.0.1' });
      await expect.poll(dataOf('monitor-probe'), PATIENCE).toEqual({ ...common, LINE: '7' });
      await tree.set('plant-7', { gateway: '10.9.9.9' });
      expect(await tree.deliver()).toMatchObject({
        written: ['clusters/plant-7/edge/shop-web/platform-config.yaml'],
      });
      await expect.poll(dataOf('shop-web'), PATIENCE).toEqual({ ...common, gateway: '10.9.9.9' });
      await removeFluxObjects(world);
    }, 300_000);

    it("verifies our statement with the bundle signers' key by spec.verify, and no other", async () => {
      const { public: own } = await (await openKeyDirectory(join(folder.path, 'keys'))).key('bundle');
      expect(await verify('own', 'bundle', own.pem)).toMatch(
        /^True verified signature of revision bundle@sha256:/,
      );
      const stranger = loadSigningKey(generatePrivateKey());
      expect(await verify('stranger', 'bundle', stranger.public.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );

      const manifests = `${world.registry.url}/v2/fleet/prod/edge/manifests`;
      const put = async (tag: string, mediaType: string, body: Uint8Array): Promise<string> => {
        const headers = { 'content-type': mediaType };
        const { status } = await fetch(`${manifests}/${tag}`, { method: 'PUT', headers, body });
        expect(status).toBe(201);
        return digestOf(body);
      };
      const get = async (tag: string, mediaType: string): Promise<Buffer> => {
        const answer = await fetch(`${manifests}/${tag}`, { headers: { accept: mediaType } });
        expect(answer.status).toBe(200);
        return Buffer.from(await answer.arrayBuffer());
      };
      const bytes = await get('bundle', OCI_MANIFEST);
      const forged = Buffer.from(
        JSON.stringify({ ...JSON.parse(bytes.toString()), annotations: { a: 'b' } }),
      );
      const digest = await put('forged', OCI_MANIFEST, forged);
      expect(await verify('unsigned', 'forged', own.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );
      // The real bundle's statement, hung on what was forged.
      const list = await get(digestOf(bytes).replace(':', '-'), OCI_INDEX);
      await put(digest.replace(':', '-'), OCI_INDEX, list);
      expect(await verify('borrowed', 'forged', own.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );
      await removeFluxObjects(world);
    }, 300_000);

    it.runIf(LONG)(
      'verifies and applies bundles that have the verification summary of a promotion beside them',
      () => expectVerifiedBesideSummary(world, (name, url, key) => verify(name, 'bundle', key, url)),
      600_000,
    );

    it(
      'reports to the hub by notification-controller, is in its status table and opens a gate',
      () => expectNotified(world),
      300_000,
    );

    describeWith(['sops'], 'with SOPS', ({ sops }) => {
      it('decrypts the Secrets of a bundle in their namespace', () => expectDecrypted(world, sops), 300_000);
    });
  });
