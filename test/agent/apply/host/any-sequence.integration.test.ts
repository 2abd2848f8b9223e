import { mkdir, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { isFleetError } from '../../../../bundles/errors.ts';
import { applyTo, lines, never, type PackageSpec, packageOf, sandbox } from './sandbox.ts';
import { runs } from '../../../harness/run/long.ts';

const path = fc.constantFrom('/a', '/a/b', '/a/b/c', '/d', '/d/e', '/etc/x');
const mode = fc.constantFrom('0644', '0600');
const content = fc.constantFrom('1', '2', '3');
const file = fc.record({ content, mode });
const spec: fc.Arbitrary<PackageSpec> = fc.record({
  files: fc.dictionary(path, file, { maxKeys: 4 }),
  directories: fc.dictionary(path, fc.record({ mode: fc.constantFrom('0755', '0700') }), { maxKeys: 2 }),
});
const foreign = fc.dictionary(path, fc.oneof(content, fc.constant('-> etc')), { maxKeys: 2 });
const UNCUT = 1000;
/** Where the power goes, in steps; mostly it does not. */
const cut = fc.oneof({ weight: 2, arbitrary: fc.constant(UNCUT) }, { weight: 1, arbitrary: fc.nat(6) });

const linesOf = ({ files, directories }: PackageSpec): readonly string[] => [
  ...Object.entries(files ?? {}).map(([at, given]) => {
    const { mode, content } = given as { mode: string; content: string };
    return `${at.slice(1)} file ${mode.slice(1)} ${content}`;
  }),
  ...Object.entries(directories ?? {}).map(([at, { mode }]) => `${at.slice(1)} directory ${mode?.slice(1)}`),
];

/** A package that contradicts itself or meets somebody's folder is refused: not what is looked for here. */
const isRefusal = (error: unknown): boolean =>
  ['DUPLICATE', 'BUNDLE_FORMAT', 'APPLY_FAILED'].some((code) => isFleetError(error, code as 'DUPLICATE'));

it('any sequence of packages, with power cuts, ends in the last package, and its removal restores the original host', async () => {
  let applied = 0;
  await fc.assert(
    fc.asyncProperty(foreign, fc.array(fc.tuple(spec, cut), { maxLength: 4 }), async (before, packages) => {
      await using host = await sandbox();
      for (const [at, text] of Object.entries(before)) {
        if (!text.startsWith('-> ')) await host.put(at, text, 0o640).catch(() => {});
        else
          await mkdir(dirname(host.at(at)), { recursive: true })
            .then(() => symlink(text.slice(3), host.at(at)))
            .catch(() => {});
      }
      const start = await host.tree();
      for (const [wanted, limit] of packages) {
        const desired = packageOf(wanted);
        try {
          await applyTo(host.target, host.inventory, desired, new Map(), limit);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          continue;
        }
        // After the power cut: whatever comes next.
        if (limit !== UNCUT) continue;
        applied++;
        expect(await host.tree()).toEqual(expect.arrayContaining([...linesOf(wanted)]));
        const again = await host.target.plan(desired, host.inventory.owned, new Map(), never);
        expect(lines(again.steps)).toEqual([]);
      }
      await applyTo(host.target, host.inventory, undefined);
      expect(await host.tree()).toEqual(start);
    }),
    { numRuns: runs(200, 3) },
  );
  // Far below what 200 sequences give on average: it only guards against a generator that makes nothing that applies.
  expect(applied).toBeGreaterThan(20);
}, 300_000);
