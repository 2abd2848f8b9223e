import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { describeTakeover } from '../../../scheduler/views/import/describe-takeover.ts';
import { takeOver } from '../../../scheduler/views/import/take-over.ts';
import { temporaryDirectory } from '../../scheduler/file-tree.ts';
import { KALYPSO_CASES, openCase } from './kalypso-case.ts';

const there = existsSync(KALYPSO_CASES);
if (!there) console.warn('SKIPPED: the recorded Kalypso cases are not here (set FLEET_KALYPSO_CASES)');

const take = async (name: string, environment: string) => {
  const to = join(await temporaryDirectory(), 'platform');
  const { signal } = new AbortController();
  const options = await openCase(name, environment);
  const report = await takeOver({ ...options, fleet: 'acme', environments: [environment], to, signal });
  const [only] = report.environments;
  if (!only?.taken) throw new Error('nothing was taken over');
  return { to, report, only, taken: only.taken };
};

describe.skipIf(!there)('a control plane that is taken over', () => {
  test.for([
    ['real-kaizen-prod', 'prod', 9, 10],
    ['real-kaizen-stage', 'stage', 8, 9],
    ['real-microsoft-dev', 'dev', 7, 8],
    ['real-microsoft-stage', 'stage', 2, 3],
    ['real-configuratix-dev', 'dev', 27, 22],
  ] as const)('%s renders the same bytes in our form', async ([name, environment, files, published]) => {
    const { report, only, taken } = await take(name, environment);
    expect(taken.values).toEqual([]);
    expect(taken.held).toEqual([]);
    expect(report.notes).toEqual([]);
    expect({ ...taken.files, equal: taken.files.equal.length }).toEqual({
      equal: files,
      changed: [],
      changes: [],
      onlyBefore: [],
      onlyAfter: [],
    });
    expect(only.published).toMatchObject({ state: 'compared' });
    if (only.published.state === 'compared') expect(only.published.files.equal).toHaveLength(published);
  });

  test('reports the values that differ, with both positions', async () => {
    const { to, report, taken } = await take('sem-merge', 'dev');
    expect(taken.values.map(({ key, assignments }) => [key, assignments])).toEqual([
      ['obj', ['edge-a/shop-api', 'edge-a/shop-web']],
    ]);
    expect(taken.files.changed).toEqual([
      'edge-a/shop-api/platform-config.yaml',
      'edge-a/shop-web/platform-config.yaml',
    ]);
    expect(describeTakeover(report, to).join('\n')).toMatch(
      /value obj: Kalypso has .*"w":10.*azure-app-config-x\.yaml:11:18\), here it is .*"w":9.*c10-region-eu\.yaml:11:8\), in edge-a\/shop-api and 1 more/,
    );
  });

  test('keeps the files of its authors, with comments', async () => {
    const { to } = await take('real-microsoft-dev', 'dev');
    expect(await readFile(join(to, 'fleet.yaml'), 'utf8')).toContain('    - name: dev\n');
    expect(existsSync(join(to, 'base/main'))).toBe(true);
    expect(existsSync(join(to, 'environments/dev/base-repo.yaml'))).toBe(false);
  });
});
