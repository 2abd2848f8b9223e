import { goPrograms } from './go-programs.ts';
import type { Part } from './part.ts';

/**
 * A folder with `kapp`, which deploys a set of objects under a label and remembers it in a ConfigMap: agents take objects over from it.
 * From a lock, as the module proxy refuses its list of versions, which `go install` asks for.
 */
export const kapp = {
  ...goPrograms({
    title: 'kapp',
    variable: 'FLEET_KAPP',
    source:
      'a Go build of kapp 0.64 into the cache, two minutes on two cores when nothing of it was ever built',
    name: 'kapp',
    packages: ['carvel.dev/kapp/cmd/kapp'],
    bring: async () => {},
  }),
  onlyInLong: true,
} as const satisfies Part;
