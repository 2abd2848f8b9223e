import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { judge } from '../../../../../agent/apply/kubernetes/health/judge.ts';
import { KSTATUS } from '../../../../conformance/health-of-others.ts';
import { describeWith } from '../../../../harness/run/describe-with.ts';

const NOW = '2026-11-30T00:00:00Z';

describeWith(['kstatus'], 'the status of objects, by kstatus and by the agent', ({ kstatus }) => {
  it('is the same in its cases, but for those that docs/applier.md explains', async () => {
    const test = await readFile(join(kstatus, 'status_compute_test.go'), 'utf8');
    const objects = new Map(
      [...test.matchAll(/^var (\w+) = `\n([^`]+)`/gm)].map(([, name = '', yaml = '']) => [name, yaml]),
    );
    const cases = test.matchAll(
      /\{\s+spec:\s+(?:fmt\.Sprintf\()?(\w+)[^\n]*\n\s+expectedStatus:\s+(\w+)Status,/g,
    );
    const judged = [...cases].map(([, file = '', theirs = '']) => {
      const yaml = (objects.get(file) ?? '').replace('%s', NOW);
      // One of the objects has a key twice.
      const object: unknown = parse(yaml, { uniqueKeys: false });
      const { status } = judge(object, {
        now: new Date(NOW),
        loadBalancer: 'clusterIP',
        lateBinding: new Set(),
      });
      return { file, theirs, ours: status };
    });
    const other = judged.filter(({ theirs, ours }) => theirs !== ours);
    expect(judged).toHaveLength(KSTATUS.cases);
    expect(other.toSorted((a, b) => (a.file < b.file ? -1 : 1))).toEqual(
      KSTATUS.differences.map(({ file, theirs, ours }) => ({ file, theirs, ours })),
    );
  });
});
