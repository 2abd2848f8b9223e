import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import {
  fingerprint,
  generatePrivateKey,
  loadSigningKey,
  parsePublicKey,
  type SigningKey,
} from '#bundles/trust/keys/key';
import type { Identity } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { readPrivateFile } from './read-private-file.ts';

/** Path of the agent's private key: PKCS#8 PEM, mode 0600. */
export const keyFile = (directory: string): string => join(directory, 'agent.key');

/** An enrolled agent, as far as its key is concerned. */
type Owner = {
  readonly state: Pick<State, 'directory'>;
  readonly identity: Pick<Identity, 'key'>;
};

/** @throws FleetError KEY_MISSING, also for another key than the enrolled one; KEY_FORMAT, PERMISSION */
export const loadKey = async (owner: Owner): Promise<SigningKey> => (await readKey(owner)).key;

/** The key as PEM, for TLS. @throws FleetError as loadKey */
export const loadKeyText = async (owner: Owner): Promise<string> => (await readKey(owner)).text;

const readKey = async ({ state: { directory }, identity }: Owner) => {
  const file = keyFile(directory);
  try {
    const text = await readPrivateFile(file, 'the key of this agent');
    if (text === undefined) throw new FleetError('KEY_MISSING', `${file} is not there`, { hint: WAY_OUT });
    const key = parseKey(text, file);
    const enrolled = parsePublicKey(identity.key);
    if (key.public.hint === enrolled.hint) return { key, text };
    throw new FleetError(
      'KEY_MISSING',
      `the key in ${file} has the fingerprint ${fingerprint(key.public)}, and this agent was enrolled with ${fingerprint(enrolled)}`,
      { hint: WAY_OUT },
    );
  } catch (error) {
    throw toFleetError(error, `reading ${file}`);
  }
};

/** @throws FleetError KEY_FORMAT, with the file */
const parseKey = (text: string, file: string): SigningKey => {
  try {
    return loadSigningKey(text);
  } catch (cause) {
    const { code, message } = toFleetError(cause);
    throw new FleetError(code, `${file}: ${message}`, { cause, hint: WAY_OUT });
  }
};

const WAY_OUT =
  'Restore the file from a backup, or move the state directory away and enrol again; the office replaces the key';

/**
 * Creates the key of a new identity. A key that is left of a lost state is replaced: the office has events under it, which those of
 * the new state would contradict.
 */
export const createKey = async (directory: string): Promise<SigningKey> => {
  const pem = generatePrivateKey();
  try {
    await writeFileAtomically(keyFile(directory), Buffer.from(pem), 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${keyFile(directory)}`);
  }
  return loadSigningKey(pem);
};
