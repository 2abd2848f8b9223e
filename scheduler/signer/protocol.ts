import { CODES, type ErrorCode, FleetError } from '#bundles/errors';

/**
 * What is spoken on the signer's socket: HTTP with JSON. `GET /v1/keys/<role>` answers KeyAnswer,
 * `POST /v1/sign/<role>` takes SignRequest and answers SignAnswer; a refusal is RefusalAnswer with a status from 400 on.
 */

/** What a signer may hold. Not `root`: those keys are officers', and never on a machine that runs all day. */
export const SIGNER_ROLES = ['bundle', 'release', 'lease', 'receipt', 'authority'] as const;
export type SignerRole = (typeof SIGNER_ROLES)[number];

export const isSignerRole = (text: unknown): text is SignerRole =>
  (SIGNER_ROLES as readonly unknown[]).includes(text);

export type KeyAnswer = { readonly role: string /** SPKI PEM. */; readonly publicKey: string };

/** Everything in base64. */
export type SignRequest = { readonly bytes: string; readonly evidence: readonly string[] };
export type SignAnswer = { readonly signature: string };

export type RefusalAnswer = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly subject?: string | undefined;
    readonly hint?: string | undefined;
  };
};

/** A revocation list may have 4 MiB, and a third more in base64; signature files are 64 KiB each. */
export const MAX_REQUEST_BYTES = 8 << 20;
export const MAX_ANSWER_BYTES = 64 << 10;
/** Signatures of two bundles, the release before and a revocation list. */
export const MAX_EVIDENCE = 64;

export const toRefusal = ({ code, message, subject, hint }: FleetError): RefusalAnswer => ({
  error: { code, message, ...(subject !== undefined && { subject }), ...(hint !== undefined && { hint }) },
});

/** The refusal as it was raised in the signer. A code of a newer signer that is not known here stays in the sentence. */
export const fromRefusal = (answer: unknown): FleetError => {
  const { code, message, subject, hint } = ((answer as Partial<RefusalAnswer> | null)?.error ??
    {}) as Partial<Record<keyof RefusalAnswer['error'], unknown>>;
  const known = typeof code === 'string' && Object.hasOwn(CODES, code);
  return new FleetError(
    known ? (code as ErrorCode) : 'SIGNER_REFUSED',
    typeof message === 'string' ? message : 'the signer refused and did not say why',
    {
      ...(typeof subject === 'string' && { subject }),
      ...(typeof hint === 'string' && { hint }),
    },
  );
};
