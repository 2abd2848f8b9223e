import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest, isDigest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobSource, FoundBlob } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { ImageProvider } from '../../model/image-provider.ts';
import { imageTar } from './image-tar.ts';
import type { Ctr } from './open-ctr.ts';

/** Label of every name that this agent imported. It is set last and therefore marks a complete image. */
const BROUGHT = 'fleet-ferry.image';
/** Label that exempts an image from the kubelet's collection; older versions of containerd's CRI plugin ignore it. */
const PINNED = 'io.cri-containerd.pinned';

type Imported = { readonly parts: readonly Descriptor[]; readonly sent: number };

/**
 * Imports images into the node's containerd. Its CRI plugin finds an image under the imported name 'host/repo@sha256:...' when
 * a pod needs it, so nothing is pulled. The plugin unpacks layers with its configured snapshotter when the first container
 * starts.
 */
export const containerdProvider = (socket: string, ctr: Ctr): ImageProvider => {
  const lines = async (args: readonly string[], signal: AbortSignal): Promise<readonly string[]> =>
    (await ctr(args, { signal })).toString('utf8').split('\n').filter(Boolean);
  const content = async (signal: AbortSignal): Promise<ReadonlySet<string>> =>
    new Set(await lines(['content', 'ls', '-q'], signal));
  const brought = (signal: AbortSignal, also = ''): Promise<readonly string[]> =>
    lines(['images', 'ls', '-q', `labels."${BROUGHT}"==brought${also}`], signal);
  const label = async (name: string, labels: readonly string[], signal: AbortSignal): Promise<void> => {
    await ctr(['images', 'label', name, ...labels], { signal });
  };

  return {
    name: `containerd ${socket}`,
    keeps: async (images, signal) => {
      if (images.length === 0) return new Set();
      // Without its pin the kubelet would collect it.
      const known = new Set(await brought(signal, `,labels."${PINNED}"==pinned`));
      const whole = images.filter(({ names = [] }) => names.every((name) => known.has(name)));
      return new Set(whole.map(({ digest }) => digest));
    },
    has: async (blobs, _images, signal) => {
      if (blobs.length === 0) return new Set();
      const there = await content(signal);
      return new Set(blobs.filter((digest) => there.has(digest)));
    },
    read: async (digest, signal) => {
      if (!(await content(signal)).has(digest)) return undefined;
      return one(await ctr(['content', 'get', digest], { signal }));
    },
    bring: async (image, blobs, signal) => {
      let result = await importImage(image, blobs, 'what is not there', signal).catch(unlessRefused);
      // Content without an image name may be collected between listing and import, and containerd resumes an interrupted copy
      // whose first part may be damaged. In these cases the image is sent again completely.
      if (!result || (await absentOf(result.parts, signal)).length > 0)
        result = await importImage(image, blobs, 'all', signal);
      await refuseIncomplete(image, result.parts, signal);
      for (const name of image.names ?? []) {
        await label(name, [`${BROUGHT}=brought`, `${PINNED}=pinned`], signal);
      }
      return result.sent > 0 ? 'brought' : 'there';
    },
    letGo: async (wanted, signal) => {
      const keep = new Set(wanted.flatMap(({ names = [] }) => names));
      const old = (await brought(signal)).filter((name) => !keep.has(name)).toSorted(compareBytes);
      // Not removed, because a container may use it. Without the pin, the kubelet collects it when it is unused.
      for (const name of old) await label(name, [`${PINNED}=`, `${BROUGHT}=`], signal);
      return old;
    },
    directory: async (signal) => {
      const plugins = (await lines(['plugins', 'ls', '-d', 'id==content'], signal)).join('\n');
      return /^\s+root\s+(\/.+?)\s*$/mu.exec(plugins)?.[1];
    },
  };

  async function importImage(
    image: ClosureEntry,
    blobs: BlobSource,
    which: 'what is not there' | 'all',
    signal: AbortSignal,
  ): Promise<Imported> {
    const there = await content(signal);
    const parts = await imageBlobs(orFrom(blobs, there), image, signal);
    const send: Descriptor[] = [];
    for (const blob of parts) {
      const kept = there.has(blob.digest);
      if (kept && which === 'what is not there') continue;
      if ((await blobs.size(blob.digest)) !== undefined) send.push(blob);
      else if (!kept) throw missingBlob(blob.digest, blobs.name);
    }
    // All platforms, even if the node needs only one: the next delta assumes everything that was sent.
    const args = ['images', 'import', '--all-platforms', '--no-unpack', '-'];
    await ctr(args, { signal, input: imageTar(image, send, blobs, signal) });
    return { parts, sent: send.length };
  }

  /** Reads blobs that a delta leaves out, manifests included, from containerd. `ctr` lists only rounded sizes, so each is fetched once. */
  function orFrom(blobs: BlobSource, there: ReadonlySet<string>): BlobSource {
    const get = async (digest: Digest, signal: AbortSignal | undefined): Promise<FoundBlob | undefined> => {
      const size = await blobs.size(digest);
      if (size !== undefined) return { size, open: () => blobs.open(digest, signal), drop: async () => {} };
      if (!there.has(digest)) return undefined;
      const bytes = await ctr(['content', 'get', digest], { signal: signal ?? new AbortController().signal });
      return { size: bytes.byteLength, open: async () => one(bytes), drop: async () => {} };
    };
    return {
      name: blobs.name,
      get: (digest, { signal }) => get(digest, signal),
      size: async (digest) => (await get(digest, undefined))?.size,
      open: async (digest, signal) => {
        const found = await get(digest, signal);
        if (!found) throw missingBlob(digest, blobs.name);
        return found.open();
      },
    };
  }

  async function absentOf(parts: readonly Descriptor[], signal: AbortSignal): Promise<readonly Descriptor[]> {
    const there = await content(signal);
    return parts.filter(({ digest }) => isDigest(digest) && !there.has(digest));
  }

  /** Checks that all blobs are present; `ctr images import` does not report missing layers. @throws FleetError IMAGE_REFUSED */
  async function refuseIncomplete(
    { names = [], digest }: ClosureEntry,
    parts: readonly Descriptor[],
    signal: AbortSignal,
  ): Promise<void> {
    const [lost] = await absentOf(parts, signal);
    if (!lost) return;
    throw new FleetError(
      'IMAGE_REFUSED',
      `containerd took ${names[0] ?? digest}, but did not keep blob ${shortDigest(lost.digest)} of it`,
      { subject: digest, hint: 'Import again; journalctl -u containerd on the node says more' },
    );
  }
};

const unlessRefused = (error: unknown): undefined => {
  if (!isFleetError(error, 'IMAGE_REFUSED')) throw error;
};

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
