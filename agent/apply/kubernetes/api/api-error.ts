import { FleetError } from '#bundles/errors';
import { cutText } from '#cli/cut-text';
import { lostVersionIn, RefusalCause } from './refusal.ts';
import type { Status } from './status.ts';
import { suggestFix, suggestAfterDenial } from './suggest-fix.ts';

/** The subject of a request, for messages. */
export type RequestSubject = {
  /** 'apply', 'get', 'list', 'delete', 'watch', 'discover' ... */
  readonly verb: string;
  /** 'Deployment shop/web', 'ConfigMaps of shop'. */
  readonly what: string;
  /** True for a Secret: the server's message may quote its values and is not repeated. */
  readonly secret: boolean;
};

const MAX_WORDS = 1000;
const MAX_QUOTE = 300;

/** etcd or its disk is full: not a fault of the object, and over when space is freed. */
const NO_ROOM =
  /^etcdserver: mvcc: database space exceeded|no space left on device|database or disk is full/i;

export const readStatus = (body: string): Status => {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // The answer of a proxy, which is not a Status object.
  }
  return { message: cutText(body, MAX_WORDS) };
};

/**
 * Texts of the API server and of etcd for what their answers have no fields for: a 5xx without `reason`. Each is compared from its start,
 * because what policies and webhooks say may contain any text.
 */
const MALFORMED =
  /^(?:failed to create typed patch object|failed to create manager for existing fields|failed to convert new object|unable to convert)/;
const WEBHOOK_AWAY = /^(?:Internal error occurred: )?failed calling webhook "([^"]*)"/;
/** The webhook of a CRD that converts between its versions. Without it objects of that kind can be neither read nor written. */
const CONVERSION_AWAY = new RegExp(
  [
    '^(?:Internal error occurred: )?',
    // Where the server's cache of the kind could not be filled: a 429.
    String.raw`(?:storage is \(re\)initializing: failed to list \S+, Kind=\w+: )?`,
    // From Kubernetes 1.37 on, in front of it, what it is that cannot be read.
    String.raw`(?:failed to read one or more \S+ from the storage: )?`,
    String.raw`(?:StorageError: corrupt object, Code: \d+, Key: [^,]*, ResourceVersion: \d+, AdditionalErrorMsg: )?`,
    String.raw`(?:object not decodable revision=\d+: )?`,
    String.raw`conversion webhook for (\S+, Kind=\w+) (?:failed|returned)`,
  ].join(''),
);
/** An object that the API server takes and etcd does not. */
const OVERSIZE = /^etcdserver: request is too large/;
/** The cluster has no address or port left for a Service. Retryable, although the server is reachable. */
const RANGE_EXHAUSTED = /^Internal error occurred: failed to allocate .*range is full/;
/** The server's own text before what an admission webhook says. A webhook chooses status and reason, so they tell nothing. */
const WEBHOOK_DENIAL = /^admission webhook "[^"]*" denied the request/;
/** Behind `<kind> "<name>" is forbidden: `: other objects of the namespace leave no room, which a person or a package may change. */
const OVER_QUOTA = /^exceeded quota: /;

/**
 * True if an admission policy or webhook refused. A policy's denial is the only 4xx with causes that name neither reason nor field.
 */
export const isAdmission = (code: number, { message = '', details }: Status): boolean => {
  if (WEBHOOK_DENIAL.test(message)) return true;
  const causes = details?.causes ?? [];
  const isBare = causes.length > 0 && causes.every(({ reason, field }) => !reason && !field);
  return isBare && code >= 400 && code < 500;
};

/** True if the same request may succeed shortly. Not for 409, which each request handles itself. */
export const isTransientStatus = (code: number, status: Status): boolean =>
  (code === 429 || code >= 500 || code === 408) && !isFull(status) && !isAnswer(code, status);

/**
 * True for a 409 about no field and no existing object: the server could not write the object, or its count for a quota, because others wrote
 * at the same moment. A request that names no version of its object may be sent again.
 */
export const isWriteRace = (code: number, { reason, details }: Status): boolean =>
  code === 409 &&
  reason === 'Conflict' &&
  details?.causes?.some((cause) => cause.reason === 'FieldManagerConflict') !== true;

/** True for a 403 that RBAC, a quota or an admission plugin of the server may have caused: only the server can say which. */
export const isForbidden = (code: number, status: Status): boolean =>
  code === 403 && !isAdmission(code, status);

/** etcd is full. Nothing else is judged by its text then. */
const isFull = ({ message = '' }: Status): boolean => NO_ROOM.test(message) && !WEBHOOK_DENIAL.test(message);

/** A refusal with a status of 500 or 429 although the server works. */
const isAnswer = (code: number, status: Status): boolean => {
  const { message = '' } = status;
  return (
    MALFORMED.test(message) ||
    OVERSIZE.test(message) ||
    RANGE_EXHAUSTED.test(message) ||
    lostVersionIn(message) !== undefined ||
    isAdmission(code, status)
  );
};

/** A request that failed, and what the server said. */
export type Failed = {
  readonly code: number;
  readonly status: Status;
  /** For a 403: true if the account lacks a right for the request, false if it has all of them. */
  readonly lacksRight?: boolean;
};

/** Converts an unsuccessful response to a FleetError, with what the server said in fields as its cause (refusal.ts). */
export const toApiError = (
  { code, status, lacksRight }: Failed,
  doing: RequestSubject,
  server: string,
): FleetError => {
  const said = describeStatus(status, doing);
  const { verb, what } = doing;
  const cause = new RefusalCause(code, status);
  const { message = '', details } = status;
  const not = `${what} was not ${pastOf(verb)}`;
  if (isFull(status)) {
    return new FleetError('API_UNREACHABLE', `the store behind ${server} is full (${verb} ${what})`, {
      cause,
      hint: 'Make room on the disk of the control plane, or compact and defragment etcd',
    });
  }
  if (isAdmission(code, status)) return denied(verb, `${not}: ${said}`, cause);
  switch (code) {
    case 401:
      return new FleetError('API_DENIED', `${server} does not know the agent's account (${verb} ${what})`, {
        cause,
        hint: 'Renew the token or certificate of the kubeconfig',
      });
    case 403:
      if (lacksRight !== false) {
        return new FleetError('API_DENIED', `the agent may not ${verb} ${what}: ${said}`, {
          cause,
          hint: 'A cluster administrator gives its account a role that allows it, as "fleet-scheduler rights" writes for the release',
        });
      }
      return forbidden(not, { verb, said, message, cause });
    case 404:
      if (details?.kind === 'namespaces')
        return lacking(`${not}: there is no namespace ${details.name ?? ''}`, cause, 'create the namespace');
      // A kind that the server does not know has no name in the answer, or no answer but a page.
      if (details?.name === undefined) return lacking(`${not}: ${said}`, cause, 'install its definition');
      return refused(`${not}: ${said}`, status, cause);
    case 409:
      return new FleetError('FIELD_CONFLICT', `${not}: ${conflictOf(status) ?? said}`, { cause });
    case 413:
      return refused(`${what} is too large for the API server: ${said}`, status, cause);
    default:
      return (
        webhookUnreachable(not, message, cause) ??
        ((code >= 500 || code === 429) && !isAnswer(code, status)
          ? unreachable(server, `it answers ${code}`, cause, said)
          : refused(`${not}: ${said}`, status, cause))
      );
  }
};

type Forbidden = {
  readonly verb: string;
  readonly said: string;
  readonly message: string;
  readonly cause: RefusalCause;
};

/** A 403 although the account has the right: an admission plugin of the server, such as those of quotas and of Pod Security. */
const forbidden = (not: string, { verb, said, message, cause }: Forbidden): FleetError => {
  if (cause.refusal.causes.some(({ reason }) => reason === 'NamespaceTerminating'))
    return lacking(`${not}: ${said}`, cause, 'see what holds the namespace');
  const plugin = message.slice(message.indexOf(FORBIDDEN) + FORBIDDEN.length);
  if (message.includes(FORBIDDEN) && OVER_QUOTA.test(plugin))
    return lacking(`${not}: ${said}`, cause, 'raise the quota, or ask for less');
  return denied(verb, `${not}: ${said}`, cause);
};

const denied = (verb: string, message: string, cause: RefusalCause): FleetError =>
  new FleetError('ADMISSION_DENIED', message, { cause, hint: suggestAfterDenial(verb) });

const FORBIDDEN = ' is forbidden: ';

const lacking = (message: string, cause: RefusalCause, way: string): FleetError =>
  new FleetError('CLUSTER_LACKS', message, { cause, hint: `${RETRY_HINT}; ${way}` });

/** Names only the webhook, because the server's message may quote the object. undefined if no webhook is at fault. */
const webhookUnreachable = (not: string, message: string, cause: RefusalCause): FleetError | undefined => {
  const admission = WEBHOOK_AWAY.exec(message)?.[1];
  const conversion = CONVERSION_AWAY.exec(message)?.[1];
  if (admission === undefined && conversion === undefined) return undefined;
  const webhook =
    admission === undefined ? `conversion webhook for ${conversion}` : `admission webhook ${admission}`;
  return new FleetError('WEBHOOK_UNREACHABLE', `${not}: the ${webhook} does not answer`, {
    cause,
    hint: `${RETRY_HINT}; restart what serves the webhook if it stays away`,
  });
};

const RETRY_HINT = 'The agent tries again automatically, with growing pauses';

/** The server's cache of one kind is not filled: since a moment ago, or for as long as the conversion webhook of the kind does not answer. */
const CACHE_EMPTY = /^storage is \(re\)initializing/;

/** True for an error that may concern one object or kind. One of the store concerns all, although the server may call itself ready. */
export const mayBeOfObject = (code: number, { message = '' }: Status): boolean =>
  code >= 500 ? !NO_ROOM.test(message) && !/etcdserver/i.test(message) : CACHE_EMPTY.test(message);

/** For an error of a server that is ready: it fails with this object or kind, and other requests succeed. */
export const failsWith = (code: number, status: Status, doing: RequestSubject): FleetError =>
  new FleetError(
    'API_FAILED',
    `${doing.what} was not ${pastOf(doing.verb)}: the API server answers ${code}: ${describeStatus(status, doing)}`,
    {
      cause: new RefusalCause(code, status),
      hint: `${RETRY_HINT}; its log, or that of the API service or webhook behind it, says why`,
    },
  );

const refused = (message: string, status: Status, cause: RefusalCause): FleetError =>
  new FleetError('API_REFUSED', message, { cause, hint: suggestFix(status) });

/** The message does not name the request, so that an outage of days is reported once. */
export const unreachable = (server: string, why: string, cause?: unknown, said = ''): FleetError =>
  new FleetError('API_UNREACHABLE', `the API server ${server} does not answer (${why})`, {
    cause,
    hint: `${said === '' ? '' : `It says: ${said}. `}The agent continues when it does`,
  });

const PAST_TENSE: Readonly<Record<string, string>> = {
  apply: 'applied',
  create: 'created',
  get: 'read',
  list: 'read',
  watch: 'watched',
  delete: 'deleted',
  patch: 'changed',
};
const pastOf = (verb: string): string => PAST_TENSE[verb] ?? 'taken';

/** Manager and field path of each conflict: 'conflict with "kubectl": .spec.replicas'. */
const conflictOf = ({ details }: Status): string | undefined => {
  const causes = details?.causes?.filter(({ reason }) => reason === 'FieldManagerConflict') ?? [];
  if (causes.length === 0) return undefined;
  return causes
    .slice(0, 10)
    .map(({ message, field }) => `${message ?? 'conflict'} at ${field ?? '?'}`)
    .join(', ');
};

const HARMLESS = new RegExp(
  [
    'admission webhook "[^"]*" denied',
    'cannot [a-z]+ resource',
    'field is immutable',
    "ValidatingAdmissionPolicy '[^']*'",
    String.raw`\.data\.[\w.-]+: expected \w+`,
    'illegal base64 data',
  ].join('|'),
);

const describeStatus = (status: Status, { secret }: RequestSubject): string => {
  if (!secret) return shorten(withoutQuotes(status));
  const fields = status.details?.causes?.flatMap(({ field, reason }) =>
    field === undefined ? [] : [`${field}${reason === undefined ? '' : ` (${reason})`}`],
  );
  // Denials by RBAC and the name of a webhook quote no value; other messages might.
  const harmless = HARMLESS.exec(status.message ?? '')?.[0];
  const words = [status.reason, harmless, ...(fields ?? [])].filter((word) => word !== undefined);
  return `${words.join(', ') || 'it was refused'} (its words may quote the secret and are left out)`;
};

/** Shortens the quotation of a whole pod template to the field and its fault. */
const withoutQuotes = ({ message = 'it gave no reason', details }: Status): string =>
  (details?.causes ?? [])
    .map((cause) => cause.message ?? '')
    .filter((quote) => quote.length > MAX_QUOTE)
    .reduce((text, quote) => text.replace(quote, () => ends(quote, MAX_QUOTE)), message);

const shorten = (text: string): string => ends(text.replaceAll(/\s+/g, ' ').trim(), MAX_WORDS);

/** Keeps both ends of a message, because the fault follows the quoted value. */
const ends = (text: string, most: number): string =>
  text.length > most
    ? `${cutText(text, most / 2)} ... ${text.slice(-most / 2).replace(/^[\uDC00-\uDFFF]/, '')}`
    : text;
