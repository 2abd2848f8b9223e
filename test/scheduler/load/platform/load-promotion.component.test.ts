import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type FleetError, formatError } from '../../../../bundles/errors.ts';
import { findRoot, sourcesOf } from '../../../../scheduler/load/load-platform.ts';
import { loadPromotion } from '../../../../scheduler/load/platform/load-promotion.ts';
import { createProblems } from '../../../../scheduler/model/problems.ts';
import { validatePlatform } from '../../../../scheduler/views/validate-platform.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';

const CHAIN = ours(
  'Fleet',
  'halden',
  'spec:\n  environments:\n    - {name: dev}\n    - {name: qa, promotedFrom: dev}\n    - {name: prod, promotedFrom: qa}\n',
);

const platformWith = async (files: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), 'platform/fleet.yaml': CHAIN, ...files });
  const options = {
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  };
  const said = (errors: readonly FleetError[]) =>
    errors.map((error) => formatError(error).replaceAll(`${directory}/platform/`, ''));
  return { options, said };
};

const load = async (files: Readonly<Record<string, string>>) => {
  const { options, said } = await platformWith(files);
  const sources = sourcesOf(options);
  const problems = createProblems();
  const root = await findRoot(options.platform, sources, problems);
  const promotion = await loadPromotion(sources, root, problems);
  return { promotion, problems: said(problems.found) };
};

const policy = (name: string, spec: string): string => ours('PromotionPolicy', name, `spec: ${spec}\n`);
const rollout = (stages: string): string =>
  ours('RolloutPolicy', 'prod', `spec: {environment: prod, stages: [${stages}]}\n`);

test('reads the chain and the policies, with durations in seconds', async () => {
  const { promotion, problems } = await load({
    'platform/promotion/all.yaml': [
      policy(
        'to-prod',
        '{from: qa, to: prod, soak: 24h, freshness: 12h, absent: {after: 30d, then: exclude}, approvals: {required: 1, from: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, windows: ["0 6 * * 1-4 for 8h"], freeze: [{from: 2026-12-20, to: 2027-01-04}], direct: forbid}',
      ),
      rollout(
        '{name: pilot, selector: {matchLabels: {ring: pilot}}, maxFailures: 1%}, {name: all, percent: 100}',
      ),
      ours('FreshnessPolicy', 'ships', 'spec: {environment: prod, late: 2w, stale: 60d}\n'),
    ].join('---\n'),
  });
  expect(problems).toEqual([]);
  expect(promotion).toMatchObject({
    environments: [
      { name: 'dev' },
      { name: 'qa', promotedFrom: 'dev' },
      { name: 'prod', promotedFrom: 'qa' },
    ],
    promotionPolicies: [
      {
        name: 'to-prod',
        mode: 'manual',
        soakSeconds: 86_400,
        freshnessSeconds: 43_200,
        // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
        absent: { afterSeconds: 2_592_000, then: 'exclude' },
        approvals: { required: 1, from: ['a'.repeat(64)], notAuthor: true },
        freeze: [{ from: '2026-12-20', to: '2027-01-04' }],
        direct: 'forbid',
      },
    ],
    rolloutPolicies: [
      {
        stages: [
          { name: 'pilot', maxFailures: { percent: 1 }, soakSeconds: 0, approvals: 0 },
          { name: 'all', percent: 100, maxFailures: { count: 0 } },
        ],
        onFailure: 'stop',
      },
    ],
    freshnessPolicies: [{ lateSeconds: 1_209_600, staleSeconds: 5_184_000, clusterTypes: [] }],
  });
});

test('a platform without promotion/ has a chain and no policies', async () => {
  const { promotion, problems } = await load({});
  expect(problems).toEqual([]);
  expect(promotion).toMatchObject({ promotionPolicies: [], rolloutPolicies: [], freshnessPolicies: [] });
});

test.for([
  [
    'a policy for a link that the chain does not have',
    policy('p', '{from: dev, to: prod}'),
    'promotion/p.yaml:5:14: REFERENCE_MISSING: PromotionPolicy p: prod is not promoted from dev. prod is promoted from qa.',
  ],
  [
    'a policy for the first environment',
    policy('p', '{from: qa, to: dev}'),
    'promotion/p.yaml:5:14: REFERENCE_MISSING: PromotionPolicy p: dev is not promoted from qa. Write promotedFrom: qa at dev in fleet.yaml.',
  ],
  [
    'a misspelled environment',
    policy('p', '{from: qa, to: prd}'),
    'promotion/p.yaml:5:22: REFERENCE_MISSING: PromotionPolicy p: the fleet has no environment prd. Did you mean prod? The fleet has dev, qa, prod.',
  ],
  [
    'two policies for one link',
    `${policy('p', '{from: qa, to: prod}')}---\n${policy('q', '{from: qa, to: prod}')}`,
    'promotion/p.yaml:7:1: NAME_CLASH: PromotionPolicy q: PromotionPolicy p is about the promotion from qa to prod, too. Remove one of them; the other one is at promotion/p.yaml:1.',
  ],
  [
    'more than a hundred percent',
    policy('p', '{from: qa, to: prod, compliance: {percent: 101}}'),
    'promotion/p.yaml:5:50: FIELD_INVALID: PromotionPolicy p: spec.compliance.percent must be from 1 to 100, not 101',
  ],
  [
    'a duration without a unit',
    policy('p', '{from: qa, to: prod, soak: "24"}'),
    'promotion/p.yaml:5:34: FIELD_INVALID: PromotionPolicy p: spec.soak "24" is not a duration. Write it like 30m, 12h, 14d or 2w.',
  ],
  [
    'a window that no calendar has',
    policy('p', '{from: qa, to: prod, windows: ["0 25 * * * for 1h"]}'),
    'promotion/p.yaml:5:38: FIELD_INVALID: PromotionPolicy p: spec.windows[0] "0 25 * * * for 1h" is not a time. Write it like \'0 22 * * 1-5 for 6h\': minute, hour, day, month, weekday.',
  ],
  [
    'a freeze that ends before it begins',
    policy('p', '{from: qa, to: prod, freeze: [{from: 2027-01-04, to: 2026-12-20}]}'),
    'promotion/p.yaml:5:36: FIELD_INVALID: PromotionPolicy p: the freeze from 2027-01-04 to 2026-12-20 is not a span of days. Write from before to, both as days of the calendar.',
  ],
  [
    'a freeze that ends on a day that no calendar has',
    policy('p', '{from: qa, to: prod, freeze: [{from: 2027-02-01, to: 2027-02-30}]}'),
    'promotion/p.yaml:5:36: FIELD_INVALID: PromotionPolicy p: the freeze from 2027-02-01 to 2027-02-30 is not a span of days. Write from before to, both as days of the calendar.',
  ],
  [
    'approvals by a name instead of a key',
    policy('p', '{from: qa, to: prod, approvals: {required: 1, from: anna}}'),
    'promotion/p.yaml:5:59: FIELD_INVALID: PromotionPolicy p: spec.approvals.from "anna" is not the fingerprint of a key. Write the 64 digits that fleet-scheduler root inspect shows under bundle.',
  ],
  [
    'more approvals than keys that may give them',
    policy('p', `{from: qa, to: prod, approvals: {required: 2, from: ${'a'.repeat(64)}}}`),
    'promotion/p.yaml:5:39: FIELD_INVALID: PromotionPolicy p: it asks for 2 approvals, and 1 key may give one. Require fewer, or add fingerprints to from.',
  ],
  [
    'a stage that adds nothing',
    rollout('{name: half, percent: 50}, {name: pilot, percent: 20, selector: {matchLabels: {ring: pilot}}}'),
    'promotion/p.yaml:5:35: FIELD_INVALID: RolloutPolicy prod: the stage pilot adds no agents to those of half. Remove it, or select more agents than the stages before.',
  ],
  [
    'two stages of one name',
    rollout('{name: half, percent: 50}, {name: half, percent: 60}'),
    'promotion/p.yaml:5:35: FIELD_INVALID: RolloutPolicy prod: two stages are called half. Rename one.',
  ],
  [
    'approvals of the first stage, which nothing would wait for',
    rollout('{name: half, percent: 50, approvals: 1}, {name: all, percent: 100, approvals: 1}'),
    'promotion/p.yaml:5:35: FIELD_INVALID: RolloutPolicy prod: the first stage, half, begins with the release and waits for no approvals. Require them in the PromotionPolicy of the environment, or at a later stage.',
  ],
  [
    'a stage that selects nobody',
    rollout('{name: half}'),
    'promotion/p.yaml:5:36: FIELD_INVALID: RolloutPolicy prod: spec.stages[0] selects no agents. Give it a selector, a percent or both.',
  ],
  [
    'a freshness that is stale before it is late',
    ours('FreshnessPolicy', 'f', 'spec: {environment: prod, late: 2d, stale: 1d}\n'),
    'promotion/p.yaml:5:44: FIELD_INVALID: FreshnessPolicy f: stale is not longer than late. An agent is late first, and stale some time later.',
  ],
  [
    'an object of another kind',
    ours('ClusterType', 'edge', 'spec: {}\n'),
    'promotion/p.yaml:1:1: UNKNOWN_KIND: ClusterType edge: a ClusterType has no meaning here. The folder promotion/ holds PromotionPolicy, RolloutPolicy and FreshnessPolicy.',
  ],
] as const)('%s is reported with its place', async ([, text, message]) => {
  expect((await load({ 'platform/promotion/p.yaml': text })).problems).toEqual([message]);
});

const chainOf = (...entries: readonly string[]): Record<string, string> => ({
  'platform/fleet.yaml': ours(
    'Fleet',
    'halden',
    `spec:\n  environments:\n${entries.map((entry) => `    - ${entry}\n`).join('')}`,
  ),
});

test.for([
  [
    'an unknown environment',
    chainOf('{name: qa}', '{name: prod, promotedFrom: qaa}'),
    'fleet.yaml:8:34: REFERENCE_MISSING: Fleet halden: prod is promoted from qaa, which is not an environment of the fleet. Did you mean qa? The fleet has qa, prod.',
  ],
  [
    'itself',
    chainOf('{name: qa}', '{name: prod, promotedFrom: prod}'),
    'fleet.yaml:8:34: FIELD_INVALID: Fleet halden: prod is promoted from itself. Name the environment before it.',
  ],
  [
    'an environment that is promoted from it',
    chainOf('{name: qa, promotedFrom: prod}', '{name: prod, promotedFrom: qa}'),
    'fleet.yaml:7:32: FIELD_INVALID: Fleet halden: qa is promoted from prod is promoted from qa. Remove promotedFrom of the first environment of the chain, which builds the newest state.',
  ],
] as const)('a promotion from %s is refused', async ([, files, message]) => {
  const { options, said } = await platformWith(files);
  expect(said((await validatePlatform(options)).problems)).toEqual([message]);
});

test('validate reports mistakes of policies, and a policy outside of promotion/', async () => {
  const { options, said } = await platformWith({
    'platform/promotion/p.yaml': policy('p', '{from: dev, to: prod}'),
    'platform/base/p.yaml': policy('q', '{from: qa, to: prod}'),
  });
  expect(said((await validatePlatform(options)).problems)).toEqual([
    'promotion/p.yaml:5:14: REFERENCE_MISSING: PromotionPolicy p: prod is not promoted from dev. prod is promoted from qa.',
    'base/p.yaml:1:1: UNKNOWN_KIND: PromotionPolicy q: a PromotionPolicy has no meaning here. Move it to the folder promotion/ beside fleet.yaml.',
  ]);
});
