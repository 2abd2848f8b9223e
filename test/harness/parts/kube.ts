import { dirname, join } from 'node:path';
import { kubernetesBuild } from './kubernetes-build.ts';

/** kubectl, a program of its own in the folder of parts.kube. */
export const kubectlOf = (kube: string): string => join(dirname(kube), 'kubectl');

/** What most tests run on: the version of long-lived sites. */
export const kube = kubernetesBuild({
  title: 'Kubernetes',
  variable: 'FLEET_KUBE',
  version: '1.35.4',
  lock: 'go',
});
