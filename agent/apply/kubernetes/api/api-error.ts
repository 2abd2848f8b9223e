import { FleetError } from '#bundles/errors';

/** The subject of a request, for messages. */
export type Doing = {
  /** 'apply', 'get', 'list', 'delete', 'watch', 'discover' ... */
  readonly verb: string;
  /** 'Deployment shop/web', 'ConfigMaps of shop'. */
  readonly what: string;
  /** True for a Secret: the server's message may quote its values and is not repeated. */
  readonly secret: boolean;
};

/** The server's own description of a failure (meta/v1 Status). */
export type Status = {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
    readonly retryAfterSeconds?: number;
  };
};

const MAX_WORDS = 1000;
const MAX_QUOTE = 300;

/** etcd or its disk is full: not a fault of the object, and over when space is freed. */
const NO_ROOM = /database space exceeded|no space left|mvcc: database space/i;

export const readStatus = (body: string): Status => {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // The answer of a proxy, which is not a Status object.
  }
  return { message: body.slice(0, MAX_WORDS) };
};

/** Messages of a 500 for a manifest that violates the schema. Retrying cannot succeed. */
const MALFORMED =
  /failed to create typed patch object|failed to create manager for existing fields|unable to convert/i;
const WEBHOOK_AWAY = /failed calling webhook "([^"]*)"/i;
/** The webhook of a CRD that converts between its versions. Without it objects of that kind can be neither read nor written. */
const CONVERSION_AWAY = /conversion webhook for (\S+, Kind=\w+) (?:failed|returned)/i;
/** Other objects of the namespace leave no room for this one; a person or another package may change that. */
const OVER_QUOTA = /exceeded quota:/i;
/** An object that the API server takes and etcd does not. */
const OVERSIZE = /request is too large/i;
/** The cluster has no address or port left for a Service. Retryable, although the server is reachable. */
const NONE_LEFT = /failed to allocate .*range is full/i;

/** True if the same request may succeed shortly. Not for 409, which each request handles itself. */
export const isPassing = (code: number, status: Status): boolean =>
  code === 429 || code >= 500 || code === 408
    ? !NO_ROOM.test(status.message ?? '') &&
      !MALFORMED.test(status.message ?? '') &&
      !OVERSIZE.test(status.message ?? '') &&
      !isWebhookDenial(code, status)
    : false;

/** True if RBAC refused, and not a quota, an admission plugin or a terminating namespace. */
export const isDenial = (code: number, { message = '' }: Status): boolean =>
  code === 403 && / cannot | is forbidden: User /.test(message);

const isWebhookDenial = (code: number, { message = '' }: Status): boolean =>
  code >= 500 && /admission webhook .* denied/.test(message);

/** A refusal with status 500 although the server works. */
const isAnswer = (code: number, status: Status): boolean =>
  MALFORMED.test(status.message ?? '') ||
  OVERSIZE.test(status.message ?? '') ||
  NONE_LEFT.test(status.message ?? '') ||
  isWebhookDenial(code, status);

/** Converts an unsuccessful response to a FleetError. */
export const toApiError = (code: number, status: Status, doing: Doing, server: string): FleetError => {
  const said = wordsOf(status, doing);
  const { verb, what } = doing;
  if (NO_ROOM.test(status.message ?? '')) {
    return new FleetError('API_UNREACHABLE', `the store behind ${server} is full (${verb} ${what})`, {
      hint: 'Make room on the disk of the control plane, or compact and defragment etcd',
    });
  }
  switch (code) {
    case 401:
      return new FleetError('API_DENIED', `${server} does not know the agent's account (${verb} ${what})`, {
        hint: 'Renew the token or certificate of the kubeconfig',
      });
    case 403:
      // Quota, admission and a terminating namespace answer 403 as well; only RBAC concerns the account.
      if (OVER_QUOTA.test(status.message ?? '')) {
        return new FleetError('CLUSTER_LACKS', `${what} was not ${pastOf(verb)}: ${said}`, {
          hint: `${TRIED_AGAIN}; raise the quota, or ask for less`,
        });
      }
      if (!isDenial(code, status)) return refused(verb, what, said);
      return new FleetError('API_DENIED', `the agent may not ${verb} ${what}: ${said}`, {
        hint: 'Give its account a role that allows it',
      });
    case 409:
      return new FleetError(
        'FIELD_CONFLICT',
        `${what} was not ${pastOf(verb)}: ${conflictOf(status) ?? said}`,
      );
    case 413:
      return new FleetError('API_REFUSED', `${what} is too large for the API server: ${said}`);
    default:
      return (
        webhookUnreachable(verb, what, status.message ?? '') ??
        ((code >= 500 || code === 429) && !isAnswer(code, status)
          ? unreachable(server, `it answers ${code}`, undefined, said)
          : refused(verb, what, said))
      );
  }
};

/** Names only the webhook, because the server's message may quote the object. undefined if no webhook is at fault. */
const webhookUnreachable = (verb: string, what: string, message: string): FleetError | undefined => {
  const admission = WEBHOOK_AWAY.exec(message)?.[1];
  const conversion = CONVERSION_AWAY.exec(message)?.[1];
  if (admission === undefined && conversion === undefined) return undefined;
  const webhook =
    admission === undefined ? `conversion webhook for ${conversion}` : `admission webhook ${admission}`;
  return new FleetError(
    'WEBHOOK_UNREACHABLE',
    `${what} was not ${pastOf(verb)}: the ${webhook} does not answer`,
    {
      hint: `${TRIED_AGAIN}; restart what serves the webhook if it stays away`,
    },
  );
};

const TRIED_AGAIN = 'The agent tries again automatically, with growing pauses';

/** True for a server error that may concern one object or kind. One of the store concerns all, although the server may call itself ready. */
export const mayBeOfObject = (code: number, { message = '' }: Status): boolean =>
  code >= 500 && !NO_ROOM.test(message) && !/etcdserver/i.test(message);

/** For a 5xx of a server that is ready: it fails with this object or kind, and other requests succeed. */
export const failsWith = (code: number, status: Status, doing: Doing): FleetError =>
  new FleetError(
    'API_FAILED',
    `${doing.what} was not ${pastOf(doing.verb)}: the API server answers ${code}: ${wordsOf(status, doing)}`,
    { hint: `${TRIED_AGAIN}; its log, or that of the API service behind it, says why` },
  );

const refused = (verb: string, what: string, said: string): FleetError =>
  new FleetError('API_REFUSED', `${what} was not ${pastOf(verb)}: ${said}`);

/** The message does not name the request, so that an outage of days is reported once. */
export const unreachable = (server: string, why: string, cause?: unknown, said = ''): FleetError =>
  new FleetError('API_UNREACHABLE', `the API server ${server} does not answer (${why})`, {
    ...(cause !== undefined && { cause }),
    hint: `${said === '' ? '' : `It says: ${said}. `}The agent continues when it does`,
  });

const PAST: Readonly<Record<string, string>> = {
  apply: 'applied',
  create: 'created',
  get: 'read',
  list: 'read',
  watch: 'watched',
  delete: 'deleted',
};
const pastOf = (verb: string): string => PAST[verb] ?? 'taken';

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

const wordsOf = (status: Status, { secret }: Doing): string => {
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
  text.length > most ? `${text.slice(0, most / 2)} ... ${text.slice(-most / 2)}` : text;
