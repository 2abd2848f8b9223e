import { groupOf, kindOf } from '../read/manifests.ts';
import type { Manifest } from '../imported.ts';

const isArgo = (value: Manifest, kind: string): boolean =>
  groupOf(value) === 'argoproj.io' && kindOf(value) === kind;

export const isApplication = (value: Manifest): boolean => isArgo(value, 'Application');
export const isApplicationSet = (value: Manifest): boolean => isArgo(value, 'ApplicationSet');
export const isProject = (value: Manifest): boolean => isArgo(value, 'AppProject');

/** Objects that only Argo CD reads; Rollouts and Workflows of the same group run on the cluster. */
export const isForArgo = (value: Manifest): boolean =>
  isApplication(value) || isApplicationSet(value) || isProject(value);
