import { cp, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { goPrograms } from './go-programs.ts';
import type { Part } from './part.ts';

const MODULE = 'github.com/argoproj/argo-cd/v3';

/**
 * A folder with Argo CD's program `argocd`, which runs as the part that ARGOCD_BINARY_NAME names, its definitions under crds/ and its
 * settings under config/. The newest version that can be built of modules alone: 3.2 and later take gitops-engine from a folder of their repository.
 */
export const argoCd = {
  ...goPrograms({
    title: 'Argo CD',
    variable: 'FLEET_ARGO_CD',
    source:
      'a Go build of Argo CD 3.1 into the cache, fifteen minutes on two cores when nothing of it was ever built',
    name: 'argo-cd',
    packages: [`${MODULE}/cmd`],
    bring: async (folder, folderOf) => {
      await rename(join(folder, 'cmd'), join(folder, 'argocd'));
      const sources = await folderOf(MODULE);
      const filter = (path: string): boolean => basename(path) !== 'kustomization.yaml';
      await cp(join(sources, 'manifests/crds'), join(folder, 'crds'), { recursive: true, filter });
      await cp(join(sources, 'manifests/base/config'), join(folder, 'config'), { recursive: true, filter });
    },
  }),
  onlyInLong: true,
} as const satisfies Part;
