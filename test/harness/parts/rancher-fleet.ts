import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { goPrograms } from './go-programs.ts';
import type { Part } from './part.ts';

const MODULE = 'github.com/rancher/fleet';

/** A folder with Rancher Fleet's fleetcontroller, fleetagent and fleetcli, and its charts fleet and fleet-crd under charts/. */
export const rancherFleet = {
  ...goPrograms({
    title: 'Rancher Fleet',
    variable: 'FLEET_RANCHER_FLEET',
    source:
      'a Go build of Rancher Fleet 0.15 into the cache, five minutes on two cores when nothing of it was ever built',
    name: 'rancher-fleet',
    packages: ['fleetcontroller', 'fleetagent', 'fleetcli'].map((name) => `${MODULE}/cmd/${name}`),
    bring: async (folder, folderOf) => {
      const sources = await folderOf(MODULE);
      for (const chart of ['fleet', 'fleet-crd'])
        await cp(join(sources, 'charts', chart), join(folder, 'charts', chart), { recursive: true });
    },
  }),
  onlyInLong: true,
} as const satisfies Part;
