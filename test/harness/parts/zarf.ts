import { goPrograms } from './go-programs.ts';
import type { Part } from './part.ts';

/** A folder with `zarf`, which makes a package of a folder and deploys it. From a lock, as its module needs two replacements. */
export const zarf = {
  ...goPrograms({
    title: 'Zarf',
    variable: 'FLEET_ZARF',
    source:
      'a Go build of Zarf 0.65 into the cache, fifteen minutes on two cores when nothing of it was ever built',
    name: 'zarf',
    packages: ['github.com/zarf-dev/zarf'],
    bring: async () => {},
  }),
  onlyInLong: true,
} as const satisfies Part;
