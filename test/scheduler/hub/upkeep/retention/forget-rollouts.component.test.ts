import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import { addDays, formatTime } from '#bundles/time';
import { forgetNotes } from '../../../../../scheduler/hub/upkeep/retention/forget-notes.ts';
import type { ValuesRolloutRow, ValuesUnitRow } from '../../../../../scheduler/hub/store/tables.ts';
import { NOW, type TestHub, testHub } from '../../test-hub.ts';

type Row = readonly [
  name: string,
  state: ValuesRolloutRow['state'],
  day: number,
  more?: {
    readonly kind?: ValuesRolloutRow['kind'];
    readonly environment?: string;
    readonly unit?: ValuesUnitRow['state'];
    /** Day on which its last stage began. */
    readonly last?: number;
  },
];

const at = (day: number) => formatTime(addDays(NOW, day));

/** Rollouts in the order of their numbers, each with one place. */
const withRollouts = async (rows: readonly Row[]): Promise<TestHub> => {
  const hub = await testHub();
  for (const [index, [name, state, day, more = {}]] of rows.entries()) {
    const { kind = 'values', environment = 'prod', unit = 'applied', last = day } = more;
    const document = canonicalJson({ environment, kind, number: index + 1, change: name, time: at(day) });
    const id = digestOf(document);
    const progress = canonicalJson({ started: [at(day), at(last)], paused: null, resumedAt: null });
    await hub.store.db
      .insertInto('values_rollout')
      .values({ id, environment, kind, number: index + 1, at: at(day), document, state, progress })
      .execute();
    await hub.store.db
      .insertInto('values_unit')
      .values({ rollout: id, site: name, agent: '', stage: 0, state: unit, version: 1, content: '{}' })
      .execute();
  }
  return hub;
};

const left = async ({ store }: TestHub) => {
  const rollouts = await store.db.selectFrom('values_rollout').selectAll().orderBy('number').execute();
  const units = await store.db.selectFrom('values_unit').select('site').orderBy('site').execute();
  const names = rollouts.map(({ document }) => (JSON.parse(document) as { change: string }).change);
  expect(units.map(({ site }) => site)).toEqual(names.toSorted());
  return names;
};

const ROWS: readonly Row[] = [
  ['old', 'complete', -400],
  ['old-superseded', 'superseded', -390, { kind: 'layers' }],
  ['old-taken-back', 'taken-back', -380, { unit: 'returned' }],
  ['runs-for-long', 'running', -370],
  ['not-returned', 'taken-back', -360],
  ['ended-lately', 'complete', -350, { last: -3 }],
  ['newest-taken-back', 'taken-back', -340, { unit: 'returned' }],
  ['layers-that-prod-has', 'complete', -330, { kind: 'layers' }],
  ['only-one-of-test', 'complete', -320, { environment: 'test' }],
  ['before-the-last', 'complete', -310],
  ['last-of-prod', 'complete', -300],
];
const KEPT = [
  'runs-for-long',
  'not-returned',
  'ended-lately',
  'newest-taken-back',
  'layers-that-prod-has',
  'only-one-of-test',
  'last-of-prod',
];

test('rollouts of values that ended before the retention are removed, and those in force and the newest stay', async () => {
  await using hub = await withRollouts(ROWS);
  expect(await forgetNotes(hub, addDays(NOW, -30))).toMatchObject({ rollouts: 4 });
  expect(await left(hub)).toEqual(KEPT);
  expect(await forgetNotes(hub, addDays(NOW, -30))).toMatchObject({ rollouts: 0 });
  expect(await left(hub)).toEqual(KEPT);
});

test('a removal that is interrupted before its commit leaves every rollout with its places', async () => {
  await using hub = await withRollouts(ROWS);
  const store: TestHub['store'] = {
    ...hub.store,
    transact: (work) =>
      hub.store.transact(async (tx) => {
        await work(tx);
        throw new Error('killed');
      }),
  };
  await expect(forgetNotes({ ...hub, store }, addDays(NOW, -30))).rejects.toThrow('killed');
  expect(await left(hub)).toEqual(ROWS.map(([name]) => name));
});
