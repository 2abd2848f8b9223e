import { isRecord } from '#bundles/is-record';
import type { DesiredPackage } from '../../../model/target.ts';
import { readManifests } from '../desired/read-wanted.ts';

/** Kinds that no other object needs by their name: they run pods, or act on objects that do. */
const UNNAMED: ReadonlySet<string> = new Set([
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
  'autoscaling/HorizontalPodAutoscaler',
  'batch/CronJob',
  'batch/Job',
  '/Pod',
  'networking.k8s.io/Ingress',
  'policy/PodDisruptionBudget',
]);

/**
 * Returns the keys of objects that a text of the package's objects is equal to the name of, in the same namespace: the ConfigMap of a
 * volume, the Secret of a variable, the ServiceAccount of a pod, the issuer of a certificate.
 * @throws FleetError YAML_SYNTAX, OBJECT_INVALID, SITE_VALUES, SECRET_MISSING
 */
export const keysNamed = (desired: DesiredPackage, keys: readonly string[]): readonly string[] => {
  const texts = new Set<string>();
  const namespaces = new Set<string>();
  for (const { fields, namespace } of readManifests(desired)) {
    namespaces.add(namespace ?? '');
    collect(fields, texts);
  }
  return keys.filter((key) => {
    const [group = '', kind = '', namespace = '', ...name] = key.split('/');
    if (UNNAMED.has(`${group}/${kind}`)) return false;
    return texts.has(name.join('/')) && (namespace === '' || namespaces.has(namespace));
  });
};

const collect = (node: unknown, texts: Set<string>): void => {
  if (typeof node === 'string') texts.add(node);
  else if (Array.isArray(node)) for (const item of node) collect(item, texts);
  else if (isRecord(node)) for (const value of Object.values(node)) collect(value, texts);
};
