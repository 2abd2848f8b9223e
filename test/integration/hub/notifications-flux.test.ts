import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours, shopByFlux } from '../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from './hub-process.ts';

const DOCS = join(import.meta.dirname, '../../../docs');
const PATIENCE = { timeout: 100_000, interval: 500 };

/** One application in a chain, whose first environment is followed by Flux. */
const platform = (registry: string, text: string): Record<string, string> => ({
  ...shopByFlux('acme', ['dev', 'prod'], {
    registry,
    plainHttp: true,
    interval: '1s',
    applyInterval: '5s',
  }),
  'platform/promotion/dev-to-prod.yaml': ours(
    'PromotionPolicy',
    'dev-to-prod',
    'spec:\n  from: dev\n  to: prod\n  compliance: {percent: 100, atLeast: 1}\n',
  ),
  'apps/shop/manifests/text.yaml': `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: ${text}}\n`,
});

const blockOf = async (page: string, title: string): Promise<string> => {
  const text = await readFile(join(DOCS, page), 'utf8');
  const [, block] = new RegExp(`\`\`\`yaml\n# ${title}\n(.*?)\`\`\``, 's').exec(text) ?? [];
  return block ?? expect.fail(`${page} has no block "${title}"`);
};

describeWith(
  ['kube', 'kwok', 'flux', 'dockerRegistry'],
  'a cluster that follows by Flux',
  ({ kube, kwok, flux, dockerRegistry }) => {
    const release = async (office: Office, registry: string, text: string): Promise<void> => {
      await writeFiles(office.path, platform(`${registry}/fleet`, text));
      await office.scheduler('build', '--platform', 'platform', '--environment', 'dev');
      await office.scheduler('publish', `oci://${registry}/fleet`);
    };

    const statusOf = async (office: Office) => {
      const { stdout } = await office.scheduler('status', '--json');
      const { rows } = JSON.parse(stdout) as {
        rows: {
          assignment: string;
          verdict: string;
          follower: string;
          desired: { version: number } | null;
        }[];
      };
      return rows.map(({ assignment, verdict, follower, desired }) => [
        assignment,
        verdict,
        follower,
        desired?.version,
      ]);
    };

    const complianceOf = async (office: Office) => {
      const { stdout } = await office.scheduler(
        'promote',
        'prod',
        '--explain',
        '--json',
        '--platform',
        'platform',
      );
      const { conditions } = JSON.parse(stdout) as {
        conditions: { name: string; found: string; met: boolean }[];
      };
      const found = conditions.find(({ name }) => name === 'compliance');
      return [found?.found, found?.met];
    };

    it('is in the status table and opens a gate by what notification-controller posts to the hub', async () => {
      await using cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
      await using _ = await startFlux(flux, cluster);
      await using registry = await startRegistry(dockerRegistry);
      await using office = await startOffice();
      await release(office, registry.host, 'one');
      const words = ['sites', 'follow', 'plant-7/edge', '--by', 'flux', '--channel', 'dev/edge', '--json'];
      const { stdout } = await office.scheduler(...words);
      const { token, path } = JSON.parse(stdout) as { token: string; path: string };
      await using hub = await office.serve();
      expect(await statusOf(office)).toEqual([['shop-web', 'never reported', 'flux', 1]]);

      const ours = (await blockOf('how-to/flux-and-argo-cd.md', 'notifications of Flux'))
        .replace('<the token>', token)
        .replace('<PEM>', office.authority.trim().replaceAll('\n', '\n    '))
        .replace('https://hub.example:8443/v1/followers/plant-7/edge/flux', `${hub.url}${path}`);
      await applyYaml(cluster, ours);
      const root = (await blockOf('reconcilers.md', 'flux-oci root'))
        .replace('oci://registry.example/halden/prod/edge', `oci://${registry.host}/fleet/dev/edge`)
        .replace('  ref:\n', '  insecure: true\n  ref:\n')
        .replace(/ {2}verify:\n.*?(?=---)/s, '')
        .replace('interval: 1m', 'interval: 1s');
      await applyYaml(cluster, root);
      await expect.poll(() => statusOf(office), PATIENCE).toEqual([['shop-web', 'complies', 'flux', 1]]);
      await expect.poll(() => complianceOf(office), PATIENCE).toEqual(['1 of 1, 100 %', true]);

      await release(office, registry.host, 'two');
      await expect.poll(() => statusOf(office), PATIENCE).toEqual([['shop-web', 'complies', 'flux', 2]]);
      await expect.poll(() => complianceOf(office), PATIENCE).toEqual(['1 of 1, 100 %', true]);
      expect((await office.scheduler('history', 'plant-7/edge')).stdout).toContain('dev/edge r2');
    }, 600_000);
  },
);
