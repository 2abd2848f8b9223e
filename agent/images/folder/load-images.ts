import { setTimeout as sleep } from 'node:timers/promises';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { compareBytes, type Digest } from '#bundles/digest';
import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { canonicalBytes } from '#bundles/json/canonical';
import type { ImageProvider } from '../../model/image-provider.ts';
import type { Log } from '../../model/log.ts';
import { countedBlobs } from '../counted-blobs.ts';
import { imagesOf } from '../plan-images.ts';
import {
  type Answer,
  answerFile,
  type ImageFolder,
  readAnswer,
  readAsk,
  readOffers,
  type Refusal,
  writingTo,
} from './image-folder.ts';
import { type Proven, verifyOffer } from './verify-offer.ts';

export type Loader = {
  readonly folder: ImageFolder;
  /** The containerd of the node. */
  readonly provider: ImageProvider;
  /** Name of the node, and of its file of answers. */
  readonly node: string;
  /** SHA-256 of the root file, given by an administrator and not by the agent. */
  readonly pinnedRoot: Digest;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Between answers while an image is loaded; a minute by default. */
  readonly beatMs?: number;
};

/** A kubelet may have collected images meanwhile. */
const CHECK_MS = 600_000;
const POLL_MS = 500;
/** Between answers while an image is loaded. */
const BEAT_MS = 60_000;

/** Runs rounds until it is stopped: when the agent asks, and every ten minutes. @param isAlive called as long as it makes progress */
export const keepLoading = async (loader: Loader, isAlive: () => void): Promise<void> => {
  const { folder, log, signal } = loader;
  let last: { readonly id: string | undefined; readonly at: number } | undefined;
  let fault = '';
  while (!signal.aborted) {
    isAlive();
    try {
      const id = await readAsk(folder);
      const now = performance.now();
      if (!last || last.id !== id || now - last.at >= CHECK_MS) {
        await loadRound(loader, id ?? '', isAlive);
        last = { id, at: now };
      }
      fault = '';
    } catch (cause) {
      const { code, message, hint } = toFleetError(cause);
      if (signal.aborted) return;
      // containerd or the folder may be back in a moment; the log has each fault once.
      if (fault !== message) log.error({ code, reason: message, hint }, 'images could not be loaded');
      fault = message;
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
  }
};

/**
 * Verifies every offer in the folder, loads the images of those that are proven, and writes the answer of this node. The other offers are
 * named in the answer with the reason, and load nothing. @throws FleetError CONTAINERD_UNREACHABLE, TOOL_MISSING, PERMISSION, ABORTED
 */
export const loadRound = async (
  loader: Loader,
  id: string,
  isAlive: () => void = () => {},
): Promise<Answer> => {
  const { folder, provider, node, log, signal } = loader;
  const before = await readAnswer(folder, node);
  const { proven, refused: unproven } = await verifyOffers(loader, before?.root ?? 0);
  const images = imagesOf(proven.map(({ bundle }) => bundle));
  const root = Math.max(before?.root ?? 0, ...proven.map((one) => one.root.version));
  const there = new Set(await provider.keeps(images, signal));
  const refused: Refusal[] = [...unproven];
  let written = before;
  const answer = async (isBusy: boolean, isBeat = false): Promise<Answer> => {
    const list = [...there].toSorted(compareBytes);
    const next = { node, id, isBusy, count: (written?.count ?? 0) + 1, root, images: list, refused };
    // Every write wears a flash disk, and rounds without news are most of them.
    if (!isBeat && written && sameButCount(written, next)) return written;
    await writingTo(folder, 'nodes', () =>
      writeFileAtomically(answerFile(folder, node), canonicalBytes(next)),
    );
    written = next;
    return next;
  };
  const missing = images.filter(({ digest }) => !there.has(digest));
  if (missing.length > 0) await answer(true);
  for (const image of missing) {
    const beat = createBeat(loader.beatMs ?? BEAT_MS, () => answer(true, true), isAlive);
    const error = await load(loader, image, beat.onChunk);
    await beat.written();
    isAlive();
    if (error) refused.push(refusalOf(image.digest, error));
    else there.add(image.digest);
    await answer(true);
  }
  // A damaged document must not take the pins of images that run.
  if (unproven.length === 0 && proven.length > 0) await provider.letGo(images, signal);
  // A blob that is missing is mostly one that the agent is about to copy.
  for (const { digest, code, message } of refused)
    if (code !== 'MISSING_BLOB' && !wasRefused(before, digest, code))
      log.warn({ digest, code, reason: message }, 'refused');
  return answer(false);
};

const verifyOffers = async (
  { folder, pinnedRoot, signal }: Loader,
  oldest: number,
): Promise<{ readonly proven: readonly Proven[]; readonly refused: readonly Refusal[] }> => {
  const proven: Proven[] = [];
  const refused: Refusal[] = [];
  for (const offer of await readOffers(folder)) {
    try {
      proven.push(await verifyOffer(folder.blobs, offer, { pinnedRoot, oldest }, signal));
    } catch (error) {
      refused.push(refusalOf(offer.bundle, orStopped(error)));
    }
  }
  return { proven, refused };
};

/**
 * Says for each chunk of an image that the loader lives, and now and then in its answer, for the agent that waits.
 * @param write rejects where the folder cannot be written; the answer at the end of the image fails then, too
 */
const createBeat = (everyMs: number, write: () => Promise<unknown>, isAlive: () => void) => {
  let next = performance.now() + everyMs;
  let writing: Promise<unknown> = Promise.resolve();
  return {
    onChunk: (): void => {
      isAlive();
      if (performance.now() < next) return;
      next = performance.now() + everyMs;
      writing = writing.then(write).catch(() => {});
    },
    written: () => writing,
  };
};

/** Loads one image, every blob verified on its way. Returns why it could not be. */
const load = async (
  { folder, provider, log, signal }: Loader,
  image: ClosureEntry,
  onChunk: () => void,
): Promise<FleetError | undefined> => {
  try {
    const result = await provider.bring(image, countedBlobs(folder.blobs, onChunk), signal);
    log.info({ digest: image.digest, names: image.names, result }, 'loaded');
    return undefined;
  } catch (error) {
    const why = orStopped(error);
    // No fault of this image: the round ends, and the next one tries all again.
    if (isFleetError(why, 'CONTAINERD_UNREACHABLE') || isFleetError(why, 'TOOL_MISSING')) throw why;
    return why;
  }
};

/** @throws FleetError ABORTED, INTERNAL */
const orStopped = (cause: unknown): FleetError => {
  const error = toFleetError(cause);
  if (error.code === 'ABORTED' || error.code === 'INTERNAL') throw error;
  return error;
};

const refusalOf = (digest: Digest, { code, message }: FleetError): Refusal => ({ digest, code, message });

const wasRefused = (before: Answer | undefined, digest: Digest, code: string): boolean =>
  before?.refused.some((one) => one.digest === digest && one.code === code) ?? false;

const sameButCount = (one: Answer, other: Answer): boolean =>
  JSON.stringify({ ...one, count: 0 }) === JSON.stringify({ ...other, count: 0 });
