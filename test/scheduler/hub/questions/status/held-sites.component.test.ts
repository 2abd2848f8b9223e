import { expect, test } from 'vitest';
import { formatLines } from '../../../../../cli/format-table.ts';
import { listSites } from '../../../../../scheduler/hub/questions/status/list-sites.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import { streamJson } from '../../../../../scheduler/hub/questions/status/stream-status.ts';
import { settleSites } from '../../../../../scheduler/hub/sites/layers/settle-sites.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { setValues } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { ours } from '../../../fleet-platform.ts';
import { NOW } from '../../../release/removals/office.ts';
import { config, LAYERS, layeredHub, site, SITES } from '../../sites/layers/layered-hub.ts';

const PACKAGE = ours(
  'HostPackage',
  'files',
  `spec:
  files: [{path: /etc/labels/line.env, format: env, content: "LINE=none\\n"}]
  siteInputs: [{name: lineNumber, schema: {type: integer}, file: /etc/labels/line.env, pointer: /LINE}]
`,
);

const office = async () => {
  const hub = await layeredHub({
    'apps/labels/host/package.yaml': PACKAGE,
    [LAYERS]: config('north', 'siteSelector: {region: north}\n  values: {lineNumber: seven}'),
    [SITES]: site('plant-3', '{labels: {region: east}}'),
  });
  await hub.enrol('plant-1/edge', { region: 'north' });
  await hub.enrol('plant-2/edge', { region: 'south' });
  await hub.enrol('plant-3/edge', { region: 'west' });
  await setValues(
    hub.store,
    { site: 'plant-3', set: { lineNumber: 3 }, unset: [] },
    await siteSigner(hub),
    NOW,
  );
  await hub.compose();
  return hub;
};

const KEPT = expect.stringMatching(
  /^plant-1 keeps its values since .*base\/layers\.yaml:7:12: SITE_VALUES: the value lineNumber does not fit labels-host of prod\/press at plant-1\/edge: lineNumber must be integer\. Correct the Config\.$/,
);
const LACKING = expect.stringMatching(
  /^plant-2 lacks a value since .*: SITE_VALUES: plant-2\/edge has no value lineNumber, which labels-host of prod\/press needs\. Set it in a Config, or give it with: fleet-scheduler sites set plant-2 lineNumber=\.\.\./,
);
const DIFFERING = expect.stringMatching(
  /^plant-3 differs from the repository: .*agent plant-3\/edge is enrolled with region=west, and declared with region=east/,
);

test('a status names sites whose values something holds, with the reason and what to do', async () => {
  const hub = await office();
  const answer = await readStatus(hub, {}, NOW);
  const lines = formatLines(answer.lines, undefined).map((line) => line.replaceAll(`${hub.folder}/`, ''));
  expect(lines.filter((line) => line.startsWith('plant-')).slice(-3)).toEqual([KEPT, LACKING, DIFFERING]);
  const pieces = await Array.fromAsync(streamJson(hub, {}, NOW));
  const { heldSites } = JSON.parse(pieces.join('')) as { readonly heldSites: readonly object[] };
  expect(heldSites).toEqual((answer.json as typeof answer.json & { heldSites: object }).heldSites);
  expect(heldSites).toMatchObject([
    {
      site: 'plant-1',
      reasons: [{ code: 'SITE_VALUES', at: expect.any(String), hint: 'Correct the Config' }],
    },
    { site: 'plant-2', reasons: [], lacking: [{ code: 'SITE_VALUES' }], differs: [] },
    { site: 'plant-3', lacking: [], differs: [{ code: 'SITE_DIFFERS' }] },
  ]);
});

test('the list of sites has it, and a limited reader sees it only of a whole environment', async () => {
  const hub = await office();
  const page = { limit: 10, cursor: undefined };
  const { sites } = await listSites(hub, {}, page, NOW);
  expect(sites.map(({ site: name, held }) => [name, held?.reasons.length, held?.lacking.length])).toEqual([
    ['plant-1', 1, 0],
    ['plant-2', 0, 1],
    ['plant-3', 0, 0],
  ]);
  const visible = { whole: new Set<string>(), parts: new Map([['prod', new Set(['labels-host'])]]) };
  const limited = await listSites(hub, { visible }, page, NOW);
  expect(limited.sites.map(({ held }) => held)).toEqual([undefined, undefined, undefined]);
  const { json } = await readStatus(hub, { visible }, NOW);
  expect(json).toMatchObject({ heldSites: [] });
});

test('nothing holds a site any more once it has its value', async () => {
  const hub = await office();
  const signer = await siteSigner(hub);
  await setValues(hub.store, { site: 'plant-2', set: { lineNumber: 2 }, unset: [] }, signer, NOW);
  await hub.edit(LAYERS, () => config('north', 'siteSelector: {region: north}\n  values: {lineNumber: 7}'));
  await hub.edit(SITES, () => site('plant-3', '{labels: {region: west}}'));
  const later = new Date(NOW.getTime() + 60_000);
  await hub.build({ now: later });
  await hub.compose({ now: later });
  const { sites } = await listSites(hub, {}, { limit: 10, cursor: undefined }, later);
  expect(sites.map(({ held }) => held)).toEqual([undefined, undefined, undefined]);
});

test('a command that gives a value, takes one or revokes an agent leaves no older verdict', async () => {
  const hub = await office();
  const signer = await siteSigner(hub);
  const options = { now: new Date(NOW.getTime() + 60_000), command: 'sites set' };
  const heldAt = async (name: string) => {
    const { heldSites } = (await readStatus(hub, {}, options.now)).json as {
      readonly heldSites: readonly { readonly site: string; readonly [key: string]: unknown }[];
    };
    return heldSites.find((one) => one.site === name);
  };
  const change = async (set: object, unset: readonly string[]) => {
    await setValues(hub.store, { site: 'plant-2', set: set as never, unset }, signer, options.now);
    await settleSites(hub, [{ name: 'plant-2' }], options);
  };
  await change({ lineNumber: 2 }, []);
  expect(await heldAt('plant-2')).toBeUndefined();
  expect(await heldAt('plant-1')).toMatchObject({ reasons: [{ code: 'SITE_VALUES' }] });
  await change({}, ['lineNumber']);
  expect(await heldAt('plant-2')).toMatchObject({ lacking: [{ code: 'SITE_VALUES' }] });
  await revokeAgent(hub.store, 'plant-2/edge', signer, options.now);
  await settleSites(hub, [{ name: 'plant-2' }, { name: 'plant-1' }], options);
  expect(await heldAt('plant-2')).toBeUndefined();
  expect(await heldAt('plant-1')).toMatchObject({ reasons: [{ code: 'SITE_VALUES' }] });
});
