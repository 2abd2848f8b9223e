import { parseUnit, type UnitSetting } from './parse-unit.ts';
import { allowsSetting, type UnitScope } from './unit-settings.ts';

const TRUE = ['yes', 'true', 'on', '1'];

/**
 * Why a unit file could do more than its package's users may, as words that follow its name; undefined where it could not.
 * @param name of the unit, with its suffix
 */
export const unitTrespass = (name: string, bytes: Buffer, scope: UnitScope): string | undefined => {
  const settings = parseUnit(bytes);
  if (typeof settings === 'string') return settings;
  const wrong = settings.find((setting) => !allowsSetting(setting, scope));
  if (wrong) return `has ${wrong.name}=${shown(wrong)} in its section ${wrong.section} (line ${wrong.line})`;
  return name.endsWith('.service') && runsAsRoot(settings) ? 'runs as root, as it has no User=' : undefined;
};

/** The last one counts, and an empty one takes back those before. */
const runsAsRoot = (settings: readonly UnitSetting[]): boolean => {
  const last = (name: string): string | undefined =>
    settings.findLast((one) => one.section === 'Service' && one.name === name)?.value;
  return (last('User') ?? '') === '' && !TRUE.includes(last('DynamicUser') ?? '');
};

const MAX_SHOWN = 80;

const shown = ({ value }: UnitSetting): string =>
  value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value;
