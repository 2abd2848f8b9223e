import { formatCount } from '#bundles/format-count';

const UNITS = [
  [86_400, 'day'],
  [3600, 'hour'],
  [60, 'minute'],
] as const;

/** Formats a freshness in the largest exact unit: 1209600 seconds are '14 days'. */
export const formatSeconds = (seconds: number): string => {
  const [size, unit] = UNITS.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  const count = seconds / size;
  return formatCount(count, unit);
};
