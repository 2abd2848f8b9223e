import type { Digest } from '#bundles/digest';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { emptyMediumError } from '../source/check/empty-medium-error.ts';
import { type BlobCheck, checkBlobs } from './check-blobs.ts';
import { checkDeltas } from './check-deltas.ts';
import { checkDocuments } from './check-documents.ts';
import { type Check, checkList } from './check-list.ts';
import { checkParts } from './check-parts.ts';
import { isOnAbsentPart } from './is-on-absent-part.ts';
import type { Provenance } from './provenance.ts';
import { trustNotes } from './trust-notes.ts';
import type { BlobSource } from '#bundles/formats/layout/blobs';

export type Verification = {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** Findings that are not errors. */
  readonly advice: readonly string[];
  readonly root: { readonly version: number; readonly digest: Digest } | undefined;
  /** True if the root was pinned. Otherwise the medium is only consistent with itself. */
  readonly anchored: boolean;
  /** Builder and sources of each bundle that passed. */
  readonly provenance: readonly Provenance[];
};

export type VerifyOptions = {
  /** Time of each check; by default all are at `now`. */
  readonly clock?: () => Date;
  /** Parts of a set that are not here are no mistake. */
  readonly partial?: boolean;
  /** True: absent parts of a set are not an error. */
  readonly onBlob?: (blob: BlobCheck) => void;
  /** Called with the blobs that the judgement of the documents used. */
  readonly onJudged?: (opened: ReadonlySet<Digest>) => void;
};

/**
 * Makes the checks of a site for every channel and site, and reads every blob. Continues after a refusal: the result has one
 * entry for each check.
 * @throws FleetError MEDIUM_EMPTY, ABORTED; other faults of the medium are entries of the result
 */
export const verifyMedium = async (
  open: OpenMedium,
  pinned: Digest | undefined,
  now: Date,
  signal?: AbortSignal,
  { clock = () => now, partial = false, onBlob = () => {}, onJudged = () => {} }: VerifyOptions = {},
): Promise<Verification> => {
  const { medium, path, parts } = open;
  if (!medium) throw emptyMediumError(path);
  const list = checkList(clock);
  const blobs = openedBlobs(open.blobs);
  const elsewhere = isOnAbsentPart(medium, parts?.missing ?? []);
  const judged = { path, medium, blobs, elsewhere, pinned, now };
  const { root, provenance, expected } = await checkDocuments(list, judged, signal);
  onJudged(blobs.opened);
  const advice = [...trustNotes(root, pinned)];
  if (root && parts) await checkParts(list, parts, partial, signal);
  const { deltas = [] } = medium;
  if (root && deltas.length > 0) {
    await list.check(
      'deltas',
      () => checkDeltas(open, deltas, elsewhere, signal),
      (count) => `${count} ${count === 1 ? 'patch' : 'patches'}, each with its digest`,
    );
  }
  if (root) {
    const incomplete = list.checks.some(({ ok }) => !ok);
    await list.check(
      'blobs',
      () => checkBlobs(open, expected, { clock, onBlob, incomplete }, signal),
      ({ checked, unexpected }) => {
        if (unexpected > 0) advice.push(`${describeFiles(unexpected)} to nothing on the medium`);
        return `${checked} read, each with its digest`;
      },
    );
  }
  return {
    ok: list.checks.every(({ ok }) => ok),
    checks: list.checks,
    advice,
    root: root && { version: root.version, digest: root.digest },
    anchored: pinned !== undefined && root !== undefined,
    provenance,
  };
};

const describeFiles = (count: number): string =>
  count === 1 ? '1 file under blobs/ belongs' : `${count} files under blobs/ belong`;

/** A blob source that records the digests that were read: the input of the judgement. */
export const openedBlobs = (blobs: BlobSource): BlobSource & { readonly opened: ReadonlySet<Digest> } => {
  const opened = new Set<Digest>();
  return {
    ...blobs,
    get: undefined,
    opened,
    open: (digest, signal) => {
      opened.add(digest);
      return blobs.open(digest, signal);
    },
  };
};
