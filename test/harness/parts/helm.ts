import { goProgram } from './go-program.ts';

/** Renders charts, packages them and pushes them to a registry. */
export const helm = goProgram({
  title: 'Helm',
  variable: 'FLEET_HELM',
  name: 'helm',
  path: 'helm.sh/helm/v3/cmd/helm',
  version: 'v3.22.0',
  proof: ['version', '--short'],
});
