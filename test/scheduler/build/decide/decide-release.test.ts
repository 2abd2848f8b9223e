import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import {
  type Decision,
  decideRelease,
  type ReleaseFacts,
} from '../../../../scheduler/build/decide/decide-release.ts';
import type { Removal } from '../../../../scheduler/release/removals/removal.ts';

const [OLD, NEW] = [digestOf('old candidate'), digestOf('new candidate')];
const REVOKED = { digest: digestOf('bundle'), reason: 'sends prices twice', at: '2026-11-21T08:00:00Z' };
const BACK = new FleetError('ROLLED_BACK', 'the channel was rolled back');
const removal = (why: 'held' | 'deleted' | 'unselected', assignment = 'shop-web'): Removal =>
  why === 'deleted' ? { why, object: 'Workload shop', assignment } : { why, assignment };

/** A changed bundle of two packages that removes none. */
const CHANGED: ReleaseFacts = {
  revoked: undefined,
  comparison: { isUnchanged: false, isFirst: false, assignments: 2, removals: [] },
  allowance: { count: 0, names: new Set() },
  isUnread: false,
  isBaseLost: false,
  isIncomplete: false,
  isHolding: false,
  isOnlyRolledBack: false,
  lineage: undefined,
  stated: undefined,
  siteLayers: undefined,
  takenBack: undefined,
};
const compared = (over: Partial<ReleaseFacts['comparison']>): Pick<ReleaseFacts, 'comparison'> => ({
  comparison: { ...CHANGED.comparison, ...over },
});
const SAME = compared({ isUnchanged: true });
/** In a chain, whose last release was built from a candidate. */
const linked = (
  { direct = 'allow', shared = NEW }: { direct?: 'allow' | 'forbid'; shared?: typeof OLD } = {},
  stated: Partial<NonNullable<ReleaseFacts['stated']>> = {},
): Pick<ReleaseFacts, 'lineage' | 'stated'> => ({
  lineage: { shared, promoted: OLD, isLinked: true, direct },
  stated: { shared: OLD, promoted: OLD, held: [], wasTried: true, ...stated },
});
const release: Decision = { kind: 'release', isDirect: false };

const TABLE: readonly (readonly [facts: string, over: Partial<ReleaseFacts>, decision: Decision])[] = [
  ['a changed bundle', {}, release],
  ['a first bundle', compared({ isFirst: true }), release],
  ['a first bundle without packages', compared({ isFirst: true, assignments: 0 }), { kind: 'empty' }],
  ['a bundle that lost all packages', compared({ assignments: 0, removals: [removal('deleted')] }), release],
  ['the same bundle', SAME, { kind: 'keep' }],
  ['a revoked bundle', { revoked: REVOKED, takenBack: BACK }, { kind: 'revoked', revoked: REVOKED }],
  ['the same bundle, revoked', { ...SAME, revoked: REVOKED }, { kind: 'revoked', revoked: REVOKED }],
  ['a removal of a held package', compared({ removals: [removal('held')] }), { kind: 'blocked' }],
  [
    'a removal of a held package and an undeclared one',
    compared({ removals: [removal('unselected'), removal('held', 'shop-till')] }),
    { kind: 'blocked' },
  ],
  ['a declared removal', compared({ removals: [removal('deleted')] }), release],
  [
    'an undeclared removal',
    compared({ removals: [removal('deleted'), removal('unselected', 'shop-till')] }),
    { kind: 'removals-held', unmeant: [removal('unselected', 'shop-till')] },
  ],
  [
    'an undeclared removal that is allowed by name',
    {
      ...compared({ removals: [removal('unselected')] }),
      allowance: { count: 0, names: new Set(['shop-web']) },
    },
    release,
  ],
  [
    'an undeclared removal within the number allowed',
    { ...compared({ removals: [removal('unselected')] }), allowance: { count: 1, names: new Set() } },
    release,
  ],
  ['the same bundle after a release that no agent can read', { ...SAME, isUnread: true }, release],
  [
    'a bundle without a held package, and all earlier releases lost',
    { isUnread: true, isBaseLost: true, isIncomplete: true },
    { kind: 'blocked' },
  ],
  [
    'a bundle with all packages, and all earlier releases lost',
    { isUnread: true, isBaseLost: true },
    release,
  ],
  ['a bundle without a held package that no release had', { isUnread: true, isIncomplete: true }, release],
  [
    'a bundle that the channel was taken back from',
    { takenBack: BACK },
    { kind: 'taken-back', error: BACK, isDirect: false },
  ],
  ['the same bundle, after a decision to take it back', { ...SAME, takenBack: BACK }, { kind: 'keep' }],
  ['a change after a promotion', linked({}, { promoted: NEW }), release],
  ['a change without a promotion', linked(), { kind: 'release', isDirect: true }],
  [
    'a change without a promotion that was taken back',
    { ...linked(), takenBack: BACK },
    { kind: 'taken-back', error: BACK, isDirect: true },
  ],
  [
    'a change without a promotion that the policy forbids',
    linked({ direct: 'forbid' }),
    { kind: 'direct-held' },
  ],
  [
    'a rollback of one assignment where the policy forbids direct changes',
    { ...linked({ direct: 'forbid' }), isOnlyRolledBack: true },
    release,
  ],
  ['the same bundle of the same candidate', { ...SAME, ...linked({ shared: OLD }) }, { kind: 'keep' }],
  ['the same bundle of another candidate', { ...SAME, ...linked() }, { kind: 'restate' }],
  ['the same bundle with other layers for sites', { ...SAME, siteLayers: NEW }, { kind: 'restate' }],
  [
    'the same bundle and layers',
    { ...SAME, siteLayers: NEW, stated: { shared: OLD, promoted: OLD, held: [], siteLayers: NEW } },
    { kind: 'keep' },
  ],
  [
    'the same bundle without the layers of before',
    { ...SAME, stated: { shared: OLD, promoted: OLD, held: [], siteLayers: OLD } },
    { kind: 'restate' },
  ],
  [
    'the same bundle with other layers in an environment whose policy forbids direct changes',
    { ...SAME, ...linked({ shared: OLD, direct: 'forbid' }), siteLayers: NEW },
    { kind: 'direct-held' },
  ],
  [
    'the same bundle of another candidate, of which no release was tried',
    { ...SAME, ...linked({}, { wasTried: false }) },
    release,
  ],
  [
    'the same bundle of another candidate, and something is held',
    { ...SAME, ...linked({}, { wasTried: false }), isHolding: true },
    { kind: 'restate' },
  ],
  [
    'the same bundle of another candidate outside of a chain',
    {
      ...SAME,
      lineage: { shared: NEW, promoted: undefined, isLinked: false, direct: 'allow' },
      stated: { shared: OLD, held: [], wasTried: true },
    },
    { kind: 'keep' },
  ],
];

test.for(TABLE)('decideRelease decides about %s', ([, over, decision]) => {
  expect(decideRelease({ ...CHANGED, ...over })).toEqual(decision);
});

test('the table covers every kind of decision', () => {
  expect([...new Set(TABLE.map(([, , { kind }]) => kind))].toSorted()).toEqual([
    'blocked',
    'direct-held',
    'empty',
    'keep',
    'release',
    'removals-held',
    'restate',
    'revoked',
    'taken-back',
  ]);
});
