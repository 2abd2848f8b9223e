import { defined } from '#bundles/defined';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { isFatalForJudging } from '../../model/problems.ts';
import { type Attachment, formatAttachment, type Take } from '../../model/images/attachment.ts';
import type { ImageReference } from './image-lock.ts';
import { findAttachments } from '../../load/images/find-attachments.ts';
import type { ImagePlaces } from '../../load/images/image-places.ts';
import type { FreshImage } from './lock-images.ts';

/** New entry of the lock file for the attachments of an image; undefined: the entry is removed. */
export type LockedAttachments = {
  readonly image: Digest;
  readonly attachments: readonly Attachment[] | undefined;
};

export type AttachmentsOutcome = {
  /** Changes only, sorted by image. */
  readonly changed: readonly LockedAttachments[];
  /** Attachments that are not carried, as advice. */
  readonly leftOut: readonly FleetError[];
  readonly problems: readonly FleetError[];
};

type Wanted = {
  readonly name: string;
  readonly digest: Digest;
  readonly index: Digest | undefined;
  readonly at: ImageReference['at'] | undefined;
  /** True for an image that a manifest names by digest: the lock file has no entry that records a look-up. */
  readonly isPinned: boolean;
};

export type AttachmentsInput = {
  /** Images that this run looked up. */
  readonly fresh: readonly FreshImage[];
  /** Images that manifests name by digest, 'host/repo@sha256:...'. */
  readonly pinned: readonly ImageReference[];
  readonly known: ReadonlyMap<string, readonly Attachment[]>;
  readonly renewAll: boolean;
  readonly take: Take;
};

/**
 * Finds the attachments of images that this run looks up, and of images written by digest that have no entry yet. Locked
 * entries stay, so that a new signature in the registry changes a bundle only after --update.
 */
export const lockAttachments = async (
  { fresh, pinned, known, renewAll, take }: AttachmentsInput,
  places: ImagePlaces,
  signal: AbortSignal,
): Promise<AttachmentsOutcome> => {
  const wanted = new Map<Digest, Wanted>();
  for (const { image, at } of pinned) {
    const one = toWanted(image, { at, isPinned: true });
    if (renewAll || !known.has(one.digest)) wanted.set(one.digest, one);
  }
  for (const { after, index, at } of fresh) {
    const one = toWanted(after, { index, at, isPinned: false });
    wanted.set(one.digest, { ...one, isPinned: wanted.get(one.digest)?.isPinned === true });
  }
  const sorted = [...wanted.values()].toSorted((a, b) => compareBytes(a.digest, b.digest));
  const looked = await inParallel(
    sorted,
    WIDTH,
    (one, stop) => look(one, { known, take }, places, stop),
    signal,
  );
  return {
    changed: looked.flatMap(({ changed }) => changed ?? []),
    leftOut: looked.flatMap(({ leftOut = [] }) => leftOut),
    problems: looked.flatMap(({ problem }) => problem ?? []),
  };
};

/** Images that are looked up in parallel; each needs a few small requests. */
const WIDTH = 8;

type Looked = {
  readonly changed?: LockedAttachments;
  readonly leftOut?: readonly FleetError[];
  readonly problem?: FleetError;
};

const look = async (
  one: Wanted,
  { known, take }: Pick<AttachmentsInput, 'known' | 'take'>,
  places: ImagePlaces,
  signal: AbortSignal,
): Promise<Looked> => {
  try {
    const beside = places.beside(one.name);
    const found = await findAttachments(beside, one, take, signal);
    const isLooked = one.isPinned && (await beside.blobs.size(one.digest)) !== undefined;
    const after = found.attachments.length > 0 || isLooked ? found.attachments : undefined;
    return defined({
      changed: !isSameAttachments(known.get(one.digest), after)
        ? { image: one.digest, attachments: after }
        : undefined,
      leftOut: found.leftOut.map((what) => toLeftOut(one, what)),
    });
  } catch (error) {
    const failed = toFleetError(error, `looking for the attachments of ${one.name}`);
    if (isFatalForJudging(failed)) throw failed;
    const { code, message, subject, hint } = failed;
    const problem = new FleetError(code, `the attachments of ${one.name} are not known: ${message}`, {
      subject,
      at: one.at,
      hint,
      cause: failed,
    });
    return { problem };
  }
};

const toWanted = (
  name: string,
  more: Partial<Pick<Wanted, 'index' | 'at'>> & Pick<Wanted, 'isPinned'>,
): Wanted => {
  const at = name.lastIndexOf('@');
  return {
    name: name.slice(0, at),
    digest: parseDigest(name.slice(at + 1), `digest of ${name}`),
    index: undefined,
    at: undefined,
    ...more,
  };
};

const isSameAttachments = (
  a: readonly Attachment[] | undefined,
  b: readonly Attachment[] | undefined,
): boolean =>
  a === undefined || b === undefined
    ? a === b
    : a.length === b.length &&
      a.every((one, at) => formatAttachment(one) === formatAttachment(b[at] as Attachment));

const toLeftOut = ({ name, at }: Wanted, what: string): FleetError =>
  new FleetError('TOO_LARGE', `beside ${name} this is left out: ${what}`, {
    at,
    hint: 'take.maxBytes in images.lock.yaml says how much is taken',
  });
