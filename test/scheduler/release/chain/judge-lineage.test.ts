import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { judgeLineage } from '../../../../scheduler/release/chain/judge-lineage.ts';

const shared = digestOf('shared');
const linked = { shared, promoted: undefined, isLinked: true, direct: 'allow' } as const;
const HELD = [{ assignment: 'shop', code: 'IMAGE_MISSING', message: 'no registry answers' }];
const judged = (before: { readonly held: typeof HELD }, holds: boolean): string =>
  judgeLineage('unchanged', linked, { shared, ...before }, holds).outcome;

test('a release with a held assignment is issued again when nothing is held, even with the same bundle', () => {
  expect(judged({ held: HELD }, false)).toBe('released');
  expect(judged({ held: [] }, false)).toBe('unchanged');
});

test('another candidate with the same bundle is restated, not released', () => {
  const before = { shared: digestOf('before'), held: [] };
  expect(judgeLineage('unchanged', linked, before, false).outcome).toBe('restated');
  expect(judgeLineage('unchanged', linked, before, true).outcome).toBe('restated');
  // What the release itself held was not tried with it.
  expect(judgeLineage('unchanged', linked, { ...before, wasTried: false }, false).outcome).toBe('released');
  expect(judgeLineage('unchanged', linked, { ...before, held: HELD, wasTried: true }, false).outcome).toBe(
    'restated',
  );
});

test('an assignment held without a change of the bundle causes no release', () => {
  expect(judged({ held: HELD }, true)).toBe('unchanged');
  expect(judged({ held: [] }, true)).toBe('unchanged');
});

test('a platform without a chain causes no release for a changed lineage', () => {
  expect(judgeLineage('unchanged', undefined, undefined, false).outcome).toBe('unchanged');
  expect(
    judgeLineage('unchanged', { ...linked, isLinked: false }, { shared, held: HELD }, false).outcome,
  ).toBe('unchanged');
});
