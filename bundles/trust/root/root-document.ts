import { Metadata, MetadataKind, type Root, Signature } from '@tufjs/models';
import { canonicalBytes } from '../../json/canonical.ts';
import { FleetError } from '../../errors.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { MAX_KEYS } from './fleet-field.ts';

/** A root.json in the TUF model. */
export type RootDocument = Metadata<Root>;

/** As TUF clients limit it. */
export const MAX_ROOT_BYTES = 512_000;

/**
 * Parses a root within the limits, unverified.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, TOO_MANY, ROOT_FORMAT
 */
export const readRootDocument = (bytes: Uint8Array): RootDocument => {
  const json = parseStrictJson(bytes, { maxBytes: MAX_ROOT_BYTES, maxDepth: 32 }, 'the root');
  checkCounts(json);
  try {
    const document = Metadata.fromJSON(MetadataKind.Root, json as Parameters<typeof Metadata.fromJSON>[1]);
    // A fraction has no canonical form, so a document with one cannot have been signed.
    signedBytes(document);
    return document;
  } catch (cause) {
    throw new FleetError('ROOT_FORMAT', `this is not a TUF root: ${(cause as Error).message}`, { cause });
  }
};

/** The model copies its lists with each entry, so a root with thousands of keys would hold the reader for minutes. */
const checkCounts = (json: unknown): void => {
  const { signed, signatures } = (json ?? {}) as {
    signed?: { keys?: object; roles?: object };
    signatures?: object;
  };
  for (const [what, list] of Object.entries({ keys: signed?.keys, roles: signed?.roles, signatures })) {
    if (Object.keys(list ?? {}).length > MAX_KEYS) {
      throw new FleetError('TOO_MANY', `the root has more than ${MAX_KEYS} ${what}`);
    }
  }
};

export const writeRootDocument = (document: RootDocument): Buffer => canonicalBytes(document.toJSON());

/** The signed bytes: OLPC canonical JSON of the signed part. The model passes them only to a signer function. */
export const signedBytes = (document: RootDocument): Buffer => {
  let bytes: Buffer = Buffer.alloc(0);
  new Metadata(document.signed).sign((data) => {
    bytes = data;
    return new Signature({ keyID: '', sig: '' });
  });
  return bytes;
};

/** Whether enough officers of `root` have signed `document`, which may be the same one. */
export const isSignedBy = (root: RootDocument, document: RootDocument): boolean => {
  try {
    root.verifyDelegate(MetadataKind.Root, document);
    return true;
  } catch {
    return false;
  }
};
