import type { Digest } from '#bundles/digest';
import { layoutReference } from '#bundles/layout/layout';
import type { Channel } from '#bundles/names';
import {
  bundleTag,
  channelRepository,
  imageTag,
  releaseTag,
  siteRepository,
} from '#bundles/registry/references';

/** What published artifacts are called in a layout. */
export const releaseReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'release');
export const bundleReference = (channel: Channel, bundle: Digest): string =>
  layoutReference(channelRepository(channel), bundleTag(bundle));
export const imageReference = (channel: Channel, image: Digest): string =>
  layoutReference(channelRepository(channel), imageTag(image));
export const siteReference = (site: string): string => layoutReference(siteRepository(site), 'site');
export const receiptsReference = (site: string): string => layoutReference(siteRepository(site), 'receipts');
export const leaseReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'lease');
/** A release for good, also when the pointer has gone on: what a rollback goes back to. */
export const pastReference = (channel: Channel, artifact: Digest): string =>
  layoutReference(channelRepository(channel), releaseTag(artifact));
/** What the office has revoked of a channel, also what no release says yet. It stays in the layout. */
export const revocationsReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'revocations');
/** The bundle of a channel that waits for an approval. It stays in the layout. */
export const awaitingReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'awaiting');
/** Why the last build did not release a channel, though nobody has to sign anything. It stays in the layout. */
export const waitingReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'waiting');
