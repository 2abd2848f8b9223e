import type { Node } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { FLEET_GROUP } from '../../../load/objects/fleet-kinds.ts';
import { type ParsedDocument, placeOf } from '../../../model/yaml/parse-documents.ts';
import { createTypeCompiler, type TypeCompiler } from './compile-type.ts';
import { judgeKeys } from './config-rules.ts';
import type { CustomKinds } from './custom-kinds.ts';
import { kubernetesFacts, type ObjectFact } from './facts.ts';
import { nearestName } from '#bundles/nearest-name';
import { isOwnGroup, removalOf } from './removed-apis.ts';
import { type TargetVersions, targetVersions } from './target-versions.ts';
import type { Check, Finding, Walk } from './walk.ts';
import { judgeSelector } from './workload-rules.ts';

/** An object and its YAML. */
export type JudgedObject = {
  readonly parsed: ParsedDocument;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly at: Place;
};

export type ObjectCheck = {
  /**
   * Faults for which clusters of these versions would refuse an object, each with its place and JSON path.
   * @param requirement semver range of Kubernetes versions; undefined if the cluster type has none
   * @throws FleetError FIELD_INVALID for an invalid range
   */
  readonly judge: (object: JudgedObject, requirement: string | undefined) => readonly FleetError[];
  /**
   * Whether the kind is unknown, so that its fields are not checked.
   * @throws FleetError FIELD_INVALID for an invalid range
   */
  readonly isUnknown: (object: JudgedObject, requirement: string | undefined) => boolean;
};

/**
 * Checks objects against facts.jsonl and the given custom kinds. Checks are compiled once for each kind and set of versions.
 */
export const createObjectCheck = (custom: CustomKinds): ObjectCheck => {
  const targets = new Map<string | undefined, { versions: TargetVersions; compile: TypeCompiler }>();
  const targetOf = (requirement: string | undefined) => {
    const known = targets.get(requirement);
    if (known) return known;
    const { first, last } = kubernetesFacts();
    const versions = targetVersions(requirement, first, last);
    const target = { versions, compile: createTypeCompiler(versions) };
    targets.set(requirement, target);
    return target;
  };
  return {
    judge: (object, requirement) => {
      const { versions, compile } = targetOf(requirement);
      // No facts exist for these versions, so nothing is checked.
      if (versions.minors.length === 0) return [];
      const fact = kubernetesFacts().objects.get(keyOf(object));
      const own = custom.of(object.apiVersion, object.kind);
      if (own) return run(object, own, compile('meta.v1.ObjectMeta'));
      if (fact) {
        const absent = absentIn(object, fact, versions);
        return absent ? [absent] : run(object, compile(fact.type));
      }
      const wrong = strangeKind(object, custom);
      if (wrong) return [wrong];
      return run(object, undefined, compile('meta.v1.ObjectMeta'));
    },
    isUnknown: (object, requirement) =>
      // Our own kinds among an application's manifests are reported where they are read.
      groupOf(object.apiVersion) !== FLEET_GROUP &&
      targetOf(requirement).versions.minors.length > 0 &&
      !kubernetesFacts().objects.has(keyOf(object)) &&
      !custom.of(object.apiVersion, object.kind) &&
      !strangeKind(object, custom),
  };
};

const keyOf = ({ apiVersion, kind }: Pick<JudgedObject, 'apiVersion' | 'kind'>): string =>
  `${apiVersion} ${kind}`;

const SHOWN = 20;

const run = (object: JudgedObject, check: Check | undefined, metadata?: Check): readonly FleetError[] => {
  const { root, document } = object.parsed;
  const walk: Walk = { document, found: [], isSecret: /secret/i.test(object.kind), steps: 0 };
  try {
    check?.(root, '', walk, root);
    walk.found.push(
      ...judgeSelector(object.apiVersion, object.kind, document),
      ...judgeKeys(object.apiVersion, object.kind, walk),
    );
    if (metadata) metadata((document.get('metadata', true) ?? null) as Node | null, 'metadata', walk, root);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return [refusal(object, 'it has too many values, or nests too deep, to be an object', object.at)];
  }
  return walk.found.slice(0, SHOWN).map((finding) => toError(object, finding));
};

const toError = (object: JudgedObject, { path, node, says, hint }: Finding): FleetError =>
  refusal(
    object,
    `${path === '' ? 'the object' : path} ${says}`,
    placeOf(object.parsed.text, node, object.parsed.root),
    hint,
  );

const refusal = ({ kind, name }: JudgedObject, message: string, at: Place, hint?: string): FleetError =>
  new FleetError('OBJECT_INVALID', message, { subject: `${kind} ${name}`, at, hint: hint || undefined });

/** OBJECT_INVALID if the kind's version does not exist in the required versions of Kubernetes. */
const absentIn = (
  object: JudgedObject,
  { spans }: ObjectFact,
  { minors, every }: TargetVersions,
): FleetError | undefined => {
  const without = minors.filter((minor) => !spans.some(({ from, to }) => from <= minor && minor <= to));
  if (without.length === 0 || (!every && without.length < minors.length)) return undefined;
  const { first, last } = kubernetesFacts();
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(...spans.map((span) => span.to));
  const when = [
    from === first ? undefined : `since Kubernetes 1.${from}`,
    to === last ? undefined : `until 1.${to}`,
  ].filter((part) => part !== undefined);
  const kinds = [...kubernetesFacts().objects.keys()].filter(
    (key) => key.endsWith(` ${object.kind}`) && groupOf(key) === groupOf(object.apiVersion),
  );
  const others = kinds.map((key) => key.split(' ')[0] ?? '').filter((one) => one !== object.apiVersion);
  return refusal(
    object,
    `${object.apiVersion} ${object.kind} is there only ${when.join(' and ')}`,
    placeOfField(object, 'apiVersion'),
    others.length > 0
      ? `There is also ${others.join(' and ')}; or narrow requirements.kubernetes of the cluster type`
      : 'Narrow requirements.kubernetes of the cluster type, or leave it out',
  );
};

/** OBJECT_INVALID for a removed kind, or one that a group of Kubernetes or of a CustomResourceDefinition does not have. */
const strangeKind = (object: JudgedObject, custom: CustomKinds): FleetError | undefined => {
  const { apiVersion, kind } = object;
  const removal = removalOf(apiVersion, kind);
  if (removal) {
    return refusal(
      object,
      `${apiVersion} ${kind} was removed in Kubernetes 1.${removal.since}`,
      placeOfField(object, 'apiVersion'),
      `Write ${removal.write}`,
    );
  }
  const versions = custom.versionsOf(groupOf(apiVersion), kind);
  if (versions.length > 0) {
    return refusal(
      object,
      `${kind} has no version ${apiVersion}`,
      placeOfField(object, 'apiVersion'),
      `Its CustomResourceDefinition has ${versions.join(', ')}`,
    );
  }
  if (!isOwnGroup(groupOf(apiVersion))) return undefined;
  const keys = [...kubernetesFacts().objects.keys()];
  const group = keys.filter((key) => key.endsWith(` ${kind}`)).map((key) => key.split(' ')[0] ?? '');
  const kinds = keys.filter((key) => key.startsWith(`${apiVersion} `)).map((key) => key.split(' ')[1] ?? '');
  const meant = nearestName(kind, kinds);
  return refusal(
    object,
    `Kubernetes has no ${apiVersion} ${kind}`,
    placeOfField(object, kinds.length > 0 && group.length === 0 ? 'kind' : 'apiVersion'),
    group.length > 0 ? `${kind} is of ${group.join(', ')}` : meant && `Did you mean ${meant}?`,
  );
};

const groupOf = (apiVersion: string): string => {
  const [version = ''] = apiVersion.split(' ');
  return version.includes('/') ? (version.split('/')[0] ?? '') : '';
};

const placeOfField = ({ parsed }: JudgedObject, field: string): Place =>
  placeOf(parsed.text, parsed.document.get(field, true) as Node | undefined, parsed.root);
