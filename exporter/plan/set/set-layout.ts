import { defined } from '#bundles/defined';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { encodeIndex, layoutMarker } from '#bundles/formats/layout/layout';
import { MEDIUM_FILE, PART_FILE } from '#bundles/formats/medium/medium';
import type { VolumePart, VolumeParts } from '#bundles/formats/medium/parts/part';
import { type CutPart, cutSet, type SetLimits, tableOf } from './cut-set.ts';
import { newestIssued } from '../newest-issued.ts';
import type { Plan } from '../plan.ts';
import type { Seal } from '../seal/seal.ts';
import type { Source } from '../../source/source.ts';
import type { MetadataFile } from '../metadata.ts';
import { splitBlobs } from './split-blobs.ts';
import type { WorkOptions } from '../work-options.ts';

/** A set ready to be written: the content of each part. */
export type SetLayout = SetSizes & {
  /** The header of a part. */
  readonly headOf: (part: CutPart) => readonly MetadataFile[];
  /** The expected digest of a piece. */
  readonly pieces: ReadonlyMap<string, Digest>;
};

/** The limits by which a set is cut. */
export type SetSizes = {
  readonly set: Digest;
  readonly limits: SetLimits;
  readonly parts: readonly CutPart[];
  readonly sticks: number;
  readonly sealed: boolean;
  /** Digest of set and recipients, which a volume's list shows in place of their names. */
  readonly sealedTo: Digest | undefined;
};

/**
 * Reads large blobs once for the digests of their pieces, which the table of contents names. Its digest identifies the set.
 * @throws FleetError USAGE for limits that are too small; DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB of the source
 */
export const layOutSet = async (
  plan: Plan,
  source: Source,
  limits: SetLimits,
  options: WorkOptions & { readonly seal?: Seal | undefined },
): Promise<SetLayout> => {
  const { seal, signal } = options;
  const { parts, pieceSize, sticks } = cutSet(plan, limits, seal?.sealedSize);
  const large = plan.blobs.filter(({ shared }) => !shared);
  const chunks = await splitBlobs(source, large, pieceSize, options);
  const pieces = new Map(
    [...chunks.values()].flatMap(({ files }) => files.map((it) => [it.path, it.digest] as const)),
  );
  const createdAt = await newestIssued(source, plan, signal);
  const table = canonicalBytes(tableOf({ ...plan.medium, createdAt }, parts, pieces));
  const set = digestOf(table);
  const rest: readonly MetadataFile[] = [
    { path: 'oci-layout', bytes: layoutMarker() },
    { path: 'index.json', bytes: encodeIndex(plan.index) },
    { path: MEDIUM_FILE, bytes: table },
  ];
  const count = parts.length;
  return {
    set,
    limits: decisive(limits, sticks),
    parts,
    sticks,
    sealed: seal !== undefined,
    // The digest includes the set, so that volumes of two sets do not reveal that they have the same recipients.
    sealedTo: seal && digestOf(['fleet-ferry sealed v1', set, ...seal.recipients, ''].join('\n')),
    headOf: ({ number }) => [
      { path: PART_FILE, bytes: canonicalBytes({ count, format: 1, number, set }) },
      ...rest,
    ],
    pieces,
  };
};

/** The table of contents with placeholder digests, which has the final length. */
export const estimateSetSizes = (plan: Plan, limits: SetLimits, seal: Seal | undefined): SetSizes => {
  const { parts, sticks } = cutSet(plan, limits, seal?.sealedSize);
  return {
    set: NOTHING,
    limits: decisive(limits, sticks),
    parts,
    sticks,
    sealed: seal !== undefined,
    sealedTo: seal && NOTHING,
  };
};

const NOTHING = digestOf('');

/** The list of parts on a volume. */
export const volumeParts = (
  { set, parts: all, sealed, sealedTo, limits }: SetSizes,
  parts: readonly VolumePart[],
): VolumeParts =>
  defined({
    format: 1,
    set,
    count: all.length,
    sealed,
    sealedTo,
    parts: parts.toSorted((a, b) => a.number - b.number),
    limits,
  });

/** Leaves the volume size out of the layout when everything fits on one volume, so that the result does not depend on it. */
const decisive = (limits: SetLimits, sticks: number): SetLimits => {
  const { partSize, sticks: sizes } = limits;
  const fitsOnOne = sticks === 1 && sizes.every((size) => size >= partSize);
  return fitsOnOne ? { partSize, sticks: [Number.MAX_SAFE_INTEGER] } : limits;
};
