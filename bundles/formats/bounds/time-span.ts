/** Seconds by unit (systemd.time(7)). */
const SECONDS: Readonly<Record<string, number>> = Object.fromEntries(
  (
    [
      [1e-6, 'usec us µs μs'],
      [1e-3, 'msec ms'],
      [1, 'seconds second sec s'],
      [60, 'minutes minute min m'],
      [3600, 'hours hour hr h'],
      [86_400, 'days day d'],
      [604_800, 'weeks week w'],
      [2_629_800, 'months month M'],
      [31_557_600, 'years year y'],
    ] as const
  ).flatMap(([seconds, names]) => names.split(' ').map((name) => [name, seconds])),
);

/**
 * Seconds of a timeout of a unit, as systemd reads it: '90', '5min 20s'. 0 and 'infinity' mean no end: Infinity.
 * @returns undefined for a text that is not a time span
 */
export const parseTimeSpan = (text: string): number | undefined => {
  if (text === 'infinity') return Number.POSITIVE_INFINITY;
  const part = /\s*(\d{1,15}(?:\.\d{0,15})?)\s*([a-zA-Zµμ]*)/y;
  let seconds = 0;
  while (part.lastIndex < text.length) {
    const [, number = '', unit = ''] = part.exec(text) ?? [];
    const scale = unit === '' ? 1 : secondsOf(unit);
    if (number === '' || scale === undefined) return undefined;
    seconds += Number(number) * scale;
  }
  if (text === '') return undefined;
  return seconds === 0 ? Number.POSITIVE_INFINITY : seconds;
};

const secondsOf = (unit: string): number | undefined =>
  Object.hasOwn(SECONDS, unit) ? SECONDS[unit] : undefined;
