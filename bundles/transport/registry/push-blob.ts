import { type Digest, shortDigest } from '../../digest.ts';
import { type FleetError, isFleetError } from '../../errors.ts';
import { byteReader } from './http/byte-reader.ts';
import { discard } from './http/exchange.ts';
import { newRetries } from './http/retry-budget.ts';
import { type RepositoryClient, wishTo } from './repository-client.ts';
import {
  beginUpload,
  chunkOf,
  finishUpload,
  resumeUpload,
  type Session,
  sendChunk,
  type Upload,
} from './upload.ts';

type Open = () => Promise<AsyncIterable<Uint8Array>>;

/**
 * Uploads a blob unless it exists. An interrupted upload continues at the offset that the registry reports, or starts again if the registry
 * has lost it. Retries as long as there is progress.
 * @param mountFrom full path of another repository of this registry
 */
export const pushBlob = async (
  repository: RepositoryClient,
  blob: { readonly digest: Digest; readonly size: number },
  open: Open,
  {
    mountFrom,
    signal,
  }: { readonly mountFrom?: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<'there' | 'mounted' | 'uploaded'> => {
  const doing = `sending ${shortDigest(blob.digest)} to ${repository.name}`;
  const upload: Upload = { repository, blob, doing, signal };
  const { client } = repository;
  // An existing blob can be mounted as well, which takes one request in place of two.
  const mounts = mountFrom !== undefined && client.mounts.work();
  if (!mounts && (await isThere(upload))) return 'there';
  const begun = await beginUpload(upload, mountFrom);
  if (begun === 'mounted') return 'mounted';
  if (mounts) {
    client.mounts.failed();
    if (await isThere(upload)) return 'there';
  }

  const retries = newRetries(client.options, client.retryBudget);
  let session = begun;
  for (let best = 0; ; ) {
    const { reached, failure } = await sendFrom(upload, session, open);
    if (failure === undefined) return 'uploaded';
    if (reached.offset > best) retries.renew();
    best = Math.max(best, reached.offset);
    if (!(await retries.wait(undefined, signal))) throw failure;
    // The upload may have succeeded although its response was lost.
    if (await isThere(upload)) return 'uploaded';
    const resumed = await resumeUpload(upload, reached);
    if (resumed && resumed.offset > best) retries.renew();
    session = resumed ?? (await beginAnew(upload));
  }
};

/**
 * Treats 500 as a missing blob: after a full disk, docker-registry keeps an empty link to a blob that fails every request until the blob
 * is uploaded again.
 */
const isThere = ({ repository, blob, doing, signal }: Upload): Promise<boolean> => {
  const { path, client } = repository;
  const wish = wishTo(path, 'pull,push');
  return client.ask(
    { doing, method: 'HEAD', path: `${path}/blobs/${blob.digest}`, accept: [200, 404, 500], wish, signal },
    async (answer) => (await discard(answer)).status === 200,
  );
};

const beginAnew = async (upload: Upload): Promise<Session> => (await beginUpload(upload)) as Session;

/** OCI distribution spec 1.1, "Pushing blobs". Returns a transient failure with the reached offset; throws other failures. */
const sendFrom = async (
  upload: Upload,
  from: Session,
  open: Open,
): Promise<{ readonly reached: Session; readonly failure?: FleetError }> => {
  const { size } = upload.blob;
  const reader = byteReader(await open(), upload.doing);
  let reached = from;
  try {
    if (from.offset === 0 && size <= chunkOf(upload, from)) {
      await timed(upload, size, () => finishUpload(upload, from, reader.take(size)));
      return { reached };
    }
    await reader.skip(from.offset);
    while (reached.offset < size) {
      const next = Math.min(chunkOf(upload, reached), size - reached.offset);
      const session = reached;
      reached = await timed(upload, next, () => sendChunk(upload, session, next, reader.take(next)));
    }
    await finishUpload(upload, reached, undefined);
    return { reached };
  } catch (error) {
    if (isFleetError(error, 'REGISTRY_UNREACHABLE')) return { reached, failure: error };
    throw error;
  } finally {
    reader.close();
  }
};

/** The measured rate decides the size of the next chunk. */
const timed = async <T>({ repository }: Upload, bytes: number, send: () => Promise<T>): Promise<T> => {
  const { pace, options } = repository.client;
  const now = options.clock ?? monotonic;
  const began = now();
  try {
    const result = await send();
    pace.sent(bytes, now() - began);
    return result;
  } catch (error) {
    pace.failed(bytes);
    throw error;
  }
};

const monotonic = (): number => performance.now();
