import { FleetError } from '../../errors.ts';
import { quoted, type TarHeader } from './tar-header.ts';

/** Rule for allowed paths. The pattern must match the whole path; `prefix` allows the prefix field of ustar. */
export type PathRule = { readonly pattern: RegExp; readonly maxBytes: number; readonly prefix: boolean };

/** On a medium: paths that FAT32, shells and file managers handle unchanged (docs/bundle-format.md, medium). */
export const MEDIUM_PATHS: PathRule = { pattern: /^[a-z0-9._/-]+$/u, maxBytes: 100, prefix: false };

/** In a layer: any file names, spaces and umlauts included, without control characters and backslashes. */
export const LAYER_PATHS: PathRule = { pattern: /^[^\p{Cc}\\]+$/u, maxBytes: 255, prefix: true };

/**
 * Returns the path if it is safe to join to a directory: relative, without empty, '.' or '..' components, and allowed by the rule.
 * @throws FleetError BAD_NAME
 */
export const checkPath = (path: string, rule: PathRule): string => {
  const why = fault(path, rule);
  if (why === undefined) return path;
  throw new FleetError('BAD_NAME', `an archive path ${why}`, { subject: quoted(path) });
};

/**
 * Returns the path of an entry without a leading './' and a directory's trailing '/'; '' is the root of the archive.
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

/** Fast path for nearly every path of a layer: components of letters, digits, '_', '.' and '-' that do not begin with '.' or '-'. */
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
  // match, not test: with the g flag a pattern keeps lastIndex between calls of test.
  if (path.match(pattern)?.[0] !== path) return `has characters outside ${pattern.source}`;
  return undefined;
};
