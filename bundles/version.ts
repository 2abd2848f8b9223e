import pack from '../package.json' with { type: 'json' };

/** One product, one version: of all three programs and of the format library. */
export const VERSION: string = pack.version;
