import { isDeepStrictEqual } from 'node:util';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { escapeToken } from '#bundles/formats/bounds/site-fields';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { putInputs } from '#bundles/formats/site-values/put-inputs';
import type { ResolvedInput } from '#bundles/formats/site-values/resolve-inputs';
import { isRecord } from '#bundles/is-record';
import { isOwnGroup } from '../../plan/validate/kubernetes/removed-apis.ts';
import type { Tree } from '../../render/render-tree.ts';
import { toYaml } from './place-values.ts';

/** A patch of Kustomize, with the object that it is for. */
export type Patch = { readonly target: Readonly<Record<string, string>>; readonly patch: string };

type Fields = Readonly<Record<string, unknown>>;

/**
 * Patches that make of the objects of a package what an agent would make of them with these values. They are JSON patches (RFC 6902), except for an
 * object with a whole number beyond 2^53, which Kustomize would round beside a JSON patch: that object gets a strategic merge patch.
 * @throws FleetError FIELD_INVALID for such an object, if a merge cannot set the values
 */
export const patchesOf = (files: Tree, fields: readonly ResolvedInput[]): readonly Patch[] => {
  const before = parseManifests(files);
  return putInputs(before, fields).flatMap(({ file, index, value }) => {
    const old = before.find((one) => one.file === file && one.index === index)?.value;
    if (old === undefined || isDeepStrictEqual(old, value)) return [];
    const [version, group] = String(value['apiVersion']).split('/').toReversed();
    const { name, namespace } = (value['metadata'] ?? {}) as Fields;
    const target = Object.fromEntries(
      Object.entries({ group, version, kind: value['kind'], name, namespace }).flatMap(([key, one]) =>
        typeof one === 'string' ? [[key, one]] : [],
      ),
    );
    const long = longNumberIn(old);
    if (long === undefined) return [{ target, patch: toYaml(differences('', old, value)) }];
    const merge = mergeOf(old, value);
    if (!isMergeable(merge, isOwnGroup(group ?? '')))
      throw wouldRound(`${target['kind']} ${target['name']}`, long, file);
    const { apiVersion, kind } = value;
    const metadata = { ...(merge['metadata'] as Fields | undefined), ...defined({ name, namespace }) };
    return [{ target, patch: toYaml({ ...merge, apiVersion, kind, metadata }) }];
  });
};

/** Whole numbers that a double cannot hold are bigints. */
const longNumberIn = (value: unknown): bigint | undefined => {
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'object' || value === null) return undefined;
  for (const one of Object.values(value)) {
    const found = longNumberIn(one);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** The fields that differ. A list is given whole. */
const mergeOf = (old: Fields, now: Fields): Fields =>
  Object.fromEntries(
    Object.entries(now).flatMap(([key, value]) => {
      const before = Object.hasOwn(old, key) ? old[key] : undefined;
      if (isDeepStrictEqual(before, value)) return [];
      return [[key, isRecord(before) && isRecord(value) ? mergeOf(before, value) : value]];
    }),
  );

/**
 * Whether Kustomize merges a patch as it is written: null removes a field, a key with a dollar sign can be a directive, and lists of Kubernetes' own
 * kinds are merged item by item.
 */
const isMergeable = (value: unknown, isOwnKind: boolean): boolean => {
  if (value === null || (isOwnKind && Array.isArray(value))) return false;
  if (typeof value !== 'object') return true;
  return Object.entries(value).every(([key, one]) => !key.startsWith('$') && isMergeable(one, isOwnKind));
};

const wouldRound = (subject: string, number: bigint, file: string): FleetError =>
  new FleetError(
    'FIELD_INVALID',
    `Kustomize would round the number ${number} of this object when it puts the values of the site into it`,
    {
      subject,
      at: { file },
      hint: 'Keep the number in an object that takes no values of the site, or in quotes if its field takes text',
    },
  );

type Operation = { readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown };

/** Site values set fields and remove none. */
const differences = (path: string, old: unknown, now: unknown): readonly Operation[] => {
  if (isDeepStrictEqual(old, now)) return [];
  if (isRecord(old) && isRecord(now))
    return Object.entries(now).flatMap(([key, value]): readonly Operation[] => {
      const at = `${path}/${escapeToken(key)}`;
      return Object.hasOwn(old, key) ? differences(at, old[key], value) : [{ op: 'add', path: at, value }];
    });
  if (Array.isArray(old) && Array.isArray(now) && old.length === now.length)
    return now.flatMap((value, index) => differences(`${path}/${index}`, old[index], value));
  return [{ op: 'replace', path, value: now }];
};
