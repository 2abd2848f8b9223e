import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { Json } from '#bundles/json/canonical';
import {
  decideInRepository,
  type ValuesWriter,
} from '../../../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { decideLocalEdits } from '../../../../../scheduler/hub/promote/values/decide-local-edits.ts';
import { enrolledAgents } from '../../../../../scheduler/hub/sites/enrolled-agents.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { NOW } from '../../test-hub.ts';
import { bringHome, localHub, setThere } from './local-hub.ts';
import { INPUTS, release, valuesHub } from './values-hub.ts';

const ONE = { required: 1, from: [], notAuthor: true };
const PLACE = 'https://forge.example/org/platform.git#main';

/** A repository that takes everything. */
const writerTo =
  (written: object[]): ValuesWriter =>
  async ({ values }) => {
    written.push(...values);
    const none = { proposal: undefined, pullRequest: undefined };
    return { subject: 'Config', outcome: 'pushed', place: PLACE, files: [], commit: 'f'.repeat(40), ...none };
  };

/** Decides a value of plant-7 in a repository that takes everything. @returns the outcome, and the values that were written */
const decide = async (
  set: Readonly<Record<string, Json>>,
  review: Partial<ValuesReview>,
  unset: readonly string[] = [],
) => {
  await using hub = await valuesHub();
  await release(hub, 2, { ...INPUTS, wifi: { type: 'string', writeOnly: true } });
  expect(await enrolledAgents(hub.store.db, 'plant-7')).toHaveLength(1);
  const written: object[] = [];
  const change = { site: 'plant-7', set, unset };
  const values = [{ siteSelector: { site: 'plant-7' }, set, unset, changes: [change] }];
  const terms = {
    review: { approvals: undefined, roles: {}, ...review },
    now: NOW,
    write: writerTo(written),
  };
  const decided = await decideInRepository(hub, values, terms).catch((error: unknown) => error);
  return { decided, written };
};

test('H64: values through the repository: a commit of values that need approvals is refused -> USAGE', async () => {
  const commit = { write: 'commit' } as const;
  for (const [set, review] of [
    [{ line: 7 }, { ...commit, approvals: ONE }],
    [{ gate: 'g' }, { ...commit, roles: { network: ONE } }],
  ] as const) {
    const { decided, written } = await decide(set, review);
    expect(decided).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('pullRequest') as string });
    expect(written).toEqual([]);
  }
  expect((await decide({ line: 7 }, { ...commit, roles: { network: ONE } })).written).toHaveLength(1);
  // Those of a pull request are the forge's.
  expect((await decide({ gate: 'g' }, { write: 'pullRequest', approvals: ONE })).written).toHaveLength(1);
});

test('H64: values through the repository: one that may be a secret is not written, and can be removed -> USAGE', async () => {
  for (const name of ['adminPassword', 'wifi']) {
    const { decided, written } = await decide({ line: 7, [name]: 'hunter2' }, { write: 'pullRequest' });
    expect(decided).toMatchObject({ code: 'USAGE', message: expect.stringContaining(name) as string });
    expect((decided as Error).message).not.toContain('hunter2');
    expect(written).toEqual([]);
  }
  const { written } = await decide({}, { write: 'pullRequest' }, ['wifi']);
  expect(written).toMatchObject([{ unset: ['wifi'] }]);
});

test('a repository that refuses one local value does not delay the others', async () => {
  await using hub = await localHub();
  const edits = [
    setThere(hub.agent, { name: 'line', value: 8 }),
    setThere(hub.agent, { name: 'mode', value: 'fast', given: 'auto' }),
  ];
  await bringHome(hub, hub.agent, edits);
  const written: object[] = [];
  const take = writerTo(written);
  const write: ValuesWriter = async (asked) => {
    if (asked.values.some(({ set }) => 'line' in set))
      throw new FleetError('GIT_REFUSED', 'the branch is protected');
    return take(asked);
  };
  const review: ValuesReview = { approvals: undefined, roles: {}, localEdits: 'accept', write: 'commit' };
  const decide = async (terms: ValuesReview) => {
    const { decisions } = await decideLocalEdits(hub, {
      review: terms,
      now: NOW,
      repository: { saveValues: write, declined: async () => undefined },
    });
    return Object.fromEntries(decisions.map(({ row, note }) => [row.name, note]));
  };
  // Without a person, a value that needs approvals is in no commit.
  const approvals = expect.stringContaining('need approvals') as string;
  expect(await decide({ ...review, approvals: ONE })).toEqual({ line: approvals, mode: approvals });
  expect(written).toEqual([]);
  const notes = {
    line: 'the branch is protected',
    mode: expect.stringContaining('was written into') as string,
  };
  expect(await decide(review)).toEqual(notes);
  expect(await decide(review)).toEqual(notes);
  expect(written).toMatchObject([{ siteSelector: { site: 'plant-7' }, set: { mode: 'fast' } }]);
});
