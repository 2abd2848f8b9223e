import { defined } from '#bundles/defined';
import { CODES, type ErrorCode, FleetError } from '#bundles/errors';

/**
 * The protocol on the signer's socket: HTTP with JSON. `GET /v1/keys/<role>` returns KeyAnswer, `POST /v1/sign/<role>` takes
 * SignRequest and returns SignAnswer. Errors are RefusalAnswer with a status of 400 or above.
 */

/** Roles whose keys a signer may hold. Not `root`: officers' keys are never on a server. */
export const SIGNER_ROLES = ['bundle', 'release', 'lease', 'receipt', 'authority'] as const;
export type SignerRole = (typeof SIGNER_ROLES)[number];

export const isSignerRole = (text: unknown): text is SignerRole =>
  (SIGNER_ROLES as readonly unknown[]).includes(text);

export type KeyAnswer = { readonly role: string /** SPKI PEM. */; readonly publicKey: string };

/** All values are base64. */
export type SignRequest = { readonly bytes: string; readonly evidence: readonly string[] };
export type SignAnswer = { readonly signature: string };

/**
 * `GET /v1/reports` returns HeadsAnswer, `POST /v1/reports` takes ShowRequest and returns ShowAnswer: the evidence for promotions.
 */
export type HeadsAnswer = {
  readonly heads: readonly { readonly agent: string; readonly key: string; readonly seq: number }[];
};
export type ShowRequest = {
  readonly reports: readonly { readonly statement: string; readonly events: string }[];
  readonly documents: readonly string[];
};
export type ShowAnswer = { readonly taken: number };

/**
 * `POST /v1/layers` takes a LayersRequest, first with documents and then with the layers that LayersAnswer names, and returns
 * LayersAnswer: what values of sites are composed from. With `past` it takes the documents of a release that may be an older one, and remembers
 * which values that one hides.
 */
export type LayersRequest =
  | { readonly documents: readonly string[] }
  | { readonly past: readonly string[] }
  | { readonly layers: string };
export type LayersAnswer = { readonly layers: string | null };

export type RefusalAnswer = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly subject?: string | undefined;
    readonly hint?: string | undefined;
  };
};

/** A revocation list may have 4 MiB, plus a third in base64; signature files have up to 64 KiB each. */
export const MAX_REQUEST_BYTES = 8 << 20;
export const MAX_ANSWER_BYTES = 64 << 10;
/** The heads of 30,000 agents, with their keys. */
export const MAX_HEADS_BYTES = 8 << 20;
/** Reports and documents of one request. */
export const MAX_SHOWN = 512;
/** Enough for the signatures of two bundles, the previous release and a revocation list. */
export const MAX_EVIDENCE = 64;

export const toRefusal = ({ code, message, subject, hint }: FleetError): RefusalAnswer => ({
  error: defined({ code, message, subject, hint }),
});

/** The error that the signer raised. An unknown code, of a newer signer, becomes SIGNER_REFUSED with the same message. */
export const fromRefusal = (answer: unknown): FleetError => {
  const { code, message, subject, hint } = ((answer as Partial<RefusalAnswer> | null)?.error ??
    {}) as Partial<Record<keyof RefusalAnswer['error'], unknown>>;
  const known = typeof code === 'string' && Object.hasOwn(CODES, code);
  return new FleetError(
    known ? (code as ErrorCode) : 'SIGNER_REFUSED',
    typeof message === 'string' ? message : 'the signer refused without a reason',
    {
      subject: typeof subject === 'string' ? subject : undefined,
      hint: typeof hint === 'string' ? hint : undefined,
    },
  );
};
