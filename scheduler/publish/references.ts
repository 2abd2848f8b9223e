import type { Digest } from '#bundles/digest';
import { layoutReference } from '#bundles/layout/layout';
import type { Channel } from '#bundles/names';
import { bundleTag, channelRepository, imageTag, siteRepository } from '#bundles/registry/references';

/** What published artifacts are called in a layout. */
export const releaseReference = (channel: Channel): string =>
  layoutReference(channelRepository(channel), 'release');
export const bundleReference = (channel: Channel, bundle: Digest): string =>
  layoutReference(channelRepository(channel), bundleTag(bundle));
export const imageReference = (channel: Channel, image: Digest): string =>
  layoutReference(channelRepository(channel), imageTag(image));
export const siteReference = (site: string): string => layoutReference(siteRepository(site), 'site');
export const receiptsReference = (site: string): string => layoutReference(siteRepository(site), 'receipts');
