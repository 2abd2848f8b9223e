import { posix } from 'node:path';

/** Where systemd looks for system units (systemd.unit(5), "Unit File Load Path"), as far as packages go. */
const LOAD_PATH = /^\/(etc|run|usr\/local\/lib|usr\/lib|lib)\/systemd\/system\//;

/** 'web@1.service' -> 'web@.service': the file that an instance comes from. */
export const templateOf = (unit: string): string => unit.replace(/@.*(\.[a-z]+)$/, '@$1');

/** Is `path` the unit's own file, its template or one of its drop-ins? */
export const isFileOfUnit = (unit: string, path: string): boolean => {
  const names = [unit, templateOf(unit)];
  const folder = posix.basename(posix.dirname(path));
  return (
    names.includes(posix.basename(path)) ||
    (path.endsWith('.conf') && names.some((name) => folder === `${name}.d`))
  );
};

/** Does systemd have to read its files again when this one changes? */
export const isUnitFile = (path: string, units: readonly string[]): boolean =>
  LOAD_PATH.test(path) || units.some((unit) => isFileOfUnit(unit, path));

/** Does one of these paths hold the unit itself, and not only a drop-in? */
export const hasFragment = (unit: string, paths: Iterable<string>): boolean =>
  [...paths].some((path) => [unit, templateOf(unit)].includes(posix.basename(path)));

/** How systemctl enable finds the unit: by name, or by path when no file of it is where systemd looks. */
export const enableBy = (unit: string, paths: Iterable<string>): string => {
  const own = [...paths].filter((path) => [unit, templateOf(unit)].includes(posix.basename(path)));
  return own.length === 0 || own.some((path) => LOAD_PATH.test(path)) ? unit : (own[0] as string);
};

/** The lines of a unit file that say what enabling it links; drop-ins have no say in it (systemd.unit(5)). */
export const installSection = (text: string): string => {
  let inside = false;
  const lines = text.split('\n').filter((line) => {
    if (line.startsWith('[')) inside = line.trim() === '[Install]';
    return inside && line.trim() !== '';
  });
  return lines.join('\n');
};
