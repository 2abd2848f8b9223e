import { toFleetError } from '#bundles/errors';
import { RECEIPTS_FOLDER } from '#bundles/medium/medium';
import { namesIn } from '#bundles/medium/names-in';
import { removeFilesFromMedium } from '#bundles/medium/write-onto-medium';

/** What agentFolder makes of a name. */
const OURS = /^[0-9a-f]{32}\.sigstore\.json$/;

/**
 * A receipt names its site and agent: on a sealed stick it lies in the parts alone, and the plain ones that an earlier medium
 * left go. @returns how many
 */
export const removePlainReceipts = async (root: string): Promise<number> => {
  const names = (await Array.fromAsync(namesIn(root, RECEIPTS_FOLDER))).filter((name) => OURS.test(name));
  const paths = names.map((name) => `${RECEIPTS_FOLDER}/${name}`);
  await removeFilesFromMedium(root, paths).catch((error: unknown) => {
    throw toFleetError(error, `removing old receipts from ${root}`);
  });
  return names.length;
};
