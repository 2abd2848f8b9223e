import { parseUnit, type UnitSetting } from './parse-unit.ts';
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
  return name.endsWith('.service') && runsAsRoot(settings) ? 'runs as root, as it has no User=' : undefined;
};

/** The last setting of a name counts; an empty value resets it. */
const runsAsRoot = (settings: readonly UnitSetting[]): boolean => {
  const last = (name: string): string | undefined =>
    settings.findLast((one) => one.section === 'Service' && one.name === name)?.value;
  return (last('User') ?? '') === '' && !TRUE.includes(last('DynamicUser') ?? '');
};

const MAX_SHOWN = 80;

const shown = ({ value }: UnitSetting): string =>
  value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value;
