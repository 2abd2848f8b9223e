import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { checkWriters } from '#bundles/check-writers';
import { FleetError, toFleetError } from '#bundles/errors';
import { nearestName } from '#bundles/nearest-name';
import type { KeysConfig } from '#bundles/schemas/types/keys-config';
import { parseSettings } from '#cli/parse-settings';
import type { Mistake } from '#bundles/json/schema/check-for';
import { KEYS_CONFIG, KEYS_CONFIG_PLACE } from '#bundles/json/schema/validators';
import { type KeyPlace, toKeyPlace } from './key-place.ts';

/** The roles whose keys a key directory may hold; `root` and `audit` are not needed for daily work. */
export const KEY_ROLES = ['root', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

/** A role, or the agents' certificate authority, whose certificate is in the root. */
export type KeyName = KeyRole | 'authority';

const KEYS_FILE = 'keys.yaml';
/** Default file of the key of the agents' authority. */
export const AUTHORITY_FILE = 'ca.key';

const MAX_BYTES = 65_536;

/**
 * Reads where each key of a directory is: as configured in keys.yaml, otherwise in `<role>.key` and ca.key.
 * @throws FleetError CONFIG_INVALID with file:line:column, PERMISSION if others can change keys.yaml, or made it
 */
export const readKeyPlaces = async (directory: string): Promise<(name: KeyName) => KeyPlace> => {
  const file = join(directory, KEYS_FILE);
  const text = await readTrustedText(file);
  const said: KeysConfig = text === undefined ? {} : parseSettings(KEYS_CONFIG, file, text, describeMistake);
  return (name) => {
    const place = said[name];
    if (place !== undefined) return toKeyPlace(place, file);
    return { kind: 'file', file: join(directory, name === 'authority' ? AUTHORITY_FILE : `${name}.key`) };
  };
};

const YAML_FILE = /\.ya?ml$/;

/**
 * Reads the value of --key: a private key file, or a .yaml file in the form of one entry of keys.yaml.
 * @throws FleetError KEY_MISSING, CONFIG_INVALID, PERMISSION
 */
export const readKeyPlace = async (file: string): Promise<KeyPlace> => {
  if (!YAML_FILE.test(file)) return { kind: 'file', file };
  const text = await readTrustedText(file);
  if (text === undefined) throw new FleetError('KEY_MISSING', `there is no file ${file}`);
  return toKeyPlace(parseSettings(KEYS_CONFIG_PLACE, file, text, describeMistake), file);
};

/** Mode bits that must not be set: the file names commands to run, so anyone who can write it can sign. */
const WRITABLE_BY_OTHERS = 0o022;

const readTrustedText = async (file: string): Promise<string | undefined> => {
  try {
    await using handle = await open(file, 'r');
    const stat = await handle.stat();
    const { mode, size } = stat;
    if (size > MAX_BYTES)
      throw new FleetError('CONFIG_INVALID', `this has more than ${MAX_BYTES} bytes`, { at: { file } });
    if ((mode & WRITABLE_BY_OTHERS) === 0) {
      checkWriters(stat, file);
      return await handle.readFile('utf8');
    }
    throw new FleetError('PERMISSION', 'others can change this file, which names the command that signs', {
      at: { file },
      hint: 'Run chmod go-w on it',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFleetError(error, `reading ${file}`);
  }
};

const FORMS = '{file}, {command, public} or {signer}';

const noKey = (name: string): string => {
  const meant = nearestName(name, [...KEY_ROLES, 'authority']);
  const asked = meant === undefined ? '' : ` did you mean ${meant}?`;
  return `there is no key ${JSON.stringify(name)} here;${asked} it may be ${[...KEY_ROLES, 'authority'].join(', ')}, each with ${FORMS}`;
};

const describeMistake = ({ params, instancePath }: Mistake): string => {
  const name = instancePath.split('/')[1];
  if (params.additionalProperty !== undefined && instancePath === '') return noKey(params.additionalProperty);
  return `${name ?? 'this'} does not say where a key is: one of ${FORMS}`;
};
