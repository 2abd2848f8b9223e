import type { HostPackage } from '../bundle/host-package.ts';
import { parseUnit, type UnitSetting } from './parse-unit.ts';
import { parseTimeSpan } from './time-span.ts';

/** The longest time that one entry of a package may take on a host, by its own timeouts. */
export type Span = {
  readonly part: 'checks' | 'probes' | 'units';
  readonly index: number;
  readonly seconds: number;
};

/**
 * The longest times of a package's checks, and of the starts and stops of its services, in seconds; Infinity where systemd would
 * wait without an end. Units of packages that may run as root are not counted: their settings have no limits.
 * @param bytesOf bytes of a unit's file, undefined for a unit that the package does not bring
 */
export const packageSpans = (
  { checks, probes = [], units }: Pick<HostPackage, 'checks' | 'probes' | 'units'>,
  bytesOf: (unit: string) => Buffer | undefined,
): readonly Span[] => [
  ...checks.map((check, index): Span => {
    const seconds = check.type === 'unit' ? check.stableSeconds : check.timeoutSeconds;
    return { part: 'checks', index, seconds };
  }),
  ...probes.map(({ timeoutSeconds }, index): Span => ({ part: 'probes', index, seconds: timeoutSeconds })),
  ...units.map(({ name, enabled, active }, index): Span => {
    const bytes = name.endsWith('.service') ? bytesOf(name) : undefined;
    const settings = bytes && parseUnit(bytes);
    // A file that cannot be parsed is refused as such.
    const seconds =
      settings === undefined || typeof settings === 'string'
        ? 0
        : (enabled || active ? startSeconds(settings) : 0) + stopSeconds(settings);
    return { part: 'units', index, seconds };
  }),
];

export const secondsOf = (spans: readonly Span[]): number =>
  spans.reduce((sum, { seconds }) => sum + seconds, 0);

/** DefaultTimeoutStartSec= and DefaultTimeoutStopSec= of systemd-system.conf(5). */
const DEFAULT_SECONDS = 90;

/** Each command has the whole timeout. Of a service that does not report its start, systemd waits only for the other commands. */
const startSeconds = (settings: readonly UnitSetting[]): number => {
  const commands = countOf(settings, 'ExecCondition', 'ExecStartPre', 'ExecStartPost');
  const main = countOf(settings, 'ExecStart');
  const type = last(settings, 'Type') ?? (main === 0 ? 'oneshot' : 'simple');
  switch (type) {
    case 'oneshot':
      // The only type without a default (systemd.service(5), TimeoutStartSec=).
      return commands + main === 0
        ? 0
        : (commands + main) * timeout(settings, 'TimeoutStartSec', Number.POSITIVE_INFINITY);
    case 'notify':
    case 'notify-reload':
      return (commands + 1) * timeout(settings, 'TimeoutStartSec', DEFAULT_SECONDS);
    default:
      return commands === 0 ? 0 : commands * timeout(settings, 'TimeoutStartSec', DEFAULT_SECONDS);
  }
};

const stopSeconds = (settings: readonly UnitSetting[]): number =>
  (countOf(settings, 'ExecStop', 'ExecStopPost') + 1) * timeout(settings, 'TimeoutStopSec', DEFAULT_SECONDS);

/** Commands of these settings; an empty value removes those before it. */
const countOf = (settings: readonly UnitSetting[], ...names: readonly string[]): number =>
  names.reduce((sum, name) => {
    const values = settings.filter((one) => one.section === 'Service' && one.name === name);
    return sum + values.length - 1 - values.findLastIndex(({ value }) => value === '');
  }, 0);

const last = (settings: readonly UnitSetting[], ...names: readonly string[]): string | undefined =>
  settings.findLast(({ section, name }) => section === 'Service' && names.includes(name))?.value;

const timeout = (
  settings: readonly UnitSetting[],
  name: 'TimeoutStartSec' | 'TimeoutStopSec',
  fallback: number,
): number => {
  const written = last(settings, name, 'TimeoutSec');
  return written === undefined ? fallback : (parseTimeSpan(written) ?? Number.POSITIVE_INFINITY);
};
