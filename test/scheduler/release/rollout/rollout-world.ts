import * as fc from 'fast-check';
import { digestOf } from '#bundles/digest';
import type { RolloutPolicy, RolloutStage } from '../../../../scheduler/model/promotion.ts';

/** Random fleets and rollout policies. */

export const stageOf = (name: string, over: Partial<RolloutStage>): RolloutStage => ({
  name,
  soakSeconds: 0,
  maxFailures: { count: 0 },
  approvals: 0,
  ...over,
});

export const policyOf = (
  stages: readonly RolloutStage[],
  over: Partial<RolloutPolicy> = {},
): RolloutPolicy => ({
  name: 'prod-rings',
  environment: 'prod',
  stages,
  onFailure: 'stop',
  at: { file: 'promotion/rollout.yaml', line: 1, column: 1 },
  ...over,
});

/** A release of prod/kiosk that follows release 7. */
export const RELEASE = {
  channel: { environment: 'prod', clusterType: 'kiosk' },
  candidate: digestOf('candidate'),
  bundles: [digestOf('bundle')],
  follows: 7,
  before: { version: 7, release: digestOf('release 7') },
};

const RINGS = ['pilot', 'early', 'late'];
const REGIONS = ['eu', 'us'];

const labels = fc.record(
  { ring: fc.constantFrom(...RINGS), region: fc.constantFrom(...REGIONS) },
  { requiredKeys: [] },
) as fc.Arbitrary<Readonly<Record<string, string>>>;

const named = fc.stringMatching(/^[a-z0-9]{1,8}$/);

export const fleets = fc.uniqueArray(fc.record({ site: named, agent: named, labels }), {
  maxLength: 8,
  selector: ({ site, agent }) => `${site}/${agent}`,
});

const percent = fc.integer({ min: 1, max: 100 });
const selector = labels.filter((one) => Object.keys(one).length > 0).map((matchLabels) => ({ matchLabels }));

const which: fc.Arbitrary<Pick<RolloutStage, 'selector' | 'percent'>> = fc.oneof(
  fc.record({ selector }),
  fc.record({ percent }),
  fc.record({ selector, percent }),
);

export const policies: fc.Arbitrary<RolloutPolicy> = fc
  .array(fc.tuple(which, fc.integer({ min: 0, max: 4 }), fc.nat(2)), { minLength: 1, maxLength: 6 })
  .map((stages) =>
    policyOf(
      stages.map(([agents, hours, approvals], at) =>
        stageOf(`stage-${at}`, { ...agents, soakSeconds: hours * 3600, approvals }),
      ),
    ),
  );
