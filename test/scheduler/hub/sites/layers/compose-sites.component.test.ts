import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import {
  findReference,
  openOrStartLayout,
  referenceOf,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { RELEASE_ARTIFACT } from '#bundles/media-types';
import { readDocuments, writeArtifact } from '../../../../../scheduler/load/releases/artifact.ts';
import { releaseReference, siteReference } from '../../../../../scheduler/load/releases/references.ts';
import { listVersions } from '../../../../../scheduler/hub/promote/values/list-versions.ts';
import { setValues } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { writeFiles } from '../../../file-tree.ts';
import { NOW } from '../../../release/removals/office.ts';
import { config, LAYERS, layeredHub, type LayeredHub, site, SITES } from './layered-hub.ts';

const later = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const LATER = later(5);
const CHANNEL = { environment: 'prod', clusterType: 'press' };

const north = (host: string): string =>
  [
    config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', `siteSelector: {region: north}\n  values: {gatewayHost: ${host}}`),
  ].join('---\n');

const threeSites = async (files: Readonly<Record<string, string>> = {}): Promise<LayeredHub> => {
  const hub = await layeredHub({ [LAYERS]: north('n1'), ...files });
  await hub.enrol('plant-1/edge', { region: 'north' });
  await hub.enrol('plant-2/edge', { region: 'north' });
  await hub.enrol('plant-3/edge', { region: 'south' });
  return hub;
};

const bundleOf = async (hub: LayeredHub) => {
  const layout = await openOrStartLayout(hub.layout);
  const documents = await readDocuments(layout, releaseReference(CHANNEL));
  return {
    release: findReference(layout, releaseReference(CHANNEL))?.digest,
    bundle: documents.find(({ role }) => role === 'bundle')?.about,
  };
};

describe('values that sites get from layers in the repository', () => {
  test('go into the signed values of each site, and a change of one region changes its sites and no bundle', async () => {
    const hub = await threeSites();
    expect(await hub.compose()).toEqual({
      changed: [
        'plant-1 2 plant-1/edge {"gatewayHost":"n1","port":80}',
        'plant-2 2 plant-2/edge {"gatewayHost":"n1","port":80}',
        'plant-3 2 plant-3/edge {"gatewayHost":"company","port":80}',
      ],
      held: [],
      advice: [],
    });
    const before = await bundleOf(hub);
    await hub.edit(LAYERS, () => north('n2'));
    const { channels } = await hub.build({ now: LATER });
    expect(channels.map(({ clusterType, outcome }) => `${clusterType} ${outcome}`)).toEqual([
      'press unchanged',
      'till unchanged',
    ]);
    expect(await bundleOf(hub)).toEqual(before);
    expect((await hub.compose()).changed).toEqual([
      'plant-1 3 plant-1/edge {"gatewayHost":"n2"}',
      'plant-2 3 plant-2/edge {"gatewayHost":"n2"}',
    ]);
    expect(await hub.compose()).toEqual({ changed: [], held: [], advice: [] });
    const layout = await openOrStartLayout(hub.layout);
    const documents = await readDocuments(layout, siteReference('plant-1'));
    const written = documents.find(({ role }) => role === 'site-values');
    const values = await readBlob(layout.blobs, written?.digest ?? digestOf(''), 1 << 20);
    expect(JSON.parse(values.toString('utf8'))).toMatchObject({
      composed: { edge: { values: { gatewayHost: 'n2', port: 80 } } },
    });
  });

  test('stay below what people set, whose changes keep them', async () => {
    const hub = await threeSites();
    await hub.compose();
    await setValues(
      hub.store,
      { site: 'plant-1', set: { port: 8080 }, unset: [] },
      await siteSigner(hub),
      LATER,
    );
    const values = await hub.valuesOf('plant-1');
    expect(valuesOfAgent(values, 'edge')).toEqual({ gatewayHost: 'n1', port: 8080 });
    expect((await hub.compose()).changed).toEqual([]);
  });

  test('are noted in the audit log, each agent with old and new value', async () => {
    const hub = await threeSites();
    await hub.compose();
    await hub.edit(LAYERS, () => north('n2'));
    await hub.build({ now: LATER });
    await hub.compose();
    const notes = await hub.store.db
      .selectFrom('pending_change')
      .select('change')
      .orderBy('number')
      .execute();
    expect(
      notes
        .map(({ change }) => JSON.parse(change) as Record<string, unknown>)
        .filter(({ change }) => change === 'sites compose')
        .slice(-2),
    ).toMatchObject([
      { about: 'plant-1/edge', old: { gatewayHost: 'n1' }, new: { gatewayHost: 'n2' }, person: null },
      { about: 'plant-2/edge', reason: expect.stringMatching(/^layers of prod sha256:[0-9a-f]{12}/) },
    ]);
    // The versions of the site name them, apart from what people changed.
    expect((await listVersions(hub, 'plant-1', 1))[0]).toMatchObject({
      changes: [],
      layers: [{ agent: 'edge', name: 'gatewayHost', old: 'n1', new: 'n2' }],
    });
  });

  test('are shown and not changed by a dry run', async () => {
    const hub = await threeSites();
    expect((await hub.compose({ dryRun: true })).changed).toHaveLength(3);
    expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 1 });
    expect((await hub.valuesOf('plant-1')).composed).toBe(undefined);
  });

  test('come with the layer of the environment, and only what the environment itself released', async () => {
    const hub = await threeSites({
      'platform/environments/prod/layers.yaml': config('prod', 'siteSelector: {}\n  values: {port: 90}'),
    });
    await hub.compose();
    expect((await hub.valuesOf('plant-1')).composed).toEqual({
      edge: { values: { gatewayHost: 'n1', port: 90 } },
    });
    await hub.edit(LAYERS, () => north('n2'));
    await hub.build({ environments: ['qa'], now: LATER });
    expect((await hub.compose()).changed).toEqual([]);
  });

  test('take labels of the declared site, over which those of the enrolment count', async () => {
    const hub = await layeredHub({
      [LAYERS]: north('n1'),
      [SITES]: site('plant-1', '{labels: {region: north}}'),
    });
    await hub.enrol('plant-1/edge');
    await hub.enrol('plant-1/other', { region: 'south' });
    expect(await hub.compose()).toEqual({
      changed: [
        'plant-1 3 plant-1/edge {"gatewayHost":"n1","port":80} plant-1/other {"gatewayHost":"company","port":80}',
      ],
      held: [],
      advice: [
        'base/sites.yaml:1:1: SITE_DIFFERS: agent plant-1/other is enrolled with region=south, and declared with region=north. The enrolment counts; change one of the two.',
      ],
    });
  });

  test('leave when the last layer leaves, as the repository says', async () => {
    const hub = await threeSites();
    await hub.compose();
    await hub.edit(LAYERS, undefined);
    await hub.build({ now: LATER });
    expect((await hub.compose()).changed).toHaveLength(3);
    expect('composed' in (await hub.valuesOf('plant-1'))).toBe(false);
  });
});

describe('a site keeps the values that it has, and no other waits for it', () => {
  test('where a value does not fit the application', async () => {
    const hub = await threeSites();
    await hub.compose();
    await hub.edit(
      LAYERS,
      () => `${north('n2')}---\n${config('wrong', 'siteSelector: {site: plant-2}\n  values: {port: 70000}')}`,
    );
    await hub.build({ now: LATER });
    expect(await hub.compose()).toEqual({
      changed: ['plant-1 3 plant-1/edge {"gatewayHost":"n2"}'],
      held: [
        'plant-2: base/layers.yaml:23:12: SITE_VALUES: the value port does not fit labels-host of prod/press at plant-2/edge: port must be <= 65535. Correct the Config.',
      ],
      advice: [],
    });
    expect((await hub.valuesOf('plant-2')).composed).toEqual({
      edge: { values: { gatewayHost: 'n1', port: 80 } },
    });
    await hub.edit(LAYERS, () => north('n2'));
    await hub.build({ now: later(9) });
    expect(await hub.compose()).toMatchObject({
      changed: ['plant-2 3 plant-2/edge {"gatewayHost":"n2"}'],
      held: [],
    });
  });

  test('where two layers tie there, and both files are named', async () => {
    const hub = await threeSites({
      'platform/base/line.yaml': config('line', 'siteSelector: {line: a}\n  values: {gatewayHost: l}'),
    });
    await hub.enrol('plant-4/edge', { region: 'north', line: 'a' });
    const { changed, held } = await hub.compose();
    expect(changed.map((one) => one.slice(0, 7))).toEqual(['plant-1', 'plant-2', 'plant-3']);
    expect(held).toEqual([
      'plant-4: base/line.yaml:7:12: LAYER_TIE: Config line and Config north (base/layers.yaml:15:12) both set gatewayHost for plant-4/edge, and both select by 1 label. Let one of them select by one label more, or remove the value from one.',
    ]);
  });

  test('where the repository of its team cannot be read', async () => {
    const hub = await threeSites({
      'platform/base/teams.yaml': `apiVersion: fleet-ferry/v1alpha1\nkind: ConfigRegistration\nmetadata: {name: south}\nspec: {config: {repo: ../teams/south}, siteSelector: {region: south}}\n`,
      'teams/south/host.yaml': config('host', 'values: {gatewayHost: s1}'),
    });
    await hub.compose();
    expect((await hub.valuesOf('plant-3')).composed).toEqual({
      edge: { values: { gatewayHost: 's1', port: 80 } },
    });
    await writeFiles(hub.folder, { 'teams/south/host.yaml': '# fleet-ferry\nspec: [' });
    await hub.edit(LAYERS, () => north('n2'));
    const { advice } = await hub.build({ now: LATER });
    expect(advice.map(({ code }) => code)).toContain('YAML_SYNTAX');
    const { changed, held } = await hub.compose();
    expect(changed.map((one) => one.slice(0, 7))).toEqual(['plant-1', 'plant-2']);
    expect(held).toEqual([
      expect.stringMatching(
        /^plant-3: SITE_DIFFERS: the repository of ConfigRegistration south, which selects plant-3\/edge, could not be read: YAML_SYNTAX/,
      ),
    ]);
  });

  test('where the repository no longer declares it, until its agents leave or a person lets it go', async () => {
    const hub = await threeSites({ [SITES]: site('plant-3', '{labels: {region: north}}') });
    await hub.compose();
    await hub.edit(SITES, undefined);
    await hub.edit(LAYERS, () => north('n2'));
    await hub.build({ now: LATER });
    const { changed, held } = await hub.compose();
    expect(changed.map((one) => one.slice(0, 7))).toEqual(['plant-1', 'plant-2']);
    expect(held).toEqual([
      'plant-3: SITE_DIFFERS: site plant-3 is no longer declared in the repository (it was at base/sites.yaml:1:1), and edge of it is still enrolled. Declare it again, revoke its agents, or compose it without its Site: fleet-scheduler sites compose --undeclared plant-3.',
    ]);
    expect((await hub.compose()).held).toHaveLength(1);
    expect((await hub.compose({ undeclared: ['plant-3'] })).held).toEqual([]);
    expect((await hub.compose()).held).toEqual([]);
  });
});

test('a site whose statement in the layout is newer than the database is held, and all others get their values', async () => {
  const hub = await threeSites();
  await hub.compose();
  await hub.store.transact((tx) =>
    tx.updateTable('site').set({ version: 1 }).where('name', '=', 'plant-1').execute(),
  );
  await hub.edit(LAYERS, () => north('n2'));
  await hub.build({ now: LATER });
  const tried = await hub.compose({ dryRun: true });
  const { changed, held } = await hub.compose();
  expect(changed).toEqual(['plant-2 3 plant-2/edge {"gatewayHost":"n2"}']);
  expect(tried).toMatchObject({ changed: ['plant-2 2 plant-2/edge {"gatewayHost":"n2"}'], held });
  expect(held).toEqual([expect.stringMatching(/^plant-1: ROLLBACK: .* has statement 2 of site plant-1/)]);
  expect((await hub.compose()).held).toHaveLength(1);
});

test('I18: an older statement that is put back into the layout, or none, changes no value', async () => {
  const hub = await threeSites({ [SITES]: site('plant-1', '{}') });
  await hub.compose();
  const index = join(hub.layout, 'index.json');
  const before = await readFile(index);
  await hub.edit(LAYERS, () => north('n2'));
  await hub.build({ now: LATER });
  await hub.compose();
  const newest = await readFile(index);
  const reached = (await hub.valuesOf('plant-1')).composed;
  await writeFile(index, before);
  const { changed, held, advice } = await hub.compose();
  expect([...changed, ...held]).toEqual([]);
  expect(advice.join('\n')).toMatch(
    /^ROLLBACK: prod\/press: the layout has the statement of .*its sites keep the values that they have/,
  );
  // The statements about the bundle are taken out of the release and out of the note of the newest one.
  await writeFile(index, newest);
  const layout = await openOrStartLayout(hub.layout);
  const stripped: [string, Descriptor][] = [];
  for (const entry of layout.manifests) {
    const reference = referenceOf(entry) ?? '';
    if (!reference.startsWith('prod/press:release') && !reference.includes(':restated-')) continue;
    const kept = (await readDocuments(layout, reference)).filter(({ role }) => role !== 'bundle');
    const documents = await Promise.all(
      kept.map(async ({ digest, size, ...one }) => ({
        ...one,
        bytes: await readBlob(layout.blobs, digest, size),
      })),
    );
    stripped.push([reference, await writeArtifact(layout, RELEASE_ARTIFACT, documents)]);
  }
  expect(stripped.length).toBeGreaterThan(1);
  await writeLayoutIndex(
    layout,
    stripped.reduce(
      (all, [reference, descriptor]) => withReference(all, reference, descriptor),
      layout.manifests,
    ),
  );
  const unsigned = await hub.compose();
  expect(unsigned.changed).toEqual([]);
  expect(unsigned.advice.join('\n')).toMatch(/BUNDLE_UNSIGNED/);
  expect((await hub.valuesOf('plant-1')).composed).toEqual(reached);
});

test('differences and idle layers are advice', async () => {
  const hub = await layeredHub({
    [LAYERS]: [
      north('n1'),
      config('typo', 'siteSelector: {region: nort}\n  values: {port: 1}'),
      config('unused', 'siteSelector: {}\n  values: {colour: red}'),
    ].join('---\n'),
    [SITES]: [
      site('plant-1', '{agents: [{name: edge, channel: prod/till, labels: {line: a}}, {name: gone}]}'),
      site('plant-9', '{}'),
    ].join('---\n'),
  });
  await hub.enrol('plant-1/edge', { region: 'north' });
  await hub.enrol('plant-1/spare', { region: 'north' });
  const { advice } = await hub.compose();
  expect(advice).toEqual([
    'base/sites.yaml:5:17: SITE_DIFFERS: agent plant-1/edge follows prod/press, and is declared for prod/till. The enrolment counts; move it with: fleet-scheduler sites set plant-1 --agent edge --channel prod/till.',
    'base/sites.yaml:5:17: SITE_DIFFERS: agent plant-1/edge is enrolled without the label line=a that is declared for it. The enrolment counts; enrol it again with the label, or declare it for the whole site.',
    'base/sites.yaml:5:70: SITE_DIFFERS: agent plant-1/gone is declared, and is not enrolled. Enrol it, or remove it from Site plant-1.',
    'base/sites.yaml:1:1: SITE_DIFFERS: agent plant-1/spare is enrolled, and Site plant-1 does not declare it. Add it to Site plant-1, or revoke it.',
    'base/sites.yaml:7:1: SITE_DIFFERS: site plant-9 is declared, and no agent of it is enrolled. Enrol it with: fleet-scheduler sites enroll <medium>, or remove the Site.',
    'base/layers.yaml:31:12: REFERENCE_MISSING: Config unused gives sites the value colour, which no application of prod takes there. Let an application ask for it under siteInputs, or remove it.',
    'base/layers.yaml:17:1: REFERENCE_MISSING: Config typo selects region=nort, which no enrolled agent of prod has. Did you mean north? Its values reach no site.',
  ]);
});

test('the same layers result in the same bytes, from any repository', async () => {
  const digests = await Promise.all(
    [1, 2].map(async () => {
      const hub = await layeredHub({ [LAYERS]: north('n1') });
      const { manifests } = await openOrStartLayout(join(hub.folder, 'out'));
      return manifests.flatMap(({ annotations }) =>
        Object.values(annotations ?? {}).filter((name) => name.startsWith('site-layers:')),
      );
    }),
  );
  expect(digests[0]).toHaveLength(1);
  expect(digests[0]).toEqual(digests[1]);
});
