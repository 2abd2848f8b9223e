import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import { firstOf } from '#bundles/formats/layout/first-of';
import { missingBlob, readBlob, verifyAll } from '#bundles/formats/layout/verified';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { canonicalBytes } from '#bundles/json/canonical';
import type { ImageProvider } from '../../model/image-provider.ts';
import type { Examined } from '../../model/target.ts';
import { imagesOf } from '../plan-images.ts';
import {
  type Answer,
  askFile,
  type Offer,
  offerFile,
  openImageFolder,
  readAnswers,
  readAsk,
  readOffers,
  writingTo,
} from './image-folder.ts';

/** Waits for loaders, in milliseconds. */
export type LoaderWaits = {
  /** For the first loader that answers. */
  readonly any: number;
  /** For the loaders of further nodes that answered before; a node that is off gets its images when it is back. */
  readonly others: number;
  /** For a loader at work that writes nothing: one image of many gigabytes. */
  readonly silence: number;
  readonly poll: number;
};

const WAITS: LoaderWaits = { any: 60_000, others: 20_000, silence: 900_000, poll: 300 };

/**
 * Hands images to the image loaders of the nodes (load-images.ts), for an agent that is not root. The folder keeps the blobs of all wanted
 * images, so that a new node, or one whose kubelet collected an image, gets them without a medium.
 */
export const folderProvider = (path: string, waits: LoaderWaits = WAITS): ImageProvider => {
  const folder = openImageFolder(path);
  const { blobs } = folder;
  /** The bundles that `prove` got. A refusal of one of them refuses its images. */
  let proven: readonly Digest[] = [];
  /** Nodes whose loaders did not answer: only the first image waits for them. */
  const silent = new Set<string>();

  const has = async (digests: readonly Digest[]): Promise<ReadonlySet<Digest>> => {
    const there = new Set<Digest>();
    for (const digest of digests) if ((await blobs.size(digest)) !== undefined) there.add(digest);
    return there;
  };
  const isWhole = async (image: ClosureEntry, signal: AbortSignal): Promise<boolean> => {
    try {
      const parts = await imageBlobs(blobs, image, signal);
      return (await has(parts.map(({ digest }) => digest))).size === parts.length;
    } catch (error) {
      if (isFleetError(error, 'MISSING_BLOB') || isDamaged(error)) return false;
      throw error;
    }
  };
  /** Reads the blob through: damage, or a change in the folder, may leave its size as it is. */
  const isSound = async (digest: Digest, size: number, signal: AbortSignal): Promise<boolean> => {
    try {
      await verifyAll({ digest, size }, await blobs.open(digest, signal), blobs.name);
      return true;
    } catch (error) {
      if (isDamaged(error)) return false;
      throw error;
    }
  };
  /** Gives earlier offers the roots of these: a loader that accepted a newer root refuses offers whose newest root is older. */
  const renewRoots = async (newest: readonly Digest[]): Promise<void> => {
    const offers = await readOffers(folder);
    const roots = offers.find(({ bundle }) => newest.includes(bundle))?.roots ?? [];
    for (const offer of offers)
      if (offer.roots.length < roots.length && offer.roots.every((root) => roots.includes(root)))
        await writeFileAtomically(offerFile(folder, offer.bundle), canonicalBytes({ ...offer, roots }));
  };

  return {
    name: blobs.name,
    keeps: async (images, signal) => {
      const asked = await readAsk(folder);
      const answers = (await readAnswers(folder)).filter(({ id }) => id !== '' && id === asked);
      const kept = new Set<Digest>();
      for (const image of images) {
        const isLoaded =
          answers.length > 0 && answers.every((answer) => answer.images.includes(image.digest));
        if (isLoaded && (await isWhole(image, signal))) kept.add(image.digest);
      }
      return kept;
    },
    has,
    read: async (digest, signal) =>
      (await blobs.size(digest)) === undefined ? undefined : blobs.open(digest, signal),
    prove: async ({ roots, release, bundles, blobs: source }, signal) => {
      const keep = async (bytes: Uint8Array): Promise<Digest> => {
        const digest = digestOf(bytes);
        await blobs.write(digest, bytes.byteLength, bytes, signal);
        return digest;
      };
      await writingTo(folder, 'in', async () => {
        const kept: Digest[] = [];
        for (const { digest: bundle, envelopes } of bundles) {
          const { kind, config, manifest, size } = await readBundle(source, bundle, signal);
          if (kind !== 'kubernetes' || imagesOf([{ kind, config }]).length === 0) continue;
          for (const part of [{ digest: bundle, size }, manifest.config])
            await blobs.write(part.digest, part.size, await readBlob(source, part.digest, part.size, signal));
          const offer: Offer = {
            bundle,
            roots: [...new Set(await Promise.all(roots.map(keep)))],
            release: await Promise.all(release.map(keep)),
            statements: await Promise.all(envelopes.map(keep)),
          };
          await writeFileAtomically(offerFile(folder, bundle), canonicalBytes(offer));
          kept.push(bundle);
        }
        proven = kept;
        await renewRoots(kept);
      });
    },
    bring: async (image, source, signal) => {
      const parts = await imageBlobs(firstOf(source, blobs), image, signal);
      const id = randomUUID();
      await writingTo(folder, 'in', async () => {
        for (const { digest, size } of parts) {
          if ((await blobs.size(digest)) === size && (await isSound(digest, size, signal))) continue;
          if ((await source.size(digest)) === undefined) throw missingBlob(digest, source.name);
          await blobs.remove(digest);
          await blobs.write(digest, size, await source.open(digest, signal), signal);
        }
        await writeFileAtomically(askFile(folder), canonicalBytes({ id }));
      });
      await loaded(image, id, signal);
      return 'brought';
    },
    letGo: async (wanted, signal) => {
      const keep = new Set(wanted.map(({ digest }) => digest));
      const used = new Set<Digest>();
      const gone: string[] = [];
      const covered = new Set<Digest>();
      for (const offer of newestFirst(await readOffers(folder), proven)) {
        const bundle = await readBundle(blobs, offer.bundle, signal).catch(unlessDamaged);
        const images = bundle ? imagesOf([bundle]) : [];
        const isNeeded = images.some(({ digest }) => !covered.has(digest)) || proven.includes(offer.bundle);
        if (!bundle || !isNeeded || images.some(({ digest }) => !keep.has(digest))) {
          await writingTo(folder, 'in', () => rm(offerFile(folder, offer.bundle), { force: true }));
          gone.push(...images.flatMap(({ digest, names = [] }) => (keep.has(digest) ? [] : names)));
          continue;
        }
        const documents = [...offer.roots, ...offer.release, ...offer.statements];
        for (const digest of [offer.bundle, bundle.manifest.config.digest, ...documents]) used.add(digest);
        for (const image of images) {
          covered.add(image.digest);
          const parts = await imageBlobs(blobs, image, signal).catch(unlessDamaged);
          for (const { digest } of parts ?? []) used.add(digest);
        }
      }
      for (const digest of await blobs.list())
        if (!used.has(digest)) await writingTo(folder, 'in', () => blobs.remove(digest));
      return [...new Set(gone)].toSorted(compareBytes);
    },
    directory: async () => path,
    examine: async () => {
      const id = await readAsk(folder);
      const answers = await readAnswers(folder);
      if (answers.length > 0) return answers.map((answer) => examined(answer, id));
      return [{ name: 'image loaders', verdict: 'warning', message: unanswered(path).message }];
    },
  };

  /**
   * Waits until every node whose loader answers has the image. @param id of the request
   * @throws FleetError CONTAINERD_UNREACHABLE where no loader answers, IMAGE_REFUSED with the node and its reason
   */
  async function loaded(image: ClosureEntry, id: string, signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    const before = new Map((await readAnswers(folder)).map(({ node, count }) => [node, count]));
    const moved = new Map<string, { readonly count: number; readonly at: number }>();
    for (;;) {
      const answers = await readAnswers(folder);
      // A loader that works on an earlier request counts, too.
      const awake = answers.filter((answer) => answer.id === id || answer.count !== before.get(answer.node));
      const now = performance.now();
      for (const { node, count } of awake)
        if (moved.get(node)?.count !== count) moved.set(node, { count, at: now });
      for (const answer of awake) if (answer.id === id && !answer.isBusy) refuse(image, answer);
      const areDone = awake.every((answer) => answer.id === id && answer.images.includes(image.digest));
      const others = answers.filter(({ node }) => !awake.some((one) => one.node === node));
      const isAlone = others.every(({ node }) => silent.has(node)) || now - begun >= waits.others;
      if (awake.length > 0 && areDone && isAlone) {
        for (const { node } of others) silent.add(node);
        return;
      }
      const stuck = awake.find(({ node }) => now - (moved.get(node)?.at ?? now) >= waits.silence);
      if (stuck) throw stopped(stuck.node, image, waits.silence);
      if (awake.length === 0 && now - begun >= waits.any) throw unanswered(path);
      await sleep(waits.poll, undefined, { signal });
    }
  }

  function refuse(image: ClosureEntry, { node, images, refused }: Answer): void {
    if (images.includes(image.digest)) return;
    const why = refused.find(({ digest }) => digest === image.digest || proven.includes(digest));
    const reason = why ? `${why.code}: ${why.message}` : 'no signed bundle that it accepts names the image';
    throw new FleetError(
      'IMAGE_REFUSED',
      `the image loader of node ${node} did not load ${image.names?.[0] ?? image.digest}: ${reason}`,
      {
        subject: image.digest,
        hint: 'Its log says more: kubectl logs -l app.kubernetes.io/name=fleet-image-loader, in the namespace of the agent',
      },
    );
  }
};

/** Those of the newest release, then those with the most roots: an image needs one proof, and loaders accept that of the newest release longest. */
const newestFirst = (offers: readonly Offer[], proven: readonly Digest[]): readonly Offer[] => {
  const rank = ({ bundle, roots }: Offer): number => (proven.includes(bundle) ? Infinity : roots.length);
  return offers.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a)));
};

/** @param id of the agent's last request */
const examined = (
  { node, id: answered, isBusy, images, refused }: Answer,
  id: string | undefined,
): Examined => {
  const name = `image loader of node ${node}`;
  const [first] = refused;
  if (first) return { name, verdict: 'bad', message: `refused: ${first.code}: ${first.message}` };
  if (id !== undefined && answered !== id && !isBusy)
    return {
      name,
      verdict: 'warning',
      message: `has not answered since the last import; if the node is gone, delete nodes/${node}.json in the folder`,
    };
  return { name, verdict: 'good', message: `${formatCount(images.length, 'image')} loaded` };
};

const isDamaged = (error: unknown): boolean =>
  isFleetError(error, 'DIGEST_MISMATCH') || isFleetError(error, 'SIZE_MISMATCH');

const unlessDamaged = (error: unknown): undefined => {
  if (isFleetError(error, 'ABORTED') || !isFleetError(error)) throw error;
};

const unanswered = (path: string): FleetError =>
  new FleetError('CONTAINERD_UNREACHABLE', `no image loader takes the images in ${path}`, {
    hint: 'Does one run on each node, with this folder? kubectl get pods -l app.kubernetes.io/name=fleet-image-loader, in the namespace of the agent',
  });

const stopped = (node: string, { names, digest }: ClosureEntry, silenceMs: number): FleetError =>
  new FleetError(
    'CONTAINERD_UNREACHABLE',
    `the image loader of node ${node} has done nothing for ${Math.round(silenceMs / 60_000)} minutes while ${names?.[0] ?? digest} was to be loaded`,
    {
      hint: 'Its containerd may hang: kubectl logs -l app.kubernetes.io/name=fleet-image-loader, in the namespace of the agent. What is loaded stays; import again, and it continues',
    },
  );
