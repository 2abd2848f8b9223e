import { expect, test } from 'vitest';
import { answerSiteValues } from '../../../../../scheduler/hub/promote/values/answer-site-values.ts';
import { answerValuesTree } from '../../../../../scheduler/hub/promote/values/answer-values-tree.ts';
import { previewValues } from '../../../../../scheduler/hub/promote/values/preview-values.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { ours } from '../../../fleet-platform.ts';
import { config, LAYERS, layeredHub, site, SITES } from '../../sites/layers/layered-hub.ts';

const PACKAGE = ours(
  'HostPackage',
  'files',
  `spec:
  files: [{path: /etc/labels/line.env, format: env, content: "GATEWAY=none\\nWIFI=none\\n"}]
  siteInputs:
    - {name: gatewayHost, schema: {type: string}, default: none, file: /etc/labels/line.env, pointer: /GATEWAY}
    - {name: wifi, schema: {type: string, writeOnly: true}, default: none, file: /etc/labels/line.env, pointer: /WIFI}
`,
);

test('a layer is shown without the text of values that the schema of a release hides', async () => {
  const hub = await layeredHub({
    'apps/labels/host/package.yaml': PACKAGE,
    [LAYERS]: config('company', 'siteSelector: {}\n  values: {gatewayHost: gate, wifi: hunter2}'),
  });
  await hub.enrol('plant-1/edge');
  const asked = { allowances: [parseAllowance('values:*')], select: {} };
  const answer = await answerValuesTree(hub, asked, { limit: 10, cursor: undefined });
  expect(answer.layers).toMatchObject([{ values: { gatewayHost: 'gate', wifi: 'withheld' } }]);
  expect(JSON.stringify(answer)).not.toContain('hunter2');
});

test('a value that an earlier release hides stays hidden in the tree, at the site and in previews: agents may run that release', async () => {
  const hub = await layeredHub({
    'apps/labels/host/package.yaml': PACKAGE,
    [LAYERS]: config('company', 'siteSelector: {}\n  values: {gatewayHost: gate, wifi: hunter2}'),
  });
  await hub.enrolComposed('plant-1/edge');
  await hub.edit('apps/labels/host/package.yaml', (text) => text.replace(', writeOnly: true', ''));
  await hub.build();
  const allowances = [parseAllowance('values:*')];
  const tree = await answerValuesTree(hub, { allowances, select: {} }, { limit: 10, cursor: undefined });
  expect(tree.layers).toMatchObject([{ values: { gatewayHost: 'gate', wifi: 'withheld' } }]);
  const found = await answerSiteValues(hub, 'plant-1', allowances);
  const wifi = found?.places[0]?.values.find(({ name }) => name === 'wifi');
  expect(wifi).toMatchObject({ hidden: true, inherited: { value: 'withheld' } });
  const change = { site: 'plant-1', set: { wifi: 'hunter3' }, unset: [] };
  const preview = await previewValues(hub, [change], { seen: undefined, review: undefined });
  expect(preview.sites[0]?.changes).toEqual([{ agent: null, name: 'wifi', new: 'withheld' }]);
  expect(JSON.stringify([tree, found, preview])).not.toContain('hunter');
});

test('layers that select no agent, and declared sites that are not enrolled, are named to callers who see every agent', async () => {
  const hub = await layeredHub({
    [LAYERS]: config('south', 'siteSelector: {region: south}\n  values: {gatewayHost: gate}'),
    [SITES]: site('plant-5', '{labels: {region: north}}'),
  });
  await hub.enrol('plant-1/edge', { region: 'north' });
  await hub.enrol('plant-2/edge', { region: 'west' });
  const adviceFor = async (allowance: string) => {
    const asked = { allowances: [parseAllowance(allowance)], select: {} };
    const { advice, advised } = await answerValuesTree(hub, asked, { limit: 10, cursor: undefined });
    return { said: advice?.map(({ message, line }) => [message, line]), advised };
  };
  expect(await adviceFor('values:*')).toEqual({
    advised: 2,
    said: [
      ['site plant-5 is declared, and no agent of it is enrolled', 1],
      ['Config south selects region=south, which no enrolled agent of prod has', 1],
    ],
  });
  expect(await adviceFor('values:region=north')).toEqual({ advised: undefined, said: undefined });
});
