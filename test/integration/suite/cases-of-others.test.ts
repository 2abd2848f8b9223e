import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { FLUX_SSA, KAPP, type OtherCases } from '../../conformance/cases-of-others.ts';
import { LINES } from '../../conformance/lines.ts';

/** Names of the test functions in the Go files of a folder. */
const testsIn = async (folder: string, files: RegExp): Promise<readonly string[]> => {
  const names = (await readdir(folder)).filter((name) => files.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return texts.flatMap((text) => [...text.matchAll(/^func (Test\w+)\(/gm)].map(([, name = '']) => name));
};

describeWith(['fluxSsa', 'kappCases'], 'the cases of other appliers', ({ fluxSsa, kappCases }) => {
  it.each([
    ['Flux', () => testsIn(fluxSsa, /^manager.*_test\.go$/), FLUX_SSA.cases],
    ['kapp', () => testsIn(kappCases, /_test\.go$/), KAPP.cases],
  ] as const)(
    'of %s are each in one row of docs/applier.md, with lines of the card',
    async (_, list, rows) => {
      const all: readonly OtherCases[] = rows;
      const rowsOf = (name: string) => all.filter(({ tests }) => tests.test(name)).map(({ what }) => what);
      const names = await list();
      expect(names.length).toBeGreaterThan(40);
      expect(names.map((name) => [name, rowsOf(name).length]).filter(([, count]) => count !== 1)).toEqual([]);
      for (const { tests } of all)
        expect(
          names.some((name) => tests.test(name)),
          String(tests),
        ).toBe(true);
      const known = new Set(LINES.map(({ id }) => id));
      expect(all.flatMap(({ lines }) => lines).filter((id) => !known.has(id))).toEqual([]);
    },
  );
});
