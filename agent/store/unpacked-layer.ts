import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { LAYER_LIMITS } from '#bundles/formats/bundle/layer-limits';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { FleetError, isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import type { PackageRef } from './applied/package-ref.ts';
import type { State } from './state.ts';

/** Bytes of the tar: more than a scheduler writes (LAYER_LIMITS). */
const LIMITS = { ...LAYER_LIMITS, maxBytes: 2 ** 31 - 1 };

type Files = ReadonlyMap<string, { readonly bytes: Buffer; readonly mode: number }>;
type Unpacked = { readonly bundle: Bundle; readonly files: Files };

/** The last layer of each state, held weakly, so that an idle agent keeps no bundle in memory. */
const last = new WeakMap<State, { readonly key: string; readonly unpacked: WeakRef<Unpacked> }>();

/**
 * Returns a bundle's config and one unpacked layer, both verified by digest. The packages of a Kubernetes bundle share one
 * layer, which is unpacked once for consecutive calls.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, STORE_CORRUPT, and the errors of unpackLayer
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
  const unpacked = await unpack(state, { bundle: digest, layer }, signal).catch((error: unknown) => {
    throw isFleetError(error, 'MISSING_BLOB') ? withHint(error) : error;
  });
  // Only packages of a Kubernetes bundle share a layer.
  if (kind === 'kubernetes') last.set(state, { key, unpacked: new WeakRef(unpacked) });
  return unpacked;
};

const unpack = async (
  { blobs }: State,
  { bundle, layer }: Pick<PackageRef, 'bundle' | 'layer'>,
  signal: AbortSignal,
): Promise<Unpacked> => {
  const files = unpackLayer(await readBlob(blobs, layer, LAYER_LIMITS.maxBytes, signal), LIMITS);
  return { bundle: await readBundle(blobs, bundle, signal), files };
};

const withHint = ({ code, message, subject, cause }: FleetError): FleetError =>
  new FleetError(code, message, {
    subject,
    cause,
    hint: 'The agent copies it from its registry at the next poll; without a registry, import the newest full medium again',
  });

/**
 * The files of one package by their path inside its folder, not yet checked against its digest. Rejects with the errors of
 * `unpackedLayer`.
 */
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
