import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import { byteReader } from './http/byte-reader.ts';
import { discard } from './http/exchange.ts';
import { createRetries } from './http/retry-budget.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';
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

/** Limit of new uploads in place of interrupted ones, unless more tries are set. A registry may lose each upload. */
const MAX_RESTARTS = 5;

/**
 * Uploads a blob unless it exists. An interrupted upload continues at the offset that the registry reports. It begins anew if the registry
 * has lost or refuses it: a late part of the request that was cut may have been added to it. Retries as long as there is progress.
 * Only the refusal of an upload without interruption is final.
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
  const begun = await beginOrMount(upload, mountFrom);
  if (begun === 'there' || begun === 'mounted') return begun;
  const retries = createRetries(client.options, client.retryBudget);
  let session: Session = begun;
  let anew = 0;
  for (let best = 0; ; ) {
    const { reached, failure, why } = await sendFrom(upload, session, open);
    if (failure === undefined) return 'uploaded';
    if (reached.offset > best) retries.renew();
    best = Math.max(best, reached.offset);
    if (!(await retries.wait(undefined, signal))) throw failure;
    // The upload may have succeeded although its response was lost.
    if (await isPresent(upload)) return 'uploaded';
    const resumed = why === 'refused' ? undefined : await resumeUpload(upload, reached);
    const isStuck = why === 'offset' && session.isResumed && resumed?.offset === reached.offset;
    if (resumed && !isStuck) {
      if (resumed.offset > best) retries.renew();
      session = resumed;
      continue;
    }
    // A registry that takes long to close an upload may have closed it by now, and no longer knows it.
    if (!resumed && (await isPresent(upload))) return 'uploaded';
    anew += 1;
    if (anew > Math.max(MAX_RESTARTS, client.options.tries ?? 0)) throw failure;
    session = await beginAnew(upload);
    best = 0;
  }
};

/** Begins an upload unless the blob exists or can be mounted. An existing one can be mounted as well, which takes one request in place of two. */
const beginOrMount = async (
  upload: Upload,
  mountFrom: string | undefined,
): Promise<Session | 'there' | 'mounted'> => {
  const { mounts } = upload.repository.client;
  const mayMount = mountFrom !== undefined && mounts.work();
  if (!mayMount && (await isPresent(upload))) return 'there';
  const begun = await beginUpload(upload, mountFrom);
  if (begun === 'mounted' || !mayMount) return begun;
  mounts.failed();
  return (await isPresent(upload)) ? 'there' : begun;
};

/**
 * Treats 500 as a missing blob: after a full disk, docker-registry keeps an empty link to a blob that fails every request until the blob
 * is uploaded again.
 */
const isPresent = ({ repository, blob, doing, signal }: Upload): Promise<boolean> => {
  const { path, client } = repository;
  const scope = scopeFor(path, 'pull,push');
  return client.ask(
    { doing, method: 'HEAD', path: `${path}/blobs/${blob.digest}`, accept: [200, 404, 500], scope, signal },
    async (answer) => (await discard(answer)).status === 200,
  );
};

const beginAnew = async (upload: Upload): Promise<Session> => (await beginUpload(upload)) as Session;

type Sent = {
  readonly reached: Session;
  readonly failure?: FleetError;
  /** 'cut': the line or the registry failed. 'offset': the registry has another offset. 'refused': it refuses a resumed upload. */
  readonly why?: 'cut' | 'offset' | 'refused';
};

/** OCI distribution spec 1.1, "Pushing blobs". Returns a failure after which the upload may continue; throws other failures. */
const sendFrom = async (upload: Upload, from: Session, open: Open): Promise<Sent> => {
  const { size } = upload.blob;
  const reader = byteReader(await open(), upload.doing);
  let reached = from;
  try {
    if (from.offset === 0 && size <= chunkOf(upload, from)) {
      const broken = await timed(upload, size, () => finishUpload(upload, from, reader.take(size)));
      return { reached, ...broken };
    }
    await reader.skip(from.offset);
    while (reached.offset < size) {
      const next = Math.min(chunkOf(upload, reached), size - reached.offset);
      const session = reached;
      const sent = await timed(upload, next, () => sendChunk(upload, session, next, reader.take(next)));
      if ('failure' in sent) return { reached, ...sent };
      reached = sent;
    }
    return { reached, ...(await finishUpload(upload, reached, undefined)) };
  } catch (error) {
    if (isFleetError(error, 'REGISTRY_UNREACHABLE')) return { reached, failure: error, why: 'cut' };
    if (from.isResumed && REFUSALS.some((code) => isFleetError(error, code)))
      return { reached, failure: afterInterruption(error as FleetError), why: 'refused' };
    throw error;
  } finally {
    reader.close();
  }
};

const REFUSALS = ['REGISTRY_REFUSED', 'REGISTRY_DENIED', 'DIGEST_MISMATCH'] as const;

const afterInterruption = (cause: FleetError): FleetError =>
  new FleetError('REGISTRY_UNREACHABLE', `${cause.message}, each time after an interruption`, {
    cause,
    hint: 'The registry, or a proxy before it, loses or damages uploads that are interrupted; try again later',
  });

/** The measured rate decides the size of the next chunk. */
const timed = async <T extends object | undefined>(
  { repository }: Upload,
  bytes: number,
  send: () => Promise<T>,
): Promise<T> => {
  const { pace, options } = repository.client;
  const now = options.clock ?? monotonic;
  const began = now();
  try {
    const result = await send();
    if (isBroken(result)) pace.failed(bytes);
    else pace.sent(bytes, now() - began);
    return result;
  } catch (error) {
    pace.failed(bytes);
    throw error;
  }
};

const isBroken = (result: object | undefined): boolean => result !== undefined && 'failure' in result;

const monotonic = (): number => performance.now();
