import { defined } from '#bundles/defined';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { FleetError } from '#bundles/errors';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { WAITING_ARTIFACT, WAITING_JSON } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import { parseStrictJson } from '#bundles/json/strict-json';
import { readDocuments, writeArtifact } from '../../load/releases/artifact.ts';
import { waitingReference } from '../../load/releases/references.ts';
import { describeRemovals, nameRemovals, type Removal } from './removal.ts';

const MAX_BYTES = 1 << 20;

/** Note about a channel that the platform no longer has. */
export const ABANDONED = 'CHANNEL_MISSING';

/** The error for a channel of which a part is not released. @param removals removals that are neither intended nor allowed */
export const removalsHeld = (channel: Channel, removals: readonly Removal[]): FleetError => {
  const names = removals.slice(0, 3).map(({ assignment }) => assignment);
  return new FleetError('REMOVALS_HELD', `the release would remove ${describeRemoved(removals)}`, {
    subject: formatChannel(channel),
    hint: `Correct the file (fleet-scheduler validate names misspelled labels), or delete the Workload, its target or the policy; if the removal is intended: --allow-removals ${names.join(',')}${removals.length > names.length ? ',...' : ''}`,
  });
};

const describeRemoved = (removals: readonly Removal[]): string => {
  const objects = removals.filter(({ why }) => why === 'objects');
  const packages = removals.filter(({ why }) => why !== 'objects');
  return [
    ...(packages.length > 0 ? [`${nameRemovals(packages)}, although no object was deleted`] : []),
    ...(objects.length > 0 ? [`objects of ${nameRemovals(objects)}, although it is still assigned`] : []),
  ].join('; and ');
};

/** Stores the reasons in the layout, for `status`. @returns the index entry; empty if the index already has it */
export const writeWaiting = async (
  layout: Layout,
  channel: Channel,
  removals: readonly Removal[],
): Promise<ReadonlyMap<string, Descriptor>> => {
  const { code, message, hint } = removalsHeld(channel, removals);
  const reasons = describeRemovals(removals, channel.clusterType);
  return writeReasons(layout, channel, defined({ code, message, reasons, hint }));
};

type Reasons = {
  readonly code: string;
  readonly message: string;
  readonly reasons: readonly string[];
  readonly hint?: string;
};

/** Stores why a channel gets no release. @returns the index entry; empty if the index already has it */
export const writeReasons = async (
  layout: Layout,
  channel: Channel,
  why: Reasons,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const bytes = canonicalBytes(why);
  const reference = waitingReference(channel);
  const artifact = await writeArtifact(layout, WAITING_ARTIFACT, [
    { role: 'waiting', mediaType: WAITING_JSON, ...channel, bytes },
  ]);
  return findReference(layout, reference)?.digest === artifact.digest
    ? new Map()
    : new Map([[reference, artifact]]);
};

/** Why the last build did not release a channel, one line per reason; empty if it did. */
export const readWaiting = async (layout: Layout, channel: Channel): Promise<readonly string[]> => {
  const [document] = await readDocuments(layout, waitingReference(channel));
  if (!document) return [];
  const bytes = await readBlob(layout.blobs, document.digest, MAX_BYTES);
  const what = `why ${formatChannel(channel)} waits`;
  const { code, reasons } = parseStrictJson(bytes, { maxBytes: MAX_BYTES }, what) as {
    readonly code: string;
    readonly reasons: readonly string[];
  };
  return reasons.map((reason) =>
    code === ABANDONED ? `${code}: ${reason}` : `${code}: would remove ${reason}`,
  );
};
