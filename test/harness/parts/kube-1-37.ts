import { kubernetesBuild } from './kubernetes-build.ts';
import type { Part } from './part.ts';

/** Beside parts.kube, for describeOnKubernetes. */
export const kube137: Part = {
  ...kubernetesBuild({
    title: 'Kubernetes 1.37',
    variable: 'FLEET_KUBE_1_37',
    version: '1.37.2',
    lock: 'go-1.37',
  }),
  onlyInLong: true,
};
