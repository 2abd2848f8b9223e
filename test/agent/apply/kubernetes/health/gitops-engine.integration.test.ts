import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { judge } from '../../../../../agent/apply/kubernetes/health/judge.ts';
import { GITOPS_ENGINE } from '../../../../conformance/health-of-others.ts';
import { describeWith } from '../../../../harness/run/describe-with.ts';

const SAME: Readonly<Record<string, string>> = {
  Healthy: 'Current',
  Progressing: 'InProgress',
  Degraded: 'Failed',
  Suspended: 'Suspended',
};

describeWith(
  ['gitopsEngine'],
  'the health of objects, by gitops-engine and by the agent',
  ({ gitopsEngine }) => {
    it('is the same in its cases, but for those that docs/applier.md explains', async () => {
      const test = await readFile(join(gitopsEngine, 'health_test.go'), 'utf8');
      const cases = [...test.matchAll(/"\.\/testdata\/([^"]+)", HealthStatus(\w+)\)/g)];
      const judged = await Promise.all(
        cases.map(async ([, file = '', theirs = '']) => {
          // One of the files has a key twice.
          const text = await readFile(join(gitopsEngine, 'testdata', file), 'utf8');
          const object: unknown = parse(text, { uniqueKeys: false });
          const { status } = judge(object, {
            now: new Date('2026-11-30T00:00:00Z'),
            loadBalancer: 'clusterIP',
            lateBinding: new Set(),
          });
          return { file, theirs, ours: status };
        }),
      );
      const other = judged.filter(({ theirs, ours }) => SAME[theirs] !== ours);
      expect(judged).toHaveLength(GITOPS_ENGINE.cases);
      expect(other.toSorted((a, b) => (a.file < b.file ? -1 : 1))).toEqual(
        GITOPS_ENGINE.differences.map(({ file, theirs, ours }) => ({ file, theirs, ours })),
      );
    });
  },
);
