import { FleetError } from '../../../errors.ts';
import type { Answer, Method } from './send.ts';

/** The operation, for messages: 'reading release of registry.example/factory/prod/line'. */
export type Operation = { readonly doing: string; readonly method: Method; readonly url?: URL };

const MAX_ERROR_BODY = 64 << 10;
const MAX_QUOTED = 200;
const MAX_ERRORS = 3;

/** Transient statuses: rate limits and failures of the registry. */
const isPassingStatus = (status: number): boolean => status === 429 || status === 408 || status >= 500;

/**
 * Converts an unexpected response to a FleetError with the registry's message (OCI distribution spec 1.1, "Error Codes"), shortened and
 * without control characters.
 * @param hide removes secrets, because a registry may repeat a password in its response
 */
export const refusalOf = async (
  { doing, method, url }: Operation,
  answer: Answer,
  hide: (text: string) => string,
): Promise<FleetError> => {
  const { codes, said } = await describeAnswer(answer, hide);
  const moved = movedTo(answer);
  const sentence = `${doing}: ${answer.host} answered ${answer.status}${said && ` (${said})`} to ${method}`;
  // docker-registry, when it reads a link in its storage that another client is writing.
  if (codes.includes('DIGEST_INVALID') && codes.includes('MANIFEST_BLOB_UNKNOWN')) {
    return new FleetError('REGISTRY_UNREACHABLE', sentence, {
      hint: 'Run it again; it had been tried several times. Check whether another program publishes there now',
    });
  }
  if (codes.includes('DIGEST_INVALID') && method === 'PUT') {
    return new FleetError('DIGEST_MISMATCH', sentence, {
      hint: 'The content that was sent does not match its digest',
    });
  }
  if (isPassingStatus(answer.status)) {
    return new FleetError('REGISTRY_UNREACHABLE', sentence, {
      hint: 'Try again later; it had been tried several times',
    });
  }
  if (answer.status === 401 || answer.status === 403) {
    const isElsewhere = answer.status === 401 && url !== undefined && url.host !== answer.host;
    return new FleetError('REGISTRY_DENIED', sentence, {
      hint: isElsewhere
        ? `${url.host} redirects to ${answer.host}, which gets no credentials of ${url.host}: name ${answer.host} as the registry`
        : HINTS[answer.status],
    });
  }
  return new FleetError('REGISTRY_REFUSED', sentence, {
    hint: codes.includes('MANIFEST_BLOB_UNKNOWN')
      ? COLLECTED
      : (moved ?? HINTS[answer.status] ?? 'Its message has the reason; a retry will not help'),
  });
};

/** The hint for a redirect of a request that writes, which is not followed. Only the host is named: the rest may be a signed link. */
const movedTo = ({ status, header, url }: Answer): string | undefined => {
  const to = status >= 300 && status < 400 ? URL.parse(header('location') ?? '', url.href) : null;
  return to ? `It may have moved to ${to.host}: name that as the registry` : undefined;
};

/** The error for a response that another server gave in place of the registry, or that a proxy encoded. */
export const changedAnswer = (
  { doing, method }: Operation,
  { status, header, host }: Answer,
): FleetError | undefined => {
  if (status < 200 || status >= 300) return undefined;
  const isPage = /^\s*text\/html\b/i.test(header('content-type') ?? '');
  if (isPage && header('docker-content-digest') === undefined)
    return new FleetError('REGISTRY_UNREACHABLE', `${doing}: ${host} answered with a web page`, {
      hint: 'Is it the login page of a network (captive portal) or of a proxy? Log in there, or check the address',
    });
  const encoding = header('content-encoding')?.trim() || 'identity';
  if (method !== 'GET' || encoding.toLowerCase() === 'identity') return undefined;
  return new FleetError(
    'REGISTRY_REFUSED',
    `${doing}: ${host} answered with Content-Encoding ${plain(encoding)}, which was not asked for`,
    { hint: 'A proxy on the way compresses what it passes on: exempt the registry from it' },
  );
};

/** Blobs are sent before the manifest that names them, and nothing names them until then. */
const COLLECTED =
  'The registry removed content that it had a moment ago, as its garbage collection does. Run the command again: it sends what is missing';

const HINTS: Readonly<Partial<Record<number, string>>> = {
  401: 'Log in with docker or podman, or name the auth file',
  403: 'Request access to the repository, or log in as another user',
  404: 'Check the address of the registry and the path below it',
  405: 'This registry does not offer it; its settings may allow it',
  407: 'The proxy requires a user name and password: put them into HTTPS_PROXY',
  413: 'A proxy or the registry limits how much may be sent at once; raise that limit',
};

/** The error for a connection that could not be made or broke. */
export const unreachable = ({ doing }: Operation, host: string, cause: unknown): FleetError => {
  const { why, hint } = explain(cause);
  return new FleetError('REGISTRY_UNREACHABLE', `${doing}: ${host} ${why}`, { cause, hint });
};

const codeOf = (error: unknown): string => {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  // undici wraps errors of a proxy connection.
  if (typeof code === 'string' && code !== 'UND_ERR_PRX_CONN' && code !== 'UND_ERR_PRX_TLS') return code;
  return cause === undefined ? '' : codeOf(cause);
};

/** True if the same request may succeed shortly; false for a wrong name or certificate. */
export const isTransientError = (error: unknown): boolean => {
  const code = codeOf(error);
  return !(code === 'ENOTFOUND' || NOT_TLS.test(code) || CERTIFICATE.test(code) || GONE.test(code));
};

/** Closed by this process, or unusable from the start. */
const GONE = /^UND_ERR_(?:DESTROYED|CLOSED|INVALID_ARG)$/;
const NOT_TLS = /^ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)$/;
const CERTIFICATE =
  /^(?:ERR_TLS_CERT_ALTNAME_INVALID|CERT_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(?:VERIFY|GET)|INVALID_CA|ERR_SSL_TLSV1_ALERT|ERR_SSL_SSLV3_ALERT)/;

const explain = (cause: unknown): { readonly why: string; readonly hint: string } => {
  const code = codeOf(cause);
  const network = 'Check the address, the network and HTTPS_PROXY; what has arrived so far is kept';
  if (NOT_TLS.test(code))
    return {
      why: 'does not speak TLS',
      hint: 'To contact it without TLS, list it under plainHttp',
    };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return { why: 'shows a certificate for another host', hint: 'Use the name its certificate holds' };
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return {
      why: `shows a certificate that is not valid now (${code})`,
      hint: 'Check the clock here, then renew the certificate',
    };
  if (CERTIFICATE.test(code))
    return {
      why: `shows a certificate that this machine does not trust (${code})`,
      hint: 'Name the CA that signed it as the CA file',
    };
  const known = FAILURES[code];
  if (known !== undefined) return { why: known, hint: network };
  const text = cause instanceof Error ? cause.message : String(cause);
  return { why: `cannot be reached (${plain(text)})`, hint: network };
};

const FAILURES: Readonly<Record<string, string | undefined>> = {
  ECONNREFUSED: 'refuses connections',
  ECONNRESET: 'cut the connection',
  EPIPE: 'cut the connection',
  UND_ERR_SOCKET: 'cut the connection',
  ENOTFOUND: 'is a name that cannot be resolved here',
  EAI_AGAIN: 'cannot be looked up: the name server does not answer',
  ETIMEDOUT: 'does not answer',
  EHOSTUNREACH: 'is on no network that can be reached',
  ENETUNREACH: 'is on no network that can be reached',
  UND_ERR_CONNECT_TIMEOUT: 'does not answer',
  UND_ERR_HEADERS_TIMEOUT: 'accepted the request and did not answer',
  UND_ERR_BODY_TIMEOUT: 'stopped in the middle of its answer',
};

const describeAnswer = async (
  answer: Answer,
  hide: (text: string) => string,
): Promise<{ readonly codes: readonly string[]; readonly said: string }> => {
  const none = { codes: [], said: '' };
  const bytes = await readSome(answer);
  try {
    const { errors } = JSON.parse(bytes.toString('utf8')) as { errors?: unknown };
    if (!Array.isArray(errors)) return none;
    const entries = errors.slice(0, MAX_ERRORS).map((entry: unknown) => {
      const { code, message } = (entry ?? {}) as { code?: unknown; message?: unknown };
      const name = typeof code === 'string' ? code : '';
      return {
        name,
        text: plain(hide([name, typeof message === 'string' ? message : ''].filter(Boolean).join(': '))),
      };
    });
    return { codes: entries.map(({ name }) => name), said: entries.map(({ text }) => text).join('; ') };
  } catch {
    return none;
  }
};

/** The beginning of an answer, for messages only; an error while it is read must not hide the answer. */
const readSome = async (answer: Answer): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of answer.body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size >= MAX_ERROR_BODY) break;
    }
  } catch {
    // The body may be incomplete; the part that arrived is used.
  }
  return Buffer.concat(chunks);
};

const plain = (text: string): string => {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}...` : line;
};
