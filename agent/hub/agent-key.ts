import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { readPrivateFile } from './read-private-file.ts';

/** Path of the agent's private key: PKCS#8 PEM, mode 0600. */
export const keyFile = (directory: string): string => join(directory, 'agent.key');

/** @throws FleetError KEY_MISSING, KEY_FORMAT, PERMISSION */
export const loadKey = async (directory: string): Promise<SigningKey> => {
  const key = await findKey(directory);
  if (key) return key;
  throw keyMissing(directory);
};

const keyMissing = (directory: string): FleetError =>
  new FleetError('KEY_MISSING', `${keyFile(directory)} is not there`, {
    hint: 'Restore it from a backup, or enrol again with an empty state directory',
  });

/** Creates the key unless an interrupted enrolment left one. */
export const loadOrMakeKey = async (directory: string): Promise<SigningKey> => {
  const known = await findKey(directory);
  if (known) return known;
  const pem = generatePrivateKey();
  try {
    await writeFileAtomically(keyFile(directory), Buffer.from(pem), 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${keyFile(directory)}`);
  }
  return loadSigningKey(pem);
};

/** The key as PEM, for TLS. @throws FleetError KEY_MISSING, PERMISSION, IO */
export const loadKeyText = async (directory: string): Promise<string> => {
  const text = await findKeyText(directory);
  if (text !== undefined) return text;
  throw keyMissing(directory);
};

const findKey = async (directory: string): Promise<SigningKey | undefined> => {
  const text = await findKeyText(directory);
  try {
    return text === undefined ? undefined : loadSigningKey(text);
  } catch (error) {
    throw toFleetError(error, `reading ${keyFile(directory)}`);
  }
};

/** @throws FleetError PERMISSION, also where others can read it; IO */
const findKeyText = async (directory: string): Promise<string | undefined> => {
  try {
    return await readPrivateFile(keyFile(directory), 'the key of this agent');
  } catch (error) {
    throw toFleetError(error, `reading ${keyFile(directory)}`);
  }
};
