import type { RJSFSchema } from '@rjsf/utils';
import { ownValue } from '#bundles/own-value';
import type { Schemas } from './yaml-editor.tsx';

/** A kind that the page creates and edits as a form. */
export type AuthorKind = {
  readonly kind: string;
  readonly title: string;
  readonly form: 'fleet' | 'kalypso';
  readonly apiVersion: string;
  /** Its published JSON Schema; loaded when it is needed. */
  readonly schema: () => Promise<RJSFSchema>;
  /** The only layer that has this kind. */
  readonly layer?: string;
  /** The platform has exactly one, so that none is created. */
  readonly isOne?: boolean;
};

type Loaded = Promise<{ readonly default: unknown }>;

const FLEET = 'fleet-ferry/v1alpha1';
const KALYPSO = 'scheduler.kalypso.io/v1alpha1';

const loaded = (load: () => Loaded) => async (): Promise<RJSFSchema> => (await load()).default as RJSFSchema;

const fleet = (kind: string, title: string, load: () => Loaded): AuthorKind => ({
  kind,
  title,
  form: 'fleet',
  apiVersion: FLEET,
  schema: loaded(load),
});
const kalypso = (kind: string, title: string, load: () => Loaded, apiVersion = KALYPSO): AuthorKind => ({
  ...fleet(kind, title, load),
  form: 'kalypso',
  apiVersion,
});

const FLEET_SCHEMA = (): Loaded => import('../../../../docs/schemas/author/fleet.schema.json');

/** An environment of our form is an entry of the Fleet; the hub writes it there. */
const fleetEnvironment = async (): Promise<RJSFSchema> => {
  const { properties = {} } = (await FLEET_SCHEMA()).default as RJSFSchema;
  const { properties: spec = {} } = properties['spec'] as RJSFSchema;
  const { items } = spec['environments'] as RJSFSchema;
  const { name, ...entry } = (items as RJSFSchema).properties as Readonly<Record<string, RJSFSchema>>;
  return {
    type: 'object',
    properties: {
      metadata: { type: 'object', properties: { name: name ?? {} } },
      spec: { type: 'object', properties: entry },
    },
  };
};

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
  { ...fleet('Environment', 'Environment', FLEET_SCHEMA), schema: fleetEnvironment, layer: 'root' },
  { ...fleet('Fleet', 'Fleet and its environments', FLEET_SCHEMA), layer: 'root', isOne: true },
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
  {
    ...kalypso(
      'Environment',
      'Environment',
      () => import('../../../../docs/schemas/author/kalypso-environment.schema.json'),
    ),
    layer: 'root',
  },
];

/** The kind of an object, if the page has a form for it; others are edited as text. */
export const kindOf = (form: string, kind: string | null): AuthorKind | undefined =>
  AUTHOR_KINDS.find((one) => one.form === form && one.kind === kind);

/** Kinds without a form, which are edited as text. */
const TEXT_KINDS: Readonly<Record<string, Readonly<Record<string, () => Promise<RJSFSchema>>>>> = {
  fleet: {
    ConfigRegistration: loaded(
      () => import('../../../../docs/schemas/author/config-registration.schema.json'),
    ),
    ConfigSchema: loaded(() => import('../../../../docs/schemas/author/config-schema.schema.json')),
    DebianBase: loaded(() => import('../../../../docs/schemas/author/debian-base.schema.json')),
    FreshnessPolicy: loaded(() => import('../../../../docs/schemas/author/freshness-policy.schema.json')),
    HostPackage: loaded(() => import('../../../../docs/schemas/author/host-package.schema.json')),
    ImageFields: loaded(() => import('../../../../docs/schemas/author/image-fields.schema.json')),
    ImagePolicy: loaded(() => import('../../../../docs/schemas/author/image-policy.schema.json')),
    PromotionPolicy: loaded(() => import('../../../../docs/schemas/author/promotion-policy.schema.json')),
    RolloutPolicy: loaded(() => import('../../../../docs/schemas/author/rollout-policy.schema.json')),
    Site: loaded(() => import('../../../../docs/schemas/author/site.schema.json')),
    Workload: loaded(() => import('../../../../docs/schemas/author/workload.schema.json')),
    Workspace: loaded(() => import('../../../../docs/schemas/author/workspace.schema.json')),
  },
  kalypso: {
    BaseRepo: loaded(() => import('../../../../docs/schemas/author/kalypso-base-repo.schema.json')),
    ConfigSchema: loaded(() => import('../../../../docs/schemas/author/kalypso-config-schema.schema.json')),
    DeploymentTarget: loaded(
      () => import('../../../../docs/schemas/author/kalypso-deployment-target.schema.json'),
    ),
    GitOpsRepo: loaded(() => import('../../../../docs/schemas/author/kalypso-git-ops-repo.schema.json')),
    Workload: loaded(() => import('../../../../docs/schemas/author/kalypso-workload.schema.json')),
  },
};

/** JSON Schemas of all kinds that a platform of this form has, for the editor of text. */
export const schemasOf = (form: string): Schemas => {
  const isEntry = (one: AuthorKind): boolean => form === 'fleet' && one.kind === 'Environment';
  const forms = AUTHOR_KINDS.filter((one) => one.form === form && !isEntry(one));
  const all = { ...TEXT_KINDS[form], ...Object.fromEntries(forms.map((one) => [one.kind, one.schema])) };
  return { kinds: Object.keys(all).toSorted(), schemaOf: async (kind) => ownValue(all, kind)?.() };
};
