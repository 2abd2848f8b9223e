import { posix } from 'node:path';
import type { Wanted } from '../desired/read-wanted.ts';
import { isBesideQuadlets, isDropInOfQuadlet } from './quadlets.ts';
import { dropInFolders, templateOf } from './unit-names.ts';

/** The directories of systemd's search path that packages may use (systemd.unit(5), "Unit File Load Path"). */
export const LOAD_PATH = /^\/(etc|run|usr\/local\/lib|usr\/lib|lib)\/systemd\/system\//;

/** A unit under all its names, aliases included. `quadlet`: the path of the quadlet that Podman's generator makes it of. */
export type KnownUnit = {
  readonly name: string;
  readonly names: readonly string[];
  readonly quadlet?: string | undefined;
};

const fragmentNames = ({ names }: KnownUnit): readonly string[] =>
  names.flatMap((name) => [name, templateOf(name)]);

/** True if `path` is the unit's file, its template, its quadlet or a drop-in that systemd or Podman reads for it. */
export const isFileOfUnit = (unit: KnownUnit, path: string): boolean =>
  isFragment(unit, path) || isDropIn(unit, path);

const isFragment = (unit: KnownUnit, path: string): boolean =>
  unit.quadlet === path || (!isBesideQuadlets(path) && fragmentNames(unit).includes(posix.basename(path)));

const isDropIn = ({ names, quadlet }: KnownUnit, path: string): boolean => {
  if (!path.endsWith('.conf')) return false;
  if (isBesideQuadlets(path)) return quadlet !== undefined && isDropInOfQuadlet(path, quadlet);
  const folder = posix.basename(posix.dirname(path));
  return names.some((name) => dropInFolders(name).has(folder));
};

/** True if systemd needs a daemon-reload after a change of this file. */
export const isUnitFile = (path: string, units: readonly KnownUnit[]): boolean =>
  LOAD_PATH.test(path) || isBesideQuadlets(path) || units.some((unit) => isFileOfUnit(unit, path));

/** Paths as the package writes them: systemd and Podman look for units by these names, and not by their places. */
export const namesIn = (wanted: Wanted | undefined): readonly string[] =>
  [...(wanted?.files.values() ?? [])].map(({ named }) => named);

/** True if one of the paths is the unit's file, template or quadlet and not only a drop-in. */
export const hasFragment = (unit: KnownUnit, paths: Iterable<string>): boolean =>
  fragmentOf(unit, paths) !== undefined;

/** The one of the paths that is the unit's file, template or quadlet; its own file before its template. */
export const fragmentOf = (unit: KnownUnit, paths: Iterable<string>): string | undefined => {
  const found = [...paths].filter((path) => isFragment(unit, path));
  return found.find((path) => unit.names.includes(posix.basename(path))) ?? found[0];
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
