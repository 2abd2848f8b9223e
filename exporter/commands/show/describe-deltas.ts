import { formatBytes } from '#cli/format-bytes';
import type { Plan } from '../../plan/plan.ts';

/** '3 patches of 12 KiB in all instead of 5 MiB, made in 2.1 s' */
export const describeDeltas = ({ count, bytes, whole, seconds }: NonNullable<Plan['deltas']>): string =>
  `${count} ${count === 1 ? 'patch' : 'patches'} of ${formatBytes(bytes)} in all instead of ${formatBytes(whole)}, made in ${seconds} s`;
