import { unpackLayer } from '#bundles/archive/unpack-layer';
import { type Bundle, readBundle } from '#bundles/bundle/read-bundle';
import { readBlob } from '#bundles/layout/verified';
import type { PackageRef } from '../store/package-ref.ts';
import type { State } from '../store/state.ts';

/** Of one host package, or of all packages of a cluster: files of a machine or manifests, not images. */
const MAX_LAYER_BYTES = 1 << 30;
const LIMITS = { maxBytes: 2 ** 31 - 1, maxEntries: 200_000 };

type Files = ReadonlyMap<string, { readonly bytes: Buffer; readonly mode: number }>;
type Unpacked = { readonly bundle: Bundle; readonly files: Files };

/** The last one of each state, held loosely: while it is used it is there, and an agent at rest holds no bundle. */
const last = new WeakMap<State, { readonly key: string; readonly unpacked: WeakRef<Unpacked> }>();

/**
 * A bundle's config and one of its layers, both verified by digest. The packages of a Kubernetes bundle share one layer:
 * whoever asks for one after the other gets it unpacked once.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, STORE_CORRUPT and those of unpacking
 */
export const unpackedLayer = async (
  state: State,
  { bundle: digest, layer, kind }: PackageRef,
  signal: AbortSignal,
): Promise<Unpacked> => {
  const key = `${digest} ${layer}`;
  const before = last.get(state);
  const known = before?.key === key ? before.unpacked.deref() : undefined;
  if (known) return known;
  const files = unpackLayer(await readBlob(state.blobs, layer, MAX_LAYER_BYTES, signal), LIMITS);
  const unpacked = { bundle: await readBundle(state.blobs, digest, signal), files };
  // A host package has its layer to itself.
  if (kind === 'kubernetes') last.set(state, { key, unpacked: new WeakRef(unpacked) });
  return unpacked;
};

/** The files of one package by their path inside its folder, not yet checked against its digest. @throws as unpackedLayer */
export const filesOf = async (
  state: State,
  ref: PackageRef,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer>> => packageFiles((await unpackedLayer(state, ref, signal)).files, ref);

export const packageFiles = (layer: Files, { path }: PackageRef): ReadonlyMap<string, Buffer> => {
  const prefix = `${path}/`;
  return new Map(
    [...layer]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { bytes }]) => [name.slice(prefix.length), bytes] as const),
  );
};
