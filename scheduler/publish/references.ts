import { type Digest, hexOf } from '#bundles/digest';
import { layoutReference } from '#bundles/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';

/** Tags and repositories of published artifacts (docs/bundle-format.md section 13). */
export const releaseReference = (channel: Channel): string =>
  layoutReference(formatChannel(channel), 'release');
export const bundleReference = (channel: Channel, bundle: Digest): string =>
  layoutReference(formatChannel(channel), `b-${hexOf(bundle)}`);
export const imageReference = (channel: Channel, image: Digest): string =>
  layoutReference(formatChannel(channel), `i-${hexOf(image)}`);
export const siteReference = (site: string): string => layoutReference(`sites/${site}`, 'site');
export const receiptsReference = (site: string): string => layoutReference(`sites/${site}`, 'receipts');
