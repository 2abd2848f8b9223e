import { type Digest, hexOf } from '#bundles/digest';
import { layoutReference } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import {
  AUDIT_REPOSITORY,
  SUMMARIES_REPOSITORY,
  bundleTag,
  channelRepository,
  imageTag,
  releaseTag,
  siteRepository,
} from '#bundles/transport/registry/references';

/** References of the artifacts in a layout. */
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
/** The layers of an environment that select sites, as statements of bundles name them. They stay in the layout. */
export const siteLayersReference = (environment: string, digest: Digest): string =>
  layoutReference('site-layers', `${environment}.${hexOf(digest)}`);
/** Permanent reference of a release, for rollbacks. */
export const pastReference = (channel: Channel, artifact: Digest): string =>
  layoutReference(channelRepository(channel), releaseTag(artifact));
/** All revocations by the office for a channel, including those in no release yet. It stays in the layout. */
export const revocationsReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'revocations');
/** The bundle of a channel that is waiting for an approval. It stays in the layout. */
export const awaitingReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'awaiting');
/** Why the last build did not release a channel although no signature is missing. It stays in the layout. */
export const waitingReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'waiting');
/** The verification summaries of a promotion. */
export const summariesReference = (to: string, number: number): string =>
  layoutReference(SUMMARIES_REPOSITORY, `${to}.${number}`);
/** The audit log of the fleet. */
export const AUDIT_REFERENCE = layoutReference(AUDIT_REPOSITORY, 'log');
