import { type Digest, hexOf } from '../../digest.ts';
import { type Channel, formatChannel } from '../../names.ts';

/** Repositories of published artifacts, in a registry and in a layout (docs/bundle-format.md section 13). */

/** '<environment>/<cluster type>': releases, bundles and images of a channel. */
export const channelRepository = (channel: Channel): string => formatChannel(channel);

/** The site statement and the receipts for the agents of a site. */
export const siteRepository = (site: string): string => `sites/${site}`;

/** The audit log, under the tag `log`. */
export const AUDIT_REPOSITORY = 'audit';

/** The verification summaries of promotions, each under the tag `<to>.<number>`. */
export const SUMMARIES_REPOSITORY = 'summaries';

/** Immutable tags, because a registry collects untagged manifests as garbage. */
export const bundleTag = (digest: Digest): string => `b-${hexOf(digest)}`;
export const imageTag = (digest: Digest): string => `i-${hexOf(digest)}`;
export const releaseTag = (digest: Digest): string => `r-${hexOf(digest)}`;
export const statementTag = (digest: Digest): string => `s-${hexOf(digest)}`;

/** OCI distribution spec 1.1, "Pulling manifests": a tag. */
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;

export const isTag = (text: unknown): text is string => typeof text === 'string' && TAG.test(text);
