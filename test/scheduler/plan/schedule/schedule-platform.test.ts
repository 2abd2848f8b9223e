import { describe, expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import { schedulePlatform } from '../../../../scheduler/plan/schedule/schedule-platform.ts';
import { clusterType, platform, policy, target } from '../../model-objects.ts';

const labels = (matchLabels: Record<string, string>) => ({ matchLabels, matchExpressions: [] });
const pairs = (more: Parameters<typeof platform>[0]) => {
  const schedule = schedulePlatform(platform(more));
  return {
    ...schedule,
    pairs: schedule.assignments.map((one) => `${one.clusterType.name}/${one.target.name} by ${one.policy}`),
    faults: schedule.held.map(
      ({ assignment, error }) => `${assignment.clusterType.name}/${assignment.target.name} ${error.code}`,
    ),
  };
};

const types = [clusterType('a', { labels: { size: 'large' } }), clusterType('b')];
const targets = [target('shop/api'), target('shop/web', { labels: { workspace: 'team', purpose: 'web' } })];

test('a policy assigns its targets to its cluster types, ordered by type and target', () => {
  expect(pairs({ clusterTypes: types, targets, policies: [policy('all')] }).pairs).toEqual([
    'a/shop-api by all',
    'a/shop-web by all',
    'b/shop-api by all',
    'b/shop-web by all',
  ]);
});

test('a policy is limited by selectors and workspace', () => {
  const only = policy('p', {
    workspace: 'team',
    targets: labels({ purpose: 'web' }),
    clusterTypes: labels({ size: 'large' }),
  });
  expect(pairs({ clusterTypes: types, targets, policies: [only] }).pairs).toEqual(['a/shop-web by p']);
  expect(
    pairs({ clusterTypes: types, targets, policies: [policy('q', { workspace: 'other' })] }).pairs,
  ).toEqual([]);
});

test('a pair of several policies belongs to the first by name, with one advice for each two policies', () => {
  const {
    pairs: assigned,
    advice,
    faults,
  } = pairs({
    clusterTypes: types,
    targets,
    policies: [
      policy('first', { clusterTypes: labels({ size: 'large' }) }),
      policy('second'),
      policy('third'),
    ],
  });
  expect(assigned).toEqual([
    'a/shop-api by first',
    'a/shop-web by first',
    'b/shop-api by second',
    'b/shop-web by second',
  ]);
  expect(faults).toEqual([]);
  expect(advice.map(formatError)).toEqual([
    'platform/second.yaml:1:1: DUPLICATE_ASSIGNMENT: SchedulingPolicy second: policies first and second both select shop-api on a and 1 more; first has it. Narrow the selectors of one of the two.',
    'platform/third.yaml:1:1: DUPLICATE_ASSIGNMENT: SchedulingPolicy third: policies first and third both select shop-api on a and 1 more; first has it. Narrow the selectors of one of the two.',
    'platform/third.yaml:1:1: DUPLICATE_ASSIGNMENT: SchedulingPolicy third: policies second and third both select shop-api on b and 1 more; second has it. Narrow the selectors of one of the two.',
  ]);
});

describe('target names', () => {
  test('that two targets share hold both, and no others', () => {
    const clashing = [target('a/b-c'), target('a-b/c'), target('shop/web')];
    const {
      pairs: assigned,
      held,
      faults,
    } = pairs({ clusterTypes: [types[1]!], targets: clashing, policies: [policy('all')] });
    expect(assigned).toEqual(['b/shop-web by all']);
    expect(faults).toEqual(['b/a-b-c NAME_CLASH', 'b/a-b-c NAME_CLASH']);
    expect(formatError(held[0]!.error)).toBe(
      'apps/a/b-c.yaml:1:1: NAME_CLASH: DeploymentTarget a-b-c: target b-c of workload a and target c of workload a-b are both called a-b-c. Remove or rename one of them; the other is at apps/a-b/c.yaml:1:1.',
    );
  });

  test('of one target in two registrations belong to the first registration', () => {
    const twice = [
      target('shop/web', { registration: 'shop-again' }),
      target('shop/web', { registration: 'shop' }),
    ];
    const found = pairs({ clusterTypes: [types[1]!], targets: twice, policies: [policy('all')] });
    expect(found.held.map(({ assignment }) => assignment.target.registration)).toEqual(['shop-again']);
    expect(formatError(found.held[0]!.error)).toContain(
      'target web of workload shop would be called shop-web, which belongs to the registration shop of workspace team (apps/shop/web.yaml:1:1)',
    );
  });

  test('that an application declares twice hold both targets', () => {
    const twice = [
      target('shop/web', { registration: 'shop' }),
      target('shop/web', { registration: 'shop' }),
    ];
    const { faults } = pairs({ clusterTypes: [types[1]!], targets: twice, policies: [policy('all')] });
    expect(faults).toEqual(['b/shop-web NAME_CLASH', 'b/shop-web NAME_CLASH']);
  });

  test('without any selecting policy are reported once', () => {
    const { advice } = pairs({ targets: [target('shop/api'), target('shop/web')] });
    expect(advice.map(formatError)).toEqual([
      'apps/shop/api.yaml:1:1: REFERENCE_MISSING: DeploymentTarget shop-api: no policy assigns shop-api and 1 more on any cluster type. If that is not intended, compare its labels with the selectors of the policies.',
    ]);
  });

  test('may have 63 characters; with 64 the target is held', () => {
    const long = [target(`shop/${'x'.repeat(58)}`), target(`shop/${'y'.repeat(59)}`)];
    const { pairs: assigned, faults } = pairs({
      clusterTypes: [types[1]!],
      targets: long,
      policies: [policy('all')],
    });
    expect(assigned).toHaveLength(1);
    expect(faults).toEqual([`b/shop-${'y'.repeat(59)} NAME_INVALID`]);
  });

  test('that clash are reported even when no policy selects them', () => {
    expect(pairs({ targets: [target('a/b-c'), target('a-b/c')] }).advice.map((error) => error.code)).toEqual([
      'NAME_CLASH',
      'NAME_CLASH',
    ]);
  });
});

describe('dependencies', () => {
  const withDependencies = (...all: readonly (readonly [string, ...string[]])[]) =>
    pairs({
      clusterTypes: [types[1]!],
      targets: all.map(([name, ...dependsOn]) => target(name, { dependsOn })),
      policies: [policy('all')],
    });

  test('on a target of the same cluster type are accepted', () => {
    expect(withDependencies(['db/main'], ['shop/web', 'db-main']).faults).toEqual([]);
  });

  test('on a missing target hold the dependent one', () => {
    const { faults, held } = withDependencies(['db/main'], ['shop/web', 'db-mian']);
    expect(faults).toEqual(['b/shop-web DEPENDENCY_MISSING']);
    expect(held[0]?.error.message).toBe('shop-web depends on db-mian, which no policy assigns to b');
  });

  test('in a circle hold its members, and no target that depends on them', () => {
    const {
      faults,
      pairs: assigned,
      held,
    } = withDependencies(['a/x', 'b-x'], ['b/x', 'c-x'], ['c/x', 'a-x'], ['d/x', 'a-x'], ['e/x', 'e-x']);
    expect(faults).toEqual([
      'b/a-x DEPENDENCY_CYCLE',
      'b/b-x DEPENDENCY_CYCLE',
      'b/c-x DEPENDENCY_CYCLE',
      'b/e-x DEPENDENCY_CYCLE',
    ]);
    expect(assigned).toEqual(['b/d-x by all']);
    expect(held[0]?.error.message).toBe('a-x waits for b-x waits for c-x waits for a-x');
  });
});

describe('a critical target', () => {
  const critical = target('shop/web', { critical: true, registration: 'shop' });
  const faultsOf = (more: Parameters<typeof platform>[0]) =>
    pairs({ clusterTypes: types, targets: [critical], policies: [policy('all')], ...more }).faults;
  const workspace = (name: string, granted: boolean) => ({
    name,
    host: { paths: [], units: [], users: [], secretSets: [] },
    siteValues: [],
    critical: granted,
    at: { file: 'platform/teams.yaml' },
  });

  test.for([
    ['without a Workspace', {}],
    ['without the grant', { workspaces: [workspace('team', false)] }],
    ["with another team's grant", { workspaces: [workspace('other', true), workspace('team', false)] }],
  ] as const)('N43: %s -> OUT_OF_BOUNDS', ([, more]) => {
    expect(faultsOf(more)).toEqual(['a/shop-web OUT_OF_BOUNDS', 'b/shop-web OUT_OF_BOUNDS']);
  });

  test('is scheduled when its workspace may have critical targets, and in the platform itself', () => {
    expect(faultsOf({ workspaces: [workspace('team', true)] })).toEqual([]);
    expect(faultsOf({ targets: [target('shop/web', { critical: true })] })).toEqual([]);
  });
});
