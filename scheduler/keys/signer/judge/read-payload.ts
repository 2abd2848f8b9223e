import type { Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { IN_TOTO } from '#bundles/media-types';
import { MAX_STATEMENT_BYTES, preAuthEncoding } from '#bundles/formats/statements/envelope';
import { encodeStatement, parseStatement, type Statement } from '#bundles/trust/statements/verify-statement';

export type ReadStatement = Statement & {
  /** Digest of the payload. */
  readonly digest: Digest;
};

const HEAD = /^DSSEv1 \d{1,3} [\x21-\x7e]+ (\d{1,7}) /;

/**
 * Reads the statement from the bytes to sign: the pre-authentication encoding (DSSE v1) of an in-toto statement. The bytes must
 * equal this program's own encoding of it, so that they contain nothing that was not checked.
 * @throws FleetError SIGNER_REFUSED, TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA
 */
export const readPayload = (bytes: Buffer): ReadStatement => {
  const [head = '', length] = HEAD.exec(bytes.subarray(0, 120).toString('latin1')) ?? [];
  const payload = bytes.subarray(head.length);
  if (length === undefined || !preAuthEncoding(IN_TOTO, payload).equals(bytes))
    throw new FleetError('SIGNER_REFUSED', 'the payload to sign is not an in-toto statement in DSSE');
  if (payload.byteLength > MAX_STATEMENT_BYTES) {
    throw new FleetError(
      'TOO_LARGE',
      `the statement has ${payload.byteLength} bytes, at most ${MAX_STATEMENT_BYTES} are read`,
    );
  }
  const statement = parseStatement(payload, 'the statement to be signed');
  if (!writeAgain(statement)?.equals(payload))
    throw new FleetError('SIGNER_REFUSED', 'the statement is not in the canonical form of this program');
  return { ...statement, digest: digestOf(payload) };
};

/** undefined if the statement contains values that canonical JSON cannot represent, such as fractions. */
const writeAgain = ({ subjects, predicateType, predicate }: Statement): Buffer | undefined => {
  try {
    return encodeStatement(subjects, predicateType, predicate as Json);
  } catch {
    return undefined;
  }
};
