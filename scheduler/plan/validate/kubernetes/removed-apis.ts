/**
 * API versions that no supported cluster has, with the minor version that removed them and the replacement. An entry without
 * kinds applies to all other kinds of its group version.
 */
type Removal = { readonly since: number; readonly write: string; readonly kinds?: readonly string[] };

const REMOVED: Readonly<Record<string, readonly Removal[]>> = {
  'extensions/v1beta1': [
    { since: 22, write: 'networking.k8s.io/v1', kinds: ['Ingress'] },
    { since: 16, write: 'networking.k8s.io/v1', kinds: ['NetworkPolicy'] },
    { since: 25, write: 'labels of Pod Security Admission', kinds: ['PodSecurityPolicy'] },
    { since: 16, write: 'apps/v1' },
  ],
  'apps/v1beta1': [{ since: 16, write: 'apps/v1' }],
  'apps/v1beta2': [{ since: 16, write: 'apps/v1' }],
  'admissionregistration.k8s.io/v1beta1': [
    {
      since: 22,
      write: 'admissionregistration.k8s.io/v1',
      kinds: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
    },
  ],
  'apiextensions.k8s.io/v1beta1': [{ since: 22, write: 'apiextensions.k8s.io/v1' }],
  'apiregistration.k8s.io/v1beta1': [{ since: 22, write: 'apiregistration.k8s.io/v1' }],
  'authentication.k8s.io/v1beta1': [{ since: 22, write: 'authentication.k8s.io/v1', kinds: ['TokenReview'] }],
  'authorization.k8s.io/v1beta1': [{ since: 22, write: 'authorization.k8s.io/v1' }],
  'autoscaling/v2beta1': [{ since: 25, write: 'autoscaling/v2' }],
  'autoscaling/v2beta2': [{ since: 26, write: 'autoscaling/v2' }],
  'batch/v1beta1': [{ since: 25, write: 'batch/v1' }],
  'certificates.k8s.io/v1beta1': [
    { since: 22, write: 'certificates.k8s.io/v1', kinds: ['CertificateSigningRequest'] },
  ],
  'coordination.k8s.io/v1beta1': [{ since: 22, write: 'coordination.k8s.io/v1', kinds: ['Lease'] }],
  'discovery.k8s.io/v1beta1': [{ since: 25, write: 'discovery.k8s.io/v1' }],
  'events.k8s.io/v1beta1': [{ since: 25, write: 'events.k8s.io/v1' }],
  'flowcontrol.apiserver.k8s.io/v1beta1': [{ since: 26, write: 'flowcontrol.apiserver.k8s.io/v1' }],
  'flowcontrol.apiserver.k8s.io/v1beta2': [{ since: 29, write: 'flowcontrol.apiserver.k8s.io/v1' }],
  'networking.k8s.io/v1beta1': [
    { since: 22, write: 'networking.k8s.io/v1', kinds: ['Ingress', 'IngressClass'] },
  ],
  'node.k8s.io/v1beta1': [{ since: 25, write: 'node.k8s.io/v1' }],
  'policy/v1beta1': [
    { since: 25, write: 'labels of Pod Security Admission', kinds: ['PodSecurityPolicy'] },
    { since: 25, write: 'policy/v1' },
  ],
  'rbac.authorization.k8s.io/v1alpha1': [{ since: 22, write: 'rbac.authorization.k8s.io/v1' }],
  'rbac.authorization.k8s.io/v1beta1': [{ since: 22, write: 'rbac.authorization.k8s.io/v1' }],
  'scheduling.k8s.io/v1beta1': [{ since: 22, write: 'scheduling.k8s.io/v1' }],
  'storage.k8s.io/v1beta1': [
    { since: 27, write: 'storage.k8s.io/v1', kinds: ['CSIStorageCapacity'] },
    {
      since: 22,
      write: 'storage.k8s.io/v1',
      kinds: ['CSIDriver', 'CSINode', 'StorageClass', 'VolumeAttachment'],
    },
  ],
};

/** The removal of a kind's version, if it was removed before the versions in facts.jsonl. */
export const removalOf = (apiVersion: string, kind: string): Removal | undefined =>
  Object.hasOwn(REMOVED, apiVersion)
    ? REMOVED[apiVersion]?.find(({ kinds }) => kinds === undefined || kinds.includes(kind))
    : undefined;

/** Whether Kubernetes itself serves the group: an unknown kind of such a group is a mistake. */
export const isOwnGroup = (group: string): boolean =>
  group === '' ||
  group === 'apps' ||
  group === 'autoscaling' ||
  group === 'batch' ||
  group === 'extensions' ||
  group === 'policy' ||
  OWN_GROUPS.has(group);

const OWN_GROUPS: ReadonlySet<string> = new Set(
  [
    'admissionregistration',
    'apiextensions',
    'apiregistration',
    'authentication',
    'authorization',
    'certificates',
    'coordination',
    'discovery',
    'events',
    'flowcontrol.apiserver',
    'internal.apiserver',
    'networking',
    'node',
    'rbac.authorization',
    'resource',
    'scheduling',
    'storage',
    'storagemigration',
  ].map((name) => `${name}.k8s.io`),
);
