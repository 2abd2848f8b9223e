import { expect, test } from 'vitest';
import type { FleetError } from '#bundles/errors';
import { formatChannel, parseChannel } from '#bundles/names';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { AgentRow } from '../../../../../scheduler/hub/store/tables.ts';
import { newAgentRow } from '../../../../../scheduler/hub/sites/agent-record.ts';
import { checkChanges } from '../../../../../scheduler/hub/promote/values/change-values.ts';
import { proposeValues } from '../../../../../scheduler/hub/promote/values/propose-values.ts';
import { composeSites } from '../../../../../scheduler/hub/sites/layers/compose-sites.ts';
import { planSites } from '../../../../../scheduler/hub/sites/layers/plan-sites.ts';
import { readChannelLayers } from '../../../../../scheduler/hub/sites/read-channel-layers.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import { NOW } from '../../../release/removals/office.ts';
import { config, LAYERS, layeredHub, type LayeredHub } from './layered-hub.ts';

const PACKAGE = 'apps/labels/host/package.yaml';
const CHANNEL = parseChannel('prod/press');
const LATER = new Date(NOW.getTime() + 60_000);

const company = (more: readonly string[] = []): string =>
  [config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'), ...more].join('---\n');

/** Composes, and returns what it says about sites and layers. */
const compose = async (hub: LayeredHub): Promise<readonly Finding[]> => {
  const { held, advice } = await composeSites(hub, await siteSigner(hub), { now: LATER });
  return [...held.flatMap(({ reasons }) => reasons), ...advice];
};

const changeLayers = async (hub: LayeredHub, ...more: readonly string[]): Promise<readonly Finding[]> => {
  await hub.edit(LAYERS, () => company(more));
  await hub.build({ now: LATER });
  return await compose(hub);
};

type Finding = { readonly code: string; readonly message: string; readonly at?: FleetError['at'] };

type Row = readonly [
  input: string,
  give: (hub: LayeredHub) => Promise<readonly Finding[]>,
  expected: readonly RegExp[],
];

const ROWS: readonly Row[] = [
  [
    'two layers that tie',
    (hub) =>
      changeLayers(
        hub,
        config('north', 'siteSelector: {region: north}\n  values: {gatewayHost: n}'),
        config('line', 'siteSelector: {line: a}\n  values: {gatewayHost: a}'),
      ),
    [
      /^LAYER_TIE base\/layers.yaml:\d+ Config \w+ and Config \w+ \(base\/layers.yaml:\d+:\d+\) both set gatewayHost for plant-1\/edge, and both select by 1 label$/,
    ],
  ],
  [
    'a layer that selects labels which no site has',
    (hub) => changeLayers(hub, config('east', 'siteSelector: {region: east}\n  values: {gatewayHost: e}')),
    [
      /^REFERENCE_MISSING base\/layers.yaml:\d+ Config east selects region=east, which no enrolled agent of prod has$/,
    ],
  ],
  [
    'a layer whose value does not fit the schema at one site',
    (hub) => changeLayers(hub, config('one', 'siteSelector: {site: plant-1}\n  values: {port: 70000}')),
    [
      /^SITE_VALUES base\/layers.yaml:\d+ the value port does not fit .* at plant-1\/edge: port must be <= 65535$/,
    ],
  ],
  [
    'one value for many sites that does not fit',
    async (hub) => {
      const asked = ['plant-1', 'plant-2'].map((site) => ({
        change: { site, set: { port: 'x' }, unset: [] },
      }));
      return (await checkChanges(hub, asked, false)).problems;
    },
    [
      /^SITE_VALUES - the value does not fit release 1 of prod\/press: port must be integer$/,
      /^SITE_VALUES - the value does not fit release 1 of prod\/press: port must be integer$/,
    ],
  ],
  [
    'two people who edit one value',
    async (hub) => {
      const propose = async (person: string, port: number) => {
        const by = { person, reason: 'new' };
        await using store = await openStore(`${hub.folder}/hub.db`, hub.store.fleet, { by });
        const changes = [{ site: 'plant-1', set: { port }, unset: [] }];
        await proposeValues({ ...hub, store }, changes, { now: NOW, allowUnknown: false });
      };
      await propose('ann', 81);
      return propose('bob', 82).then(
        () => [],
        (error: FleetError) => [error],
      );
    },
    [/^VALUES_CHANGED - ann proposed another value port of plant-1/],
  ],
  [
    'a field that is gone after the upgrade of the application',
    async (hub) => {
      await hub.edit(PACKAGE, (text) => text.replace('PORT=0', 'PORTS=0'));
      const { channels } = await hub.build({ now: LATER });
      return channels.flatMap(({ held }) => held);
    },
    [
      /^REFERENCE_MISSING .*package.yaml:\d+ site input port goes to "\/PORT", and \/etc\/labels\/line.env has no such variable$/,
    ],
  ],
];

const toLine = (folder: string, { code, message, at }: Finding): string =>
  `${code} ${at ? `${at.file}:${at.line}` : '-'} ${message}`.replaceAll(`${folder}/platform/`, '');

const signedAt = ({ store }: LayeredHub) =>
  store.db
    .selectFrom('site')
    .select(['name', 'version', 'site_values', 'statement'])
    .where('name', '=', 'plant-1')
    .execute();

test.each(ROWS)(
  '%s: refuses with a code, place and remedy, and signs nothing for the site',
  async (_, give, expected) => {
    const hub = await layeredHub({ [LAYERS]: company() });
    await hub.enrol('plant-1/edge', { region: 'north', line: 'a' });
    await hub.enrol('plant-2/edge', { region: 'south' });
    await compose(hub);
    const before = await signedAt(hub);
    const found = (await give(hub)).map((error) => toLine(hub.folder, error));
    expect(found).toHaveLength(expected.length);
    for (const [index, line] of found.entries()) {
      expect(line).toMatch(expected[index] as RegExp);
      expect(line).not.toMatch(/\n|[.!]$|\. [A-Z]/);
    }
    expect(await signedAt(hub)).toEqual(before);
    await hub[Symbol.asyncDispose]();
  },
);

test('a value that fails the schema in one of 2,000 sites holds that one by name, and the others get theirs', async () => {
  const bad = config('one', 'siteSelector: {site: plant-1234}\n  values: {port: 70000}');
  const hub = await layeredHub({ [LAYERS]: company([bad]) });
  const { layers } = await readChannelLayers(hub, [CHANNEL]);
  expect([...layers.keys()]).toEqual([formatChannel(CHANNEL)]);
  const sites = Array.from({ length: 2000 }, (_, index) => {
    const site = `plant-${index}`;
    const values: SiteValues = { fleet: 'halden', site, values: {}, agents: {} };
    const row: AgentRow = newAgentRow({ site, agent: 'edge' }, '', CHANNEL, {}, NOW);
    return { site, values, agents: [row], declared: null };
  });
  const planned = await planSites(sites, layers);
  const held = planned.filter((one) => one.held.length > 0);
  expect(held.map(({ site, held: [error] }) => [site, error?.code])).toEqual([['plant-1234', 'SITE_VALUES']]);
  expect(planned.filter(({ differs }) => differs)).toHaveLength(1999);
  await hub[Symbol.asyncDispose]();
});
