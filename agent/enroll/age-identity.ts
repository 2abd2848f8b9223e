import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/layout/write-file';
import { readPrivateFile } from './read-private-file.ts';

/** What this site's secrets are opened with: `AGE-SECRET-KEY-1...`, readable by its owner alone (security.md section 6). */
export const ageFile = (directory: string): string => join(directory, 'agent.age');

/** @returns undefined for an agent that has none @throws FleetError PERMISSION, also where others can read it; IO */
export const findAgeIdentity = async (directory: string): Promise<string | undefined> => {
  try {
    return (await readPrivateFile(ageFile(directory), 'the age identity of this agent'))?.trim();
  } catch (error) {
    throw toFleetError(error, `reading ${ageFile(directory)}`);
  }
};

/**
 * The recipient that secrets are to be sealed to. One that an interrupted enrolment made is used, not replaced.
 * @throws FleetError KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const loadOrMakeRecipient = async (directory: string): Promise<string> => {
  // The reader of age takes 20 MB of memory, and most agents need it never or once: it is loaded where it is used.
  const { generateAgeIdentity, recipientOf } = await import('#bundles/secrets/recipient');
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
