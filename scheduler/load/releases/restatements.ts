import { type Digest, isDigest } from '#bundles/digest';
import { findReference, type Layout, layoutReference } from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';

/**
 * Reference of the record of candidates that gave a released bundle of the channel again. Each replaces the statement of the one before, and
 * the record lets `wait` know that one was there. It stays in the layout and is never published.
 */
export const restatementsReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'restatements');

const ANNOTATION = 'fleet-ferry.restated';
/** Candidates that a channel remembers: 4 KiB of the index. */
const MAX_RESTATEMENTS = 50;

/** The shared digests of these candidates, oldest first. Unsigned: no release follows from it. */
export const readRestatements = (layout: Layout, channel: Channel): readonly Digest[] => {
  const text = findReference(layout, restatementsReference(channel))?.annotations?.[ANNOTATION] ?? '';
  return text.split(',').filter((word) => isDigest(word));
};

/** The record with one more candidate, without the oldest if there are too many. */
export const withRestatement = (
  layout: Layout,
  channel: Channel,
  { artifact, shared }: { readonly artifact: Descriptor; readonly shared: Digest },
): Descriptor => {
  const all = [...readRestatements(layout, channel).filter((one) => one !== shared), shared];
  const text = all.slice(-MAX_RESTATEMENTS).join(',');
  return { ...artifact, annotations: { ...artifact.annotations, [ANNOTATION]: text } };
};
