import { defined } from '#bundles/defined';

/** The routes of the hub for docs/openapi.json. test/docs/openapi.test.ts compares them with those of the server. */

/** A scheme of SCHEMES in generate-openapi.ts. */
export type Credential =
  | 'agent'
  | 'reader'
  | 'decider'
  | 'session'
  | 'follower'
  | 'fluxSignature'
  | 'githubSignature'
  | 'giteaSignature'
  | 'gitlabToken'
  | 'basic'
  | 'checkSignature';

/** Name of a schema of bundles/schemas, or of a definition in hub-decisions. */
type SchemaName = string;

export type Route = {
  /** The operationId. */
  readonly id: string;
  readonly method: 'get' | 'post';
  readonly path: string;
  readonly tag:
    | 'agents'
    | 'readers'
    | 'values'
    | 'authoring'
    | 'decisions'
    | 'notifications'
    | 'monitoring'
    | 'people';
  readonly summary: string;
  /** Any of these is enough. Empty: everybody may ask. */
  readonly credentials: readonly Credential[];
  /** Verb that a decider's token has to allow. */
  readonly verb?: string;
  readonly query?: readonly string[];
  readonly headers?: readonly string[];
  /** 'object': an object whose fields are not described. */
  readonly body?: SchemaName;
  readonly answer: {
    readonly status: 200 | 202 | 204 | 302;
    readonly schema?: SchemaName;
    /** As text/plain: only, or where the caller asks for it. */
    readonly text?: boolean;
    readonly etag?: boolean;
    /** As server-sent events. */
    readonly stream?: boolean;
  };
  /** Form of an error. Older agents read hub-error. */
  readonly error: 'hub-error' | 'problem';
};

type Row = readonly [id: string, path: string, summary: string];

const agent = ([id, path, summary]: Row, body: SchemaName | undefined, schema?: SchemaName): Route => ({
  id,
  path,
  summary,
  method: body === undefined ? 'get' : 'post',
  tag: 'agents',
  credentials: ['agent'],
  ...defined({ body }),
  answer: schema === undefined ? { status: 204 } : { status: 200, schema },
  error: 'hub-error',
});

/** A question; `format=text` and `Accept` choose text. */
const reader = ([id, path, summary]: Row, query: readonly string[], etag = true): Route => ({
  id,
  path,
  summary,
  method: 'get',
  tag: 'readers',
  credentials: ['reader', 'decider', 'session'],
  query: [...query, 'format'],
  answer: { status: 200, schema: id, text: true, etag },
  error: 'problem',
});

/** A question that is answered in JSON alone. */
const lookup = ([id, path, summary]: Row, query: readonly string[]): Route => ({
  id,
  path,
  summary,
  method: 'get',
  tag: 'readers',
  credentials: ['reader'],
  query,
  answer: { status: 200, schema: id, etag: true },
  error: 'problem',
});

const monitoring = ([id, path, summary]: Row, credentials: readonly Credential[]): Route => ({
  id,
  path,
  summary,
  method: 'get',
  tag: 'monitoring',
  credentials,
  answer: { status: 200, text: true },
  error: 'problem',
});

type Below = Pick<Route, 'tag'> & { readonly base: string };

/** Makes a route of a question that is answered in JSON; `path` is below `base`. */
export const looksBelow =
  ({ base, tag }: Below) =>
  ([id, path, summary]: Row, schema: SchemaName, query: readonly string[] = []): Route => ({
    id,
    path: `${base}${path}`,
    summary,
    method: 'get',
    tag,
    credentials: ['reader', 'decider', 'session'],
    query,
    answer: { status: 200, schema, etag: true },
    error: 'problem',
  });

/** Makes a route of a decision; `path` is below `base`. */
export const decidesBelow =
  ({ base, tag }: Below, headers: readonly string[] = ['Idempotency-Key', 'X-Fleet-Csrf']) =>
  ([id, path, summary]: Row, verb: string, body: SchemaName, schema: SchemaName): Route => ({
    id,
    path: `${base}${path}`,
    summary,
    method: 'post',
    tag,
    credentials: ['decider', 'session'],
    verb,
    headers,
    body,
    answer: { status: 200, schema },
    error: 'problem',
  });

const ENVIRONMENT: Below = { base: '/v1/environments/{environment}', tag: 'decisions' };
const look = looksBelow(ENVIRONMENT);
const decide = decidesBelow(ENVIRONMENT);
const handle = decidesBelow({ base: '/v1/alarms', tag: 'readers' });
const record = decidesBelow({ base: '/v1/media', tag: 'readers' }, ['X-Fleet-Csrf']);
const edit = decidesBelow({ base: '/v1/platform', tag: 'authoring' }, ['X-Fleet-Csrf']);

const VALUES_STEPS = {
  advance: 'Begins the next stage of a change of values',
  pause: 'Pauses a change of values',
  resume: 'Resumes a change of values',
  'take-back': 'Gives sites the values from before a change',
} as const;

const rolloutStep = (step: string, summary: string): Route =>
  decide(
    [`rollout-${step}`, `/rollouts/{clusterType}/${step}`, summary],
    'rollout',
    'reason',
    'rollout-decided',
  );

/** What people ask about themselves and their sessions. */
const person = (
  [id, path, summary]: Row,
  change: Pick<Route, 'method' | 'credentials' | 'answer'> & Partial<Route>,
): Route => ({ id, path, summary, tag: 'people', error: 'problem', ...change });

const notification = ([id, path, summary]: Row, credentials: readonly Credential[]) =>
  ({ id, path, summary, method: 'post', tag: 'notifications', credentials, error: 'problem' }) as const;

const follower = (kind: string, name: string, credentials: readonly Credential[]): Route => ({
  ...notification(
    [`notify-${kind}`, `/v1/followers/{site}/{name}/${kind}`, `A notification of ${name} at a follower`],
    credentials,
  ),
  body: 'object',
  answer: { status: 202, schema: 'notified' },
});

const PAST = ['name', 'environment', 'site', 'workload', 'asKnownAt', 'limit', 'cursor'];

const OPEN_ALARMS = ['environment', 'site', 'kind', 'severity', 'cause', 'workspace', 'limit', 'cursor'];

export const ROUTES: readonly Route[] = [
  {
    ...agent(['roots', '/v1/roots', 'Every trust root, oldest first'], undefined, 'hub-roots'),
    credentials: [],
  },
  {
    ...agent(
      ['enroll', '/v1/enroll', 'Enrols an agent with the token in the body'],
      'hub-enroll-request',
      'hub-enroll-answer',
    ),
    credentials: [],
  },
  agent(
    ['certificate', '/v1/certificate', "The agent's next certificate"],
    'hub-certificate-request',
    'hub-certificate-answer',
  ),
  agent(
    ['reports', '/v1/reports', 'Hands over a report; a repetition changes nothing'],
    'hub-report',
    'hub-report-answer',
  ),
  agent(['presence', '/v1/presence', 'A sign of life, with the times of the last looks'], 'hub-presence'),
  agent(['support', '/v1/support', 'The answer to a request for a support bundle'], 'hub-support'),

  reader(['status', '/v1/status', 'What runs where'], ['environment', 'site', 'limit', 'cursor'], false),
  reader(
    ['history', '/v1/history', 'What changed, or the state at a time'],
    [...PAST, 'since', 'until', 'at'],
  ),
  reader(['events', '/v1/events', 'Events as the agents signed them'], [...PAST, 'since', 'until']),
  reader(['where', '/v1/where', 'Which agents run something'], [...PAST, 'at']),
  reader(
    ['workloads', '/v1/workloads', 'The versions of each workload in each environment'],
    ['workload', 'environment', 'limit', 'cursor'],
  ),
  lookup(
    ['sites', '/v1/sites', 'What each site has, its assignments counted by verdict'],
    ['environment', 'site', 'limit', 'cursor'],
  ),
  lookup(
    [
      'overview',
      '/v1/overview',
      'All sites in columns, what is wrong by cause, what waits for a person, and what changed',
    ],
    ['environment'],
  ),
  lookup(
    [
      'first-steps',
      '/v1/first-steps',
      'Whether an agent was enrolled, a release built, a medium filled and a candidate promoted',
    ],
    [],
  ),
  lookup(
    ['compliance', '/v1/compliance', 'How many agents of each environment complied, by the hour'],
    ['environment', 'since'],
  ),
  lookup(
    ['package', '/v1/package', 'One package at one agent: objects, what an update changes, drift'],
    ['agent', 'assignment'],
  ),
  lookup(
    ['media', '/v1/media', 'What media brought back, and what they should carry next'],
    ['environment', 'site', 'limit', 'cursor'],
  ),
  lookup(
    ['next-medium', '/v1/media/next', 'Content and size of the next medium with the release of a channel'],
    ['channel', 'site'],
  ),
  record(
    ['record-medium', '', 'Records that a filled medium leaves the office; a repetition changes nothing'],
    'record',
    'record-medium',
    'recorded-medium',
  ),
  lookup(['alarms', '/v1/alarms', 'Open alarms, the worst first, with the last notice'], OPEN_ALARMS),
  lookup(['alarm-causes', '/v1/alarms/causes', 'Open alarms grouped by cause, the worst first'], OPEN_ALARMS),
  lookup(
    ['alarms-past', '/v1/alarms/past', 'Alarms that are over, the one that ended last first'],
    ['environment', 'site', 'limit', 'cursor'],
  ),
  handle(
    ['acknowledge-alarms', '/acknowledge', 'Notes that a person works on an alarm, or on all of a cause'],
    'alarms',
    'alarm-handle',
    'alarm-handled',
  ),
  handle(
    ['silence-alarms', '/silence', 'Stops notices about an alarm, or about a cause, until a time'],
    'alarms',
    'alarm-silence',
    'alarm-handled',
  ),
  handle(
    ['end-alarm-handling', '/end', 'Takes back acknowledgements and the silence of an alarm or cause'],
    'alarms',
    'alarm-handle',
    'alarm-handled',
  ),
  lookup(['audit', '/v1/audit', 'The audit log, newest entry first'], ['environment', 'limit', 'cursor']),
  lookup(
    ['search', '/v1/search', 'Everything whose name contains a text, or whose digest begins with it'],
    ['q', 'limit', 'cursor'],
  ),
  {
    ...lookup(['changes', '/v1/changes', 'An event `changed` for each time the hub knows something new'], []),
    answer: { status: 200, stream: true },
  },
  reader(
    ['compare', '/v1/compare', 'Two environments compared'],
    ['left', 'right', 'show', 'limit', 'cursor'],
  ),

  look(['gate', '/gate', 'The conditions of the gate'], 'verdict', ['candidate']),
  look(
    ['candidateChanges', '/changes', 'What the promotion of a candidate would change'],
    'planned-changes',
    ['candidate'],
  ),
  look(['arrival', '/arrival', 'Whether the environment complies with a candidate'], 'arrival', [
    'wait',
    'candidate',
  ]),
  look(['promotions', '/promotions', 'Promotions to the environment, newest first'], 'promotions', [
    'limit',
    'cursor',
  ]),
  look(['approval', '/approval', 'The statement of an approval, to be signed by the person'], 'statement', [
    'person',
    'reason',
    'candidate',
    'stage',
  ]),
  look(['releases', '/releases', 'Releases of each channel'], 'releases'),
  look(
    [
      'releaseChanges',
      '/releases/{clusterType}/changes',
      'What agents with one release get with another one, older or newer',
    ],
    'planned-changes',
    ['from', 'release', 'only'],
  ),
  look(['rollouts', '/rollouts', 'Rollouts and their stages'], 'rollouts'),
  look(
    ['simulation', '/rollouts/{clusterType}/simulation', 'When a rollout would reach whom if nothing failed'],
    'simulation',
  ),

  decide(
    ['submit', '/candidates', 'Takes a candidate for an environment that nothing is promoted to'],
    'submit',
    'submit',
    'submitted',
  ),
  decide(
    ['promote', '/promotions', 'Promotes a candidate if the gate is open'],
    'promote',
    'promote',
    'promoted',
  ),
  decide(
    ['approve', '/approvals', 'Appends an approval that a person signed'],
    'approve',
    'approve',
    'approved',
  ),
  decide(['reject', '/rejections', 'Rejects a candidate for good'], 'reject', 'reject', 'rejected'),
  decide(['pause', '/pause', 'Pauses promotions to the environment'], 'pause', 'reason', 'paused'),
  decide(['resume', '/resume', 'Resumes promotions to the environment'], 'resume', 'reason', 'paused'),
  decide(
    ['rollback', '/rollback', 'Promotes an earlier candidate again'],
    'rollback',
    'reject',
    'rolled-back',
  ),
  decide(
    [
      'release-rollback',
      '/releases/{clusterType}/rollback',
      'Takes a channel, or one of its assignments, back to an older release',
    ],
    'rollback',
    'release-rollback',
    'release-rolled-back',
  ),
  ...(['advance', 'pause', 'resume', 'take-back'] as const).map((step) =>
    decide(
      [`values-rollout-${step}`, `/values-rollouts/{rollout}/${step}`, VALUES_STEPS[step]],
      'rollout',
      'reason',
      'values-rollout-decided',
    ),
  ),
  rolloutStep('advance', 'Widens the release to the next stage'),
  rolloutStep('pause', 'Pauses the rollout'),
  rolloutStep('resume', 'Resumes the rollout'),
  rolloutStep('take-back', 'Takes the release back'),

  {
    ...lookup(
      ['platform', '/v1/platform', 'Folders and branches of the platform that the caller may edit'],
      [],
    ),
    tag: 'authoring',
    credentials: ['decider', 'session'],
    verb: 'author',
    answer: { status: 200, schema: 'platform' },
  },
  {
    ...lookup(
      ['platform-object', '/v1/platform/object', 'One object of the platform, with its file'],
      ['layer', 'kind', 'name'],
    ),
    tag: 'authoring',
    credentials: ['decider', 'session'],
    verb: 'author',
    answer: { status: 200, schema: 'platform-object' },
  },
  edit(
    ['preview-edit', '/preview', 'What an edit would do; nothing is written'],
    'author',
    'platform-edit',
    'platform-preview',
  ),
  edit(
    ['save-edit', '/edits', 'Writes an edit to the repository, as a commit or pull request'],
    'author',
    'platform-save',
    'platform-saved',
  ),

  person(['me', '/v1/me', 'Who the caller is, and what they may do'], {
    method: 'get',
    credentials: ['reader', 'decider', 'session'],
    answer: { status: 200, schema: 'me' },
  }),
  person(['sign-in-options', '/v1/sign-in/options', 'How people sign in here'], {
    method: 'get',
    credentials: [],
    answer: { status: 200, schema: 'sign-in-options' },
  }),
  person(['sign-in', '/v1/sign-in', 'Sends a browser to the OIDC provider'], {
    method: 'get',
    credentials: [],
    query: ['to'],
    answer: { status: 302 },
  }),
  person(['sign-in-callback', '/v1/sign-in/callback', 'Where the provider sends it back to'], {
    method: 'get',
    credentials: [],
    answer: { status: 302 },
  }),
  person(['break-glass', '/v1/break-glass', 'Opens a session of an admin with a break-glass code'], {
    method: 'post',
    credentials: [],
    body: 'break-glass',
    answer: { status: 200, schema: 'broken-glass' },
  }),
  person(['sign-out', '/v1/sessions/end', "Ends the caller's own session"], {
    method: 'post',
    credentials: ['session'],
    headers: ['X-Fleet-Csrf'],
    answer: { status: 200, schema: 'session-ended' },
  }),
  person(['sessions', '/v1/sessions', 'Sessions of the caller, or for admins of all people'], {
    method: 'get',
    credentials: ['session'],
    answer: { status: 200, schema: 'sessions' },
  }),
  person(['end-session', '/v1/sessions/{session}/end', 'Ends a session of the caller, or for admins any'], {
    method: 'post',
    credentials: ['session'],
    headers: ['X-Fleet-Csrf'],
    answer: { status: 200, schema: 'session-ended' },
  }),

  follower('flux', 'Flux', ['fluxSignature', 'follower']),
  follower('argo-cd', 'Argo CD', ['follower']),
  follower('rancher-fleet', 'Rancher Fleet', ['follower']),
  {
    ...notification(
      ['hook', '/v1/hooks', 'A repository changed: the hub looks at all of them soon'],
      ['githubSignature', 'giteaSignature', 'gitlabToken', 'basic'],
    ),
    body: 'object',
    answer: { status: 202, schema: 'accepted' },
  },
  {
    ...notification(['check', '/v1/checks/{id}', 'The later answer of a webhook check'], ['checkSignature']),
    headers: ['webhook-id', 'webhook-timestamp'],
    body: 'check-answer',
    answer: { status: 200, schema: 'stored' },
  },

  monitoring(['metrics', '/metrics', 'Metrics in the text format of Prometheus'], ['reader']),
  monitoring(['healthz', '/healthz', 'The process answers'], []),
  monitoring(['readyz', '/readyz', 'A report could be taken now'], []),
  {
    ...monitoring(['openapi', '/v1/openapi.json', 'This document'], []),
    answer: { status: 200, schema: 'object', etag: true },
  },
];
