import { goPrograms } from './go-programs.ts';
import { copyDefinitions } from './flux.ts';
import { join } from 'node:path';
import type { Part } from './part.ts';

const MODULE = 'github.com/fluxcd/helm-controller';

/**
 * A folder with Flux's helm-controller, and its definitions under crds/. From a lock of its own: it needs other versions of Kubernetes' modules
 * than the controllers of `flux`.
 */
export const fluxHelm = {
  ...goPrograms({
    title: "Flux's helm-controller",
    variable: 'FLEET_FLUX_HELM',
    source:
      "a Go build of Flux's helm-controller 1.6 into the cache, four minutes on two cores when nothing of it was ever built",
    name: 'flux-helm',
    packages: [MODULE],
    bring: async (folder, folderOf) =>
      copyDefinitions(join(await folderOf(MODULE), 'config/crd/bases'), join(folder, 'crds')),
  }),
  onlyInLong: true,
} as const satisfies Part;
