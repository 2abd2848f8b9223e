import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import type { KubernetesApi, LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { isInvalid, refusedFields } from '../api/refusal.ts';
import { stableText } from '#bundles/json/stable-hash';
import type { WantedObject } from '../desired/wanted-object.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf, segmentOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** A field of the package that has another value on the cluster. */
type Changed = {
  /** 'spec.resources.requests.storage' */
  readonly path: string;
  /** Names and indices in the package's object. */
  readonly tokens: readonly string[];
  readonly value: unknown;
};

/** Whether a field that the agent itself wrote last may keep its value, too: it was kept before, or a rollback cannot undo it. */
export type MayKeep = (path: string) => boolean;

/** Most dry runs that determine which of several changed fields the server does not let go back. */
const MAX_TRIES = 12;

/**
 * Determines the fields of the package that somebody else has changed and that the server does not let go back, such as the size of a claim
 * that was grown by hand: with their live values it takes the object. undefined if it refuses for another reason.
 * @param refusal the error of the dry run @param mayKeep for fields that the agent wrote last
 * @returns paths, and the object that the server would store @throws FleetError API_*, ABORTED
 */
export const findKept = async (
  api: KubernetesApi,
  { wanted, live, mayKeep }: { wanted: WantedObject; live: LiveObject; mayKeep: MayKeep },
  refusal: unknown,
  signal: AbortSignal,
): Promise<{ readonly keeps: readonly string[]; readonly dry: LiveObject } | undefined> => {
  if (!isInvalid(refusal)) return undefined;
  const isTheirs = (entry: ManagedFields) => !isOwnEntry(entry);
  const changed = [
    ...changedIn(live, wanted.object, isTheirs),
    ...changedIn(live, wanted.object, isOwnEntry).filter(({ path }) => mayKeep(path)),
  ];
  const meant = [...new Set(narrowest(changed, refusedFields(refusal)).map(({ path }) => path))];
  if (meant.length === 0 || meant.length > MAX_TRIES) return undefined;
  const attempt = async (paths: readonly string[]): Promise<LiveObject | undefined> => {
    const { object, secret } = withKept(wanted, live, paths);
    const options = defined({ dryRun: true, force: true, secret: secret ? true : undefined });
    try {
      return (await api.apply(object, options, signal)).object;
    } catch (error) {
      if (!isInvalid(error)) throw error;
      return undefined;
    }
  };
  let dry = await attempt(meant);
  if (!dry) return undefined;
  let keeps: readonly string[] = meant;
  // What the server lets go back is corrected as any other field.
  for (const path of meant.length > 1 ? meant : []) {
    const fewer = keeps.filter((one) => one !== path);
    const tried = fewer.length > 0 ? await attempt(fewer) : undefined;
    if (tried) [keeps, dry] = [fewer, tried];
  }
  return { keeps, dry };
};

/** The object with the live values of these fields. The hash stays that of the package's object. */
export const withKept = (wanted: WantedObject, live: LiveObject, paths: readonly string[]): WantedObject => {
  const kept = changedIn(live, wanted.object, () => true).filter(({ path }) => paths.includes(path));
  const object = kept.reduce<unknown>(
    (whole, { tokens, value }) => setAt(whole, tokens, value),
    wanted.object,
  );
  const isSelectorKept = paths.some((path) => path.startsWith('spec.selector'));
  const whole = object as LiveObject;
  return { ...wanted, object: isSelectorKept ? withSelectedLabels(whole) : whole };
};

/** With the labels in its pods by which the selector selects them: kapp adds one to both, and the selector that is kept cannot lose it. */
const withSelectedLabels = (object: LiveObject): LiveObject => {
  const selected = recordAt(object, ['spec', 'selector', 'matchLabels']);
  const labels = recordAt(object, POD_LABELS);
  if (!selected || !labels || Object.keys(selected).every((name) => Object.hasOwn(labels, name)))
    return object;
  return setAt(object, POD_LABELS, { ...selected, ...labels }) as LiveObject;
};

const POD_LABELS = ['spec', 'template', 'metadata', 'labels'];

const recordAt = (value: unknown, [token, ...rest]: readonly string[]): Fields | undefined => {
  if (!isRecord(value)) return undefined;
  return token === undefined ? value : recordAt(value[token], rest);
};

type Fields = Readonly<Record<string, unknown>>;

const setAt = (node: unknown, [token, ...rest]: readonly string[], value: unknown): unknown => {
  if (token === undefined) return value;
  if (Array.isArray(node))
    return node.map((item: unknown, index) => (String(index) === token ? setAt(item, rest, value) : item));
  if (!isRecord(node)) return node;
  return { ...node, [token]: setAt(node[token], rest, value) };
};

const changedIn = (
  live: LiveObject,
  wanted: LiveObject,
  isMeant: (entry: ManagedFields) => boolean,
): readonly Changed[] =>
  (live.metadata.managedFields ?? [])
    .filter((entry) => !entry.subresource && isMeant(entry))
    .flatMap(({ fieldsV1 = {} }) => within(fieldsV1, live, wanted, { path: '', tokens: [] }))
    .filter(({ path }) => !path.startsWith('metadata.'));

type At = Pick<Changed, 'path' | 'tokens'>;

const within = (set: FieldSet, live: unknown, wanted: unknown, at: At): readonly Changed[] =>
  Object.entries(set).flatMap(([entry, below]) => {
    if (entry === '.') return [];
    const there = memberOf(entry, live, isSameItem);
    const ours = memberOf(entry, wanted, isItemOf);
    if (!there || !ours) return [];
    const [token, value] = [ours[0], there[1]];
    const inner = { path: at.path + segmentOf(entry, at.path === ''), tokens: [...at.tokens, token] };
    const isLeaf = !isRecord(below) || Object.keys(below).every((one) => one === '.');
    if (!isLeaf) return within(below, value, ours[1], inner);
    return stableText(value) === stableText(ours[1]) ? [] : [{ ...inner, value }];
  });

const plain = (path: string): string => path.replaceAll(/\[[^\]]*\]/g, '');
const isWithin = (path: string, field: string): boolean => path === field || path.startsWith(`${field}.`);

/** The changed fields at the places that the server names, or in the objects around them: it names `clusterIPs` for `clusterIP`. */
const narrowest = (changed: readonly Changed[], fields: readonly string[]): readonly Changed[] => {
  for (let places = fields.map(plain); places.some((place) => place !== ''); places = places.map(parentOf)) {
    const found = changed.filter(({ path }) =>
      places.some((place) => place !== '' && (isWithin(plain(path), place) || isWithin(place, plain(path)))),
    );
    if (found.length > 0) return found;
  }
  return [];
};

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('.')));
