import { setTimeout as sleep } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { isRefusal } from '../api/refusal.ts';
import { stopIfAborted } from '../api/send.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';

type Version = { readonly name: string; readonly served: boolean; readonly storage: boolean };

/** How long the server may take until it serves a version no longer. */
const UNSERVED_MS = 10_000;
const PAUSE_MS = 100;

/**
 * Names of the versions in which objects of a definition may be stored and that its copy lacks. The server refuses a definition without
 * them. None for another object.
 */
export const lostVersions = (live: LiveObject, copy: LiveObject): readonly string[] => {
  const { status } = live;
  if (!isDefinition(live) || !isRecord(status) || !Array.isArray(status['storedVersions'])) return [];
  const there = new Set(versionsOf(copy).map(({ name }) => name));
  return status['storedVersions'].map(String).filter((name) => !there.has(name));
};

/** The copy with these versions of the live definition, which are not served and in which nothing new is stored. */
export const withVersions = (live: LiveObject, copy: LiveObject, names: readonly string[]): LiveObject => {
  const kept = versionsOf(live)
    .filter(({ name }) => names.includes(name))
    .map((version) => ({ ...version, served: false, storage: false }));
  const spec = isRecord(copy['spec']) ? copy['spec'] : {};
  return { ...copy, spec: { ...spec, versions: [...versionsOf(copy), ...kept] } };
};

/**
 * Prepares a definition for the loss of versions: nothing is stored in them any more, and the server no longer counts them as stored. Only
 * possible while there is no object of its kind.
 * @returns false if there are objects, or if the server does not allow it @throws FleetError FIELD_CONFLICT, API_UNREACHABLE, ABORTED
 */
export const dropVersions = async (
  api: KubernetesApi,
  live: LiveObject,
  copy: LiveObject,
  names: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  const { apiVersion, kind, metadata } = live;
  const ref = { apiVersion, kind, name: metadata.name };
  try {
    if (!(await isWithoutObjects(api, live, signal))) return false;
    const { spec } = withVersions(live, copy, names) as { spec?: { versions?: unknown } };
    const between = await change(api, ref, live, { path: '/spec/versions', value: spec?.versions }, signal);
    if (!between || !(await isUnserved(api, between, names, signal))) return false;
    if (!(await isWithoutObjects(api, between, signal))) return false;
    const stored = (await api.read(ref, signal)) ?? between;
    const value = storedOf(stored).filter((name) => !names.includes(name));
    await change(api, ref, stored, { path: '/status/storedVersions', value, subresource: 'status' }, signal);
    return true;
  } catch (error) {
    if (!isRefusal(error) && !isFleetError(error, 'API_DENIED')) throw error;
    return false;
  }
};

type Change = { readonly path: string; readonly value: unknown; readonly subresource?: 'status' };

const change = (
  api: KubernetesApi,
  ref: ObjectRef,
  live: LiveObject,
  { path, value, subresource }: Change,
  signal: AbortSignal,
): Promise<LiveObject | undefined> =>
  api.patch(
    ref,
    [
      { op: 'test', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
      { op: 'replace', path, value },
    ],
    signal,
    subresource && { subresource },
  );

const isWithoutObjects = async (
  api: KubernetesApi,
  definition: LiveObject,
  signal: AbortSignal,
): Promise<boolean> => {
  const { group, kind } = kindOf(definition);
  const served = versionsOf(definition).find((version) => version.served);
  const type = served && { apiVersion: `${group}/${served.name}`, kind };
  // The list of a kind that is not known is empty.
  if (!type || !(await api.typeOf(type, signal))) return false;
  return (await api.list(type, { metadataOnly: true }, signal)).items.length === 0;
};

const isUnserved = async (
  api: KubernetesApi,
  definition: LiveObject,
  names: readonly string[],
  signal: AbortSignal,
): Promise<boolean> => {
  const { group, kind } = kindOf(definition);
  for (const until = performance.now() + UNSERVED_MS; performance.now() < until; ) {
    stopIfAborted(signal);
    api.forgetTypes();
    const types = await api.types(signal);
    const isServed = types.some(
      (type) => type.group === group && type.kind === kind && names.includes(type.version),
    );
    if (!isServed) return true;
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
  return false;
};

const storedOf = ({ status }: LiveObject): readonly string[] =>
  isRecord(status) && Array.isArray(status['storedVersions']) ? status['storedVersions'].map(String) : [];

const versionsOf = ({ spec }: LiveObject): readonly Version[] =>
  isRecord(spec) && Array.isArray(spec['versions']) ? (spec['versions'] as readonly Version[]) : [];

const kindOf = ({ spec }: LiveObject): { readonly group: string; readonly kind: string } => {
  const { group, names } = spec as { readonly group: string; readonly names: { readonly kind: string } };
  return { group, kind: names.kind };
};
