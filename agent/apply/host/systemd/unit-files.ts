import { posix } from 'node:path';
import { quadletOfDropIn, serviceOfQuadlet } from './quadlets.ts';

/** The directories of systemd's search path that packages may use (systemd.unit(5), "Unit File Load Path"). */
const LOAD_PATH = /^\/(etc|run|usr\/local\/lib|usr\/lib|lib)\/systemd\/system\//;

/** The template file of an instance: 'web@1.service' -> 'web@.service'. */
export const templateOf = (unit: string): string => unit.replace(/@.*(\.[a-z]+)$/, '@$1');

/** True if the unit is a service that Podman's generator makes of one of the paths: it is neither enabled nor linked by systemctl. */
export const isGenerated = (unit: string, paths: Iterable<string>): boolean => {
  const names = [unit, templateOf(unit)];
  return [...paths].some((path) => names.includes(serviceOfQuadlet(path) ?? ''));
};

/** True if `path` is the unit's file, its template, one of its drop-ins or its quadlet. */
export const isFileOfUnit = (unit: string, path: string): boolean => {
  if (isGenerated(unit, [path, quadletOfDropIn(path) ?? ''])) return true;
  const names = [unit, templateOf(unit)];
  const folder = posix.basename(posix.dirname(path));
  return (
    names.includes(posix.basename(path)) ||
    (path.endsWith('.conf') && names.some((name) => folder === `${name}.d`))
  );
};

/** True if systemd needs a daemon-reload after a change of this file. */
export const isUnitFile = (path: string, units: readonly string[]): boolean =>
  LOAD_PATH.test(path) ||
  serviceOfQuadlet(path) !== undefined ||
  units.some((unit) => isFileOfUnit(unit, path));

/** True if one of the paths is the unit's file, template or quadlet and not only a drop-in. */
export const hasFragment = (unit: string, paths: Iterable<string>): boolean => {
  const all = [...paths];
  return (
    all.some((path) => [unit, templateOf(unit)].includes(posix.basename(path))) || isGenerated(unit, all)
  );
};

/** The argument for systemctl enable: the unit's name, or its path if no file of it is in the search path. */
export const enableBy = (unit: string, paths: Iterable<string>): string => {
  const own = [...paths].filter((path) => [unit, templateOf(unit)].includes(posix.basename(path)));
  return own.length === 0 || own.some((path) => LOAD_PATH.test(path)) ? unit : (own[0] as string);
};

/** The [Install] lines of a unit file, which decide the links; systemd ignores them in drop-ins (systemd.unit(5)). */
export const installSection = (text: string): string => {
  let inside = false;
  const lines = text.split('\n').filter((line) => {
    if (line.startsWith('[')) inside = line.trim() === '[Install]';
    return inside && line.trim() !== '';
  });
  return lines.join('\n');
};
