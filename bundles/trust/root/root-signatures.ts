import { type PublicKey, verifySignature } from '../keys/key.ts';
import { type TrustRoot, TUF_ROLES } from './read-root.ts';
import { type RootDocument, readRootDocument, signedBytes } from './root-document.ts';
import { fromTufKey } from '../keys/tuf-key.ts';

/** Signatures of the officers of one root on a root: their own or the next. */
export type OfficerSignatures = {
  /** Version of the root whose officers these are. */
  readonly of: number;
  readonly needed: number;
  readonly signed: readonly PublicKey[];
  readonly missing: readonly PublicKey[];
  /** Officers whose signature does not verify. */
  readonly broken: readonly PublicKey[];
};

export const isEnough = ({ signed, needed }: OfficerSignatures): boolean => signed.length >= needed;

/**
 * Finds the officers of `root` that have signed `bytes`, which may be a draft.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY, ROOT_FORMAT
 */
export const officerSignatures = (root: TrustRoot, bytes: Uint8Array): OfficerSignatures => {
  const document = readRootDocument(bytes);
  const data = signedBytes(document);
  const judged = officerKeys(readRootDocument(root.bytes)).map(([id, key]) => {
    const sig = document.signatures[id]?.sig;
    if (sig === undefined) return { key, verdict: 'missing' } as const;
    return { key, verdict: isBy(key, data, sig) ? 'signed' : 'broken' } as const;
  });
  const which = (wanted: string): readonly PublicKey[] =>
    judged.filter(({ verdict }) => verdict === wanted).map(({ key }) => key);
  return {
    of: root.version,
    needed: root.roles.root.threshold,
    signed: which('signed'),
    missing: which('missing'),
    broken: which('broken'),
  };
};

/** Ids of a key among the officers of a root; other tools may compute ids in another way. */
export const officerIds = (document: RootDocument, key: PublicKey): readonly string[] =>
  officerKeys(document)
    .filter(([, known]) => known.hint === key.hint)
    .map(([id]) => id);

const officerKeys = ({ signed }: RootDocument): readonly (readonly [string, PublicKey])[] =>
  (signed.roles[TUF_ROLES.root]?.keyIDs ?? []).flatMap((id) => {
    const key = signed.keys[id];
    return key ? [[id, fromTufKey(key)] as const] : [];
  });

const isBy = (key: PublicKey, data: Uint8Array, hex: string): boolean => {
  try {
    return verifySignature(key, data, Buffer.from(hex, 'hex'));
  } catch {
    return false;
  }
};
