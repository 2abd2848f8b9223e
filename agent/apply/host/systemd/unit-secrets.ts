import { constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import { openRegularFile } from '#bundles/formats/archive/open-regular-file';
import { namesSecret } from '../../../secrets/redact-shapes.ts';
import type { SystemdOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';
import { listOf } from './unit-state.ts';

const MAX_FILE_BYTES = 64 << 10;
const MAX_FILES = 32;

/**
 * The values that a unit gets as secrets, as its files say: its credentials, variables with the name of a secret, and every variable of a
 * file that others cannot read. Drop-ins are included. A file that cannot be read gives none.
 */
export const unitSecrets = async (
  options: Pick<SystemdOptions, 'root' | 'run'>,
  unit: string,
  signal: AbortSignal,
): Promise<readonly Buffer[]> => {
  const { stdout } = await systemctl(options, ['cat', '--', unit], signal);
  const settings = [...stdout.replaceAll(/\\\n/g, ' ').matchAll(/^\s*([A-Za-z]+)\s*=(.*)$/gm)];
  const values: Buffer[] = [];
  let files = 0;
  const read = async (path: string): Promise<{ bytes: Buffer; isPrivate: boolean } | undefined> =>
    path.startsWith('/') && ++files <= MAX_FILES ? readSmall(path) : undefined;
  for (const [, name = '', text = ''] of settings) {
    const value = text.trim();
    switch (name) {
      case 'Environment':
        for (const word of listOf(value)) values.push(...secretOf(word, false));
        break;
      case 'EnvironmentFile': {
        const file = await read(value.replace(/^-/, ''));
        if (file) values.push(...secretsOfEnv(file.bytes.toString('utf8'), file.isPrivate));
        break;
      }
      case 'SetCredential':
        values.push(Buffer.from(value.slice(value.indexOf(':') + 1)));
        break;
      case 'LoadCredential': {
        const file = await read(value.slice(value.indexOf(':') + 1));
        if (file) values.push(file.bytes);
        break;
      }
      default:
    }
  }
  return values;
};

/** The values in a file of variables. @param all also those whose name says nothing */
export const secretsOfEnv = (text: string, all: boolean): readonly Buffer[] =>
  text.split('\n').flatMap((line) => (/^\s*[#;]/.test(line) ? [] : secretOf(line.trim(), all)));

/** Shortest value that is a secret only because of its place: 'yes' and '8080' stay readable. */
const MIN_UNNAMED = 6;

/** The value of 'NAME=value' or 'name: value', where it is a secret. */
const secretOf = (line: string, all: boolean): readonly Buffer[] => {
  const [, name, quoted = ''] = /^(?:export\s+)?"?([\w.-]+)"?\s*[=:]\s*(.*)$/.exec(line) ?? [];
  if (name === undefined) return [];
  const value = quoted.replace(/^(["'])(.*)\1,?$/, '$2');
  if (value === '') return [];
  return namesSecret(name) || (all && value.length >= MIN_UNNAMED) ? [Buffer.from(value)] : [];
};

const readSmall = async (path: string): Promise<{ bytes: Buffer; isPrivate: boolean } | undefined> => {
  try {
    const { mode, size } = await stat(path);
    if (size > MAX_FILE_BYTES) return undefined;
    await using handle = await openRegularFile(path, constants.O_NOFOLLOW);
    return { bytes: await handle.readFile(), isPrivate: (mode & 0o044) === 0 };
  } catch {
    return undefined;
  }
};
