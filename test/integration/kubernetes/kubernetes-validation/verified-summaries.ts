import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { digestOf } from '#bundles/digest';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { applyYaml } from '../../../harness/flux/apply-definitions.ts';
import { writeFiles } from '../../../scheduler/file-tree.ts';
import { ours, shopByFlux } from '../../../scheduler/fleet-platform.ts';
import { startOffice } from '../../hub/hub-process.ts';
import { type FluxWorld, PATIENCE, removeFluxObjects } from './flux-world.ts';

const GUIDE = join(import.meta.dirname, '../../../../docs/reconcilers.md');

/** What Flux says of the tag of a repository with the key of this Secret. */
type Verify = (name: string, url: string, key: string) => Promise<string>;

const signers = (key: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: bundle-signers, namespace: flux-system}\nstringData: {fleet.pub: ${JSON.stringify(key)}}\n`;

/** Flux verifies and applies bundles that have the summary of a promotion beside the statement of their signers. */
export const expectVerifiedBesideSummary = async (world: FluxWorld, verify: Verify): Promise<void> => {
  const { cluster, registry } = world;
  const prefix = `${registry.host}/passed`;
  await using office = await startOffice();
  const settings = { registry: prefix, plainHttp: true, interval: '1s', cosignSecret: 'bundle-signers' };
  const release = async (text: string): Promise<void> => {
    await writeFiles(office.path, {
      ...shopByFlux('acme', ['dev', 'prod'], settings),
      'platform/promotion/dev-to-prod.yaml': ours(
        'PromotionPolicy',
        'dev-to-prod',
        'spec: {from: dev, to: prod}\n',
      ),
      'apps/shop/manifests/text.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: ${text}}\n`,
    });
    await office.scheduler('build', '--platform', 'platform', '--environment', 'dev');
    await office.scheduler('publish', `oci://${prefix}`);
  };
  const promote = async (): Promise<void> => {
    await office.scheduler('promote', 'prod', '--platform', 'platform', '--person', 'ann');
    await office.scheduler('publish', `oci://${prefix}`);
  };
  /** How many documents lie beside the bundle that the tag names. */
  const beside = async (): Promise<number> => {
    const get = async (reference: string, accept: string): Promise<Buffer> => {
      const url = `${registry.url}/v2/passed/dev/edge/manifests/${reference}`;
      const answer = await fetch(url, { headers: { accept } });
      expect(answer.status).toBe(200);
      return Buffer.from(await answer.arrayBuffer());
    };
    const bundle = digestOf(await get('bundle', OCI_MANIFEST));
    const list = JSON.parse((await get(bundle.replace(':', '-'), OCI_INDEX)).toString()) as {
      manifests: readonly unknown[];
    };
    return list.manifests.length;
  };
  const shop = 'dev-edge-shop-web';

  await release('one');
  expect(await beside()).toBe(1);
  await promote();
  expect(await beside()).toBe(2);

  const keys = await openKeyDirectory(join(office.path, 'keys'));
  const bundleKey = (await keys.key('bundle')).public.pem;
  const [, root = ''] = /```yaml\n# flux-oci root\n(.*?)```/s.exec(await readFile(GUIDE, 'utf8')) ?? [];
  const rootHere = root
    .replace('oci://registry.example/halden/prod/edge', `oci://${prefix}/dev/edge`)
    .replace('  ref:\n', '  insecure: true\n  ref:\n')
    .replace('interval: 1m', 'interval: 1s');
  expect(rootHere).toContain('provider: cosign');
  await applyYaml(cluster, `${signers(bundleKey)}---\n${rootHere}`);
  await expect.poll(() => world.text(shop), PATIENCE).toBe('one');
  await release('two');
  await promote();
  await expect.poll(() => world.text(shop), PATIENCE).toBe('two');

  const url = `oci://${prefix}/dev/edge`;
  expect(await verify('beside', url, bundleKey)).toMatch(/^True verified signature of revision bundle@/);
  expect(await verify('beside-lease', url, (await keys.key('lease')).public.pem)).toMatch(/^False /);
  // The summary is a statement about the bundle, too: with the release key Flux takes what was promoted, and nothing else.
  const releaseKey = (await keys.key('release')).public.pem;
  expect(await verify('passed', url, releaseKey)).toMatch(/^True verified signature of revision bundle@/);
  await release('three');
  expect(await verify('not-passed', url, releaseKey)).toMatch(/^False /);
  await expect.poll(() => world.text(shop), PATIENCE).toBe('three');
  await removeFluxObjects(world);
};
