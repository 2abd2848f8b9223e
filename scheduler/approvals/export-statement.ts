import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { writeFileAtomically } from '#bundles/layout/write-file';
import type { Awaiting } from './awaiting.ts';

/** What cosign signs and writes, and two files that keep it from asking a public service (cosign 3). */
export const FILES = {
  statement: 'st.json',
  bundle: 'b.sigstore.json',
  services: 'sc.json',
  roots: 'tr.json',
};

/**
 * Writes the exact bytes to sign. @returns the commands that sign them, to be run in that directory, on any machine
 * @throws FleetError PERMISSION, DISK_FULL, IO
 */
export const exportStatement = async (
  { payload }: Pick<Awaiting, 'payload'>,
  directory: string,
): Promise<readonly string[]> => {
  try {
    await makeDirectory(directory);
    await writeFileAtomically(join(directory, FILES.statement), payload);
  } catch (error) {
    throw toFleetError(error, `writing to ${directory}`);
  }
  return COSIGN;
};

const COSIGN: readonly string[] = [
  `cosign signing-config create --out ${FILES.services}`,
  `cosign trusted-root create --out ${FILES.roots}`,
  `cosign attest-blob --key approver.key -y --signing-config ${FILES.services} --trusted-root ${FILES.roots} --statement ${FILES.statement} --bundle ${FILES.bundle}`,
];
