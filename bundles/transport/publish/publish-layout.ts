import { defined } from '../../defined.ts';
import type { Descriptor } from '../../formats/layout/manifest.ts';
import type { Digest } from '../../digest.ts';
import { type FleetError, toFleetError } from '../../errors.ts';
import { type Channel, parseChannel } from '../../names.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { openCarrier } from './carrier.ts';
import { choosePointers, type Selection } from './choose-pointers.ts';
import type { Destination } from './destination.ts';
import { findRemoved } from './find-removed.ts';
import { judgePointer } from './judge-pointer.ts';
import { createLimit } from './limit.ts';
import type { Offering } from './offering.ts';
import { planBatch } from './plan-batch.ts';
import { publishSummaries, type SummariesTag } from './publish-summaries.ts';
import { readFleetChain } from './read-fleet-chain.ts';
import { type TransferCounts, NO_TRANSFERS, sendBatch } from './send-batch.ts';
import type { Pointer, PointerTag, UploadBatch } from './upload-batch.ts';
import { releaseAt } from './release-at.ts';
import { underNewestRoot } from './under-newest-root.ts';
import { surveyBatch } from './survey-batch.ts';

export type PublishOptions = {
  readonly selection?: Selection;
  /** Report the uploads without sending anything. */
  readonly dryRun?: boolean;
  /** Check every blob instead of trusting the pointer, and send missing ones again. */
  readonly repair?: boolean;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Called before a release replaces the published one or starts a channel. An error that it throws refuses that pointer. */
  readonly checkRelease?: (channel: Channel, roots: readonly TrustRoot[]) => Promise<void>;
  /** Called when a pointer is done, in any order. */
  readonly onPointer?: (outcome: PointerOutcome) => void;
  /** Called for each blob that went over the wire. */
  readonly onUpload?: (repository: string, blob: Descriptor) => void;
  /** Called with the newest root, once, when it is looked at. */
  readonly onRoot?: (root: TrustRoot) => void;
};

/** Result for one pointer. */
export type PointerOutcome = {
  /** 'prod/line', 'sites/plant-7' */
  readonly repository: string;
  readonly tag: PointerTag | SummariesTag;
  /** 'release 8'; undefined if it was not read or cannot be read. */
  readonly name: string | undefined;
  /** 'planned': only with dryRun. 'failed': `error` has the reason; other pointers are not affected. */
  readonly outcome: 'sent' | 'unchanged' | 'superseded' | 'planned' | 'failed';
  readonly freight: TransferCounts;
  /**
   * Packages of the published release that the new one no longer has; undefined if no release is published or it cannot be
   * read.
   */
  readonly removes?: readonly string[];
  readonly error?: FleetError;
};

/** Concurrent pointers; each mostly waits for the network. */
const WIDTH = 8;

/** Errors that apply to all pointers and stop the whole run. */
const STOPS: readonly string[] = [
  'REGISTRY_UNREACHABLE',
  'REGISTRY_DENIED',
  'DISK_FULL',
  'ABORTED',
  'INTERNAL',
];

/**
 * Publishes a layout: for each pointer all blobs that it reaches, then the pointer itself. A pointer that is up to date costs
 * one request. A refused pointer does not stop the others. Verification
 * summaries of promotions are published after the audit log.
 * @throws FleetError CHANNEL_MISSING, SITE_MISSING, ROOT_*; REGISTRY_UNREACHABLE, REGISTRY_DENIED, ABORTED
 */
export const publishLayout = async (
  layout: Offering,
  destination: Destination,
  options: PublishOptions,
): Promise<readonly PointerOutcome[]> => {
  const pointers = choosePointers(layout, options.selection ?? {});
  const chain = once(async () => {
    const roots = await readFleetChain(layout);
    const newest = roots.at(-1);
    if (newest) options.onRoot?.(newest);
    return roots;
  });
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const carrier = openCarrier(layout.blobs, (repository, blob, how) => {
    if (how === 'uploaded') options.onUpload?.(repository, blob);
  });
  const brought = new Set<Digest>();
  const limit = createLimit(WIDTH);
  const report = (outcome: PointerOutcome): PointerOutcome => {
    options.onPointer?.(outcome);
    return outcome;
  };
  const publish = (pointer: Pointer): Promise<PointerOutcome> =>
    limit(async () => {
      try {
        signal.throwIfAborted();
        return report(
          await publishPointer(
            pointer,
            { ...options, signal },
            { layout, destination, chain, carrier, brought },
          ),
        );
      } catch (error) {
        const known = toFleetError(error, `publishing ${pointer.repository}:${pointer.tag}`);
        if (STOPS.includes(known.code)) {
          stop.abort(known);
          throw known;
        }
        const { repository, tag } = pointer;
        return report({
          repository,
          tag,
          name: undefined,
          outcome: 'failed',
          freight: NO_TRANSFERS,
          error: known,
        });
      }
    });
  const outcomes: PointerOutcome[] = [];
  // Order: the log, because releases name its head; then releases, because leases and site statements refer to them.
  for (const wave of Map.groupBy(pointers, waveOf).values()) {
    const settled = await Promise.allSettled(wave.map(publish));
    options.signal.throwIfAborted();
    if (stop.signal.aborted) throw stop.signal.reason;
    outcomes.push(...settled.flatMap((it) => (it.status === 'fulfilled' ? [it.value] : [])));
  }
  const log = outcomes.find(({ tag }) => tag === 'log');
  if (!log || log.outcome === 'failed') return outcomes;
  const { dryRun = false, repair = false } = options;
  const summaries = await publishSummaries(layout, { destination, carrier, dryRun, repair, signal });
  return [...outcomes, ...summaries.map(report)];
};

const waveOf = ({ tag }: Pointer): string => (tag === 'log' || tag === 'release' ? tag : 'others');

/**
 * Plans a pointer. A log may be signed under an older root, because a rotation adds no entry.
 * @throws FleetError as planBatch
 */
const planPointer = async (
  layout: Offering,
  pointer: Pointer,
  roots: readonly TrustRoot[],
  now: Date,
  signal: AbortSignal,
): Promise<UploadBatch> => {
  const plan = (root: TrustRoot): Promise<UploadBatch> => planBatch(layout.blobs, pointer, root, now, signal);
  if (pointer.tag === 'log') return (await underNewestRoot(roots, plan)).value;
  const batch = await plan(roots.at(-1) as TrustRoot);
  const { number: version, previous } = batch.version;
  if (previous === undefined) return batch;
  return {
    ...batch,
    releaseAt: (number) => releaseAt(layout, pointer.repository, { version, previous }, number),
  };
};

/** Computed on first use. */
const once = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
};

type Context = {
  readonly layout: Offering;
  readonly destination: Destination;
  readonly chain: () => Promise<readonly TrustRoot[]>;
  readonly carrier: ReturnType<typeof openCarrier>;
  /** With `dryRun`: the uploads that would be made. */
  readonly brought: Set<Digest>;
};

const publishPointer = async (
  pointer: Pointer,
  { dryRun = false, repair = false, now, signal, checkRelease }: PublishOptions,
  { layout, destination, chain, carrier, brought }: Context,
): Promise<PointerOutcome> => {
  const { repository, tag, artifact } = pointer;
  const target = destination.repository(repository);
  const before = await target.resolve(tag, signal);
  const outcome = { repository, tag, name: undefined, freight: NO_TRANSFERS };
  // A pointer is written after everything that it reaches.
  if (before?.digest === artifact.digest && !repair) return { ...outcome, outcome: 'unchanged' };
  const roots = await chain();
  if (tag === 'release' && before?.digest !== artifact.digest)
    await checkRelease?.(parseChannel(repository), roots);
  const batch = await planPointer(layout, pointer, roots, now, signal);
  const { name } = batch.version;
  const isNew = before && before.digest !== artifact.digest;
  if (isNew) await judgePointer(target, batch, before, roots);
  const compared = { repository, artifact, roots, signal };
  const removes =
    isNew && tag === 'release' ? await findRemoved(layout.blobs, target, { ...compared, before }) : undefined;
  const named = defined({ name, removes });
  if (dryRun) {
    const transfers = await surveyBatch(batch, target, repair, brought, signal);
    return { ...outcome, ...named, outcome: 'planned', freight: transfers };
  }
  const { hasReferrers } = destination;
  const sending = { target, carrier, chain: roots, before, hasReferrers, repair, signal };
  const sent = await sendBatch(batch, sending);
  const nothingLost =
    before?.digest === artifact.digest && sent.freight.uploaded + sent.freight.mounted === 0;
  return {
    ...outcome,
    ...named,
    ...sent,
    ...defined({ outcome: nothingLost ? ('unchanged' as const) : undefined }),
  };
};
