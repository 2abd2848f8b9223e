/**
 * Built-in groups with a dot; groups without one ('', 'apps', 'batch') are built in as well. Built-in kinds without a health rule have
 * no status to wait for. CRDs also use '*.k8s.io', so the suffix alone does not identify a built-in group.
 */
const BUILT_IN: ReadonlySet<string> = new Set(
  [
    'admissionregistration',
    // Its definitions are applied when the server serves their kinds, so their conditions are not old.
    'apiextensions',
    'certificates',
    'coordination',
    'discovery',
    'events',
    'flowcontrol.apiserver',
    'networking',
    'node',
    'rbac.authorization',
    'resource',
    'scheduling',
    'storage',
  ].map((name) => `${name}.k8s.io`),
);

/** True for a group of the API server itself, and not of a definition or an API service. */
export const isBuiltIn = (group: string): boolean => !group.includes('.') || BUILT_IN.has(group);
