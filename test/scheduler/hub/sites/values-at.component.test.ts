import { describe, expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { addSiteValues } from '../../../../scheduler/hub/store/add-site-values.ts';
import { addThinnedValues } from '../../../../scheduler/hub/store/add-thinned-values.ts';
import { setManyValues } from '../../../../scheduler/hub/sites/set-many-values.ts';
import { setValues, type ValueChange } from '../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { renewSites } from '../../../../scheduler/hub/sites/renew-sites.ts';
import { valuesAt, valuesVersions } from '../../../../scheduler/hub/sites/values-at.ts';
import { enrolledHub, NOW, type TestHub } from '../test-hub.ts';

const day = (count: number) => addDays(NOW, count);

const set = async (hub: TestHub, change: Partial<ValueChange>, at: Date, person = 'ann') =>
  setManyValues(hub.store, {
    changes: [{ site: 'plant-7', set: {}, unset: [], ...change }],
    signer: await siteSigner(hub),
    now: at,
    by: { person, reason: `day ${person}` },
  });

const at = async (hub: TestHub, when?: Date) =>
  (await valuesAt(hub.store.db, 'plant-7', when && { at: formatTime(when) }))?.values.map(
    ({ agent, name, value, person, since }) => [agent, name, value, person, since],
  );

describe('the values of a site at a past time', () => {
  it('have for each value who set it and when, also for agents', async () => {
    await using hub = await enrolledHub();
    await set(hub, { set: { line: 7, gate: 'a' } }, day(1));
    await set(hub, { agent: 'press-1', set: { line: 8 } }, day(2), 'bob');
    await set(hub, { set: { gate: 'b' }, unset: ['line'] }, day(3), 'eve');
    expect(await at(hub)).toEqual([
      [null, 'gate', 'b', 'eve', formatTime(day(3))],
      ['press-1', 'line', 8, 'bob', formatTime(day(2))],
    ]);
    expect(await at(hub, day(2))).toEqual([
      [null, 'gate', 'a', 'ann', formatTime(day(1))],
      [null, 'line', 7, 'ann', formatTime(day(1))],
      ['press-1', 'line', 8, 'bob', formatTime(day(2))],
    ]);
    expect(await at(hub, day(-5))).toBeUndefined();
    expect((await valuesVersions(hub.store.db, 'plant-7', 10)).map(({ version }) => version)).toEqual([
      4, 3, 2, 1,
    ]);
  });

  it('have the last change of each value in a long record', async () => {
    await using hub = await enrolledHub();
    await set(hub, { set: { line: 7, gate: 'a' } }, day(1));
    await set(hub, { agent: 'press-1', set: { line: 8 } }, day(2), 'bob');
    await set(hub, { set: { line: 9 } }, day(3), 'eve');
    await set(hub, { set: { line: 7 } }, day(4), 'eve');
    for (let count = 5; count < 50; count += 1)
      await set(hub, { set: { counter: count } }, day(count), 'max');
    expect(await at(hub)).toEqual([
      [null, 'counter', 49, 'max', formatTime(day(49))],
      [null, 'gate', 'a', 'ann', formatTime(day(1))],
      [null, 'line', 7, 'eve', formatTime(day(4))],
      ['press-1', 'line', 8, 'bob', formatTime(day(2))],
    ]);
  });

  it('get no version where a statement is signed with the same values', async () => {
    await using hub = await enrolledHub();
    await set(hub, { set: { line: 7 } }, day(1));
    await renewSites(hub.store, await siteSigner(hub), formatTime(day(800)), day(2));
    expect((await valuesVersions(hub.store.db, 'plant-7', 10)).map(({ version }) => version)).toEqual([2, 1]);
  });

  it('begin with what a hub of before had', async () => {
    await using hub = await enrolledHub();
    await setValues(hub.store, { site: 'plant-7', set: { line: 7 }, unset: [] }, await siteSigner(hub), NOW);
    await hub.store.db.schema.dropTable('site_values_version').execute();
    await hub.store.db.schema.dropTable('values_proposal').execute();
    await addSiteValues(hub.store.db as never);
    await addThinnedValues(hub.store.db as never);
    expect((await valuesAt(hub.store.db, 'plant-7'))?.values).toMatchObject([
      { name: 'line', value: 7, person: null, atLeast: true },
    ]);
  });
});
