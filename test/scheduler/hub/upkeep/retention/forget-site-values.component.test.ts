import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import { addDays, formatTime } from '#bundles/time';
import { listVersions } from '../../../../../scheduler/hub/promote/values/list-versions.ts';
import { valuesAt } from '../../../../../scheduler/hub/sites/values-at.ts';
import { forgetSiteValues } from '../../../../../scheduler/hub/upkeep/retention/forget-site-values.ts';
import { enrolledHub, NOW, type TestHub } from '../../test-hub.ts';

type Values = Readonly<Record<string, number>>;

const at = (day: number) => formatTime(addDays(NOW, day));
const documentOf = (values: Values): string =>
  canonicalJson({ fleet: 'halden', site: 'plant-7', values, agents: {} });

/** The record of a site: each day with its values, by the person of that day. */
const RECORD: readonly (readonly [day: number, values: Values])[] = [
  [-400, { gate: 1 }],
  [-390, { gate: 1, line: 0 }],
  [-380, { gate: 1, line: 7 }],
  [-370, { gate: 1, line: 7, port: 1 }],
  [-360, { gate: 1, line: 7, port: 2 }],
  [-350, { gate: 1, line: 7, port: 3 }],
  [-340, { gate: 1, line: 7, port: 4 }],
  [-100, { gate: 2, line: 7, port: 5 }],
  [-10, { gate: 3, line: 7, port: 5 }],
];

const withRecord = async () => {
  const hub = await enrolledHub();
  await hub.store.db.deleteFrom('site_values_version').execute();
  for (const [index, [day, values]] of RECORD.entries()) {
    const document = documentOf(values);
    await hub.store.db
      .insertInto('site_values_version')
      .values({
        site: 'plant-7',
        version: index + 1,
        digest: digestOf(document),
        document,
        at: at(day),
        person: `person-${index + 1}`,
        reason: null,
      })
      .execute();
  }
  return hub;
};

const versions = async ({ store }: TestHub): Promise<readonly (readonly [number, number])[]> => {
  const rows = await store.db
    .selectFrom('site_values_version')
    .select(['version', 'thinned'])
    .orderBy('version')
    .execute();
  return rows.map(({ version, thinned }) => [version, thinned]);
};

const attribution = async ({ store }: TestHub, day?: number) =>
  (await valuesAt(store.db, 'plant-7', day === undefined ? {} : { at: at(day) }))?.values.map(
    ({ name, value, version, person }) => [name, value, version, person],
  );

test('old documents of the values of a site are removed, and who gave each value since, and when, stays known', async () => {
  await using hub = await withRecord();
  const before = [await attribution(hub), await attribution(hub, -50)];
  // Version 7 held 200 days ago. Of it, gate is of version 1, and line of version 3 after version 2.
  expect(await forgetSiteValues(hub.store, at(-200))).toBe(2);
  expect(await versions(hub)).toEqual([
    [1, 1],
    [2, 1],
    [3, 1],
    [6, 1],
    [7, 0],
    [8, 0],
    [9, 0],
  ]);
  expect([await attribution(hub), await attribution(hub, -50)]).toEqual(before);
  expect(await attribution(hub, -150)).toEqual([
    ['gate', 1, 1, 'person-1'],
    ['line', 7, 3, 'person-3'],
    ['port', 4, 7, 'person-7'],
  ]);
  // What a removed document might have been is not made up from its neighbours.
  expect(await attribution(hub, -355)).toBeUndefined();
  expect((await listVersions(hub, 'plant-7', 20)).map(({ version }) => version)).toEqual([9, 8, 7]);
  expect(await forgetSiteValues(hub.store, at(-200))).toBe(0);
  // Later the same again: nothing that a thinned document told is lost.
  expect(await forgetSiteValues(hub.store, at(-50))).toBe(2);
  expect(await versions(hub)).toEqual([
    [2, 1],
    [3, 1],
    [7, 1],
    [8, 0],
    [9, 0],
  ]);
  expect(await attribution(hub)).toEqual(before[0]);
});

test('a document that an agent runs, or that a kept change names, stays', async () => {
  await using hub = await withRecord();
  const digest = digestOf(documentOf({ gate: 1, line: 7, port: 2 }));
  await hub.store.db
    .insertInto('history')
    .values({
      agent: hub.agent.id,
      life: 1,
      seq: 1,
      assignment: 'line',
      field: 'values',
      value: digest,
      observed_at: at(-355),
      received_at: at(-355),
      report: digest,
    })
    .execute();
  expect(await forgetSiteValues(hub.store, at(-200))).toBe(1);
  expect((await versions(hub)).map(([version]) => version)).toEqual([1, 2, 3, 5, 6, 7, 8, 9]);
});
