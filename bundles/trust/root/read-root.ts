import type { Root } from '@tufjs/models';
import { type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { RoleKeys } from '../statements/verify-statement.ts';
import { parseTime } from '../../time.ts';
import { FLEET_FIELD, type OfficerNames, parseFleetField } from './fleet-field.ts';
import type { PublicKey } from '../keys/key.ts';
import { type RootDocument, readRootDocument } from './root-document.ts';
import { fromTufKeys } from '../keys/tuf-key.ts';

/** The keys and roles of a fleet: one version of its TUF root, parsed and checked. */
export type TrustRoot = {
  readonly version: number;
  readonly fleet: string;
  readonly expires: Date;
  /** Bytes of the file, which are stored and verified again with the next version. */
  readonly bytes: Buffer;
  /** SHA-256 of the file, which the operator enters at enrolment. */
  readonly digest: Digest;
  readonly roles: {
    readonly root: RoleKeys;
    /** TUF targets. */
    readonly bundle: RoleKeys;
    /** TUF snapshot. */
    readonly release: RoleKeys;
    /** TUF timestamp. */
    readonly lease: RoleKeys;
  };
  readonly receipt: readonly PublicKey[];
  readonly audit: readonly PublicKey[];
  readonly agentCertificates: readonly string[];
  /** Names by fingerprint, for people. */
  readonly officers: OfficerNames;
  /** True for a development root, for which one officer may be enough. */
  readonly dev: boolean;
};

/** Our roles by the names TUF gives them. */
export const TUF_ROLES = {
  root: 'root',
  bundle: 'targets',
  release: 'snapshot',
  lease: 'timestamp',
} as const;

const KEY_ID = /^[0-9a-f]{64}$/;

/**
 * Parses and checks a root without verifying its signatures: also accepts a draft.
 * @param document the parsed form of `bytes`, when the caller has it
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY, ROOT_FORMAT
 */
export const readRoot = (
  bytes: Uint8Array,
  { signed }: RootDocument = readRootDocument(bytes),
): TrustRoot => {
  const { name, ...field } = parseFleetField(signed.unrecognizedFields?.[FLEET_FIELD]);
  const root: TrustRoot = {
    version: parseVersion(signed.version),
    fleet: name,
    expires: parseExpires(signed.expires),
    bytes: Buffer.from(bytes),
    digest: digestOf(bytes),
    roles: parseRoles(signed),
    ...field,
  };
  checkOfficers(root);
  return root;
};

/** The model accepts fractions as a version; other readers do not. */
const parseVersion = (version: number): number => {
  if (Number.isSafeInteger(version) && version >= 1) return version;
  throw new FleetError('ROOT_FORMAT', `the root's version ${version} is not a whole number from 1`);
};

const parseExpires = (text: string): Date => {
  try {
    return parseTime(text, "the root's expiry");
  } catch (cause) {
    throw new FleetError('ROOT_FORMAT', (cause as Error).message, { cause });
  }
};

const parseRoles = (signed: Root): TrustRoot['roles'] => {
  // python-tuf refuses a root with more roles than these, and so do we.
  if (Object.keys(signed.roles).length !== Object.keys(TUF_ROLES).length) {
    throw new FleetError('ROOT_FORMAT', 'the root has other roles than the four of TUF');
  }
  const keys = fromTufKeys(signed.keys, 'keys');
  return {
    root: parseRole(signed, TUF_ROLES.root, keys),
    bundle: parseRole(signed, TUF_ROLES.bundle, keys),
    release: parseRole(signed, TUF_ROLES.release, keys),
    lease: parseRole(signed, TUF_ROLES.lease, keys),
  };
};

const parseRole = (signed: Root, name: string, keys: ReadonlyMap<string, PublicKey>): RoleKeys => {
  const { keyIDs = [], threshold = 0 } = signed.roles[name] ?? {};
  const found = keyIDs.map((id) => keys.get(id));
  if (!keyIDs.every((id) => KEY_ID.test(id)) || !found.every((key) => key !== undefined)) {
    throw new FleetError('ROOT_FORMAT', `the root's role ${name} names a key that the root does not have`);
  }
  if (!Number.isInteger(threshold) || threshold < 1 || threshold > found.length) {
    throw new FleetError(
      'ROOT_FORMAT',
      `the root's role ${name} needs ${threshold} signatures and has ${found.length} keys`,
    );
  }
  return { keys: found, threshold };
};

/** Requires two officers, so that one stolen key cannot change the root. */
const checkOfficers = ({ dev, roles }: TrustRoot): void => {
  if (dev || roles.root.threshold >= 2) return;
  throw new FleetError('ROOT_FORMAT', 'one officer alone could change this root', {
    hint: 'Let at least two officers sign, or mark it as a root for development',
  });
};
