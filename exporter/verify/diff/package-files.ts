import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import type { BundleAssignment } from '#bundles/formats/bundle/config';
import type { BundleKind } from '#bundles/names';
import { HOST_PACKAGE, parseHostPackage } from '#bundles/formats/bundle/host-package';
import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { rebuildLayer } from './rebuild-layer.ts';
import type { SidePatch } from './side.ts';

type Files = ReadonlyMap<string, Buffer>;

/** Size limit in bytes for a layer that is read into memory to be shown. */
const MAX_LAYER_BYTES = 64 << 20;
const LIMITS = { maxBytes: 256 << 20, maxEntries: 200_000 };

/** The files of the packages of one bundle. Each layer is unpacked once. */
export type PackageFiles = {
  /** Files by path in the package, or the reason why there are none. */
  readonly of: (assignment: BundleAssignment) => Promise<Files | string>;
};

/** Blobs of both sides, to find those that a delta leaves out. */
export type SideBlobs = {
  readonly blobs: BlobSource;
  readonly patches: ReadonlyMap<Digest, SidePatch>;
};

export const packageFiles = (atHand: SideBlobs, kind: BundleKind, signal?: AbortSignal): PackageFiles => {
  const layers = new Map<Digest, Promise<Files | string>>();
  return {
    of: async ({ layer, path }) => {
      const unpacked = layers.get(layer) ?? unpack(atHand, layer, signal);
      layers.set(layer, unpacked);
      const files = await unpacked;
      if (typeof files === 'string') return files;
      const prefix = `${path}/`;
      const own = [...files].flatMap(([file, bytes]) =>
        file.startsWith(prefix) ? [[file.slice(prefix.length), bytes] as const] : [],
      );
      return kind === 'host' ? readable(new Map(own)) : new Map(own);
    },
  };
};

const unpack = async (atHand: SideBlobs, layer: Digest, signal?: AbortSignal): Promise<Files | string> => {
  try {
    const bytes = await readLayer(atHand, layer, signal);
    if (typeof bytes === 'string') return bytes;
    return new Map([...unpackLayer(bytes, LIMITS)].map(([path, file]) => [path, file.bytes]));
  } catch (error) {
    if (UNSHOWN.some((code) => isFleetError(error, code)))
      return 'its layer is on neither side, or too large';
    throw error;
  }
};

const UNSHOWN = ['MISSING_BLOB', 'PARTS_MISSING', 'TOO_LARGE', 'BOMB'] as const;

const readLayer = async (
  { blobs, patches }: SideBlobs,
  layer: Digest,
  signal?: AbortSignal,
): Promise<Buffer | string> => {
  const patch = (await blobs.size(layer)) === undefined ? patches.get(layer) : undefined;
  return patch
    ? rebuildLayer(patch, blobs, MAX_LAYER_BYTES, signal)
    : readBlob(blobs, layer, MAX_LAYER_BYTES, signal);
};

/** package.json indented, to be compared by lines. */
const readable = (files: Files): Files => {
  const spec = files.get(HOST_PACKAGE);
  if (!spec) return files;
  const text = `${JSON.stringify(parseHostPackage(spec), null, 2)}\n`;
  return new Map([...files, [HOST_PACKAGE, Buffer.from(text)]]);
};
