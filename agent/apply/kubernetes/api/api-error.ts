import { FleetError } from '#bundles/errors';

/** What a request was about, for messages. */
export type Doing = {
  /** 'apply', 'get', 'list', 'delete', 'watch', 'discover' ... */
  readonly verb: string;
  /** 'Deployment shop/web', 'ConfigMaps of shop'. */
  readonly what: string;
  /** A Secret: the server's words may quote its values and are not repeated. */
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

/** An etcd that is full or a disk behind it: no fault of what is applied, and it passes when room is made. */
const NO_ROOM = /database space exceeded|no space left|mvcc: database space/i;

export const readStatus = (body: string): Status => {
  try {
    const parsed: unknown = JSON.parse(body);
    if (typeof parsed === 'object' && parsed !== null) return parsed;
  } catch {
    // A proxy in between answers in its own words.
  }
  return { message: body.slice(0, MAX_WORDS) };
};

/** What the server says with a 500 of a manifest that does not fit the schema: no other try will make it fit. */
const MALFORMED =
  /failed to create typed patch object|failed to create manager for existing fields|unable to convert/i;
const WEBHOOK_AWAY = /failed calling webhook "([^"]*)"/i;
/** A Service that the cluster has no address or port left for: it may be tried again, but the server is not away. */
const NONE_LEFT = /failed to allocate .*range is full/i;

/** May the same request succeed in a moment? 409 is not here: what to do about it depends on the request. */
export const isPassing = (code: number, status: Status): boolean =>
  code === 429 || code >= 500 || code === 408
    ? !NO_ROOM.test(status.message ?? '') &&
      !MALFORMED.test(status.message ?? '') &&
      !isWebhookDenial(code, status)
    : false;

const isWebhookDenial = (code: number, { message = '' }: Status): boolean =>
  code >= 500 && /admission webhook .* denied/.test(message);

/** A refusal that comes with a 500: the server itself is there. */
const isAnswer = (code: number, status: Status): boolean =>
  MALFORMED.test(status.message ?? '') ||
  NONE_LEFT.test(status.message ?? '') ||
  isWebhookDenial(code, status);

/** An answer that is no success as our error. */
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
      // Quota, admission and a namespace that goes away answer 403 as well; only RBAC is a matter of the account.
      if (!/ cannot | is forbidden: User /.test(status.message ?? '')) return refused(verb, what, said);
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
      if (WEBHOOK_AWAY.test(status.message ?? ''))
        return webhookUnreachable(verb, what, status.message ?? '');
      return (code >= 500 || code === 429) && !isAnswer(code, status)
        ? unreachable(server, `it answers ${code}`, undefined, said)
        : refused(verb, what, said);
  }
};

/** The server's words may quote the object that the webhook was asked about; the name of the webhook is enough. */
const webhookUnreachable = (verb: string, what: string, message: string): FleetError =>
  new FleetError(
    'WEBHOOK_UNREACHABLE',
    `${what} was not ${pastOf(verb)}: the admission webhook ${WEBHOOK_AWAY.exec(message)?.[1] ?? ''} does not answer`,
    {
      hint: 'The agent tries again automatically, with growing pauses; restart what serves the webhook if it stays away',
    },
  );

const refused = (verb: string, what: string, said: string): FleetError =>
  new FleetError('API_REFUSED', `${what} was not ${pastOf(verb)}: ${said}`);

/** The same words whatever was asked: an outage of days is one thing to tell, not one a request. */
export const unreachable = (server: string, why: string, cause?: unknown, said = ''): FleetError =>
  new FleetError('API_UNREACHABLE', `the API server ${server} does not answer (${why})`, {
    ...(cause !== undefined && { cause }),
    hint: `${said === '' ? '' : `It says: ${said}. `}What was under way goes on when it does`,
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
  // Who may not and which webhook refused quote no value; everything else might.
  const harmless = HARMLESS.exec(status.message ?? '')?.[0];
  const words = [status.reason, harmless, ...(fields ?? [])].filter((word) => word !== undefined);
  return `${words.join(', ') || 'it was refused'} (its words may quote the secret and are left out)`;
};

/** Of a whole pod template that the server quotes, its field and what is wrong with it are enough. */
const withoutQuotes = ({ message = 'it gave no reason', details }: Status): string =>
  (details?.causes ?? [])
    .map((cause) => cause.message ?? '')
    .filter((quote) => quote.length > MAX_QUOTE)
    .reduce((text, quote) => text.replace(quote, () => ends(quote, MAX_QUOTE)), message);

const shorten = (text: string): string => ends(text.replaceAll(/\s+/g, ' ').trim(), MAX_WORDS);

/** Both ends of it: what is wrong with a value stands behind the value. */
const ends = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most / 2)} ... ${text.slice(-most / 2)}` : text;
