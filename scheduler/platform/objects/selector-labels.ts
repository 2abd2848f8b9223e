import type { Labels } from '../model.ts';

/** Labels that say how an object came here, not what it is for (behaviour.md 2.4). */
const NOT_SELECTING: ReadonlySet<string> = new Set([
  'platform-config',
  'kustomize.toolkit.fluxcd.io/name',
  'kustomize.toolkit.fluxcd.io/namespace',
]);

/** The labels by which a ConfigMap or ConfigSchema selects what it is for. */
export const selectorLabels = (labels: Labels): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !NOT_SELECTING.has(key)));
