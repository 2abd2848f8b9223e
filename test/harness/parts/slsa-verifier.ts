import { goPrograms } from './go-programs.ts';
import type { Part } from './part.ts';

/**
 * A folder with `slsa-verifier`, the verifier of the SLSA project: it reads a verification summary and knows nothing of who made it. From a
 * lock, as the module proxy refuses its list of versions, which `go install` asks for.
 */
export const slsaVerifier = {
  ...goPrograms({
    title: 'slsa-verifier',
    variable: 'FLEET_SLSA_VERIFIER',
    source:
      'a Go build of slsa-verifier 2.7 into the cache, two minutes on two cores when nothing of it was ever built',
    name: 'slsa-verifier',
    packages: ['github.com/slsa-framework/slsa-verifier/v2/cli/slsa-verifier'],
    bring: async () => {},
  }),
  onlyInLong: true,
} as const satisfies Part;
