import { type Digest, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { parseStrictJson } from '#bundles/json/strict-json';
import { formatTime, type Timestamp } from '#bundles/time';

/** State of an object of the cluster in a notification. */
export type FollowerState =
  /** It runs the bundle, and its health checks passed. */
  | { readonly kind: 'healthy' }
  /** It runs the bundle; its health is not known. */
  | { readonly kind: 'applied' }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The live state differs from the bundle that was applied. */
  | { readonly kind: 'drifted'; readonly message: string };

/** A notification of Flux, Argo CD or about Rancher Fleet, reduced to the facts that we use. */
export type Notification = {
  /** 'Kustomization/flux-system/prod-edge-shop-web' */
  readonly object: string;
  /** Name of the object, by which its assignment is found. */
  readonly name: string;
  /** Digest in its revision; null: it names no OCI artifact. */
  readonly bundle: Digest | null;
  /** The package that the object deploys, where it names no bundle: the namespace of its assignment, and `deployedPackage`. */
  readonly package?: NamedPackage;
  /** The Git commit in its revision; null: it names none. */
  readonly commit: string | null;
  /** When the cluster observed it, by its clock. */
  readonly at: Timestamp;
  /** null: it says nothing about a state, for example that work began. */
  readonly word: FollowerState | null;
};

export type NamedPackage = { readonly namespace: string; readonly deployed: string };

/** Largest body of a notification. A message of Flux has at most 39,000 characters. */
export const MAX_NOTIFICATION_BYTES = 256 << 10;
const MAX_DEPTH = 16;
const MAX_MESSAGE = 4096;

export type Fields = Readonly<Record<string, unknown>>;

/** @throws FleetError BAD_JSON, TOO_DEEP, TOO_LARGE, NOTIFICATION_INVALID */
export const parseBody = (body: Uint8Array): Fields =>
  fieldsOf(
    parseStrictJson(body, { maxBytes: MAX_NOTIFICATION_BYTES, maxDepth: MAX_DEPTH }, 'the notification'),
    'the notification',
  );

export const fieldsOf = (value: unknown, what: string): Fields => {
  if (isRecord(value)) return value;
  throw invalid(`${what} is not an object`);
};

/** A text field; empty if absent, because both senders write empty text for missing values. */
export const textOf = (fields: Fields, name: string): string => {
  const value = fields[name] ?? '';
  if (typeof value === 'string') return value;
  throw invalid(`${name} is not a text`);
};

/** Names of Kubernetes objects and namespaces. */
const OBJECT_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

export const objectName = (fields: Fields, name: string): string => {
  const text = textOf(fields, name);
  if (OBJECT_NAME.test(text)) return text;
  throw invalid(`${name} ${JSON.stringify(text.slice(0, 80))} is not a name of Kubernetes`);
};

/** The digest in 'bundle@sha256:...' or 'sha256:...'; null for a revision of another kind of source. */
export const bundleIn = (revision: string): Digest | null => {
  const digest = revision.slice(revision.lastIndexOf('@') + 1);
  return isDigest(digest) ? digest : null;
};

/** The commit in 'main@sha1:<id>', as Flux writes it, or in '<id>', as Argo CD does; null for another revision. */
export const commitIn = (revision: string): string | null =>
  /(?:^|@sha(?:1|256):)([0-9a-f]{40}|[0-9a-f]{64})$/.exec(revision)?.[1] ?? null;

/** A time as Kubernetes writes it. @returns undefined if the field is absent @throws FleetError NOTIFICATION_INVALID */
export const timeOf = (fields: Fields, name: string): Timestamp | undefined => {
  const text = textOf(fields, name);
  if (text === '') return undefined;
  if (RFC3339.test(text)) {
    const ms = Date.parse(text);
    if (!Number.isNaN(ms)) return formatTime(new Date(ms));
  }
  throw invalid(`${name} ${JSON.stringify(text.slice(0, 80))} is not a time`);
};

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** @param code a word of the sender, such as 'HealthCheckFailed' */
export const failed = (code: string, message: string): FollowerState => ({
  kind: 'failed',
  code: /^[A-Za-z]\w{0,63}$/.test(code) ? code : 'Failed',
  message: message.slice(0, MAX_MESSAGE),
});

export const drifted = (message: string): FollowerState => ({
  kind: 'drifted',
  message: message.slice(0, MAX_MESSAGE),
});

export const invalid = (message: string, hint?: string): FleetError =>
  new FleetError('NOTIFICATION_INVALID', message, hint === undefined ? {} : { hint });
