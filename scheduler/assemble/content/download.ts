import { createHash, type Hash, randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Dispatcher } from 'undici';
import { defined } from '#bundles/defined';
import { type Digest, digestFromHex, digestOf, hexOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { BlobDirectory } from '#bundles/formats/layout/blob-directory';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { readSpan } from '#bundles/formats/layout/read-span';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { retryAfter } from '#bundles/retry';
import { createRetries } from '#bundles/transport/registry/http/retry-budget';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { isTransientError } from '#bundles/transport/registry/http/registry-error';
import { type Answer, send } from '#bundles/transport/registry/http/send';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { markUsed } from '../../load/sources/cache-use.ts';
import { checkScheme } from '../../load/charts/chart-places.ts';
import type { FetchContent } from './content.ts';
import type { LockedContent } from '../../model/content-locks.ts';
import { contentCache } from './contents.ts';

/** Downloads files of packages from web servers into the cache. */
export type ContentPlaces = AsyncDisposable & { readonly fetch: FetchContent };

/** Maximum size in bytes, above any intended file for a host, so that a wrong address cannot fill the disk. */
const MAX_BYTES = 64 * 2 ** 30;
/** Progress in bytes after which the retry budget is renewed. */
const PROGRESS = 64 << 10;

/**
 * @param directory the scheduler's cache
 * Streams to the cache with constant memory and resumes interrupted downloads; with a known digest also those of an earlier
 * run. Only verified content gets its final name.
 */
export const openContentPlaces = (
  directory: string,
  options: RegistryOptions & { readonly maxBytes?: number },
): ContentPlaces => {
  const cache = contentCache(directory);
  let connections: Dispatcher | undefined;
  return {
    fetch: async (url, expected, signal) => {
      const address = new URL(url);
      checkScheme(address, options.plainHttp);
      connections ??= openConnections(options);
      const partials = join(directory, 'content', 'partial');
      await createPartials(partials, url);
      // Without a known digest, a partial file may be of other content. Another process may be filling one that could be resumed.
      const resumed = expected && join(partials, hexOf(digestOf(`${url} ${expected.digest}`)));
      using lock = resumed === undefined ? undefined : lockPartial(`${resumed}.lock`);
      const partial = lock && resumed !== undefined ? resumed : join(partials, randomUUID());
      if (lock) await markUsed(directory, `${resumed}.lock`);
      try {
        const got = await download({ ...options, connections, url: address, partial, expected, signal });
        await keep(cache, partial, got.digest);
        return got;
      } catch (error) {
        if (partial !== resumed) await rm(partial, { force: true });
        signal.throwIfAborted();
        throw asUnreachable(error, url);
      }
    },
    [Symbol.asyncDispose]: async () => {
      await connections?.close();
    },
  };
};

const createPartials = async (folder: string, url: string): Promise<void> => {
  try {
    await createDirectory(folder);
  } catch (error) {
    throw asUnreachable(error, url);
  }
};

/** @returns undefined while another process fills the partial file, or if the lock cannot be created */
const lockPartial = (file: string): Disposable | undefined => {
  try {
    return tryExclusiveLock(file);
  } catch {
    return undefined;
  }
};

type Job = RegistryOptions & {
  readonly maxBytes?: number;
  readonly connections: Dispatcher;
  readonly url: URL;
  readonly partial: string;
  readonly expected: { readonly digest: Digest; readonly size?: number } | undefined;
  readonly signal: AbortSignal;
};

type Progress = { file: FileHandle; hash: Hash; done: number; validator: string | undefined };

const download = async (job: Job): Promise<LockedContent> => {
  await using file = await open(job.partial, 'a+', 0o600);
  const progress: Progress = { file, hash: createHash('sha256'), done: 0, validator: undefined };
  const { size } = await file.stat();
  for await (const chunk of readSpan(file, { offset: 0, size }, job.partial, job))
    progress.hash.update(chunk);
  progress.done = size;
  const resumed = size > 0;
  if (size === 0 || size !== job.expected?.size) await pull(job, progress);
  await file.sync();
  const digest = digestFromHex(progress.hash.digest('hex'));
  const { expected } = job;
  if (!expected || digest === expected.digest) return { digest, size: progress.done };
  await rm(job.partial, { force: true });
  // The partial file may have been damaged: download again from the beginning.
  if (resumed) return await download(job);
  throw new FleetError('DIGEST_MISMATCH', `${job.url.href} is ${digest}, expected ${expected.digest}`, {
    hint: 'Was it published again? Inspect it, then lock it again: fleet-scheduler images lock --update, or correct its sha256',
  });
};

const pull = async (job: Job, progress: Progress): Promise<void> => {
  const { signal, url } = job;
  const retries = createRetries(job);
  for (;;) {
    // Without either, the rest may belong to other content than the partial file.
    if (!job.expected && progress.validator === undefined) await restart(progress);
    const mark = progress.done;
    let failure: unknown;
    let asked: number | undefined;
    try {
      const answer = await ask(job, progress);
      asked = retryAfter(answer.header);
      if (await isTaken(job, progress, answer)) return;
      failure = new Error(`it was answered with ${answer.status}, or ended early`);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FleetError || !isTransientError(error)) throw error;
      failure = error;
    }
    if (progress.done - mark >= PROGRESS) retries.renew();
    if (!(await retries.wait(asked, signal))) throw asUnreachable(failure, url.href);
  }
};

const restart = async (progress: Progress): Promise<void> => {
  await progress.file.truncate(0);
  [progress.done, progress.hash] = [0, createHash('sha256')];
};

const ask = async (job: Job, { done, validator }: Progress): Promise<Answer> => {
  const range = done > 0 ? defined({ range: `bytes=${done}-`, 'if-range': validator }) : {};
  // The published bytes, without a content encoding.
  const headers = { 'accept-encoding': 'identity', ...range };
  const { url, signal } = job;
  return await send(job.connections, { method: 'GET', url, headers, signal }, job.plainHttp);
};

/** @returns true if the file is complete; false: retry */
const isTaken = async (job: Job, progress: Progress, answer: Answer): Promise<boolean> => {
  const { status } = answer;
  const starts = Number(/^bytes ([0-9]{1,15})-/.exec(answer.header('content-range') ?? '')?.[1] ?? -1);
  if (status === 200 || status === 416 || (status === 206 && starts !== progress.done)) {
    if (status !== 200) await answer.body.dump().catch(() => {});
    await restart(progress);
    if (status !== 200) return false;
  } else if (status !== 206) {
    await answer.body.dump().catch(() => {});
    if (status === 429 || status === 408 || status >= 500) return false;
    throw new FleetError('SOURCE_UNREACHABLE', `${job.url.href} was answered with ${status}`, {
      hint: 'Is the address right, and may this machine read it?',
    });
  }
  return await receive(job, progress, answer);
};

/** Appends the body to the file. @returns true if it is complete; false: retry */
const receive = async (job: Job, progress: Progress, answer: Answer): Promise<boolean> => {
  const etag = answer.header('etag');
  // A weak validator does not promise equal bytes (RFC 9110 section 8.8.1).
  progress.validator = etag?.startsWith('"') === true ? etag : undefined;
  const length = answer.header('content-length');
  const total =
    length !== undefined && /^[0-9]{1,15}$/.test(length) ? progress.done + Number(length) : undefined;
  const most = job.expected?.size ?? job.maxBytes ?? MAX_BYTES;
  if ((total ?? 0) > most) {
    await answer.body.dump();
    throw tooLarge(job.url, most);
  }
  for await (const chunk of answer.body) {
    if (progress.done + chunk.byteLength > most) throw tooLarge(job.url, most);
    await progress.file.appendFile(chunk);
    progress.hash.update(chunk);
    progress.done += chunk.byteLength;
  }
  return total === undefined || progress.done === total;
};

const tooLarge = (url: URL, most: number): FleetError =>
  new FleetError('TOO_LARGE', `${url.href} has more than the ${most} bytes that are fetched`, {
    hint: 'Was it published again with another size? Inspect it, then lock it again: fleet-scheduler images lock --update',
  });

/** Another process may have downloaded the same content first. */
const keep = async (cache: BlobDirectory, partial: string, digest: Digest): Promise<void> => {
  const path = cache.path(digest);
  await createDirectory(dirname(path));
  try {
    await rename(partial, path);
  } catch (error) {
    if ((await cache.size(digest)) === undefined) throw error;
  }
  await syncDirectory(dirname(path));
};

const asUnreachable = (error: unknown, url: string): FleetError => {
  if (error instanceof FleetError) return error;
  const known = toFleetError(error);
  if (['DISK_FULL', 'PERMISSION', 'IO'].includes(known.code)) return known;
  return new FleetError('SOURCE_UNREACHABLE', `${url} could not be fetched: ${known.message}`, {
    cause: error,
  });
};
