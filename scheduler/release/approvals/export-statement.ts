import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import type { Awaiting } from './awaiting.ts';

/** The file cosign signs, the file it writes, and two files that keep cosign 3 from contacting public services. */
export const FILES = {
  statement: 'st.json',
  bundle: 'b.sigstore.json',
  services: 'sc.json',
  roots: 'tr.json',
};

/**
 * Writes the exact bytes to sign into a directory, which is created if needed.
 * @returns the cosign commands that sign them, to be run in that directory, on any machine
 * @throws FleetError PERMISSION, DISK_FULL, IO
 */
export const exportStatement = async (
  { payload }: Pick<Awaiting, 'payload'>,
  directory: string,
): Promise<readonly string[]> => {
  try {
    await createDirectory(directory);
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
