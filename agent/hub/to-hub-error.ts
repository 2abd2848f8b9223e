import { FleetError } from '#bundles/errors';
import { aborted } from '../store/journal/aborted.ts';

/** Maps an error before the answer to CERTIFICATE_INVALID, HUB_UNREACHABLE or ABORTED, with a message for `status`. */
export const toHubError = (cause: unknown, origin: string, signal: AbortSignal): FleetError => {
  if (cause instanceof FleetError) return cause;
  if (signal.aborted) return aborted(cause);
  const { code, message } = innermost(cause);
  if (code in CERTIFICATE) {
    return new FleetError('CERTIFICATE_INVALID', `${origin} shows a certificate that ${CERTIFICATE[code]}`, {
      cause,
      hint: 'Nothing was sent. Check the address, and this clock; if both are right, ask the platform team',
    });
  }
  if (/ALERT_.*CERT|ALERT_UNKNOWN_CA|ALERT_ACCESS_DENIED/.test(code)) {
    return new FleetError(
      'CERTIFICATE_INVALID',
      `${origin} does not take the certificate of this agent (${code})`,
      {
        cause,
        hint: 'It may have ended or been revoked: enrol again with a new token',
      },
    );
  }
  const why =
    REASONS[code] ?? (NOT_TLS.test(code) ? 'the server there does not use TLS, so it is not a hub' : message);
  return new FleetError('HUB_UNREACHABLE', `${origin} does not answer: ${why}`, { cause });
};

const NOT_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;

const CERTIFICATE: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "does not chain to the fleet's authority",
  UNABLE_TO_GET_ISSUER_CERT: "does not chain to the fleet's authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "does not chain to the fleet's authority",
  SELF_SIGNED_CERT_IN_CHAIN: "does not chain to the fleet's authority",
  DEPTH_ZERO_SELF_SIGNED_CERT: "does not chain to the fleet's authority",
  CERT_SIGNATURE_FAILURE: "does not chain to the fleet's authority",
  INVALID_CA: "does not chain to the fleet's authority",
  CERT_UNTRUSTED: "does not chain to the fleet's authority",
  INVALID_PURPOSE: 'is not for a server',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name than this address',
  CERT_HAS_EXPIRED: 'has ended',
  CERT_NOT_YET_VALID: 'is not valid yet',
};

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'its name could not be looked up',
  ENETUNREACH: 'there is no network to it',
  EHOSTUNREACH: 'there is no route to it',
  ETIMEDOUT: 'it takes too long',
  UND_ERR_CONNECT_TIMEOUT: 'it takes too long',
  UND_ERR_HEADERS_TIMEOUT: 'it takes too long',
  UND_ERR_BODY_TIMEOUT: 'it takes too long',
};

/** Unwraps the first underlying error: Node tries every address of a name and wraps the errors. */
const innermost = (error: unknown): { readonly code: string; readonly message: string } => {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (!(error instanceof Error)) return { code: '', message: String(error) };
  const code = 'code' in error ? String(error.code) : '';
  if (error.cause instanceof Error && !(code in CERTIFICATE) && !(code in REASONS))
    return innermost(error.cause);
  if (code === 'UND_ERR_SOCKET' && error.cause instanceof Error) return innermost(error.cause);
  return { code, message: error.message };
};
