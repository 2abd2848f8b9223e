import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { readPrivateFile } from './read-private-file.ts';

/** Path of the age identity that opens this agent's secrets: `AGE-SECRET-KEY-1...`, mode 0600 (security.md section 6). */
export const ageFile = (directory: string): string => join(directory, 'agent.age');

/**
 * @returns undefined for an agent without an age identity @throws FleetError PERMISSION, also if other users can read the file;
 *   IO
 */
export const findAgeIdentity = async (directory: string): Promise<string | undefined> => {
  try {
    return (await readPrivateFile(ageFile(directory), 'the age identity of this agent'))?.trim();
  } catch (error) {
    throw toFleetError(error, `reading ${ageFile(directory)}`);
  }
};

/**
 * Returns the recipient that secrets are sealed to. Creates the age identity unless an interrupted enrolment left one.
 * @throws FleetError KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const loadOrMakeRecipient = async (directory: string): Promise<string> => {
  // Loaded on demand: the age module takes 20 MB of memory, and most agents need it at most once.
  const { generateAgeIdentity, recipientOf } = await import('#bundles/trust/age/recipient');
  const known = await findAgeIdentity(directory);
  if (known !== undefined) return recipientOf(known);
  const { identity, recipient } = await generateAgeIdentity();
  try {
    await writeFileAtomically(ageFile(directory), Buffer.from(`${identity}\n`), 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${ageFile(directory)}`);
  }
  return recipient;
};
