import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { applyYaml } from '../../../harness/flux/apply-definitions.ts';
import { succeed } from '../../../harness/run/run-command.ts';
import { runScheduler } from '../../../harness/run/run-scheduler.ts';
import { writeFiles } from '../../../scheduler/file-tree.ts';
import { ours, shopByFlux } from '../../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from '../../hub/hub-process.ts';
import { type FluxWorld, PATIENCE, removeFluxObjects } from './flux-world.ts';

const DOCS = join(import.meta.dirname, '../../../../docs');

/** What a command of the office tells. */
const SELDOM = { ...PATIENCE, interval: 1000 };

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

const runIn = async (office: Office, ...words: readonly string[]): Promise<string> =>
  succeed(await runScheduler(office.path, words)).stdout;

const release = async (office: Office, registry: string, text: string): Promise<void> => {
  await writeFiles(office.path, platform(registry, text));
  await runIn(office, 'build', '--platform', 'platform', '--environment', 'dev');
  await runIn(office, 'publish', `oci://${registry}`);
};

const statusOf = async (office: Office) => {
  const { rows } = JSON.parse(await runIn(office, 'status', '--json')) as {
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
  const words = ['promote', 'prod', '--explain', '--json', '--platform', 'platform'];
  const { conditions } = JSON.parse(await runIn(office, ...words)) as {
    conditions: { name: string; found: string; met: boolean }[];
  };
  const found = conditions.find(({ name }) => name === 'compliance');
  return [found?.found, found?.met];
};

/** A cluster is in the status table and opens a gate by what notification-controller posts to the hub. */
export const expectNotified = async (world: FluxWorld): Promise<void> => {
  const {
    cluster,
    registry: { host },
  } = world;
  const registry = `${host}/notified`;
  await using office = await startOffice();
  await release(office, registry, 'one');
  const words = ['sites', 'follow', 'plant-7/edge', '--by', 'flux', '--channel', 'dev/edge', '--json'];
  const { token, path } = JSON.parse(await runIn(office, ...words)) as { token: string; path: string };
  await using hub = await office.serve();
  expect(await statusOf(office)).toEqual([['shop-web', 'never reported', 'flux', 1]]);

  const notifications = (await blockOf('how-to/flux-and-argo-cd.md', 'notifications of Flux'))
    .replace('<the token>', token)
    .replace('<PEM>', office.authority.trim().replaceAll('\n', '\n    '))
    .replace('https://hub.example:8443/v1/followers/plant-7/edge/flux', `${hub.url}${path}`);
  const root = (await blockOf('reconcilers.md', 'flux-oci root'))
    .replace('oci://registry.example/halden/prod/edge', `oci://${registry}/dev/edge`)
    .replace('  ref:\n', '  insecure: true\n  ref:\n')
    .replace(/ {2}verify:\n.*?(?=---)/s, '')
    .replace('interval: 1m', 'interval: 1s');
  await applyYaml(cluster, `${notifications}---\n${root}`);
  await expect.poll(() => statusOf(office), SELDOM).toEqual([['shop-web', 'complies', 'flux', 1]]);
  await expect.poll(() => complianceOf(office), SELDOM).toEqual(['1 of 1, 100 %', true]);

  await release(office, registry, 'two');
  await expect.poll(() => statusOf(office), SELDOM).toEqual([['shop-web', 'complies', 'flux', 2]]);
  await expect.poll(() => complianceOf(office), SELDOM).toEqual(['1 of 1, 100 %', true]);
  expect(await runIn(office, 'history', 'plant-7/edge')).toContain('dev/edge r2');
  const settings = '/apis/notification.toolkit.fluxcd.io/v1beta3/namespaces/flux-system';
  await cluster.request('DELETE', `${settings}/alerts`);
  await cluster.request('DELETE', `${settings}/providers`);
  await removeFluxObjects(world);
};
