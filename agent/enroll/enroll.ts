import { access, constants, stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { agentFolder, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { fingerprint } from '#bundles/trust/keys/key';
import { notWritable, writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import type { Edge } from '../model/edge.ts';
import { fullName } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeRecipient } from '../hub/age-identity.ts';
import { takeIdentity, type IdentityRequest } from './take-identity.ts';

export type Enrolled = {
  /** SHA-256 of the public key, for comparison by people. */
  readonly fingerprint: string;
  /** The age recipient that secrets for this agent are sealed to; part of the signed request. */
  readonly recipient: string;
  /** Path of the request on the medium. */
  readonly request: string;
  /** false: a request existed, and it was written again. */
  readonly fresh: boolean;
};

/**
 * Creates this agent's key and writes an enrolment request onto a medium. A repeated call with the same arguments writes the
 * same request; the key is created only once.
 * @throws FleetError ALREADY_ENROLLED for other arguments, MEDIUM_MISSING, PERMISSION, DISK_FULL
 */
export const enroll = async (
  state: State,
  edge: Edge,
  identityRequest: IdentityRequest,
  medium: string,
): Promise<Enrolled> => {
  await checkWritable(medium);
  const { identity, key, fresh } = await takeIdentity(state, edge, identityRequest);
  const request = `${REQUESTS_FOLDER}/${agentFolder(fullName(identity))}.json`;
  await writeOntoMedium(medium, request, Buffer.from(identity.request));
  const recipient = await loadOrMakeRecipient(state.directory);
  return { fingerprint: fingerprint(key.public), recipient, request, fresh };
};

const checkWritable = async (medium: string): Promise<void> => {
  const found = await stat(medium).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new FleetError('MEDIUM_MISSING', `there is no directory ${medium} to write the request to`, {
      hint: 'Check that the stick is mounted',
    });
  }
  await access(medium, constants.W_OK).catch((error: unknown) => {
    throw notWritable(error, `writing onto ${medium}`);
  });
};
