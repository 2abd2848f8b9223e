import { plainText } from '#bundles/errors';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { verifySigned } from '../../webhook/webhook-signature.ts';

/** Verified answer of a check about a candidate. */
export type CheckAnswer = {
  readonly result: 'passed' | 'failed';
  readonly message: string;
  /** When it was signed, in seconds: a later answer replaces an earlier one. */
  readonly signedAt: number;
};

export type GivenAnswer = {
  /** Reads a header by its lower-case name. */
  readonly header: (name: string) => string | undefined;
  readonly body: Uint8Array;
};

export const MAX_ANSWER_BYTES = 16 << 10;
const MAX_MESSAGE = 500;

/**
 * Verifies the signature of an answer, and that it is about this candidate.
 * @throws FleetError TOKEN_INVALID; TOO_LARGE, BAD_JSON, TOO_DEEP; CHECK_REFUSED for another candidate or an unknown result
 */
export const readAnswer = (
  secret: string,
  { header, body }: GivenAnswer,
  { id, shared, now }: { readonly id: string; readonly shared: Digest; readonly now: Date },
): CheckAnswer => {
  const signedAt = verifySigned(secret, header, { id, body, now });
  const said = parseStrictJson(body, { maxBytes: MAX_ANSWER_BYTES, maxDepth: 8 }, 'the answer');
  if (typeof said !== 'object' || said === null) throw refused('the answer is not an object');
  const { result, message = '', shared: about } = said as Readonly<Record<string, unknown>>;
  if (about !== shared)
    throw refused(
      `the answer is about ${JSON.stringify(about)?.slice(0, 90) ?? 'no candidate'}, and shared is ${shared}`,
    );
  if (result !== 'passed' && result !== 'failed')
    throw refused('result of the answer is neither passed nor failed');
  if (typeof message !== 'string') throw refused('message of the answer is not text');
  return { result, message: plainText(message).slice(0, MAX_MESSAGE), signedAt };
};

export const refused = (message: string): FleetError =>
  new FleetError('CHECK_REFUSED', message, { hint: 'The gate is unchanged' });
