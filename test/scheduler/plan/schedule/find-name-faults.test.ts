import { describe, expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import type { Platform } from '../../../../scheduler/model/model.ts';
import { findNameFaults, type PastTargets } from '../../../../scheduler/plan/schedule/find-name-faults.ts';
import { layer, platform, policy, schema, target } from '../../model-objects.ts';

/** 'registration/workspace brings workload/target'. */
const bring = (registration: string, workspace: string, name: string) =>
  target(name, { workspace, ...(registration === '' ? {} : { registration }) });

const given = (
  ...names: readonly (readonly [string, string, string])[]
): Pick<Platform, 'workloadOwners'> => ({
  workloadOwners: new Map(
    names.map(([name, registration, workspace]) => [name, { registration, workspace }]),
  ),
});

/** 'registration target CODE' of each that is refused. */
const refused = (more: Partial<Platform>, past: PastTargets = new Map()): readonly string[] =>
  [...findNameFaults(platform({ form: 'fleet', ...more }), past)].map(
    ([{ registration = '', name }, { code }]) => `${registration} ${name} ${code}`,
  );

const said = (more: Partial<Platform>, past?: PastTargets): string =>
  [...findNameFaults(platform({ form: 'fleet', ...more }), past).values()].map(formatError).join();

describe('the name of a workload', () => {
  const monitor = bring('monitor', 'ops', 'monitor/host');
  const thief = bring('aaa', 'evil', 'monitor/x');

  test('N45: that is the name of another registration -> NAME_CLASH', () => {
    const owners = given(['monitor', 'monitor', 'ops'], ['aaa', 'aaa', 'evil']);
    expect(refused({ targets: [thief, monitor], ...owners })).toEqual(['aaa monitor-x NAME_CLASH']);
    // Also while that one has no target here, and whatever the last release says.
    expect(refused({ targets: [thief], ...owners }, new Map([['monitor-x', thief]]))).toEqual([
      'aaa monitor-x NAME_CLASH',
    ]);
    expect(said({ targets: [thief, monitor], ...owners })).toContain(
      'the workload name monitor belongs to the registration monitor of workspace ops, and aaa brings it, too',
    );
  });

  test("N45: that is one of the platform's own -> NAME_CLASH", () => {
    const targets = [bring('', '', 'monitor/host'), thief];
    expect(refused({ targets, ...given(['monitor', 'aaa', 'evil']) })).toEqual(['aaa monitor-x NAME_CLASH']);
  });

  test('N45: that another workspace had in the last release -> NAME_CLASH', () => {
    const targets = [bring('aaa', 'evil', 'node-monitor/x'), bring('zzz', 'ops', 'node-monitor/host')];
    const past = new Map([['node-monitor-host', { workload: 'node-monitor', workspace: 'ops' }]]);
    expect(refused({ targets }, past)).toEqual(['aaa node-monitor-x NAME_CLASH']);
    // Without a last release the registration that is first by name has it.
    expect(refused({ targets })).toEqual(['zzz node-monitor-host NAME_CLASH']);
    // The past counts while the other workspace cannot be read, and not after it gave the name up.
    const [only] = targets;
    const unread = { registration: 'zzz', workspace: 'ops', at: { file: 'x' }, errors: [] };
    expect(refused({ targets: [only!], heldWorkloads: [unread] }, past)).toEqual([
      'aaa node-monitor-x NAME_CLASH',
    ]);
    expect(refused({ targets: [only!] }, past)).toEqual([]);
  });

  test('may be shared by registrations of one workspace', () => {
    const targets = [bring('shop-eu', 'sales', 'shop/eu'), bring('shop-us', 'sales', 'shop/us')];
    expect(refused({ targets })).toEqual([]);
    expect(refused({ targets, ...given(['shop', 'shop-us', 'sales']) })).toEqual([]);
  });
});

describe('the name of a target', () => {
  const split = [bring('a', 'evil', 'a/b-c'), bring('a-b', 'sales', 'a-b/c')];

  test('N45: that two workloads make in two ways belongs to the one of the last release -> NAME_CLASH', () => {
    const past = (workload: string, workspace: string): PastTargets =>
      new Map([['a-b-c', { workload, workspace }]]);
    expect(refused({ targets: split }, past('a-b', 'sales'))).toEqual(['a a-b-c NAME_CLASH']);
    expect(refused({ targets: split }, past('a', 'evil'))).toEqual(['a-b a-b-c NAME_CLASH']);
    expect(refused({ targets: split })).toEqual(['a-b a-b-c NAME_CLASH']);
  });

  test('N45: of an application that cannot be read now -> NAME_CLASH', () => {
    const past = new Map([['a-b-c', { workload: 'a-b', workspace: 'sales' }]]);
    const unread = { registration: 'a-b', workspace: 'sales', at: { file: 'x' }, errors: [] };
    expect(refused({ targets: split.slice(0, 1), heldWorkloads: [unread] }, past)).toEqual([
      'a a-b-c NAME_CLASH',
    ]);
  });
});

describe('a workload name in a selector', () => {
  const thief = bring('aaa', 'evil', 'node-monitor/x');
  const only = { matchLabels: { workload: 'node-monitor' }, matchExpressions: [] };
  const either = {
    matchLabels: {},
    matchExpressions: [{ key: 'workload', operator: 'In', values: ['other', 'node-monitor'] }],
  } as const;

  test.for([
    ['a Config by the workload', { configs: [layer('power', { selector: { workload: 'node-monitor' } })] }],
    [
      'a Config by the target',
      { configs: [layer('power', { selector: { 'deployment-target': 'node-monitor-x' } })] },
    ],
    [
      'a Config by more',
      { configs: [layer('power', { selector: { workload: 'node-monitor', region: 'eu' } })] },
    ],
    ['a ConfigSchema', { schemas: [schema('rules', {}, { workload: 'node-monitor' })] }],
    ['a policy', { policies: [policy('power', { targets: only })] }],
    ['a policy with an expression', { policies: [policy('power', { targets: either })] }],
  ] as const)('N46: %s, and that only its author chose -> OUT_OF_BOUNDS', ([, more]) => {
    expect(refused({ targets: [thief], ...more })).toEqual(['aaa node-monitor-x OUT_OF_BOUNDS']);
    expect(said({ targets: [thief], ...more })).toContain(
      'the annotation fleet-ferry/allow-workloads: node-monitor on WorkloadRegistration aaa, or a selector by registration: aaa',
    );
    expect(refused({ targets: [thief], ...more, ...given(['node-monitor', 'aaa', 'evil']) })).toEqual([]);
    expect(refused({ targets: [bring('', '', 'node-monitor/x')], ...more })).toEqual([]);
    // Kalypso's selectors match every Workload of the name.
    expect(refused({ form: 'kalypso', targets: [thief], ...more })).toEqual([]);
  });

  test("N46: of another workload's target, made in another way -> OUT_OF_BOUNDS", () => {
    const configs = [layer('power', { selector: { 'deployment-target': 'node-monitor-x' } })];
    const owners = given(['node', 'node', 'evil'], ['node-monitor', 'node-monitor', 'ops']);
    const targets = [bring('node', 'evil', 'node/monitor-x')];
    expect(refused({ targets, configs, ...owners })).toEqual(['node node-monitor-x OUT_OF_BOUNDS']);
    expect(refused({ targets, configs, ...given(['node', 'node', 'evil']) })).toEqual([]);
  });

  test('N45: that belongs to another registration is said to do so -> NAME_CLASH', () => {
    const configs = [layer('power', { selector: { workload: 'node-monitor' } })];
    const owners = given(['node-monitor', 'node-monitor', 'ops']);
    expect(refused({ targets: [thief], configs, ...owners })).toEqual(['aaa node-monitor-x NAME_CLASH']);
  });

  test('a registration whose name is only a part of the Workload name causes no clash', () => {
    const configs = [layer('power', { selector: { workload: 'monitor' } })];
    expect(refused({ targets: [thief], configs })).toEqual([]);
  });
});
