import { cp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { namesSecretValue } from '#bundles/formats/author-schema/names-secret-value';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { noteChange } from '../../../../../scheduler/hub/changes/note-change.ts';
import { setValues, type ValueChange } from '../../../../../scheduler/hub/sites/set-values.ts';
import { issueSite } from '../../../../../scheduler/hub/sites/issue-site.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { DEFAULT_LIMITS } from '../../../../../scheduler/keys/signer/limits.ts';
import { listenOnSocket } from '../../../../../scheduler/keys/signer/listen-on-socket.ts';
import { createSignerServer } from '../../../../../scheduler/keys/signer/serve-signer.ts';
import { createSigner } from '../../../../../scheduler/keys/signer/signer.ts';
import { openSignerState } from '../../../../../scheduler/keys/signer/state/open-state.ts';
import { createComposeReleased } from '../../../../../scheduler/plan/compose/compose-released.ts';
import { NOW } from '../../../release/removals/office.ts';
import { decideValuesStep } from '../../../../../scheduler/hub/promote/values/decide-values-step.ts';
import { listValuesRollouts } from '../../../../../scheduler/hub/promote/values/list-values-rollouts.ts';
import { ours } from '../../../fleet-platform.ts';
import { config, LAYERS, layeredHub, type LayeredHub, PACKAGE } from './layered-hub.ts';

const later = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

const layers = (host: string): string =>
  [
    config('all', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', `siteSelector: {region: north}\n  values: {gatewayHost: ${host}}`),
    config('fixed', 'siteSelector: {region: north}\n  fixed: true\n  values: {port: 443}'),
  ].join('---\n');

type Judged = AsyncDisposable & {
  readonly hub: LayeredHub;
  /** Codes and reasons of refusals. */
  readonly refused: readonly string[];
  /** Sets the signer's clock. */
  readonly wait: (minutes: number) => void;
  /** Signs other values for a site than the hub composed, with a decision in the audit log, as an intruder at the hub can. */
  readonly forge: (
    site: string,
    change: (values: SiteValues) => SiteValues,
    isHidden?: IsHidden,
  ) => Promise<string>;
};

/** A hub whose release key is in a signer with `--site-values decided`, and two sites. */
const judgedHub = async (files: Readonly<Record<string, string>> = {}): Promise<Judged> => {
  const hub = await layeredHub({ [LAYERS]: layers('n1'), ...files }, async (folder) => {
    const [own, held] = [join(folder, 'keys'), join(folder, 'held')];
    await mkdir(held);
    await cp(join(own, '1.root.json'), join(held, '1.root.json'));
    await rename(join(own, 'release.key'), join(held, 'release.key'));
    await writeFile(join(own, 'keys.yaml'), `release: {signer: ${join(folder, 's')}}\n`, { mode: 0o644 });
  });
  const { roots, root, key } = await openKeyDirectory(join(hub.folder, 'held'));
  let now = later(20);
  const state = await openSignerState(join(hub.folder, 'state'));
  const refused: string[] = [];
  const log = pino(
    { base: null },
    {
      write: (line: string) => {
        const { msg, reason } = JSON.parse(line) as { msg: string; reason: string };
        if (msg === 'refused') refused.push(reason);
      },
    },
  );
  const signer = createSigner({
    roots,
    root,
    state,
    log,
    limits: DEFAULT_LIMITS,
    chain: [],
    authority: undefined,
    keys: new Map([['release', await key('release')]]),
    values: { approvals: 0 },
    composeReleased: createComposeReleased(),
    clock: () => now,
  });
  const server = await listenOnSocket(createSignerServer(signer, log), join(hub.folder, 's'));
  const forge: Judged['forge'] = async (site, change, isHidden = namesSecretValue) => {
    const { version: _, ...before } = await hub.valuesOf(site);
    const after = change(before);
    return hub.store
      .transact(async (tx) => {
        const by = { person: 'eve', reason: null };
        const decided = [];
        for (const one of decidedValues(before, after, { isHidden }))
          decided.push(await noteChange(tx, { change: 'sites compose', ...one }, by, NOW));
        await issueSite(tx, site, { ...(await siteSigner(hub)), by, decided }, NOW, after);
      })
      .then(
        () => 'signed',
        (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
      );
  };
  return {
    hub,
    refused,
    forge,
    wait: (minutes) => {
      now = later(minutes);
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      state[Symbol.dispose]();
      await hub.store[Symbol.asyncDispose]();
    },
  };
};

const composed = (values: SiteValues, change: Partial<NonNullable<SiteValues['composed']>[string]>) => ({
  ...values,
  composed: { edge: { values: {}, ...values.composed?.['edge'], ...change } },
});

/** The hub does not remember what it composed from either: an intruder there writes to its database. */
const forget = (hub: LayeredHub) => hub.store.db.deleteFrom('layers_of').execute();

describe('a signer that judges values of sites', () => {
  test('signs the stages of a rollout of layers, and only the repository takes them back', async () => {
    const stages = '[{name: pilot, selector: {matchLabels: {ring: pilot}}}, {name: all, percent: 100}]';
    const rings = ours('RolloutPolicy', 'rings', `spec: {environment: prod, stages: ${stages}}\n`);
    await using office = await judgedHub({ 'platform/promotion/rings.yaml': rings });
    const { hub } = office;
    await hub.enrol('plant-1/edge', { region: 'north', ring: 'pilot' });
    await hub.enrol('plant-2/edge', { region: 'north' });
    await hub.compose();
    await hub.store.db.updateTable('agent').set({ release_version: 1 }).execute();
    await hub.edit(LAYERS, () => layers('n2'));
    await hub.build({ now: later(5) });
    expect((await hub.compose({ now: later(10) })).changed).toEqual([
      'plant-1 3 plant-1/edge {"gatewayHost":"n2"}',
    ]);
    const [first] = await listValuesRollouts(hub, undefined, later(11));
    const step = { id: first?.rollout ?? '', person: 'ann', reason: 'why', now: later(12) };
    await expect(decideValuesStep(hub, { ...step, decision: 'take-back' })).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Pause the rollout, and revert the layers in the repository',
    });
    // A value that the rollout is not about changes at once, beside the one that waits.
    await hub.store.db
      .updateTable('agent')
      .set({ labels: '{"region":"south"}' })
      .where('site', '=', 'plant-2')
      .execute();
    expect((await hub.compose({ now: later(13) })).changed).toEqual(['plant-2 3 plant-2/edge {}']);
    expect(await decideValuesStep(hub, { ...step, decision: 'advance' })).toMatchObject({ sites: 1 });
    expect(office.refused).toEqual([]);
  });

  test('H58: signs what it composes itself from the released layers, and nothing else', async () => {
    await using office = await judgedHub();
    const { hub, forge } = office;
    await hub.enrol('plant-1/edge', { region: 'north' });
    await hub.enrol('plant-2/edge', { region: 'south' });
    // The layers were never shown to it.
    expect(await forge('plant-1', (values) => composed(values, { values: { port: 1 } }))).toMatch(
      /^SIGNER_REFUSED: .*were not shown/,
    );
    expect(await hub.compose()).toMatchObject({
      changed: [expect.stringMatching(/^plant-1 2 /), expect.stringMatching(/^plant-2 2 /)],
      held: [],
    });
    const other =
      /^SIGNER_REFUSED: .* has other values for plant-1\/edge than the layers of prod\/press give it/;
    expect(
      await forge('plant-1', (values) => composed(values, { values: { gatewayHost: 'evil', port: 80 } })),
    ).toMatch(other);
    expect(
      await forge('plant-1', (values) => composed(values, { fixed: { values: { port: 4444 } } })),
    ).toMatch(other);
    // Those of before the change would undo it: they are signed again only for as long as the hub may not have stored the new ones.
    office.wait(81);
    expect(await forge('plant-1', ({ composed: _, ...values }) => values)).toMatch(other);
    expect(
      await forge('plant-1', (values) =>
        composed(values, { assignments: { 'labels-host': { gatewayHost: 'evil' } } }),
      ),
    ).toMatch(other);
    expect(
      await forge('plant-1', (values) => ({
        ...values,
        composed: { ...values.composed, gone: { values: { port: 1 } } },
      })),
    ).toMatch(/^SIGNER_REFUSED: .*plant-1\/gone, which it does not name/);
    // What people set is judged by its decision alone, and the composed values stay.
    await setValues(
      hub.store,
      { site: 'plant-1', set: { port: 8080 }, unset: [] },
      await siteSigner(hub),
      NOW,
    );
    expect(await hub.valuesOf('plant-1')).toMatchObject({ version: 3, values: { port: 8080 } });
  });

  test('signs the first statement of a site with the values that it composes itself for the agent', async () => {
    await using office = await judgedHub();
    const { hub } = office;
    await hub.enrolComposed('plant-1/edge', { region: 'north' });
    await hub.enrolComposed('plant-1/line', { region: 'south' });
    expect(await hub.valuesOf('plant-1')).toMatchObject({
      version: 2,
      composed: {
        edge: { values: { gatewayHost: 'n1', port: 80 }, fixed: { values: { port: 443 } } },
        line: { values: { gatewayHost: 'company', port: 80 } },
      },
    });
    expect(office.refused).toEqual([]);
  });

  test('signs values that a schema hides by decisions without their text, and others by theirs alone', async () => {
    const hides = PACKAGE.replace('schema: {type: string}', 'schema: {type: string, writeOnly: true}');
    await using office = await judgedHub({ 'apps/labels/host/package.yaml': hides });
    const { hub } = office;
    await hub.enrolComposed('plant-1/edge', { region: 'north' });
    await setValues(
      hub.store,
      { site: 'plant-1', set: { gatewayHost: 'hush', port: 8080 }, unset: [] },
      await siteSigner(hub),
      NOW,
    );
    await hub.edit(LAYERS, () => layers('n2'));
    await hub.build({ now: later(5) });
    expect(await hub.compose({ now: later(10) })).toEqual({
      changed: ['plant-1 3 plant-1/edge {"gatewayHost":"withheld"}'],
      held: [],
      advice: [],
    });
    const rows = await hub.store.db.selectFrom('pending_change').selectAll().orderBy('number').execute();
    const noted = rows.map(({ change }) => JSON.parse(change) as Record<string, unknown>);
    expect(noted.filter(({ change }) => change !== 'sites enroll')).toMatchObject([
      { change: 'sites compose', new: { gatewayHost: 'withheld', port: 80, 'fixed port': 443 } },
      { change: 'sites set', old: {}, new: { gatewayHost: 'withheld', port: 8080 } },
      { change: 'sites compose', old: { gatewayHost: 'withheld' }, new: { gatewayHost: 'withheld' } },
    ]);
    // A hub of an earlier version shows the text; nobody may withhold another value.
    const port = (values: SiteValues, gatewayHost: string) => ({
      ...values,
      values: { gatewayHost, port: 8081 },
    });
    expect(await office.forge('plant-1', (values) => port(values, 'louder'))).toBe('signed');
    const hidden = (name: string): boolean => name === 'port';
    expect(await office.forge('plant-1', (values) => ({ ...values, values: { port: 1 } }), hidden)).toMatch(
      /^SIGNER_REFUSED: .* has other values of plant-1 than anybody decided/,
    );
    expect(office.refused).toHaveLength(1);
  });

  test('signs the removal of a value whose input hid it until the release, without its text', async () => {
    const hides = PACKAGE.replaceAll('gatewayHost', 'dialIn').replace(
      'schema: {type: string}',
      'schema: {type: string, writeOnly: true}',
    );
    const pin = config('all', 'siteSelector: {}\n  values: {dialIn: hush, port: 80}');
    await using office = await judgedHub({ 'apps/labels/host/package.yaml': hides, [LAYERS]: pin });
    const { hub } = office;
    await hub.enrolComposed('plant-1/edge');
    await setValues(
      hub.store,
      { site: 'plant-1', set: { dialIn: 'hush2' }, unset: [] },
      await siteSigner(hub),
      NOW,
    );
    await hub.edit('apps/labels/host/package.yaml', (text) =>
      text
        .split('\n')
        .filter((line) => !line.includes('name: dialIn'))
        .join('\n'),
    );
    await hub.edit(LAYERS, () => config('all', 'siteSelector: {}\n  values: {port: 80}'));
    expect((await hub.build({ now: later(5) })).channels[0]).toMatchObject({ outcome: 'released' });
    expect(await hub.compose({ now: later(10) })).toMatchObject({
      changed: ['plant-1 3 plant-1/edge {}'],
      held: [],
    });
    // Two releases later it is hidden, too.
    await hub.edit('apps/labels/host/package.yaml', (text) => text.replace('PORT=0', 'PORT=1'));
    expect((await hub.build({ now: later(15) })).channels[0]).toMatchObject({ outcome: 'released' });
    office.wait(25);
    await setValues(
      hub.store,
      { site: 'plant-1', set: {}, unset: ['dialIn'] },
      await siteSigner(hub),
      later(25),
    );
    const rows = await hub.store.db.selectFrom('pending_change').selectAll().orderBy('number').execute();
    const noted = rows.map(({ change }) => JSON.parse(change) as Record<string, unknown>);
    expect(noted.slice(-2)).toMatchObject([
      { change: 'sites compose', old: { dialIn: 'withheld' }, new: {} },
      { change: 'sites set', old: { dialIn: 'withheld' }, new: {} },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/hush/);
    expect(office.refused).toEqual([]);
  });

  test('signs the removal of a value that a release hid which it was not shown before', async () => {
    const open = PACKAGE.replaceAll('gatewayHost', 'dialIn');
    const hides = open.replace('schema: {type: string}', 'schema: {type: string, writeOnly: true}');
    const pin = config('all', 'siteSelector: {}\n  values: {port: 80}');
    await using office = await judgedHub({ 'apps/labels/host/package.yaml': open, [LAYERS]: pin });
    const { hub } = office;
    await hub.enrolComposed('plant-1/edge');
    const set = async (change: Pick<ValueChange, 'set' | 'unset'>, now: Date) =>
      setValues(hub.store, { site: 'plant-1', ...change }, await siteSigner(hub), now);
    await set({ set: { dialIn: 'once' }, unset: [] }, NOW);
    for (const [text, minutes] of [
      [hides, 5],
      [open.replace('PORT=0', 'PORT=1'), 10],
    ] as const) {
      await hub.edit('apps/labels/host/package.yaml', () => text);
      expect((await hub.build({ now: later(minutes) })).channels[0]).toMatchObject({ outcome: 'released' });
    }
    office.wait(12);
    await set({ set: {}, unset: ['dialIn'] }, later(12));
    const rows = await hub.store.db.selectFrom('pending_change').selectAll().orderBy('number').execute();
    expect(JSON.parse(rows.at(-1)?.change ?? '')).toMatchObject({ old: { dialIn: 'withheld' }, new: {} });
    expect(office.refused).toEqual([]);
  });

  test('H58: takes no older statement and no other release', async () => {
    await using office = await judgedHub();
    const { hub } = office;
    await hub.enrol('plant-1/edge', { region: 'north' });
    await hub.compose();
    const kept = join(hub.folder, 'kept');
    await cp(hub.layout, kept, { recursive: true });
    await hub.edit(LAYERS, () => layers('n2'));
    await hub.build({ now: later(5) });
    expect((await hub.compose()).changed).toEqual(['plant-1 3 plant-1/edge {"gatewayHost":"n2"}']);
    const newest = join(hub.folder, 'newest');
    await cp(hub.layout, newest, { recursive: true });

    // The same release with the statement of before: the layers of last week. Only its index is older.
    await cp(join(kept, 'index.json'), join(hub.layout, 'index.json'));
    await forget(hub);
    await hub.enrol('plant-2/edge', { region: 'north' });
    const older = await hub.compose();
    expect(older.changed).toEqual([]);
    expect(older.held.join('\n')).toMatch(/plant-2: .*SIGNER_REFUSED: .*is older than one that/);
    await rm(hub.layout, { recursive: true });
    await cp(newest, hub.layout, { recursive: true });

    // A newer release, and then the layout of before it.
    await hub.edit('apps/labels/host/package.yaml', (text) => text.replace('PORT=0', 'PORT=1'));
    expect((await hub.build({ now: later(10) })).channels[0]).toMatchObject({ outcome: 'released' });
    await hub.edit(LAYERS, () => layers('n3'));
    await hub.build({ now: later(15) });
    await hub.compose();
    await cp(join(newest, 'index.json'), join(hub.layout, 'index.json'));
    await forget(hub);
    await hub.enrol('plant-3/edge', { region: 'north' });
    expect((await hub.compose()).held.join('\n')).toMatch(
      /SIGNER_REFUSED: release 1 of prod\/press is older/,
    );
  });
});
