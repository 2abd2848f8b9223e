import type { Repository } from '#bundles/registry/registry';

/** How a tag is remembered: '<host>/<repository>:<tag>'. */
export const pointerName = ({ name }: Pick<Repository, 'name'>, tag: string): string => `${name}:${tag}`;
