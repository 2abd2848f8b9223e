import type { Config } from './config.ts';

export type Policy = {
  /** Reaction to drift. */
  readonly onDrift: 'correct' | 'report';
  /** Reaction to staleness. */
  readonly onStale: 'continue' | 'block-changes';
  /** Whether operators may import expired statements. */
  readonly breakGlass: boolean;
  /** Whether the agent may reboot the machine where the release lets it. */
  readonly allowReboot: boolean;
  readonly maxValidityDays: number;
  /** Number of packages that one release may remove without confirmation. */
  readonly pruneBudget: number;
  /** Size of the unacknowledged events above which repetitions are dropped. */
  readonly outboxBytes: number;
};

/** The part of the configuration that governs acceptance and apply. */
export const policyOf = ({
  onDrift,
  onStale,
  breakGlass,
  allowReboot,
  maxValidityDays,
  pruneBudget,
  outboxMib,
}: Pick<Config, Exclude<keyof Policy, 'outboxBytes'> | 'outboxMib'>): Policy => ({
  onDrift,
  onStale,
  breakGlass,
  allowReboot,
  maxValidityDays,
  pruneBudget,
  outboxBytes: outboxMib * (1 << 20),
});
