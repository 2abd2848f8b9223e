import { Metadata, MetadataKind, Signature } from '@tufjs/models';
import { canonicalBytes, type Json } from '../../json/canonical.ts';
import { compareBytes } from '../../digest.ts';
import { formatTime } from '../../time.ts';
import { encodeFleetField, FLEET_FIELD, type OfficerNames } from './fleet-field.ts';
import type { PublicKey, SigningKey } from '../keys/key.ts';
import { readRoot, type TrustRoot, TUF_ROLES } from './read-root.ts';
import { readRootDocument, signedBytes, writeRootDocument } from './root-document.ts';
import { officerIds } from './root-signatures.ts';
import { toTufKeys, tufKeyId } from '../keys/tuf-key.ts';

type RoleName = keyof typeof TUF_ROLES;

export type RootInput = {
  readonly fleet: string;
  readonly version: number;
  readonly expires: Date;
  readonly keys: { readonly [role in RoleName | 'receipt' | 'audit']: readonly PublicKey[] };
  /** By default two for the root (one if `dev`), one for every other role. */
  readonly thresholds?: { readonly [role in RoleName]?: number };
  readonly agentCertificates?: readonly string[];
  readonly dev?: boolean;
  /** Names by fingerprint. */
  readonly officers?: OfficerNames;
};

/**
 * Writes version N of a fleet's root and signs it with the given keys. Below the threshold it is a draft for the next
 * officer (signRoot). Version N+1 also needs the threshold of officers of version N.
 * @throws FleetError ROOT_FORMAT when readers would reject the root
 */
export const createRoot = (input: RootInput, signers: readonly SigningKey[]): Promise<Buffer> =>
  signRoot(canonicalBytes({ signed: rootToJson(input), signatures: [] }), signers);

/**
 * Adds signatures to a root or draft and keeps the existing ones.
 * @param before the previous root, which may list the officers under other key ids, as other tools compute them
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY, ROOT_FORMAT
 */
export const signRoot = async (
  bytes: Uint8Array,
  signers: readonly SigningKey[],
  before?: Pick<TrustRoot, 'bytes'>,
): Promise<Buffer> => {
  readRoot(bytes);
  const document = readRootDocument(bytes);
  const voters = before ? [document, readRootDocument(before.bytes)] : [document];
  const data = signedBytes(document);
  const signatures = new Map(Object.entries(document.signatures));
  for (const signer of signers) {
    const sig = (await signer.sign(data)).toString('hex');
    const ids = voters.flatMap((voter) => officerIds(voter, signer.public));
    for (const keyID of ids.length > 0 ? ids : [tufKeyId(signer.public)])
      signatures.set(keyID, new Signature({ keyID, sig }));
  }
  const sorted = [...signatures].toSorted(([a], [b]) => compareBytes(a, b));
  return writeRootDocument(new Metadata(document.signed, Object.fromEntries(sorted)));
};

/** TUF 1.0.31 section 4.3. */
const rootToJson = ({ fleet, version, expires, keys, thresholds = {}, ...rest }: RootInput): Json => {
  const { dev = false, agentCertificates = [], officers = {} } = rest;
  const defaults = { root: dev ? 1 : 2, bundle: 1, release: 1, lease: 1 };
  const all = toTufKeys([...keys.root, ...keys.bundle, ...keys.release, ...keys.lease]);
  return {
    _type: MetadataKind.Root,
    spec_version: '1.0.31',
    consistent_snapshot: true,
    version,
    expires: formatTime(expires),
    keys: Object.fromEntries(Object.entries(all).map(([id, key]) => [id, key.toJSON() as Json])),
    roles: Object.fromEntries(
      (Object.keys(TUF_ROLES) as RoleName[]).map((role) => [
        TUF_ROLES[role],
        {
          keyids: [...new Set(keys[role].map(tufKeyId))].toSorted(compareBytes),
          threshold: thresholds[role] ?? defaults[role],
        },
      ]),
    ),
    [FLEET_FIELD]: encodeFleetField({
      name: fleet,
      dev,
      receipt: keys.receipt,
      audit: keys.audit,
      agentCertificates,
      officers,
    }),
  };
};
