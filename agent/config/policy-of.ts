import type { Policy } from '../agent.ts';
import type { Config } from './config.ts';

/** What of the configuration decides about what is accepted and done. */
export const policyOf = ({
  onDrift,
  onStale,
  breakGlass,
  maxValidityDays,
  pruneBudget,
}: Pick<Config, keyof Policy>): Policy => ({ onDrift, onStale, breakGlass, maxValidityDays, pruneBudget });
