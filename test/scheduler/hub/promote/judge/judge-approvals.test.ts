import {
  array,
  assert,
  boolean,
  constantFrom,
  integer,
  option,
  property,
  record,
  subarray,
} from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { foldDecisions, type GateEntry } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import type { Changes } from '../../../../../scheduler/hub/promote/facts/facts.ts';
import { changesOutside } from '../../../../../scheduler/hub/promote/judge/judge-approvals.ts';
import { limitVerdict, whyOutsideLimits } from '../../../../../scheduler/hub/promote/judge/judge-limits.ts';
import {
  approval,
  approvalFor,
  changes,
  condition,
  facts,
  judge,
  keyOf,
  policy,
  SHARED,
} from '../gate/gate-cases.ts';

const PEOPLE = ['ann', 'bob', 'cid'] as const;

const wants = (required: number, eachWorkspace: boolean) =>
  policy({
    approvals: { required, from: [], notAuthor: true, ...(eachWorkspace && { eachWorkspace }) },
  });

const judged = (
  eachWorkspace: boolean,
  found: Changes | undefined,
  entries: readonly GateEntry[],
  required = 1,
) =>
  condition(
    judge(wants(required, eachWorkspace), facts(found ? { changes: found } : {}), { entries }),
    'approvals',
  );

const UNKNOWN: Changes = { kind: 'unknown', why: 'SOURCE_MISSING: it is gone' };

describe('an approval that is limited to workspaces', () => {
  const ann = approvalFor('ann', 'bakery');
  test.each<[string, Changes | undefined, readonly GateEntry[], number, boolean, string | undefined]>([
    ['counts where it covers all changes', changes(['bakery']), [ann], 1, true, undefined],
    [
      'covers two workspaces',
      changes(['bakery', 'dairy']),
      [approvalFor('ann', 'dairy', 'bakery')],
      1,
      true,
      undefined,
    ],
    ['is one of two', changes(['bakery']), [ann, approval('bob')], 2, true, undefined],
    [
      'does not count where another workspace changes, too',
      changes(['bakery', 'dairy']),
      [ann],
      1,
      false,
      'ann: approves only bakery, and the candidate changes dairy, too',
    ],
    [
      'is not added up with one for the others',
      changes(['bakery', 'dairy']),
      [ann, approvalFor('bob', 'dairy')],
      1,
      false,
      'ann: approves only bakery, and the candidate changes dairy, too',
    ],
    [
      'does not count where something changes that no workspace owns',
      changes(['bakery'], ['prod/till: settings of the bundle']),
      [ann],
      1,
      false,
      'ann: approves only bakery, and the candidate changes prod/till: settings of the bundle, too',
    ],
    [
      'does not count where nothing of it changes',
      changes([]),
      [ann],
      1,
      false,
      'ann: approves only bakery, and the candidate changes nothing of it',
    ],
    [
      'does not count where the changes are not known',
      UNKNOWN,
      [ann],
      1,
      false,
      'ann: approves only bakery, and what the candidate changes is not known: SOURCE_MISSING: it is gone',
    ],
    [
      'does not count where nobody looked for the changes',
      undefined,
      [ann],
      1,
      false,
      'ann: approves only bakery, and what the candidate changes is not known: it was not looked up',
    ],
    [
      'is replaced by a later one of its key',
      changes(['bakery', 'dairy']),
      [ann, approval('ann')],
      1,
      true,
      undefined,
    ],
  ])('approves the candidate as a whole: %s', (_, found, entries, required, met, why) => {
    expect(judged(false, found, entries, required)).toMatchObject({
      met,
      holding: { first: why === undefined ? [] : expect.arrayContaining([why]) },
    });
  });

  test('keeps its workspaces; an approval of an older version without workspaces covers everything', () => {
    const link = { from: 'qa', to: 'prod', shared: SHARED };
    expect(foldDecisions([ann, approval('bob')], link).approvals).toMatchObject([
      { person: 'ann', workspaces: ['bakery'] },
      expect.not.objectContaining({ workspaces: expect.anything() }),
    ]);
  });
});

describe('a policy that asks for each workspace', () => {
  const both = changes(['bakery', 'dairy']);
  test.each<[string, Changes | undefined, readonly GateEntry[], number, boolean, readonly string[]]>([
    ['waits for both', both, [], 1, false, ['bakery: waits for 1 approval', 'dairy: waits for 1 approval']],
    ['waits for the other', both, [approvalFor('ann', 'bakery')], 1, false, ['dairy: waits for 1 approval']],
    ['takes one of each', both, [approvalFor('ann', 'bakery'), approvalFor('bob', 'dairy')], 1, true, []],
    ['takes one of everything', both, [approval('ann')], 1, true, []],
    [
      'counts one of everything for each of two',
      both,
      [approval('ann'), approvalFor('bob', 'dairy')],
      2,
      false,
      ['bakery: waits for 1 approval'],
    ],
    [
      'is met by two for each',
      both,
      [approval('ann'), approvalFor('bob', 'dairy'), approvalFor('cid', 'bakery')],
      2,
      true,
      [],
    ],
    [
      'wants one of everything for what no workspace owns',
      changes(['bakery'], ['prod/till: settings of the bundle']),
      [approvalFor('ann', 'bakery')],
      1,
      false,
      [
        'it changes what no workspace owns: prod/till: settings of the bundle; waits for 1 approval of everything',
      ],
    ],
    [
      'wants one of everything where nothing changes',
      changes([]),
      [],
      1,
      false,
      ['it changes nothing of any workspace; waits for 1 approval of everything'],
    ],
    [
      'wants one of everything where the changes are not known',
      UNKNOWN,
      [approvalFor('ann', 'bakery')],
      1,
      false,
      [
        'what it changes is not known: SOURCE_MISSING: it is gone; waits for 1 approval of everything',
        'ann: approves only bakery, and what the candidate changes is not known: SOURCE_MISSING: it is gone',
      ],
    ],
    [
      'is met by one of everything although the changes are not known',
      UNKNOWN,
      [approval('ann')],
      1,
      true,
      [],
    ],
    [
      'names the key of a person that the root does not have',
      changes(['bakery']),
      [approvalFor('eve', 'bakery')],
      1,
      false,
      [
        'bakery: waits for 1 approval',
        expect.stringMatching(/^eve: the root no longer has the key/) as string,
      ],
    ],
  ])('with a policy for each workspace: %s', (_, found, entries, required, met, first) => {
    const { holding, ...rest } = judged(true, found, entries, required);
    expect([rest.met, holding.first]).toEqual([met, first]);
    expect(rest.changedBy).toEqual(met ? [] : ['person']);
  });

  test('lists each workspace, and only visible ones for a limited person', () => {
    const verdict = judge(wants(1, true), facts({ changes: both }), {
      entries: [approvalFor('ann', 'bakery')],
    });
    expect(condition(verdict, 'approvals')).toMatchObject({
      wanted: '1 for each workspace that it changes, not by the author',
      found: '1 by ann; 1 of 2 workspaces',
      workspaces: [
        { workspace: 'bakery', wanted: 1, found: 1 },
        { workspace: 'dairy', wanted: 1, found: 0 },
      ],
    });
    const limited = limitVerdict(verdict, { sees: (workspace) => workspace === 'bakery' });
    expect(JSON.stringify(limited)).not.toContain('dairy');
    expect(condition(limitVerdict(verdict, { sees: () => true }), 'approvals').holding).toEqual({
      count: 1,
      first: ['dairy: 0 of 1'],
    });
  });
});

test.each<[Changes, boolean, string | undefined]>([
  [changes(['bakery']), false, undefined],
  [changes(['bakery', 'dairy']), true, undefined],
  [changes(['bakery', 'dairy']), false, 'which also changes dairy'],
  [
    changes(['bakery', 'dairy', 'mill', 'yard'], ['prod/till: host']),
    false,
    'which also changes dairy, 2 workspaces that you may not see, what no workspace owns',
  ],
  [changes(['bakery', 'mill']), false, 'which also changes 1 workspace that you may not see'],
  [changes(['dairy']), true, 'which changes nothing of bakery'],
  [changes([]), false, 'which changes nothing of bakery'],
  [UNKNOWN, true, 'because what it changes is not known now'],
])('a person of bakery who may read dairy, %j, for a part %j: %j', (found, part, why) => {
  const sees = (workspace: string): boolean => ['bakery', 'dairy'].includes(workspace);
  expect(whyOutsideLimits(found, { workspaces: ['bakery'], sees }, part)).toBe(why);
});

const WORKSPACES = ['bakery', 'dairy', 'mill'];
const anyChanges = record({
  known: boolean(),
  workspaces: subarray(WORKSPACES),
  others: subarray(['prod/till: host']),
}).map(({ known, workspaces, others }): Changes => (known ? changes(workspaces, others) : UNKNOWN));
const anyApprovals = array(
  record({ person: constantFrom(...PEOPLE), workspaces: option(subarray(WORKSPACES, { minLength: 1 })) }),
  { maxLength: 5 },
).map((all) =>
  all.map(({ person, workspaces }) =>
    workspaces === null ? approval(person) : approvalFor(person, ...workspaces),
  ),
);

/** The newest approval of each key. */
const newest = (entries: readonly GateEntry[]) => {
  const found = foldDecisions(entries, { from: 'qa', to: 'prod', shared: SHARED }).approvals;
  return PEOPLE.flatMap((person) => found.find(({ signer }) => signer === keyOf(person)) ?? []);
};

it('approvers of workspaces never satisfy a gate for changes outside of their workspaces', () => {
  let opened = 0;
  assert(
    property(
      anyChanges,
      anyApprovals,
      boolean(),
      integer({ min: 1, max: 2 }),
      (found, entries, each, required) => {
        const { met } = judged(each, found, entries, required);
        if (!met) return;
        opened += 1;
        const whole = newest(entries).filter(({ workspaces }) => workspaces === undefined).length;
        if (found.kind === 'unknown' || (each && found.others.length > 0))
          expect(whole).toBeGreaterThanOrEqual(required);
        if (found.kind === 'unknown') return;
        const all = newest(entries);
        const covering = all.filter(
          ({ workspaces }) => workspaces === undefined || changesOutside(found, workspaces).length === 0,
        );
        if (!each) expect(covering.length).toBeGreaterThanOrEqual(required);
        for (const workspace of found.workspaces) {
          const own = all.filter(({ workspaces }) => workspaces?.includes(workspace) ?? true);
          expect(own.length).toBeGreaterThanOrEqual(required);
        }
      },
    ),
    { numRuns: 500 },
  );
  expect(opened).toBeGreaterThan(50);
});

it('a limited approval never opens a gate that the same unlimited approval leaves closed', () => {
  assert(
    property(anyChanges, anyApprovals, boolean(), (found, entries, each) => {
      const wider = entries.map((one) =>
        one.kind === 'approval' ? approval(one.predicate.person, one.signer) : one,
      );
      if (judged(each, found, entries).met) expect(judged(each, found, wider).met).toBe(true);
    }),
    { numRuns: 300 },
  );
});
