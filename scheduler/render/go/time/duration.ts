/** Go's time.Duration: nanoseconds in 64 bits. */

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const PIECE = /(\d*)(?:(\.)(\d*))?([^.\d]+)/y;
const LIMIT = 1n << 63n;

/** `-1h30m0.5s` in nanoseconds; undefined when the text is not a duration. */
export const parseDuration = (text: string): bigint | undefined => {
  const negative = text.startsWith('-');
  const body = text.replace(/^[-+]/, '');
  if (body === '0') return 0n;
  if (body === '') return undefined;
  let total = 0n;
  for (PIECE.lastIndex = 0; PIECE.lastIndex < body.length; ) {
    const [, whole = '', , fraction = '', name = ''] = PIECE.exec(body) ?? [];
    const unit = Object.hasOwn(UNITS, name) ? UNITS[name] : undefined;
    if (unit === undefined || whole + fraction === '' || whole.length > 40) return undefined;
    // Go computes the fraction as a float, from as many digits as fit into 63 bits.
    const digits = fraction.slice(0, 18);
    total += BigInt(whole === '' ? 0 : whole) * unit;
    total += BigInt(Math.trunc(Number(digits === '' ? 0 : digits) * (Number(unit) / 10 ** digits.length)));
    if (total > LIMIT) return undefined;
  }
  if (negative) return -total;
  return total === LIMIT ? undefined : total;
};

const fractionOf = (value: bigint, unit: bigint): string => {
  const places = String(unit).length - 1;
  const fraction = String(value % unit)
    .padStart(places, '0')
    .replace(/0+$/, '');
  return `${value / unit}${places === 0 || fraction === '' ? '' : `.${fraction}`}`;
};

/** `1h30m0.5s`, as Go prints it. */
export const durationText = (nanos: bigint): string => {
  const sign = nanos < 0n ? '-' : '';
  const size = nanos < 0n ? -nanos : nanos;
  if (size === 0n) return '0s';
  if (size < 1000n) return `${sign}${size}ns`;
  if (size < 1_000_000n) return `${sign}${fractionOf(size, 1000n)}µs`;
  if (size < 1_000_000_000n) return `${sign}${fractionOf(size, 1_000_000n)}ms`;
  const minutes = size / 60_000_000_000n;
  const hours = minutes / 60n;
  const seconds = `${fractionOf(size % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  return `${sign}${hours > 0n ? `${hours}h` : ''}${minutes % 60n}m${seconds}`;
};

const HOUR = 3_600_000_000_000n;
const STEPS: readonly (readonly [bigint, string])[] = [
  [HOUR * 24n * 365n, 'y'],
  [HOUR * 24n * 30n, 'mo'],
  [HOUR * 24n, 'd'],
  [HOUR, 'h'],
  [60_000_000_000n, 'm'],
  [1_000_000_000n, 's'],
];

/** sprig's durationRound: whole units of the largest unit that the duration exceeds, without a sign. */
export const roundedDuration = (nanos: bigint): string => {
  const size = nanos < 0n ? -nanos : nanos;
  const step = STEPS.find(([unit]) => size > unit);
  return step ? `${size / step[0]}${step[1]}` : '0s';
};
