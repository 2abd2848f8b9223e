import type { Repository } from '#bundles/registry/registry';
import type { Identity } from '../store/identity.ts';

/** How a tag is remembered: '<host>/<repository>:<tag>'. */
export const pointerName = ({ name }: Pick<Repository, 'name'>, tag: string): string => `${name}:${tag}`;

/** Where a site's own documents lie (docs/bundle-format.md section 13). */
export const siteRepository = ({ site }: Pick<Identity, 'site'>): string => `sites/${site}`;
