import { ownGoProgram } from './own-go-program.ts';

/** The registry with the referrers API of the distribution spec as it is written, all of it in memory. */
export const ociregistry = ownGoProgram({
  name: 'ociregistry',
  variable: 'FLEET_OCIREGISTRY',
  source: "a Go build of cuelabs' ociregistry into the cache, seconds",
});
