import type { Labels } from '../../model/model.ts';

/** Labels about the delivery of an object, which do not select (behaviour.md 2.4). */
const NOT_SELECTING: ReadonlySet<string> = new Set([
  'platform-config',
  'kustomize.toolkit.fluxcd.io/name',
  'kustomize.toolkit.fluxcd.io/namespace',
]);

/** The labels by which a ConfigMap or ConfigSchema selects. */
export const selectorLabels = (labels: Labels): Labels =>
  Object.fromEntries(Object.entries(labels).filter(([key]) => !NOT_SELECTING.has(key)));
