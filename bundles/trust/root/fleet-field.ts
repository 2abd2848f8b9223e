import { X509Certificate } from 'node:crypto';
import { Key } from '@tufjs/models';
import { defined } from '../../defined.ts';
import type { Json } from '../../json/canonical.ts';
import { FleetError } from '../../errors.ts';
import { isRecord } from '../../is-record.ts';
import { isName } from '../../names.ts';
import type { PublicKey } from '../keys/key.ts';
import { fromTufKeys, toTufKeys } from '../keys/tuf-key.ts';

/** The root's signed extension, for keys without a TUF role: TUF allows extra fields, but no extra roles. */
export const FLEET_FIELD = 'x-fleet';

const MAX_CERTIFICATES = 16;
/** Upper bound on keys in one list of a root. */
export const MAX_KEYS = 64;

export type FleetField = {
  readonly name: string;
  readonly dev: boolean;
  readonly receipt: readonly PublicKey[];
  readonly audit: readonly PublicKey[];
  /** PEM certificates that agents' client certificates chain to. */
  readonly agentCertificates: readonly string[];
  /** Names of officers by the fingerprint of their key. For people; trust comes from the keys alone. */
  readonly officers: OfficerNames;
};

export type OfficerNames = Readonly<Record<string, string>>;

/** A name that a person reads beside a fingerprint: letters, digits, and a few signs between them. */
export const isOfficerName = (text: unknown): text is string =>
  typeof text === 'string' && /^[\p{L}\p{N}]([\p{L}\p{N} ._@-]{0,62}[\p{L}\p{N}])?$/u.test(text);

export const encodeFleetField = (field: FleetField): { readonly [key: string]: Json } =>
  defined({
    name: field.name,
    dev: field.dev || undefined,
    receiptKeys: keysToJson(field.receipt),
    auditKeys: keysToJson(field.audit),
    agentCertificates: field.agentCertificates,
    officers: Object.keys(field.officers).length > 0 ? field.officers : undefined,
  });

/** @throws FleetError ROOT_FORMAT */
export const parseFleetField = (value: unknown): FleetField => {
  if (!isRecord(value)) {
    throw new FleetError('ROOT_FORMAT', `the root has no ${FLEET_FIELD} field: it belongs to no fleet`);
  }
  const { name, dev, receiptKeys, auditKeys, agentCertificates, officers = {} } = value;
  if (!isName(name)) throw new FleetError('ROOT_FORMAT', `${FLEET_FIELD}.name is not a DNS label`);
  if (dev !== undefined && typeof dev !== 'boolean') {
    throw new FleetError('ROOT_FORMAT', `${FLEET_FIELD}.dev is neither true nor false`);
  }
  return {
    name,
    dev: dev === true,
    receipt: keysFromJson(receiptKeys, 'receiptKeys'),
    audit: keysFromJson(auditKeys, 'auditKeys'),
    agentCertificates: parseCertificates(agentCertificates),
    officers: parseOfficers(officers),
  };
};

const parseOfficers = (value: unknown): OfficerNames => {
  const entries = isRecord(value) ? Object.entries(value) : [];
  if (
    isRecord(value) &&
    entries.length <= MAX_KEYS &&
    entries.every(([key, name]) => /^[0-9a-f]{64}$/.test(key) && isOfficerName(name))
  )
    return value as OfficerNames;
  throw new FleetError(
    'ROOT_FORMAT',
    `${FLEET_FIELD}.officers is not an object of at most ${MAX_KEYS} names by fingerprint`,
  );
};

const keysToJson = (keys: readonly PublicKey[]): Json =>
  Object.fromEntries(Object.entries(toTufKeys(keys)).map(([id, key]) => [id, key.toJSON() as Json]));

const keysFromJson = (value: unknown, what: string): readonly PublicKey[] => {
  if (typeof value !== 'object' || value === null || Object.keys(value).length > MAX_KEYS) {
    throw new FleetError(
      'ROOT_FORMAT',
      `${FLEET_FIELD}.${what} is not an object of at most ${MAX_KEYS} keys`,
    );
  }
  let keys: Record<string, Key>;
  try {
    keys = Object.fromEntries(Object.entries(value).map(([id, key]) => [id, Key.fromJSON(id, key)]));
  } catch (cause) {
    throw new FleetError('ROOT_FORMAT', `${FLEET_FIELD}.${what} has an entry that is not a TUF key`, {
      cause,
    });
  }
  return [...fromTufKeys(keys, `${FLEET_FIELD}.${what}`).values()];
};

const parseCertificates = (value: unknown): readonly string[] => {
  if (!Array.isArray(value) || value.length > MAX_CERTIFICATES || !value.every(isCertificate)) {
    throw new FleetError(
      'ROOT_FORMAT',
      `${FLEET_FIELD}.agentCertificates is not a list of at most ${MAX_CERTIFICATES} PEM certificates`,
    );
  }
  return value;
};

/** Exactly one certificate without other text, so that all readers use the same one. */
const isCertificate = (pem: unknown): pem is string => {
  if (typeof pem !== 'string') return false;
  try {
    return new X509Certificate(pem).toString().trimEnd() === pem.trimEnd();
  } catch {
    return false;
  }
};
