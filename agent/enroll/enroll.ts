import { access, constants, stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { agentFolder, REQUESTS_FOLDER } from '#bundles/medium/medium';
import { fingerprint } from '#bundles/trust/key';
import { notWritable, writeOntoMedium } from '../acquire/write-onto-medium.ts';
import type { Edge } from '../edge.ts';
import { fullName } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeRecipient } from './age-identity.ts';
import { takeIdentity, type Wish } from './take-identity.ts';

export type Enrolled = {
  /** SHA-256 of the public key: what a person compares. */
  readonly fingerprint: string;
  /** What secrets for this agent are sealed to: in the request, signed with the key of the fingerprint. */
  readonly recipient: string;
  /** Path of the request on the medium. */
  readonly request: string;
  /** false: this agent had asked before, and the same request was written again. */
  readonly fresh: boolean;
};

/**
 * Makes this agent's key and asks, on a medium, to be taken into a fleet. Asking again with the same words writes the
 * same request again; the key is never made twice.
 * @throws FleetError ALREADY_ENROLLED for other words, MEDIUM_MISSING, PERMISSION, DISK_FULL
 */
export const enroll = async (state: State, edge: Edge, wish: Wish, medium: string): Promise<Enrolled> => {
  await checkWritable(medium);
  const { identity, key, fresh } = await takeIdentity(state, edge, wish);
  const request = `${REQUESTS_FOLDER}/${agentFolder(fullName(identity))}.json`;
  await writeOntoMedium(medium, request, Buffer.from(identity.request));
  const recipient = await loadOrMakeRecipient(state.directory);
  return { fingerprint: fingerprint(key.public), recipient, request, fresh };
};

const checkWritable = async (medium: string): Promise<void> => {
  const found = await stat(medium).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new FleetError('MEDIUM_MISSING', `there is no directory ${medium} to write the request to`, {
      hint: 'Is the stick mounted?',
    });
  }
  await access(medium, constants.W_OK).catch((error: unknown) => {
    throw notWritable(error, `writing onto ${medium}`);
  });
};
