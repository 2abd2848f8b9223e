import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { agentFolder, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { readOptional } from '#bundles/formats/medium/plain-files';
import { fingerprint, type PublicKey } from '#bundles/trust/keys/key';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { notWritable, writeOntoMedium } from '../acquire/blobs/write-onto-medium.ts';
import type { Edge } from '../model/edge.ts';
import type { Request } from '../model/request.ts';
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
  /** Fingerprint of another key for which the medium had a request under this name; it was replaced. */
  readonly replaced: string | null;
};

const MAX_REQUEST_BYTES = 64 << 10;

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
  const replaced = await otherKeyOn(medium, request, key.public);
  await writeOntoMedium(medium, request, Buffer.from(identity.request));
  const recipient = await loadOrMakeRecipient(state.directory);
  return { fingerprint: fingerprint(key.public), recipient, request, fresh, replaced };
};

/** Anybody may have written the file, so that one that cannot be read counts as none. */
const otherKeyOn = async (medium: string, file: string, own: PublicKey): Promise<string | null> => {
  try {
    const before = await readOptional(medium, file, MAX_REQUEST_BYTES);
    if (!before) return null;
    const { key } = parseCertificateRequest((JSON.parse(before.toString()) as Request).request);
    return key.hint === own.hint ? null : fingerprint(key);
  } catch {
    return null;
  }
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
