import type { RJSFSchema } from '@rjsf/utils';

/** A kind that the page creates and edits as a form. */
export type AuthorKind = {
  readonly kind: string;
  readonly title: string;
  readonly form: 'fleet' | 'kalypso';
  readonly apiVersion: string;
  /** Its published JSON Schema; loaded when it is needed. */
  readonly schema: () => Promise<RJSFSchema>;
};

type Loaded = Promise<{ readonly default: unknown }>;

const FLEET = 'fleet-ferry/v1alpha1';
const KALYPSO = 'scheduler.kalypso.io/v1alpha1';

const fleet = (kind: string, title: string, load: () => Loaded): AuthorKind => ({
  kind,
  title,
  form: 'fleet',
  apiVersion: FLEET,
  schema: async () => (await load()).default as RJSFSchema,
});
const kalypso = (kind: string, title: string, load: () => Loaded, apiVersion = KALYPSO): AuthorKind => ({
  ...fleet(kind, title, load),
  form: 'kalypso',
  apiVersion,
});

export const AUTHOR_KINDS: readonly AuthorKind[] = [
  fleet(
    'ClusterType',
    'Cluster type',
    () => import('../../../../docs/schemas/author/cluster-type.schema.json'),
  ),
  fleet(
    'WorkloadRegistration',
    'Workload',
    () => import('../../../../docs/schemas/author/workload-registration.schema.json'),
  ),
  fleet(
    'SchedulingPolicy',
    'Scheduling policy',
    () => import('../../../../docs/schemas/author/scheduling-policy.schema.json'),
  ),
  fleet('Config', 'Configuration layer', () => import('../../../../docs/schemas/author/config.schema.json')),
  fleet('Template', 'Template', () => import('../../../../docs/schemas/author/template.schema.json')),
  kalypso(
    'ClusterType',
    'Cluster type',
    () => import('../../../../docs/schemas/author/kalypso-cluster-type.schema.json'),
  ),
  kalypso(
    'WorkloadRegistration',
    'Workload',
    () => import('../../../../docs/schemas/author/kalypso-workload-registration.schema.json'),
  ),
  kalypso(
    'SchedulingPolicy',
    'Scheduling policy',
    () => import('../../../../docs/schemas/author/kalypso-scheduling-policy.schema.json'),
  ),
  kalypso(
    'ConfigMap',
    'Configuration layer',
    () => import('../../../../docs/schemas/author/kalypso-config-map.schema.json'),
    'v1',
  ),
  kalypso(
    'Template',
    'Template',
    () => import('../../../../docs/schemas/author/kalypso-template.schema.json'),
  ),
];

/** The kind of an object, if the page has a form for it; others are edited as text. */
export const kindOf = (form: string, kind: string | null): AuthorKind | undefined =>
  AUTHOR_KINDS.find((one) => one.form === form && one.kind === kind);
