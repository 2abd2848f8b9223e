import { defined } from '#bundles/defined';
import type { PromotionPolicy } from '../../model/promotion.ts';
import { objectName } from '../../model/yaml/shape.ts';
import { fieldPlaces } from './field-places.ts';
import { type KindReader, kindReader } from './kalypso-kinds.ts';
import { freshnessFields, promotionFields, rolloutFields } from './promotion-fields.ts';

/** Without the fields that are undefined. */
const present = <T extends object>(read: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(read).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };

const toAbsent = (read: { after: number; then: 'exclude' | 'block' } | undefined) =>
  // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
  read && { absent: { afterSeconds: read.after, then: read.then } };

/** Absent unless it is set, so that the digest of a policy without it is that of earlier versions. */
const toApprovals = (
  read: { required: number; from: readonly string[]; notAuthor: boolean; eachWorkspace: boolean } | undefined,
): { readonly approvals?: NonNullable<PromotionPolicy['approvals']> } => {
  if (!read) return {};
  const { eachWorkspace, ...approvals } = read;
  return { approvals: { ...approvals, ...defined({ eachWorkspace: eachWorkspace || undefined }) } };
};

/** The kinds of the folder promotion/ (docs/promotion.md). */
export const PROMOTION_KINDS: Readonly<Record<string, KindReader>> = {
  PromotionPolicy: kindReader(
    'Conditions for the promotion of a candidate from one environment to the next, in `promotion/`. Each link of the chain has at most one.',
    objectName,
    promotionFields,
    (spec, { metadata, at, reading }) => ({
      kind: 'PromotionPolicy',
      places: fieldPlaces(reading, ['from', 'to', 'approvals', 'freeze']),
      promotionPolicy: {
        name: metadata.name,
        from: spec.from,
        to: spec.to,
        mode: spec.mode,
        ...defined({ compliance: spec.compliance ? present(spec.compliance) : undefined }),
        soakSeconds: spec.soak,
        ...defined({ freshnessSeconds: spec.freshness }),
        ...toAbsent(spec.absent),
        ...toApprovals(spec.approvals),
        windows: spec.windows,
        freeze: spec.freeze.map((days) => present(days)),
        checks: spec.checks.map(({ name: check, url, timeout }) => ({
          name: check,
          url,
          timeoutSeconds: timeout,
        })),
        ...defined({
          evidence: spec.evidence === 'signed' ? spec.evidence : undefined,
          attestations:
            spec.attestations.length > 0 ? spec.attestations.map((rule) => present(rule)) : undefined,
        }),
        direct: spec.direct,
        at,
      },
    }),
  ),
  RolloutPolicy: kindReader(
    'The stages in which a release reaches the agents of an environment, in `promotion/`. Each environment has at most one.',
    objectName,
    rolloutFields,
    (spec, { metadata, at, reading }) => ({
      kind: 'RolloutPolicy',
      places: fieldPlaces(reading, ['environment', 'stages']),
      rolloutPolicy: {
        name: metadata.name,
        environment: spec.environment,
        stages: spec.stages.map(({ soak, ...rest }) => ({ ...present(rest), soakSeconds: soak })),
        ...defined({ deadlineSeconds: spec.deadline }),
        onFailure: spec.onFailure === 'stop' ? 'stop' : 'take-back',
        ...defined({ freshnessSeconds: spec.freshness }),
        ...toAbsent(spec.absent),
        ...defined({ siteValues: spec.siteValues === 'atOnce' ? ('at-once' as const) : undefined }),
        at,
      },
    }),
  ),
  FreshnessPolicy: kindReader(
    'How old the last report of an agent may be before the agent is late or stale, in `promotion/`.',
    objectName,
    freshnessFields,
    (spec, { metadata, at, reading }) => ({
      kind: 'FreshnessPolicy',
      places: fieldPlaces(reading, ['environment', 'late', 'stale']),
      freshnessPolicy: defined({
        name: metadata.name,
        environment: spec.environment,
        clusterTypes: spec.clusterTypes,
        lateSeconds: spec.late,
        staleSeconds: spec.stale,
        visitsSeconds: spec.visits,
        rebootSeconds: spec.reboot,
        at,
      }),
    }),
  ),
};
