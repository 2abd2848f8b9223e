import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays, formatTime } from '#bundles/time';
import type { LocalEditRow, LocalEditState } from '../../../../../scheduler/hub/store/local-edit-row.ts';
import { forgetNotes } from '../../../../../scheduler/hub/upkeep/retention/forget-notes.ts';
import { enrolledHub, NOW, type TestHub } from '../../test-hub.ts';

const at = (day: number) => formatTime(addDays(NOW, day));
/** Kept are 30 days. */
const CUTOFF = addDays(NOW, -30);

type Edit = readonly [seq: number, name: string, state: LocalEditState, confirmed: number, day: number];

const withEdits = async (hub: TestHub, edits: readonly Edit[]): Promise<void> => {
  const { id: agent, life } = await hub.store.db
    .selectFrom('agent')
    .select(['id', 'life'])
    .executeTakeFirstOrThrow();
  for (const [seq, name, state, confirmed, day] of edits) {
    const row: LocalEditRow = {
      agent,
      life,
      seq,
      edit: digestOf(`edit ${seq}`),
      action: 'set',
      name,
      value: String(seq),
      old: null,
      given: null,
      given_digest: null,
      person: 'anna',
      reason: 'urgent',
      at: at(day),
      received_at: at(day),
      state,
      note: null,
      proposal: null,
      decided_by: null,
      decided_reason: null,
      decided_at: null,
      confirmed,
    };
    await hub.store.db.insertInto('local_edit').values(row).execute();
  }
};

const keptEdits = async ({ store }: TestHub): Promise<readonly number[]> =>
  (await store.db.selectFrom('local_edit').select('seq').orderBy('seq').execute()).map(({ seq }) => seq);

test('old local values that are over are removed, but for those that wait, and the newest answered one of each value', async () => {
  await using hub = await enrolledHub();
  await withEdits(hub, [
    [1, 'line', 'superseded', 0, -90],
    [2, 'line', 'accepted', 1, -80],
    [3, 'line', 'refused', 1, -70],
    [4, 'gate', 'withdrawn', 0, -60],
    [5, 'gate', 'waiting', 0, -50],
    // Its answer may never have reached the site.
    [6, 'port', 'accepted', 1, -50],
    [7, 'port', 'accepted', 0, -40],
    [8, 'shift', 'superseded', 0, -10],
  ]);
  expect(await forgetNotes(hub, CUTOFF)).toMatchObject({ values: 3 });
  expect(await keptEdits(hub)).toEqual([3, 5, 6, 7, 8]);
  expect(await forgetNotes(hub, CUTOFF)).toMatchObject({ values: 0 });
});

test('old proposals that were decided are removed, those that wait stay at any age', async () => {
  await using hub = await enrolledHub();
  const proposals = [
    ['a', 'waiting', -400, null],
    ['b', 'applied', -400, -399],
    ['c', 'rejected', -400, -10],
    ['d', 'rejected', -400, -31],
  ] as const;
  for (const [id, state, made, ended] of proposals)
    await hub.store.db
      .insertInto('values_proposal')
      .values({
        id: digestOf(id),
        document: '{}',
        person: 'ann',
        at: at(made),
        state,
        ended_at: ended === null ? null : at(ended),
        ended_by: null,
        ended_reason: null,
      })
      .execute();
  expect(await forgetNotes(hub, CUTOFF)).toMatchObject({ values: 2 });
  const left = await hub.store.db.selectFrom('values_proposal').select('id').orderBy('at').execute();
  expect(left.map(({ id }) => id).toSorted()).toEqual([digestOf('a'), digestOf('c')].toSorted());
});
