import { describe, expect, test } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { holdOverTime } from '../../../../scheduler/assemble/bundle/hold-over-time.ts';
import { refuseReaders } from '../../../../scheduler/assemble/bundle/refuse-readers.ts';
import type { Platform } from '../../../../scheduler/model/model.ts';
import { clusterType, platform, target } from '../../model-objects.ts';

type Wants = Pick<AssembledPackage, 'seconds'> & { readonly reads?: readonly string[] };

const made = (registration: string, workspace: string, { reads = [], seconds }: Wants): AssembledPackage =>
  ({
    id: `${registration}-host`,
    siteInputs: reads.map((input) => ({ input, file: '/a', pointer: '/A', schema: {} })),
    ...(registration !== '' && { reads }),
    ...(seconds !== undefined && { seconds }),
    assignment: {
      clusterType: clusterType('press'),
      target: target(`${registration}/host`, { workspace, ...(registration !== '' && { registration }) }),
      policy: 'all',
    },
  }) as unknown as AssembledPackage;

const line = { reads: ['line'] };

describe('a site value, in a platform without Workspace objects', () => {
  const [owner, thief] = [made('zzz', 'ops', line), made('aaa', 'evil', line)];
  const both = [owner, thief];
  const of = (
    packages: readonly AssembledPackage[],
    past: readonly string[] = [],
    more: Partial<Platform> = {},
  ) =>
    refuseReaders(packages, {
      platform: platform({ targets: packages.map(({ assignment }) => assignment.target), ...more }),
      readers: new Map(past.length > 0 ? [['line', new Set(past)]] : []),
    }).map(({ assignment, error }) => `${assignment.target.registration} ${error.code}`);

  test('N47: that another workspace reads in the last release -> OUT_OF_BOUNDS', () => {
    expect(of(both, ['ops'])).toEqual(['aaa OUT_OF_BOUNDS']);
    // On another cluster type, too: a site has one value for all its agents.
    expect(of([thief], ['ops'], { targets: [owner.assignment.target] })).toEqual(['aaa OUT_OF_BOUNDS']);
    expect(of(both, ['ops', 'evil'])).toEqual([]);
  });

  test('N47: that two ask for at once belongs to the first registration -> OUT_OF_BOUNDS', () => {
    expect(of(both)).toEqual(['zzz OUT_OF_BOUNDS']);
    expect(of([made('z', 'ops', line), made('y', 'ops', line)])).toEqual([]);
  });

  test('may be read by another workspace when its reader is no longer in the platform', () => {
    expect(of([thief], ['ops'])).toEqual([]);
  });

  test("may always be read by the platform's own packages and templates", () => {
    expect(of([owner, made('', '', line)], ['ops'])).toEqual([]);
    expect(of([owner, { ...thief, reads: [] }], ['ops'])).toEqual([]);
  });
});

describe('the time limit of a workspace', () => {
  const workspace = {
    name: 'ops',
    host: { paths: [], units: [], users: [], secretSets: [] },
    siteValues: [],
    critical: false,
    limits: { workspaceSeconds: 100 },
    at: { file: 'x' },
  };

  test('N41: of all its packages on one host -> WORKSPACE_LIMIT', () => {
    const packages = [
      made('a', 'ops', { seconds: 60 }),
      made('b', 'ops', { seconds: 41 }),
      made('c', 'sales', { seconds: 7000 }),
      made('', '', {}),
    ];
    const held = holdOverTime(packages, [workspace]);
    expect(held.map(({ assignment, error }) => [assignment.target.name, error.code])).toEqual([
      ['a-host', 'WORKSPACE_LIMIT'],
      ['b-host', 'WORKSPACE_LIMIT'],
    ]);
    expect(String(held[0]?.error)).toContain(
      'the checks and services of all packages of workspace ops on press: 101 seconds, more than the limit workspaceSeconds allows, which is 100',
    );
    expect(held[0]?.error.hint).toBe(
      'Shorten its timeouts, or raise spec.limits.workspaceSeconds of the Workspace ops in the platform',
    );
    expect(holdOverTime(packages.slice(1), [workspace])).toEqual([]);
  });
});
