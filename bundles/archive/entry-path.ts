import { FleetError } from '../errors.ts';
import { quoted, type TarHeader } from './tar-header.ts';

/** Which paths are let through. The pattern must match the whole path. */
export type PathRule = { readonly pattern: RegExp; readonly maxBytes: number; readonly prefix: boolean };

/** On a medium: every path survives FAT32, any shell and any file manager (docs/bundle-format.md, medium). */
export const MEDIUM_PATHS: PathRule = { pattern: /^[a-z0-9._/-]+$/u, maxBytes: 100, prefix: false };

/** In a layer: a team's own file names, spaces and umlauts included, but nothing that moves a terminal's cursor. */
export const LAYER_PATHS: PathRule = { pattern: /^[^\p{Cc}\\]+$/u, maxBytes: 255, prefix: true };

/**
 * The path itself if it is safe to join to a directory: relative, no empty, '.' or '..' component, and as the rule says.
 * @throws FleetError BAD_NAME
 */
export const checkPath = (path: string, rule: PathRule): string => {
  const why = fault(path, rule);
  if (why === undefined) return path;
  throw new FleetError('BAD_NAME', `an archive path ${why}`, { subject: quoted(path) });
};

/**
 * The path an entry is about: './' in front and a directory's '/' behind are taken off, '' is the archive's own root.
 * @throws FleetError BAD_NAME
 */
export const entryPath = ({ name, prefix, directory }: TarHeader, rule: PathRule): string => {
  if (prefix !== '' && !rule.prefix) {
    throw new FleetError('BAD_NAME', 'a tar header uses the prefix field, which media do not', {
      subject: quoted(`${prefix}/${name}`),
    });
  }
  const stored = prefix === '' ? name : `${prefix}/${name}`;
  if (directory && (stored === './' || stored === '.')) return '';
  const relative = stored.startsWith('./') ? stored.slice(2) : stored;
  return checkPath(directory && relative.endsWith('/') ? relative.slice(0, -1) : relative, rule);
};

/** Components that begin with a letter, digit or underscore and hold nothing odd: what nearly every path of a layer is. */
const ORDINARY = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$/;

const fault = (path: string, rule: PathRule): string | undefined => {
  const { pattern, maxBytes } = rule;
  if (rule === LAYER_PATHS && path.length <= maxBytes && ORDINARY.test(path)) return undefined;
  if (path === '') return 'is empty';
  if (!path.isWellFormed()) return 'is not Unicode';
  if (Buffer.byteLength(path) > maxBytes) return `has more than ${maxBytes} bytes`;
  if (path.startsWith('/')) return 'is absolute';
  if (path.includes('\\')) return 'has a backslash';
  const parts = path.split('/');
  if (parts.includes('..')) return "has '..' in it";
  if (parts.includes('.') || parts.includes('')) return "has an empty or '.' component";
  // match, not test: a caller's pattern with the g flag must not remember where it stopped.
  if (path.match(pattern)?.[0] !== path) return `has characters outside ${pattern.source}`;
  return undefined;
};
