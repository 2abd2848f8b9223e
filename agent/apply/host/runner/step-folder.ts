import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isSafeHostPath } from '#bundles/formats/bundle/host-package';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { verifyAll } from '#bundles/formats/layout/verified';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { errno, hostError } from '../host-error.ts';
import type { RunnerRequest, RunnerResult, StepContent } from '../step-request.ts';

/** A result as it is stored: how the step ended, or why the runner refused the request. */
export type StoredResult =
  | RunnerResult
  | { readonly outcome: 'refused'; readonly error: { readonly code: string; readonly message: string } };

/** Folder of all requests. The agent's lock admits one request at a time. */
export const stepsFolder = (state: string): string => join(state, 'runner');

/** `request.json`, `result.json` and `content/` of one step, below the agent's state directory, which only root can enter. */
export const stepFolder = (state: string, id: string): string => join(stepsFolder(state), id);

/** The id of a request is the digest of its bytes, so that the runner notices a changed one. 32 hex digits fit into a unit's name. */
export const idOf = (bytes: Uint8Array): string => hexOf(digestOf(bytes)).slice(0, 32);

/** The unit that performs a step. */
export const runnerUnit = (id: string): string => `fleet-agent-runner@${id}.service`;

export const isStepId = (text: string): boolean => /^[0-9a-f]{32}$/.test(text);

/** Stores a request durably. */
export const writeRequest = async (folder: string, bytes: Uint8Array): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFileAtomically(join(folder, 'request.json'), bytes, 0o600);
  } catch (error) {
    throw hostError(error, 'writing a request for the runner');
  }
};

/** True for a step that was begun and has not ended. */
export const hasRequest = async (folder: string): Promise<boolean> =>
  (await readIfThere(join(folder, 'request.json'))) !== undefined;

export const removeRequest = async (folder: string): Promise<void> => {
  try {
    await rm(join(folder, 'request.json'), { force: true });
  } catch (error) {
    throw hostError(error, 'removing a request for the runner');
  }
};

/** @throws FleetError REFERENCE_MISSING, DIGEST_MISMATCH, IO */
export const readRequest = async (folder: string, id: string): Promise<RunnerRequest> => {
  const bytes = await readIfThere(join(folder, 'request.json'));
  if (!bytes) throw new FleetError('REFERENCE_MISSING', `there is no request ${id} for the runner`);
  if (idOf(bytes) !== id)
    throw new FleetError(
      'DIGEST_MISMATCH',
      `the request ${id} for the runner was changed after it was written`,
    );
  return JSON.parse(bytes.toString('utf8')) as RunnerRequest;
};

export const writeResult = async (folder: string, result: StoredResult): Promise<void> => {
  try {
    await writeFileAtomically(join(folder, 'result.json'), Buffer.from(JSON.stringify(result)), 0o600);
  } catch (error) {
    throw hostError(error, 'writing the result of a step');
  }
};

/** undefined if the step has not ended. */
export const readResult = async (folder: string): Promise<StoredResult | undefined> => {
  const bytes = await readIfThere(join(folder, 'result.json'));
  return bytes && (JSON.parse(bytes.toString('utf8')) as StoredResult);
};

const readIfThere = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path);
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${path}`);
  }
};

/**
 * Makes the content folder of a step anew, with every byte verified: a blob becomes a hard link to the store, so that its bytes are
 * not copied, and carried bytes become a file. Returns its path.
 * @throws FleetError BAD_NAME, MISSING_BLOB, SIZE_MISMATCH, DIGEST_MISMATCH, ABORTED, DISK_FULL
 */
export const layOutContent = async (
  state: string,
  folder: string,
  content: readonly StepContent[],
  signal: AbortSignal,
): Promise<string> => {
  const blobs = openBlobDirectory(state, 'the store');
  const place = join(folder, 'content');
  try {
    await rm(place, { recursive: true, force: true });
    await mkdir(place, { recursive: true, mode: 0o700 });
    for (const { path, digest, size, bytes } of content) {
      if (!isSafeHostPath(`/${path}`))
        throw new FleetError('BAD_NAME', `a step cannot read the unsafe path ${JSON.stringify(path)}`);
      const to = join(place, path);
      await mkdir(dirname(to), { recursive: true, mode: 0o700 });
      if (bytes === undefined) {
        await link(await verifiedPath(blobs, digest, size, signal), to);
        continue;
      }
      const given = Buffer.from(bytes, 'base64');
      await verifyAll({ digest, size }, once(given), `the request, ${path}`);
      await writeFile(to, given, { mode: 0o600 });
    }
    return place;
  } catch (error) {
    throw hostError(error, 'preparing the content of a step');
  }
};

const verifiedPath = async (
  blobs: ReturnType<typeof openBlobDirectory>,
  digest: Digest,
  size: number,
  signal: AbortSignal,
): Promise<string> => {
  await verifyAll({ digest, size }, await blobs.open(digest, signal), blobs.name);
  return blobs.path(digest);
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
