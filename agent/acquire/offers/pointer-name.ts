import type { Repository } from '#bundles/transport/registry/registry';

/** The key of a stored tag: '<host>/<repository>:<tag>'. */
export const pointerName = ({ name }: Pick<Repository, 'name'>, tag: string): string => `${name}:${tag}`;
