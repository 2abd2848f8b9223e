import type { Config } from './config.ts';

export type Policy = {
  /** Reaction to drift. */
  readonly onDrift: 'correct' | 'report';
  /** Reaction to staleness. */
  readonly onStale: 'continue' | 'block-changes';
  /** Whether operators may import expired statements. */
  readonly breakGlass: boolean;
  readonly maxValidityDays: number;
  /** Number of packages that one release may remove without confirmation. */
  readonly pruneBudget: number;
};

/** The part of the configuration that governs acceptance and apply. */
export const policyOf = ({
  onDrift,
  onStale,
  breakGlass,
  maxValidityDays,
  pruneBudget,
}: Pick<Config, keyof Policy>): Policy => ({ onDrift, onStale, breakGlass, maxValidityDays, pruneBudget });
