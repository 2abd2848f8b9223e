import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addRun, readRows, writeCompatibility } from '../../docs/generate-compatibility.ts';
import { lockedVersions } from '../harness/parts/go-programs.ts';
import { recordParts } from '../harness/run/record-parts.ts';

const DOCS = join(import.meta.dirname, '../../docs');

test('the page is that of the recorded runs (node docs/generate-compatibility.ts)', () => {
  expect(readFileSync(join(DOCS, 'compatibility.md'), 'utf8')).toBe(writeCompatibility(readRows()));
});

const file = (name: string, ...tests: readonly (readonly [string, readonly string[]])[]) => ({
  name: `/here/test/copy/test/${name}`,
  status: 'passed',
  assertionResults: tests.map(([status, parts]) => ({
    status,
    title: '',
    ancestorTitles: [],
    meta: { parts },
  })),
});

test('a run records how many tests passed and failed with each part, and none that was skipped', () => {
  const report = {
    testResults: [
      file('integration/hosts/a.test.ts', ['passed', ['helm', 'kube']], ['failed', ['kube']]),
      file('e2e/b.test.ts', ['passed', ['kube']], ['pending', ['kube', 'sops']]),
    ],
  };
  const named = recordParts(report, (part) => ({ title: part.toUpperCase(), version: '1' }));
  expect(named).toEqual([
    { part: 'helm', title: 'HELM', version: '1', passed: 1, failed: 0, areas: ['integration/hosts'] },
    { part: 'kube', title: 'KUBE', version: '1', passed: 2, failed: 1, areas: ['e2e', 'integration/hosts'] },
  ]);
});

test('a newer run replaces the row of its kind and version, and an older one does not', () => {
  const run = (date: string, version: string, passed: number) => ({
    date,
    run: 'npm test' as const,
    parts: [{ part: 'helm', title: 'Helm', version, passed, failed: 0, areas: [] }],
  });
  const runs = [
    run('2026-11-02', '3.9', 2),
    run('2026-11-01', '3.9', 7),
    run('2026-11-02', '3.9', 1),
    run('2026-11-03', '3.22', 3),
  ];
  const rows = runs.reduce(addRun, []);
  expect(rows.map(({ version, passed }) => [version, passed])).toEqual([
    ['3.22', 3],
    ['3.9', 2],
  ]);
});

test('a version replaces the row of its kind whose version was not known', () => {
  const run = (part: string, version: string) => ({
    date: '2026-11-02',
    run: 'npm test' as const,
    parts: [{ part, title: part, version, passed: 1, failed: 0, areas: [] }],
  });
  const runs = [run('host', 'not known'), run('host', 'Debian 13.8'), run('page', 'not known')];
  const rows = runs.reduce(addRun, []);
  expect(rows.map(({ part, version }) => [part, version])).toEqual([
    ['host', 'Debian 13.8'],
    ['page', 'not known'],
  ]);
});

test('files that ran for themselves are added up, each with its newest run', () => {
  const run = (file: string, date: string, passed: number) => ({
    date,
    run: 'some files' as const,
    parts: [
      { part: 'kube', title: 'Kubernetes', version: '1.37.2', passed, failed: 0, areas: ['e2e'], file },
    ],
  });
  const runs = [
    run('e2e/a.test.ts', '2026-11-01', 7),
    run('e2e/b.test.ts', '2026-11-03', 2),
    run('e2e/a.test.ts', '2026-11-02', 5),
  ];
  expect(writeCompatibility(runs.reduce(addRun, []))).toContain(
    '| Kubernetes | 1.37.2 | 7 | 0 | e2e | some files | 2026-11-03 |\n',
  );
});

test('a row that names no file is dropped for rows of files that may have its tests', () => {
  const run = (passed: number, areas: readonly string[], file?: string) => ({
    date: '2026-11-02',
    run: 'some files' as const,
    parts: [
      {
        part: 'flux',
        title: 'Flux',
        version: '2',
        passed,
        failed: 0,
        areas,
        ...(file === undefined ? {} : { file }),
      },
    ],
  });
  const runs = [
    run(3, ['integration/kubernetes']),
    run(5, ['integration/publish'], 'integration/publish/b.test.ts'),
    run(18, ['integration/kubernetes'], 'integration/kubernetes/a.test.ts'),
  ];
  const passed = (rows: ReturnType<typeof readRows>) => rows.map((row) => row.passed);
  expect(passed(runs.slice(0, 2).reduce(addRun, []))).toEqual([3, 5]);
  expect(passed(runs.reduce(addRun, []))).toEqual([18, 5]);
});

test('no recorded row may count the tests of another', () => {
  expect(addRun(readRows(), { date: '', run: 'some files', parts: [] })).toEqual(readRows());
});

test('versions of programs that are built from a lock are those of their modules', () => {
  const lock =
    'require (\n\texample.com/a v1.2.3\n\texample.com/b/v2 v2.0.1 // indirect\n)\n\nrequire example.com v0.1.0\n';
  expect(lockedVersions(lock, ['example.com/a/cmd/x', 'example.com/a/cmd/y'])).toBe('1.2.3');
  expect(lockedVersions(lock, ['example.com/a', 'example.com/b/v2/cmd'])).toBe('a 1.2.3, v2 2.0.1');
  expect(lockedVersions(lock, ['example.com/c'])).toBe('0.1.0');
});
