import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { fillSecret } from '../../../secrets/fill-secret.ts';
import type { KeyedHash } from '../../../model/package-secrets.ts';
import type { DesiredPackage } from '../../../model/target.ts';
import type { TypeRef } from '../api/kubernetes-api.ts';
import { cleanObject, withoutStatus } from './clean-object.ts';
import { collectOften } from './collect-often.ts';
import { checkRules } from './check-rules.ts';
import { ASSIGNMENT_MARK, FLEET_MARK, policyOf } from './marks.ts';
import { groupOf, keyOf } from './object-key.ts';
import { isRecord } from '#bundles/is-record';
import { expandList } from '#bundles/formats/bundle/expand-list';
import { type ParsedDocument, parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { putInputs } from '#bundles/formats/site-values/put-inputs';
import { stableHash, stableText } from '#bundles/json/stable-hash';
import { ruleOf } from '#bundles/formats/bounds/object-rules';
import type { ObjectPolicy, WantedObject } from './wanted-object.ts';

/** An object of a package before it is known whether its kind is namespaced. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly fields: { readonly [field: string]: unknown };
  readonly place: string;
  readonly policy: ObjectPolicy;
  /** Fields that keep their live values, if a rule of the platform changes those of the annotations. */
  readonly ruled?: ObjectPolicy['ignore'] | undefined;
  /** Present if the object holds secrets (WantedObject). */
  readonly secret?: KeyedHash;
};

/** True if a kind is namespaced; undefined if neither cluster nor package knows the kind. */
export type ScopeOf = (type: TypeRef) => 'Namespaced' | 'Cluster' | undefined;

/** True if a kind has no status subresource. */
export type IsStatusField = (type: TypeRef) => boolean;

const known = new WeakMap<DesiredPackage, readonly Manifest[]>();

/**
 * Reads the objects of a package from its files, with the site's values, and expands `List`s. Cached for each package, because every
 * step calls it. @throws FleetError YAML_SYNTAX, OBJECT_INVALID, SITE_VALUES, SECRET_MISSING
 */
export const readManifests = (desired: DesiredPackage): readonly Manifest[] => {
  const before = known.get(desired);
  if (before) return before;
  collectOften(desired);
  const inputs = desired.siteInputs.filter(({ assignment }) => assignment === desired.assignment);
  const manifests = putInputs(parseManifests(desired.files), inputs).flatMap((document) =>
    manifestsOf(document, desired),
  );
  known.set(desired, manifests);
  return manifests;
};

const manifestsOf = (
  document: ParsedDocument,
  { secrets, objectRules }: DesiredPackage,
): readonly Manifest[] => {
  const place = document.index === 0 ? document.file : `${document.file} (document ${document.index + 1})`;
  const decrypted = secrets?.decrypted.has(document.file) ? secrets : undefined;
  return expandList(document.value).map((value) => {
    const filled = fillSecret(value, secrets, place);
    const secret = (filled ? secrets : decrypted)?.hash;
    const manifest = toManifest(filled ?? value, place);
    return { ...manifest, ...policyFor(manifest, objectRules), ...defined({ secret }) };
  });
};

const policyFor = (
  manifest: Omit<Manifest, 'policy'>,
  rules: DesiredPackage['objectRules'],
): Pick<Manifest, 'policy' | 'ruled'> => {
  const annotations = annotationsOf(manifest.fields);
  const own = policyOf(annotations);
  const rule = ruleOf(rules, { ...manifest, group: groupOf(manifest.apiVersion) });
  if (!rule) return { policy: own };
  const policy = policyOf(annotations, rule);
  const isRuled = !policy.order.isHook && stableText(policy.ignore) !== stableText(own.ignore);
  return defined({ policy, ruled: isRuled ? policy.ignore : undefined });
};

const toManifest = (value: ParsedDocument['value'], place: string): Omit<Manifest, 'policy'> => {
  const { apiVersion, kind, metadata } = value;
  const { name, namespace } = isRecord(metadata) ? metadata : {};
  const needed = [
    ['apiVersion', apiVersion],
    ['kind', kind],
    ['metadata.name', name],
  ] as const;
  const [missing] = needed.find(([, text]) => typeof text !== 'string' || text === '') ?? [];
  if (missing !== undefined) {
    throw new FleetError('OBJECT_INVALID', `an object in ${place} has no ${missing}`, {
      at: { file: place },
    });
  }
  return {
    apiVersion: apiVersion as string,
    kind: kind as string,
    name: name as string,
    namespace: typeof namespace === 'string' && namespace !== '' ? namespace : undefined,
    fields: cleanObject(value),
    place,
  };
};

/** A namespace on an object of a kind without namespaces is removed, and no rule selects the object by it. */
const inScope = (
  manifest: Manifest,
  scope: ReturnType<ScopeOf>,
  rules: DesiredPackage['objectRules'],
): Manifest => {
  if (scope === 'Namespaced' || manifest.namespace === undefined) return manifest;
  const placed = { ...manifest, namespace: undefined, ruled: undefined };
  return { ...placed, ...policyFor(placed, rules) };
};

/**
 * Returns the objects with keys and owner marks, sorted by key. A namespace on a cluster-scoped object is removed.
 * @throws FleetError OBJECT_CLASH naming both places, OBJECT_INVALID without a namespace, CLUSTER_LACKS for unknown kinds;
 * one error lists all objects that are wrong
 */
export const toWanted = (
  manifests: readonly Manifest[],
  scopeOf: ScopeOf,
  owner: { readonly fleet: string; readonly assignment: string },
  isStatusField: IsStatusField = () => false,
  rules?: DesiredPackage['objectRules'],
): readonly WantedObject[] => {
  const unknown = manifests.filter((manifest) => scopeOf(manifest) === undefined);
  if (unknown.length > 0) throw unknownKinds(unknown);
  const unplaced = manifests.filter(
    (manifest) => scopeOf(manifest) === 'Namespaced' && manifest.namespace === undefined,
  );
  if (unplaced.length > 0) {
    throw new FleetError(
      'OBJECT_INVALID',
      `no namespace is given for ${listOf(unplaced.map(({ kind, name, place }) => `${kind} ${name} in ${place}`))}`,
    );
  }
  const found = new Map<string, WantedObject>();
  for (const manifest of manifests) {
    const placed = inScope(manifest, scopeOf(manifest), rules);
    const wanted = toWantedObject(placed, isStatusField(manifest), owner);
    const first = found.get(wanted.key);
    if (first) {
      throw new FleetError(
        'OBJECT_CLASH',
        `${wanted.kind} ${wanted.name} is there twice: in ${first.place} and in ${wanted.place}`,
      );
    }
    found.set(wanted.key, wanted);
  }
  return [...found.values()].toSorted((a, b) => compareBytes(a.key, b.key));
};

const metadataOf = ({ metadata }: Manifest['fields']): Readonly<Record<string, unknown>> =>
  isRecord(metadata) ? metadata : {};

export const annotationsOf = (fields: Manifest['fields']): Readonly<Record<string, unknown>> => {
  const { annotations } = metadataOf(fields);
  return isRecord(annotations) ? annotations : {};
};

const toWantedObject = (
  { apiVersion, kind, name, namespace, fields, place, secret, policy, ruled }: Manifest,
  statusIsField: boolean,
  owner: { readonly fleet: string; readonly assignment: string },
): WantedObject => {
  const metadata = metadataOf(fields);
  const annotations = annotationsOf(fields);
  checkRules(annotations, `${kind} ${name}`, place);
  const object = {
    ...(statusIsField ? fields : withoutStatus(fields)),
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      name,
      namespace,
      annotations: { ...annotations, [FLEET_MARK]: owner.fleet, [ASSIGNMENT_MARK]: owner.assignment },
    },
  } as unknown as WantedObject['object'];
  // Hashed with the object, so that a change of the rule counts as a change of the object, like that of an annotation.
  const hashed = ruled ? { object, ruled } : object;
  return {
    key: keyOf({ apiVersion, kind, name, namespace }),
    group: groupOf(apiVersion),
    apiVersion,
    kind,
    namespace,
    name,
    object,
    hash: secret ? secret(stableText(hashed)) : stableHash(hashed),
    ...defined({ secret, statusIsField: statusIsField || undefined }),
    place,
    policy,
  };
};

/** @param servedAs the version in which the cluster has a kind: 'networking.k8s.io/v1' for an Ingress of extensions/v1beta1 */
export const unknownKinds = (
  unknown: readonly Manifest[],
  servedAs: (type: TypeRef) => string | undefined = () => undefined,
): FleetError =>
  new FleetError(
    'CLUSTER_LACKS',
    `the cluster does not have the kind of ${listOf(
      unknown.map(({ apiVersion, kind, name, place }) => {
        const served = servedAs({ apiVersion, kind });
        const instead = served === undefined ? '' : `; it has ${kind} as ${served}`;
        return `${kind} (${apiVersion}) ${name} in ${place}${instead}`;
      }),
    )}`,
    {
      hint: 'Install its CustomResourceDefinition, and the agent continues automatically; or correct apiVersion and kind',
    },
  );

const MAX_LISTED = 20;

/** Names the first items of a list and the number of further ones. */
export const listOf = (items: readonly string[]): string => {
  const more = items.length - MAX_LISTED;
  return items.slice(0, MAX_LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '');
};
