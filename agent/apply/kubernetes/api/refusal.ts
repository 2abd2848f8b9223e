import { defined } from '#bundles/defined';
import { type FleetError, isFleetError } from '#bundles/errors';
import type { Status } from './status.ts';

/** The fields of a refusal by the server, without the text that its author wrote and that may quote a secret. */
export type Refusal = {
  /** HTTP status. */
  readonly code: number;
  /** 'Invalid', 'Forbidden', 'NotFound' ...; undefined if the status has none. */
  readonly reason: string | undefined;
  /** Reasons and fields of the causes: 'FieldValueForbidden' at 'spec.resources.requests.storage'. */
  readonly causes: readonly { readonly reason?: string; readonly field?: string }[];
  /** The object or kind that the server means: 'namespaces', 'plant-7'. */
  readonly kind: string | undefined;
  readonly name: string | undefined;
  /** 'acme.example/v1': its definition no longer has the version, and the object's record of field managers names it. */
  readonly lostVersion: string | undefined;
};

/** The server's text for an object of a definition, in an answer of 500 without fields. */
const LOST_VERSION = /^request to convert CR (?:to|from) an invalid group\/version: (\S+)$/;

export const lostVersionIn = (message: string): string | undefined => LOST_VERSION.exec(message)?.[1];

/** An error of the API server with what it said in fields. Never thrown itself: the cause of a FleetError. */
export class RefusalCause extends Error {
  readonly refusal: Refusal;

  constructor(code: number, { reason, message = '', details }: Status) {
    super(`HTTP status ${code}`);
    this.name = 'RefusalCause';
    const causes = (details?.causes ?? []).map((cause) =>
      defined({
        reason: cause.reason,
        field: cause.field,
      }),
    );
    const { kind, name } = details ?? {};
    this.refusal = { code, reason, causes, kind, name, lostVersion: lostVersionIn(message) };
  }
}

/** The server's words behind an error; undefined if it is no refusal of the server. */
export const refusalOf = (error: unknown): Refusal | undefined => {
  for (let at: unknown = error; at instanceof Error; at = at.cause)
    if (at instanceof RefusalCause) return at.refusal;
  return undefined;
};

/** The fields that the server names, such as 'spec.selector'; none for a refusal by admission. */
export const refusedFields = (error: unknown): readonly string[] =>
  refusalOf(error)?.causes.flatMap(({ field }) => field ?? []) ?? [];

/**
 * The fields that the server names, as text: 'spec.ports[1].name: Invalid, spec.type: Invalid'. Its message where it names none, which is so
 * for objects that it cannot merge (duplicate items of a list).
 */
export const describeRefusedFields = (error: FleetError): string => {
  const fields = refusedFields(error);
  return fields.length === 0 ? error.message : fields.map((field) => `${field}: Invalid`).join(', ');
};

/** True if the server's validation refused the object: it is wrong, or the change is not possible. */
export const isInvalid = (error: unknown): error is FleetError => {
  const refusal = isFleetError(error, 'API_REFUSED') ? refusalOf(error) : undefined;
  return refusal?.reason === 'Invalid' && refusal.causes.some(({ field }) => field !== undefined);
};

/** True if the server, a policy or a webhook refused the object, and not for a missing right or an outage. */
export const isRefusal = (error: unknown): error is FleetError =>
  isFleetError(error, 'API_REFUSED') || isFleetError(error, 'ADMISSION_DENIED');
