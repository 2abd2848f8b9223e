import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { RECEIPTS_FOLDER } from '#bundles/medium/medium';

/** What agentFolder makes of a name. */
const OURS = /^[0-9a-f]{32}\.sigstore\.json$/;

/**
 * A receipt names its site and agent: on a sealed stick it lies in the parts alone, and the plain ones that an earlier medium
 * left go. @returns how many
 */
export const removePlainReceipts = async (root: string): Promise<number> => {
  const folder = join(root, RECEIPTS_FOLDER);
  try {
    const names = (await readdir(folder)).filter((name) => OURS.test(name));
    for (const name of names) await rm(join(folder, name), { force: true });
    return names.length;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
    throw toFleetError(error, `removing old receipts from ${folder}`);
  }
};
