import { FleetError } from '#bundles/errors';
import type { RenderedFile } from '../platform/model.ts';
import { fill, type Mould } from '../render/remember-renders.ts';
import type { TextField } from '../render/watch-context.ts';
import { isClusterScoped } from './kubernetes-object.ts';
import type { ManifestInput, PreparedManifest, PreparedObject, SharedManifest } from './prepared-manifest.ts';

/** By where its text comes from, then by all else that it depends on. */
export type SharedManifests = WeakMap<object, Map<string, SharedManifest>>;

/** A mould that is filled with something new each time is not worth keeping. */
const MAX_EACH = 20_000;

/** What was prepared of the same mould, or the same file of an application, for another namespace of that length. */
export const findShared = (
  input: ManifestInput,
  shared: SharedManifests,
  key: string,
): PreparedManifest | undefined => {
  const found = shared.get(originOf(input))?.get(key + fillings(input.from));
  return found && sharedFor(found, input);
};

const sharedFor = (shared: SharedManifest, { namespace, shown }: ManifestInput): PreparedManifest =>
  Object.assign(forNamespace(shared, namespace, shown), { shared });

/**
 * Keeps what was prepared where nothing but the namespace can tell two of its kind apart: the text must hold it nowhere
 * than where the mould has it. @param prepared with the stand-in; @param common the text it was prepared from
 * @returns the manifest of the input's namespace
 */
export const keepShared = (
  input: ManifestInput,
  shared: SharedManifests,
  key: string,
  prepared: PreparedManifest,
  { standIn, common }: { readonly standIn: string; readonly common: string },
): PreparedManifest => {
  const made = toShared(prepared, standIn);
  const { from, bytes } = input;
  const expected = from ? fill(from.mould, { ...from.context, namespace: standIn }) : bytes.toString('utf8');
  const group = shared.get(originOf(input)) ?? new Map<string, SharedManifest>();
  if (expected !== common || group.size >= MAX_EACH) return forNamespace(made, input.namespace, input.shown);
  shared.set(originOf(input), group);
  group.set(key + fillings(from), made);
  return sharedFor(made, input);
};

/** Of a mould the bytes are not asked for: they would be made. */
const originOf = (input: ManifestInput): object => input.from?.mould ?? input.bytes;

/** Each name once: what fills the holes that are no namespace. */
export const fillings = (from: RenderedFile['from']): string => {
  if (!from) return '';
  let text = '';
  for (const field of otherHoles(from.mould)) {
    const value = from.context[field];
    text += `${value.length}:${value}`;
  }
  return text;
};

const known = new WeakMap<Mould, readonly TextField[]>();
const otherHoles = (mould: Mould): readonly TextField[] => {
  const found = known.get(mould) ?? [...new Set(mould.holes)].filter((field) => field !== 'namespace');
  known.set(mould, found);
  return found;
};

export const toShared = (prepared: PreparedManifest, standIn: string): SharedManifest => ({
  pieces: prepared.text.split(standIn),
  owns: prepared.owns.map((one) => one.split(standIn)),
  images: prepared.images,
  objects: prepared.objects,
  unknown: prepared.unknown,
  ...(prepared.suspects && { suspects: prepared.suspects }),
  ...(prepared.secrets && { secrets: prepared.secrets }),
  standIn,
});

/** The manifest of one namespace. */
export const forNamespace = (
  { pieces, owns, images, objects, unknown, suspects, secrets, standIn }: SharedManifest,
  namespace: string,
  shown: string,
): PreparedManifest => {
  const put = (one: string): string => one.replaceAll(standIn, namespace);
  const putIn = (object: PreparedObject): PreparedObject => objectIn(object, standIn, namespace, shown);
  return {
    // Most packages are written from an image of their files, and nobody asks for the text.
    get text() {
      return pieces.join(namespace);
    },
    owns: owns.map((one) => one.join(namespace)),
    images: images.some((image) => image.includes(standIn)) ? images.map(put) : images,
    unknown: unknown.length === 0 ? unknown : unknown.map(putIn),
    ...(suspects && { suspects: suspects.map((one) => adviceIn(one, put, shown)) }),
    ...(secrets && {
      secrets: {
        encrypted: secrets.encrypted.map((object) => ({ ...putIn(object), mac: put(object.mac) })),
        filled: secrets.filled.map(put),
        plain: secrets.plain.map(putIn),
      },
    }),
    get objects() {
      return objects.map(putIn);
    },
  };
};

const adviceIn = (
  { code, message, subject, at, hint }: FleetError,
  put: (text: string) => string,
  shown: string,
): FleetError =>
  new FleetError(code, put(message), {
    ...(subject !== undefined && { subject: put(subject) }),
    at: { ...at, file: shown },
    ...(hint !== undefined && { hint: put(hint) }),
  });

/** An object of a shared manifest in one namespace. */
export const objectIn = (
  object: PreparedObject,
  standIn: string,
  namespace: string,
  shown: string,
): PreparedObject => {
  const put = (one: string): string => one.replaceAll(standIn, namespace);
  return {
    apiVersion: put(object.apiVersion),
    kind: put(object.kind),
    name: put(object.name),
    namespace: object.namespace === undefined ? undefined : put(object.namespace),
    at: { ...object.at, file: shown },
  };
};

/** Group, kind, namespace and name, as the API server tells objects apart; the version does not count. */
export const identityOf = (object: PreparedObject, namespace: string): string => {
  const [group] = object.apiVersion.includes('/') ? object.apiVersion.split('/') : [''];
  const place = isClusterScoped(object.kind) ? '' : `${object.namespace ?? namespace}/`;
  return `${object.kind}${group ? `.${group}` : ''} ${place}${object.name}`;
};
