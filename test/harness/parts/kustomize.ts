import { goProgram } from './go-program.ts';

/** Builds what a kustomization.yaml asks for. */
export const kustomize = goProgram({
  title: 'Kustomize',
  variable: 'FLEET_KUSTOMIZE',
  name: 'kustomize',
  path: 'sigs.k8s.io/kustomize/kustomize/v5',
  version: 'v5.8.1',
  proof: ['version'],
});
