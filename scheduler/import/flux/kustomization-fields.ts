import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import type { Manifest } from '../imported.ts';
import {
  kindOf,
  listAt,
  nameOf,
  namespaceOf,
  type PlacedManifest,
  recordAt,
  textAt,
  valueAt,
} from '../read/manifests.ts';
import type { NoteBook } from '../read/notes.ts';

/** The kustomization that Flux lays over the folder of a Kustomization. */
export const overlayOf = (value: Manifest): Manifest => {
  const { commonMetadata = {} } = recordAt(value, 'spec');
  const labels = recordAt(commonMetadata, 'labels');
  const annotations = recordAt(commonMetadata, 'annotations');
  return defined({
    namespace: textAt(value, 'spec', 'targetNamespace'),
    namePrefix: textAt(value, 'spec', 'namePrefix'),
    nameSuffix: textAt(value, 'spec', 'nameSuffix'),
    labels: Object.keys(labels).length > 0 ? [{ pairs: labels }] : undefined,
    commonAnnotations: Object.keys(annotations).length > 0 ? annotations : undefined,
    components: listOr(value, 'components'),
    images: listOr(value, 'images'),
    patches: patchesOf(value),
  }) as Manifest;
};

const listOr = (value: Manifest, field: string): readonly unknown[] | undefined => {
  const found = listAt(value, 'spec', field);
  return found.length > 0 ? found : undefined;
};

const patchesOf = (value: Manifest): readonly unknown[] | undefined => {
  const patches = [
    ...listAt(value, 'spec', 'patches'),
    ...listAt(value, 'spec', 'patchesStrategicMerge').map((patch) => ({ patch: JSON.stringify(patch) })),
    ...listAt(value, 'spec', 'patchesJson6902').map((one) =>
      isRecord(one) ? { ...one, patch: JSON.stringify(one['patch']) } : one,
    ),
  ];
  return patches.length > 0 ? patches : undefined;
};

/** Fields that say nothing about objects, or whose meaning is the agent's. */
const READ = new Set([
  'path',
  'sourceRef',
  'dependsOn',
  'targetNamespace',
  'namePrefix',
  'nameSuffix',
  'commonMetadata',
  'components',
  'images',
  'patches',
  'patchesStrategicMerge',
  'patchesJson6902',
  'postBuild',
  'prune',
  'force',
  'suspend',
  'kubeConfig',
]);

const TIMES = ['interval', 'retryInterval', 'timeout'];
const HEALTH = ['wait', 'healthChecks', 'healthCheckExprs'];

export const noteKustomization = ({ value, at }: PlacedManifest, notes: NoteBook): void => {
  const subject = `${kindOf(value)} ${namespaceOf(value) ?? ''}/${nameOf(value)}`;
  const named = Object.keys(recordAt(value, 'spec')).filter((field) => !READ.has(field));
  const has = (fields: readonly string[]): readonly string[] =>
    named.filter((field) => fields.includes(field));
  if (has(TIMES).length > 0)
    notes.add('told', at, subject, {
      what: `${has(TIMES).join(', ')} ${has(TIMES).length === 1 ? 'is' : 'are'} not written`,
      todo: 'interval and healthTimeout of agent.yaml hold for all packages; fleet-ferry/timeout for one object',
    });
  if (has(HEALTH).length > 0)
    notes.add('told', at, subject, {
      what: `${has(HEALTH).join(', ')} ${has(HEALTH).length === 1 ? 'is' : 'are'} not written: the agent judges the health of every object`,
      todo: 'fleet-ferry/wait: disabled leaves an object out',
    });
  if (named.includes('decryption'))
    notes.add('decide', at, subject, {
      what: 'Flux decrypts its Secrets with a key of the cluster; here the agent of each site does',
      todo: 'Add the recipients of the agents (fleet-scheduler secrets list) to .sops.yaml, then sops updatekeys',
    });
  if (named.includes('serviceAccountName'))
    notes.add('changed', at, subject, {
      what: `it is applied as the service account ${textAt(value, 'spec', 'serviceAccountName')}; here its workspace bounds it`,
      todo: 'For the rights of an account, see workspaceAccounts in docs/kubernetes.md',
    });
  if (valueAt(value, 'spec', 'kubeConfig') !== undefined)
    notes.add('changed', at, subject, {
      what: `it is applied to another cluster (kubeConfig), which is a cluster type here`,
      todo: 'Enrol an agent on that cluster',
    });
  const other = named.filter(
    (field) => ![...TIMES, ...HEALTH, 'decryption', 'serviceAccountName'].includes(field),
  );
  for (const field of other)
    notes.add('unmapped', at, subject, {
      what: `spec.${field} has no counterpart`,
      todo: 'Check whether it is needed',
    });
};
