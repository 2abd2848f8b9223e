import { goProgram } from './go-program.ts';
import type { Part } from './part.ts';

/** Beside parts.helm, for describeOnVersions: the next major version. */
export const helm4: Part = {
  ...goProgram({
    title: 'Helm 4',
    variable: 'FLEET_HELM_4',
    name: 'helm',
    folder: 'helm-4',
    path: 'helm.sh/helm/v4/cmd/helm',
    version: 'v4.3.2',
    proof: ['version', '--short'],
  }),
  onlyInLong: true,
};
