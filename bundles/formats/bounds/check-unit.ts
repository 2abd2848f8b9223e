import { parseUnit, type UnitSetting } from './parse-unit.ts';
import { parseTimeSpan } from './time-span.ts';
import { allowsSetting, type UnitScope } from './unit-settings.ts';

const TRUE = ['yes', 'true', 'on', '1'];

/**
 * Checks a unit file against the users and bounds of its package.
 * @param name of the unit, with its suffix
 * @returns the violation, as words that follow the name of the unit; undefined when there is none
 */
export const unitViolation = (
  name: string,
  bytes: Buffer,
  scope: Omit<UnitScope, 'name'>,
): string | undefined => {
  const settings = parseUnit(bytes);
  if (typeof settings === 'string') return settings;
  const wrong = settings.find((setting) => !allowsSetting(setting, { ...scope, name }));
  if (wrong) return `has ${wrong.name}=${shown(wrong)} in its section ${wrong.section} (line ${wrong.line})`;
  if (startsWithoutLimit(settings))
    return 'may be started more than once a second, by its StartLimitIntervalSec= and StartLimitBurst=';
  if (!name.endsWith('.service')) return undefined;
  return runsAsRoot(settings) ? 'runs as root, as it has no User=' : undefined;
};

/**
 * Name of the account that a service without User= runs as, if it has DynamicUser=: systemd takes an account of the host with the name of
 * the unit, root too, before it makes one (systemd.exec(5), DynamicUser=). Undefined for other units.
 */
export const accountOfUnit = (name: string, bytes: Buffer): string | undefined => {
  if (!name.endsWith('.service')) return undefined;
  const settings = parseUnit(bytes);
  if (typeof settings === 'string' || hasUser(settings)) return undefined;
  return /^[^@.]+/.exec(name)?.[0];
};

/** Number of lines OnCalendar= of a timer: systemd's manager computes the next time of each, and does nothing else meanwhile. */
export const countCalendars = (name: string, bytes: Buffer): number => {
  const settings = name.endsWith('.timer') ? parseUnit(bytes) : [];
  return typeof settings === 'string' ? 0 : settings.filter((one) => one.name === 'OnCalendar').length;
};

/** The last setting of a name counts; an empty value resets it. */
const lastOf = (settings: readonly UnitSetting[], section: string, name: string): string | undefined =>
  settings.findLast((one) => one.section === section && one.name === name)?.value;

const hasUser = (settings: readonly UnitSetting[]): boolean =>
  (lastOf(settings, 'Service', 'User') ?? '') !== '';

const runsAsRoot = (settings: readonly UnitSetting[]): boolean =>
  !hasUser(settings) && !TRUE.includes(lastOf(settings, 'Service', 'DynamicUser') ?? '');

/**
 * True if systemd may start the unit more than once a second, and do little else. The limit holds for every way to start a unit:
 * Restart=, timers, paths, OnSuccess=. DefaultStartLimitIntervalSec= and DefaultStartLimitBurst= are 10 s and 5.
 */
const startsWithoutLimit = (settings: readonly UnitSetting[]): boolean => {
  const interval = lastOf(settings, 'Unit', 'StartLimitIntervalSec') ?? '10';
  const burst = lastOf(settings, 'Unit', 'StartLimitBurst') ?? '5';
  if (!/^[1-9]\d{0,8}$/.test(burst)) return true;
  if (interval === 'infinity') return false;
  const seconds = parseTimeSpan(interval) ?? Number.POSITIVE_INFINITY;
  return !Number.isFinite(seconds) || Number(burst) > seconds;
};

const MAX_SHOWN = 80;

const shown = ({ value }: UnitSetting): string =>
  value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value;
