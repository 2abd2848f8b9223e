import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { importMedium } from '../../../../agent/daemon/import-medium.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../../agent/observe/read-status.ts';
import { readValues } from '../../../../agent/observe/read-values.ts';
import { holdSite } from '../../../../agent/apply/operator/hold-site.ts';
import { rollBackPackage } from '../../../../agent/apply/operator/roll-back-package.ts';
import { planLocalValue, setLocalValue } from '../../../../agent/apply/operator/set-local-value.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { saveFailure } from '../../../../agent/store/applied/failures.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { idOf, readLocalValues, saveLocalValue, signEdit } from '../../../../agent/store/local-values.ts';
import { packTestBundle, type TestPackage } from '../../../harness/fleets/signed-medium.ts';
import { verdict } from '../../../bundles/verdict.ts';
import { createWorld, NOW, SITE, type World } from '../../world.ts';

const GRANTED = { 'x-editable-by': 'site' };

const taking = (
  id: string,
  inputs: Readonly<Record<string, { readonly [keyword: string]: Json }>>,
): TestPackage => ({
  id,
  files: { [`/etc/${id}.env`]: 'A=1\n' },
  inputs: Object.entries(inputs).map(([input, schema]) => ({
    input,
    file: `/etc/${id}.env`,
    pointer: `/${input}`,
    schema,
  })),
});

const NUMBER = { type: 'integer', minimum: 1, maximum: 40, 'x-unit': 'line', ...GRANTED };

const PACKAGES = [
  taking('line', { lineNumber: NUMBER }),
  taking('gate', { gateway: { type: 'string' } }),
  { id: 'other', files: { '/opt/other': 'x' } },
];

type Given = {
  readonly site?: number;
  readonly release?: number;
  readonly values?: Readonly<Record<string, Json>>;
  readonly own?: Readonly<Record<string, string>>;
  readonly document?: Pick<SiteValues, 'composed' | 'local'>;
  readonly packages?: readonly TestPackage[];
};

const bring = async (
  world: World,
  { site = 1, release = 1, values, own, document, packages = PACKAGES }: Given = {},
) =>
  importMedium(
    world.agent,
    await world.medium({
      site: {
        site: SITE,
        version: site,
        agents: [{ name: 'kiosk-1', key: world.agent.identity.key }],
        values: values ?? { lineNumber: 7, gateway: 'g' },
        agentValues: own ? { 'kiosk-1': own } : {},
        ...(document && { document }),
      },
      release: { version: release, bundle: packTestBundle(world.fleet, packages) },
    }),
  );

const BY = { person: 'anna', reason: 'line 7 is being rebuilt' };

const set = (agent: Agent, name: string, value: Json | undefined, by = BY) =>
  setLocalValue(agent, { name, value, ...by });

const live = (world: World, id = 'line'): string | undefined => {
  const file = join(world.folder, 'machine', 'live', `/etc/${id}.env`);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
};

const localEvents = (world: World): readonly Event[] =>
  world.events().filter(({ type }) => type === 'local-value');

const shown = async (world: World, name: string) =>
  (await readValues(world.agent)).values.find((one) => one.name === name);

const code = (wanted: string) => expect.objectContaining({ code: wanted }) as Error;

describe('a value that the platform granted to the site', () => {
  it('is changed by a person there: applied at once, shown as local, and reported with person, reason and old value', async () => {
    await using world = await createWorld();
    await bring(world);
    const before = findPackage(world.agent.state, 'line')?.current;
    const done = await set(world.agent, 'lineNumber', 8);
    expect(done).toMatchObject({ old: 7, new: 8, given: 7, takenBy: ['line'], changed: true });
    expect(done.packages).toEqual([expect.objectContaining({ assignment: 'line', outcome: 'configured' })]);
    expect(live(world)).toContain('lineNumber=8');
    expect(await shown(world, 'lineNumber')).toMatchObject({
      value: 8,
      origin: 'local',
      office: 7,
      unit: 'line',
      editableBy: 'site',
      takenBy: [{ assignment: 'line', waits: null }],
      local: { state: 'in force', person: 'anna', reason: BY.reason },
    });
    expect(readStatus(world.agent, { registry: '', hub: '', windows: [] }).local).toEqual([
      expect.objectContaining({ name: 'lineNumber', value: 8, person: 'anna', used: true }),
    ]);
    expect(await shown(world, 'gateway')).toMatchObject({
      value: 'g',
      origin: 'site',
      editableBy: null,
      local: null,
    });
    const [event] = localEvents(world);
    expect(event).toMatchObject({
      message: 'lineNumber 7 -> 8, by anna: line 7 is being rebuilt',
      detail: {
        action: 'set',
        name: 'lineNumber',
        value: '8',
        old: '7',
        given: '7',
        person: 'anna',
        operator: 'technician',
      },
    });
    // The agent reports the same package with the new values.
    const after = findPackage(world.agent.state, 'line')?.current;
    expect(after?.package).toBe(before?.package);
    expect(after?.taken?.digest).not.toBe(before?.taken?.digest);
    const applied = world
      .events()
      .findLast(({ type, assignment }) => type === 'package' && assignment === 'line');
    expect(applied?.detail).toMatchObject({
      taken: after?.taken?.digest,
      values: [{ name: 'lineNumber', old: '7', new: '8' }],
    });
  });

  it('is the office’s again when the person takes it back', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    const undone = await set(world.agent, 'lineNumber', undefined, {
      person: 'ben',
      reason: 'it runs again',
    });
    expect(undone).toMatchObject({ old: 8, new: 7 });
    expect(live(world)).toContain('lineNumber=7');
    expect(readLocalValues(world.agent.state)).toEqual([]);
    const [first, last] = localEvents(world);
    expect(last?.detail).toMatchObject({
      action: 'unset',
      edit: first?.detail?.['edit'],
      person: 'ben',
      old: '8',
    });
    await expect(set(world.agent, 'lineNumber', undefined)).rejects.toThrow(code('USAGE'));
  });

  it('overrides what site and agent have, also a value that the office changes meanwhile, and a fixed layer overrides it', async () => {
    await using world = await createWorld();
    await bring(world, { values: { lineNumber: 7, gateway: 'g' }, own: {} });
    await set(world.agent, 'lineNumber', 8);
    await bring(world, { site: 2, values: { lineNumber: 9, gateway: 'g' } });
    expect(live(world)).toContain('lineNumber=8');
    expect(await shown(world, 'lineNumber')).toMatchObject({ value: 8, office: 9, origin: 'local' });
    const composed = { 'kiosk-1': { values: {}, fixed: { values: { lineNumber: 10 } } } };
    await bring(world, { site: 3, values: { lineNumber: 9, gateway: 'g' }, document: { composed } });
    expect(live(world)).toContain('lineNumber=10');
    expect(await shown(world, 'lineNumber')).toMatchObject({
      value: 10,
      origin: 'fixed layers',
      local: { value: 8, state: 'overridden' },
    });
    await bring(world, { site: 4, values: { lineNumber: 9, gateway: 'g' } });
    expect(live(world)).toContain('lineNumber=8');
  });

  it('is shown and not changed by a dry run', async () => {
    await using world = await createWorld();
    await bring(world);
    const events = world.events().length;
    expect(await planLocalValue(world.agent, { name: 'lineNumber', value: 8, ...BY })).toMatchObject({
      old: 7,
      new: 8,
      takenBy: ['line'],
    });
    expect(world.events()).toHaveLength(events);
    expect(live(world)).toContain('lineNumber=7');
  });

  it('is set once when the command is repeated', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    expect(await set(world.agent, 'lineNumber', 8)).toMatchObject({ changed: false, packages: [] });
    expect(localEvents(world)).toHaveLength(1);
  });

  it('waits while the machine is held', async () => {
    await using world = await createWorld();
    await bring(world);
    await holdSite(world.agent, undefined, 'batch 17');
    const { packages } = await set(world.agent, 'lineNumber', 8);
    expect(packages).toEqual([
      expect.objectContaining({ assignment: 'line', outcome: 'skipped', code: 'HELD' }),
    ]);
    expect(await shown(world, 'lineNumber')).toMatchObject({
      value: 8,
      takenBy: [{ assignment: 'line', waits: expect.stringContaining('HELD') as string }],
    });
  });

  it('is tried again where the same value failed before, because a person asks for it', async () => {
    await using world = await createWorld();
    await bring(world);
    const { state } = world.agent;
    await set(world.agent, 'lineNumber', 8);
    const failing = findPackage(state, 'line')?.current;
    await set(world.agent, 'lineNumber', 9);
    saveFailure(state, 'line', failing, {
      code: 'CHECK_FAILED',
      message: 'no answer',
      at: formatTime(NOW),
      checks: [],
    });
    const { packages } = await set(world.agent, 'lineNumber', 8);
    expect(packages).toEqual([expect.objectContaining({ outcome: 'configured' })]);
  });

  it('goes back with a rollback to what ran before it', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    await set(world.agent, 'lineNumber', 9);
    await rollBackPackage(world.agent, 'line', 'wrong');
    expect(live(world)).toContain('lineNumber=8');
    expect(await shown(world, 'lineNumber')).toMatchObject({
      value: 9,
      takenBy: [{ assignment: 'line', waits: 'it was rolled back by hand' }],
    });
  });

  it('takes a number where the site input takes one and no text', async () => {
    await using world = await createWorld();
    const packages = [taking('line', { ratio: { type: 'number', ...GRANTED } })];
    await bring(world, { values: { ratio: 1 }, packages });
    await set(world.agent, 'ratio', '0.5');
    expect(live(world)).toContain('ratio=0.5');
  });
});

describe('what a person at the site may not change', () => {
  it.each<[string, string, Json, string, string]>([
    ['a value of the platform team', 'gateway', 'x', 'VALUE_NOT_GRANTED', 'the platform team changes it'],
    ['a value that no package asks for', 'lineNumbr', 8, 'VALUE_NOT_GRANTED', 'asks for a value lineNumbr'],
    ['a value out of its schema', 'lineNumber', 41, 'SITE_VALUES', 'does not fit'],
    ['a text for a number', 'lineNumber', 'eight', 'SITE_VALUES', 'does not fit'],
    ['a value that names a secret', 'adminPassword', 'x', 'VALUE_NOT_GRANTED', 'secret'],
    ['a write-only value', 'hidden', 'x', 'VALUE_NOT_GRANTED', 'secret'],
    ['a value of another role', 'port', 1, 'VALUE_NOT_GRANTED', 'the role network changes it'],
    ['a name of JavaScript', '__proto__', 1, 'VALUE_NOT_GRANTED', 'asks for a value __proto__'],
    ['a value that is too large', 'note', 'x'.repeat(9000), 'TOO_LARGE', '8192 bytes'],
  ])('refuses %s, and changes nothing', async (_what, name, value, wanted, says) => {
    await using world = await createWorld();
    const packages = [
      ...PACKAGES,
      taking('more', {
        adminPassword: { type: 'string', ...GRANTED },
        hidden: { type: 'string', writeOnly: true, ...GRANTED },
        port: { type: 'integer', 'x-editable-by': 'network' },
        note: { type: 'string', ...GRANTED },
      }),
    ];
    const values = { lineNumber: 7, gateway: 'g', adminPassword: 'p', hidden: 'h', port: 1, note: 'n' };
    await bring(world, { packages, values });
    const events = world.events().length;
    const refused = set(world.agent, name, value);
    await expect(refused).rejects.toThrow(code(wanted));
    await expect(refused).rejects.toThrow(says);
    expect(world.events()).toHaveLength(events);
    expect(readLocalValues(world.agent.state)).toEqual([]);
  });

  it('refuses a change without a reason, and before the first release', async () => {
    await using world = await createWorld();
    await expect(set(world.agent, 'lineNumber', 8)).rejects.toThrow(code('USAGE'));
    await bring(world);
    await expect(set(world.agent, 'lineNumber', 8, { ...BY, reason: ' ' })).rejects.toThrow(code('USAGE'));
    await expect(set(world.agent, 'lineNumber', 8, { ...BY, person: '' })).rejects.toThrow(code('USAGE'));
  });
});

describe('an attack with a local value', () => {
  const all = { lineNumber: 7, gateway: 'g', adminPassword: 'p' };
  const more = [...PACKAGES, taking('more', { adminPassword: { type: 'string', ...GRANTED } })];

  it('N93: a value that is not granted to the site, or may be a secret -> VALUE_NOT_GRANTED', async () => {
    await using world = await createWorld();
    await bring(world, { packages: more, values: all });
    expect(await verdict(() => set(world.agent, 'gateway', 'x'))).toBe('VALUE_NOT_GRANTED');
    expect(await verdict(() => set(world.agent, 'adminPassword', 'x'))).toBe('VALUE_NOT_GRANTED');
    expect(localEvents(world)).toEqual([]);
  });

  it('N93: a value out of its schema -> SITE_VALUES', async () => {
    await using world = await createWorld();
    await bring(world);
    expect(await verdict(() => set(world.agent, 'lineNumber', 4711))).toBe('SITE_VALUES');
    expect(live(world)).toContain('lineNumber=7');
  });

  it('N94: a local value changed in the database -> BAD_SIGNATURE', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    world.agent.state.db.exec(`UPDATE local_value SET edit = replace(edit, '"value":"8"', '"value":"9"')`);
    await bring(world, { site: 2, values: { lineNumber: 7, gateway: 'h' } });
    expect(live(world)).toContain('lineNumber=7');
    expect((await shown(world, 'lineNumber'))?.local?.code).toBe('BAD_SIGNATURE');
  });
});

describe('a local edit that is forged', () => {
  it.each<[string, (world: World) => Promise<void>]>([
    [
      'with another value in the database',
      async ({ agent: { state } }) => {
        const [own] = readLocalValues(state);
        if (own) saveLocalValue(state, { ...own, edit: { ...own.edit, value: '9' } });
      },
    ],
    [
      'with the signature of another agent',
      async ({ agent: { state } }) => {
        const [own] = readLocalValues(state);
        const key = loadSigningKey(generatePrivateKey());
        if (own)
          saveLocalValue(state, await signEdit({ ...own.edit, agent: 'plant-8/kiosk-1', value: '9' }, key));
      },
    ],
    [
      'under the name of this agent with another key',
      async ({ agent: { state } }) => {
        const [own] = readLocalValues(state);
        const key = loadSigningKey(generatePrivateKey());
        if (own) saveLocalValue(state, await signEdit({ ...own.edit, value: '9' }, key));
      },
    ],
  ])('%s changes nothing, and is shown', async (_what, forge) => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    await forge(world);
    await bring(world, { site: 2, values: { lineNumber: 7, gateway: 'h' } });
    await lookAround(world.agent);
    expect(live(world)).toContain('lineNumber=7');
    expect(await shown(world, 'lineNumber')).toMatchObject({
      value: 7,
      origin: 'site',
      local: { state: 'held', code: 'BAD_SIGNATURE' },
    });
    await set(world.agent, 'lineNumber', undefined);
    expect(readLocalValues(world.agent.state)).toEqual([]);
  });

  it('in the reference of a package is not applied', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    const { db } = world.agent.state;
    db.exec(
      `UPDATE package SET current = replace(current, '"value":"8"', '"value":"9"') WHERE assignment = 'line'`,
    );
    const { drift } = await lookAround(world.agent);
    expect(live(world)).toContain('lineNumber=8');
    const error = expect.objectContaining({ code: 'STORE_CORRUPT' }) as object;
    expect(drift).toContainEqual(expect.objectContaining({ assignment: 'line', error }));
    // What the message says to do.
    await set(world.agent, 'lineNumber', 8);
    expect((await lookAround(world.agent)).drift.every((one) => one.error === undefined)).toBe(true);
  });

  it('is no edit at all: nothing stops', async () => {
    await using world = await createWorld();
    await bring(world);
    world.agent.state.db.exec(
      `INSERT INTO local_value VALUES ('lineNumber', '{"name":1}', ''), ('x', 'no JSON', '')`,
    );
    await bring(world, { site: 2, values: { lineNumber: 9, gateway: 'g' } });
    expect(live(world)).toContain('lineNumber=9');
  });
});

describe('a release under which a local value is not possible any more', () => {
  it.each<[string, { readonly [keyword: string]: Json }, string]>([
    ['whose schema changed', { ...NUMBER, maximum: 7 }, 'SITE_VALUES'],
    ['that no longer grants it', { type: 'integer' }, 'VALUE_NOT_GRANTED'],
  ])(
    '%s holds the value by name, and applies everything with what the office says',
    async (_what, schema, wanted) => {
      await using world = await createWorld();
      await bring(world);
      await set(world.agent, 'lineNumber', 8);
      const packages = [taking('line', { lineNumber: schema }), ...PACKAGES.slice(1)];
      const result = await bring(world, { release: 2, packages });
      expect(result.packages.every(({ outcome }) => outcome !== 'failed' && outcome !== 'skipped')).toBe(
        true,
      );
      expect(live(world)).toContain('lineNumber=7');
      expect(await shown(world, 'lineNumber')).toMatchObject({
        value: 7,
        origin: 'site',
        local: {
          value: 8,
          state: 'held',
          code: wanted,
          message: expect.stringContaining('fleet-agent values unset lineNumber') as string,
        },
      });
      // The next release takes it again: nothing was lost.
      await bring(world, { release: 3 });
      expect(live(world)).toContain('lineNumber=8');
    },
  );
});

describe('the answer of the office', () => {
  const answered = async (world: World, outcome: 'accepted' | 'refused', given: Given, edit?: string) => {
    const [local] = readLocalValues(world.agent.state);
    if (!local) throw new Error('nothing is local');
    const answer = {
      edit: (edit ?? idOf(local)) as ReturnType<typeof idOf>,
      outcome,
      person: 'otto',
      reason: 'seen',
    };
    return bring(world, { ...given, document: { local: { 'kiosk-1': { lineNumber: answer } } } });
  };

  it('accepts: the value is the site’s, no longer local, and nothing is applied again', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    const { packages } = await answered(world, 'accepted', {
      site: 2,
      values: { lineNumber: 8, gateway: 'g' },
    });
    expect(packages).toEqual([]);
    expect(await shown(world, 'lineNumber')).toMatchObject({ value: 8, origin: 'site', local: null });
    expect(localEvents(world).at(-1)).toMatchObject({
      message: 'the office accepted the local value lineNumber 8, by otto: seen',
      detail: { action: 'accepted', person: 'otto' },
    });
  });

  it('refuses: the value is taken back', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    await answered(world, 'refused', { site: 2 });
    expect(live(world)).toContain('lineNumber=7');
    expect(readLocalValues(world.agent.state)).toEqual([]);
  });

  it('to an older edit keeps a newer one', async () => {
    await using world = await createWorld();
    await bring(world);
    await set(world.agent, 'lineNumber', 8);
    const [old] = readLocalValues(world.agent.state);
    await set(world.agent, 'lineNumber', 9);
    await answered(world, 'refused', { site: 2 }, old && idOf(old));
    expect(live(world)).toContain('lineNumber=9');
    expect(await shown(world, 'lineNumber')).toMatchObject({ origin: 'local' });
  });
});

describe('a kill -9 of values set', () => {
  it('at any boundary is made good by the next look, with one event', async () => {
    await using calm = await createWorld();
    await bring(calm);
    const points: string[] = [];
    await set({ ...calm.agent, onJournal: (point) => void points.push(point) }, 'lineNumber', 8);
    expect(points).toContain('local value lineNumber');
    expect(points.length).toBeGreaterThan(3);
    for (const at of points.keys()) {
      await using world = await createWorld();
      await bring(world);
      let left = at;
      const dying = (): void => {
        if (left-- === 0) throw new Error('killed');
      };
      await expect(set({ ...world.agent, onJournal: dying }, 'lineNumber', 8)).rejects.toThrow('killed');
      await lookAround(world.agent);
      expect(live(world), points[at]).toContain('lineNumber=8');
      expect(localEvents(world), points[at]).toHaveLength(1);
    }
  });
});
