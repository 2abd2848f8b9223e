import { defined } from '#bundles/defined';
import { type ErrorCode, FleetError, toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { findOddEntries } from '#bundles/formats/medium/plain-files';

/** One of many items that was refused. */
export type Refused = { readonly path: string; readonly error: FleetError };

/** Refuses links, pipes and the like below a folder of a medium, which readers skip. */
export const oddEntries = async ({ roots }: OpenMedium, folder: string): Promise<Refused[]> => {
  const found: Refused[] = [];
  for (const root of roots)
    for (const error of await findOddEntries(root, folder)) found.push({ path: folder, error });
  return found;
};

/** Runs a step on one of many items. An error in the item is added to `refused`, so that the others are still processed. */
export const orRefuse = async <T>(
  refused: Refused[],
  path: string,
  step: () => T | Promise<T>,
): Promise<T | undefined> => {
  try {
    return await step();
  } catch (error) {
    const refusal = toFleetError(error, path);
    // Errors that are not about the item, such as a full disk, end the run.
    if (refusal.exitCode === 1 || HUB_CODES.has(refusal.code)) throw refusal;
    refused.push({ path, error: refusal });
    return undefined;
  }
};

const HUB_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'DISK_FULL',
  'STORE_CORRUPT',
  'DATABASE_UNREACHABLE',
  'BUSY',
  'KEY_MISSING',
]);

/** For --json. */
export const describeRefused = ({ path, error }: Refused) =>
  defined({
    path,
    code: error.code,
    message: error.message,
    subject: error.subject,
    hint: error.hint,
  });

export const abortIfAsked = (signal: AbortSignal | undefined): void => {
  if (signal?.aborted) throw new FleetError('ABORTED', 'it was stopped; run it again to continue');
};
