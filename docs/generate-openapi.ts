import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { type Credential, type Route, ROUTES as GENERAL_ROUTES } from './openapi-routes.ts';
import { VALUES_ROUTES } from './openapi-values-routes.ts';

/** Builds docs/openapi.json, the OpenAPI 3.1 document of the hub, from openapi-routes.ts and bundles/schemas. */

type Json = { readonly [key: string]: unknown };

const ROUTES: readonly Route[] = [...GENERAL_ROUTES, ...VALUES_ROUTES];

const SCHEMAS = join(import.meta.dirname, '../bundles/schemas');
const HERE = '#/components/schemas/';

const readSchema = (name: string): Json =>
  JSON.parse(readFileSync(join(SCHEMAS, `${name}.schema.json`), 'utf8')) as Json;

const text = (description: string, rules: Json = {}): Json => ({
  description,
  schema: { type: 'string', ...rules },
});
const NAME = { pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' };
const DIGEST = { pattern: '^sha256:[0-9a-f]{64}$' };
const TIME = 'a time, a day in UTC, or how long ago: 2026-11-21T08:00:00Z, 2026-11-21, 90m, 12h, 7d';

const PATH: Readonly<Record<string, Json>> = {
  environment: text('The environment that is promoted to, or that is asked about.', NAME),
  clusterType: text('Cluster type of the channel.', NAME),
  rollout: text('Id of a rollout of values, or its first digits.', { pattern: '^[0-9a-f]{4,64}$' }),
  site: text('Name of the site.', NAME),
  name: text('Name of the follower at its site.', NAME),
  id: text('Id of the question.'),
  session: text('Name of the session.'),
};

const QUERY: Readonly<Record<string, Json>> = {
  environment: text('Only this environment.', NAME),
  site: text('Only this site.', NAME),
  workload: text('Only this workload.'),
  name: text('An environment, a site, `site/agent`, a workload or an assignment.'),
  since: text(`From here on, by the time at the sites: ${TIME}.`),
  until: text(`Up to here, by the time at the sites: ${TIME}.`),
  at: text(`The state at this time instead of the changes: ${TIME}.`),
  asKnownAt: text(`Only what the hub had received by this time: ${TIME}.`),
  limit: {
    description: 'Entries of a page at most; of a state, agents.',
    schema: { type: 'integer', minimum: 1, maximum: 1000 },
  },
  cursor: text('`next` of the page before.'),
  format: text('JSON or text, before what `Accept` says.', { enum: ['json', 'text'] }),
  agent: { ...text('`site/agent`.'), required: true },
  assignment: { ...text('An assignment.', NAME), required: true },
  q: {
    ...text('A part of a name, or at least six digits of a digest.', { minLength: 1, maxLength: 100 }),
    required: true,
  },
  layer: { ...text('Name of a layer of GET /v1/platform.'), required: true },
  left: { ...text('Environment to compare.', NAME), required: true },
  right: { ...text('Environment to compare it with.', NAME), required: true },
  kind: text('Only alarms of this kind, such as AGENT_LATE.'),
  severity: text('Only alarms of this severity.', { enum: ['info', 'warning', 'critical'] }),
  cause: text('Only alarms of this cause: `causeId` of an alarm.'),
  workspace: text('Only alarms of assignments of this workspace.', NAME),
  show: text('All assignments, or those that differ.', { enum: ['all', 'differing'] }),
  wait: text(
    'How long the answer may wait for an end: 1s to 50s. Without it the state is answered at once.',
    { pattern: '^[1-9][0-9]?s$' },
  ),
  channel: { ...text('`environment/cluster type`.'), required: true },
  from: text('Number of a release. Without it, the current one.', { pattern: '^[1-9][0-9]*$' }),
  release: { ...text('Number of a release.', { pattern: '^[1-9][0-9]*$' }), required: true },
  only: text('One assignment alone.', NAME),
  candidate: text('Digest of a candidate. Without it, the one whose turn it is.', DIGEST),
  person: { ...text('The person who is going to sign.', { minLength: 1 }), required: true },
  reason: text('Why the person approves.'),
  select: text('Labels that an agent of the site has, like region=north,line=a.'),
  agents: text('true: values of the agents with these labels, not of their sites.', {
    enum: ['true', 'false'],
  }),
  proposal: { ...text('Id of the proposal, or its first digits.', { minLength: 4 }), required: true },
  to: text('View of the page that it leads to in the end.'),
  stage: text('Stage of a rollout that the approval is for.', NAME),
};

const HEADER: Readonly<Record<string, Json>> = {
  'If-None-Match': text('`ETag` of an earlier answer.'),
  'Idempotency-Key': text('Chosen anew for each decision: a repetition with it gets the first answer.', {
    minLength: 1,
    maxLength: 257,
  }),
  'X-Fleet-Csrf': text('`csrf` of `GET /v1/me`, for writes with a session.'),
  'webhook-id': { ...text('The id in the path.'), required: true },
  'webhook-timestamp': { ...text('Seconds since 1970.', { pattern: '^[0-9]+$' }), required: true },
};

const bearer = (prefix: string, description: string): Json => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat: `${prefix}_ and 192 random bits in base64url`,
  description,
});
const inHeader = (name: string, description: string): Json => ({
  type: 'apiKey',
  in: 'header',
  name,
  description,
});

const SCHEMES: Readonly<Record<Credential, Json>> = {
  agent: { type: 'mutualTLS', description: "The agent's client certificate, from POST /v1/enroll." },
  reader: bearer('ffr', 'A token for reading.'),
  decider: bearer('ffd', 'A token for decisions that names the verb and the environment.'),
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-fleet-session',
    description: 'The session of a person who signed in at the page.',
  },
  follower: bearer('fff', 'The token of the follower in the path.'),
  fluxSignature: inHeader('X-Signature', "`sha256=` and the HMAC of the body with the follower's token."),
  githubSignature: inHeader('X-Hub-Signature-256', '`sha256=` and the HMAC of the body.'),
  giteaSignature: inHeader('X-Gitea-Signature', 'The HMAC of the body.'),
  gitlabToken: inHeader('X-Gitlab-Token', 'The webhook secret.'),
  basic: { type: 'http', scheme: 'basic', description: 'The webhook secret as the password.' },
  checkSignature: inHeader('webhook-signature', 'Signature as Standard Webhooks says.'),
};

const TAGS: Readonly<Record<Route['tag'], string>> = {
  agents: 'What agents call.',
  readers: 'Questions about the present and the past.',
  values: 'Values of sites, for the form of the page and for pipelines.',
  decisions: 'For pipelines and people. These paths exist where a platform is configured.',
  authoring: 'Edits of the platform in its repository. These paths exist where a platform is configured.',
  notifications:
    'What followers, repositories and checks send. /v1/hooks and /v1/checks exist where their secrets are configured.',
  people: 'For the page: who is signed in, and how. /v1/sign-in exists where a provider is configured.',
  monitoring: 'For monitors, and this document.',
};

const schemaOf = (name: string): Json =>
  name === 'object' ? { type: 'object' } : { $ref: `${HERE}${name}` };

const parametersOf = ({ path, query = [], headers = [], answer }: Route): readonly Json[] => {
  const named = (place: string, names: readonly string[]): readonly Json[] =>
    names.map((name) => ({ $ref: `#/components/parameters/${place}-${name}` }));
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  return [
    ...named('path', inPath),
    ...named('query', query),
    ...named('header', answer.etag === true ? [...headers, 'If-None-Match'] : headers),
  ];
};

const answersOf = ({ answer: { status, schema, text: asText, etag, stream }, error }: Route): Json => {
  const content = defined({
    'application/json': schema !== undefined ? { schema: schemaOf(schema) } : undefined,
    'text/event-stream': stream === true ? { schema: { type: 'string' } } : undefined,
    'text/plain': asText === true ? { schema: { type: 'string' } } : undefined,
  });
  const tag = { headers: { ETag: text('Tag of the facts in the answer.') } };
  return {
    [status]: {
      description: {
        200: 'The answer.',
        202: 'It is taken.',
        204: 'It is noted.',
        302: 'Where the browser goes next.',
      }[status],
      ...(etag === true && tag),
      ...defined({ content: Object.keys(content).length > 0 ? content : undefined }),
    },
    ...defined({ 304: etag === true ? { description: 'The facts are the same.', ...tag } : undefined }),
    default: { $ref: `#/components/responses/${error}` },
  };
};

const operationOf = (route: Route, schemas: Json): Json => {
  const { id, tag, summary, credentials, verb, body } = route;
  const parameters = parametersOf(route);
  const { required = [] } = (schemas[body ?? ''] ?? {}) as { readonly required?: readonly string[] };
  return defined({
    operationId: id,
    tags: [tag],
    summary,
    security: credentials.map((one) => ({ [one]: verb === undefined ? [] : [verb] })),
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody:
      body !== undefined
        ? {
            required: required.length > 0,
            content: { 'application/json': { schema: schemaOf(body) } },
          }
        : undefined,
    responses: answersOf(route),
  });
};

/** The schemas by these names and those that they refer to, with their references inside this document. */
const componentsFor = (names: readonly string[]): Json => {
  const definitions = readSchema('hub-decisions')['$defs'] as Readonly<Record<string, Json>>;
  const found = new Map<string, Json>();
  const add = (name: string): void => {
    if (found.has(name)) return;
    const { $schema: _dialect, $id: _id, ...schema } = definitions[name] ?? readSchema(name);
    const refers: string[] = [];
    const inside = JSON.parse(JSON.stringify(schema), (key, value: unknown) => {
      if (key !== '$ref') return value;
      const other = String(value).replace('#/$defs/', '');
      refers.push(other);
      return `${HERE}${other}`;
    }) as Json;
    found.set(name, inside);
    for (const other of refers) add(other);
  };
  for (const name of names) add(name);
  return Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
};

const parametersIn = (
  place: string,
  all: Readonly<Record<string, Json>>,
): readonly (readonly [string, Json])[] =>
  Object.entries(all).map(([name, one]) => [
    `${place}-${name}`,
    { name, in: place, ...defined({ required: place === 'path' ? true : undefined }), ...one },
  ]);

const errorAnswer = (schema: string, mediaType: string): Json => ({
  description: 'A refusal: docs/hub-api.md says which status has which codes, and what the caller does.',
  headers: {
    'Retry-After': {
      description: 'Seconds; of 429, 500 and 503.',
      schema: { type: 'integer', minimum: 0 },
    },
  },
  content: { [mediaType]: { schema: schemaOf(schema) } },
});

/** The document, in the order of the table. */
export const openApi = (): Json => {
  const used = ROUTES.flatMap(({ body, answer, error }) => [body, answer.schema, error]);
  const schemas = componentsFor(used.filter((name) => name !== undefined && name !== 'object') as string[]);
  const paths = Map.groupBy(ROUTES, ({ path }) => path);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Fleet Ferry hub',
      version: 'v1',
      description: 'The API of `fleet-scheduler serve`. docs/hub-api.md describes it in words.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: Object.fromEntries(
      [...paths].map(([path, routes]) => [
        path,
        Object.fromEntries(routes.map((route) => [route.method, operationOf(route, schemas)])),
      ]),
    ),
    components: {
      securitySchemes: SCHEMES,
      parameters: Object.fromEntries([
        ...parametersIn('path', PATH),
        ...parametersIn('query', QUERY),
        ...parametersIn('header', HEADER),
      ]),
      responses: {
        'hub-error': errorAnswer('hub-error', 'application/json'),
        problem: errorAnswer('problem', 'application/problem+json'),
      },
      schemas,
    },
  };
};
