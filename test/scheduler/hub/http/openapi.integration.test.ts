import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { LightMyRequestResponse } from 'fastify';
import { describe, expect, it } from 'vitest';
import { addDays, HOUR_MS } from '#bundles/time';
import type { ServerOptions } from '../../../../scheduler/hub/http/create-server.ts';
import { OPENAPI_PATH } from '../../../../scheduler/hub/http/readers/reader-routes.ts';
import { createToken } from '../../../../scheduler/hub/sites/tokens/create-token.ts';
import { NOW } from '../../release/removals/office.ts';
import { type DecisionServer, decisionServer, WITH_SIGN_IN } from './decisions/decision-server.ts';

/** What the OpenAPI document says is what the hub does. */
const FILE = new URL('../../../../docs/openapi.json', import.meta.url);

type Operation = {
  readonly security: readonly object[];
  readonly responses: Readonly<Record<string, object>>;
};
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
const document = JSON.parse(readFileSync(FILE, 'utf8')) as Document;

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

const ajv = new Ajv2020({ strict: false });
ajv.addSchema(document, 'openapi');

const escaped = (part: string): string => part.replaceAll('~', '~0').replaceAll('/', '~1');

/** Whether the document describes this answer: its status, its content type, its body. */
const faultOf = (path: string, method: string, answer: LightMyRequestResponse): string | undefined => {
  const { responses = {} } = document.paths[path]?.[method.toLowerCase()] ?? {};
  const status = String(answer.statusCode) in responses ? String(answer.statusCode) : 'default';
  if (status === 'default' && answer.statusCode < 400) return `no answer ${answer.statusCode}`;
  const type = String(answer.headers['content-type']).split(';')[0] ?? '';
  const own = responses[status] as { readonly $ref?: string; readonly content?: object };
  const root = own.$ref ?? `#/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`;
  if (own.$ref === undefined && own.content === undefined)
    return answer.body === '' ? undefined : 'a body that is not described';
  const schema = ajv.getSchema(`openapi${root}/content/${escaped(type)}/schema`);
  if (schema === undefined) return `no content type ${type} in ${root}`;
  const fits = schema(type === 'text/plain' ? answer.body : answer.json());
  return fits === true ? undefined : ajv.errorsText(schema.errors);
};

const COUNTED = {
  hour: Math.floor(NOW.getTime() / HOUR_MS),
  complies: 3,
  waiting: 0,
  differs: 1,
  late: 0,
  silent: 0,
  never_reported: 0,
};

const EVERYTHING: Partial<ServerOptions> = {
  people: WITH_SIGN_IN,
  hooks: { verify: () => {}, wake: () => {} },
  checks: { take: async () => {} },
};

/** The routes of the server, from the tree that Fastify prints. */
const routesOf = ({ server }: DecisionServer): readonly string[] => {
  const above: string[] = [];
  return server
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent = '', part = '', methods] = /^([│├└─ ]*)(\S+)(?: \(([A-Z, ]+)\))?$/.exec(line) ?? [];
      if (part === '') return [];
      const depth = indent.length / 4;
      above.length = depth;
      above[depth - 1] = part;
      const path = above.join('').replaceAll(/:(\w+)/g, '{$1}');
      return methods === undefined ? [] : methods.split(', ').map((method) => `${method} ${path}`);
    });
};

/** The page for browsers and MCP are no part of the API. The tree of routes prints /ui/* as /ui*. */
const OTHERS = new Set(['GET /', 'GET /ui', 'GET /ui*', 'GET /mcp', 'POST /mcp']);

describe('the OpenAPI document', () => {
  it('has exactly the routes of the server', async () => {
    await using made = await decisionServer(EVERYTHING);
    await made.server.ready();
    const api = routesOf(made).filter((route) => !OTHERS.has(route));
    expect(api.toSorted()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).toSorted());
  });

  it('is served without a token, and as 304 to a caller with its ETag', async () => {
    await using made = await decisionServer();
    const first = await made.server.inject({ url: OPENAPI_PATH });
    expect([first.statusCode, first.headers['content-type']]).toEqual([
      200,
      'application/json; charset=utf-8',
    ]);
    expect(first.json()).toEqual(document);
    const { etag = '' } = first.headers;
    const again = await made.server.inject({ url: OPENAPI_PATH, headers: { 'if-none-match': etag } });
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag]);
  });

  it('lists the routes that require credentials, which all refuse without them in the documented form', async () => {
    await using made = await decisionServer(EVERYTHING);
    for (const { path, method, operation } of operations) {
      const url = path.replaceAll(/\{\w+\}/g, 'prod');
      const answer = await made.server.inject({
        method: method as 'GET' | 'POST',
        url,
        ...(method === 'POST' && { headers: { 'content-type': 'application/json' }, payload: '{' }),
      });
      expect({ path, method, fault: faultOf(path, method, answer) }).toEqual({
        path,
        method,
        fault: undefined,
      });
      // Their signatures are verified by functions that the test passes.
      const isSigned = path.startsWith('/v1/hooks') || path.startsWith('/v1/checks');
      if (operation.security.length > 0 && !isSigned)
        expect({ path, status: answer.statusCode }).toEqual({ path, status: 401 });
      if (operation.security.length === 0) expect(answer.statusCode).not.toBe(401);
    }
  });

  it('matches the responses of the hub', async () => {
    await using made = await decisionServer(EVERYTHING);
    const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
    const reader = (await createToken(made.store, { scope: 'reader' }, terms)).token;
    const allowances = ['promote', 'pause', 'resume', 'reject', 'rollout', 'approve'] as const;
    const decider = await createToken(
      made.store,
      {
        scope: 'decide',
        person: 'ci',
        allowances: allowances.map((verb) => ({ verb, environment: '*' })),
      },
      terms,
    );
    const statuses: number[] = [];
    const ask = async (path: string, query = '', body?: object, accept?: string): Promise<void> => {
      const method = body === undefined ? 'GET' : 'POST';
      const url = `${path.replace('{environment}', 'prod').replace('{clusterType}', 'press')}${query}`;
      const token = path.includes('{environment}') ? decider.token : reader;
      const answer = await made.server.inject({
        method,
        url,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(accept !== undefined && { accept }),
        },
        ...(body !== undefined && { payload: JSON.stringify(body) }),
      });
      statuses.push(answer.statusCode);
      expect({ url, fault: faultOf(path, method, answer) }).toEqual({ url, fault: undefined });
    };
    const environment = '/v1/environments/{environment}';
    await ask('/v1/status');
    await ask('/v1/status', '?limit=1');
    await ask('/v1/status', '', undefined, 'text/plain');
    await ask('/v1/sites');
    await ask('/v1/overview');
    await made.store.db
      .insertInto('compliance')
      .values({ ...COUNTED, environment: 'prod' })
      .execute();
    await ask('/v1/compliance', '?since=90d');
    await ask('/v1/history');
    await ask('/v1/history', '?at=1h');
    await ask('/v1/events');
    await ask('/v1/where');
    await ask('/v1/workloads');
    await ask('/v1/media');
    await ask('/v1/audit');
    await ask('/v1/alarms');
    await ask('/v1/search', '?q=p');
    await ask('/v1/compare', '?left=qa&right=qa');
    await ask('/metrics');
    await ask('/v1/roots');
    await ask(`${environment}/gate`);
    await ask(`${environment}/approval`, '?person=anna&reason=checked');
    await ask(`${environment}/releases`);
    await ask(`${environment}/rollouts`);
    await ask(`${environment}/pause`, '', { reason: 'stock taking' });
    await ask(`${environment}/promotions`, '', {});
    await ask(`${environment}/resume`, '', { reason: 'done' });
    await ask(`${environment}/promotions`, '', {});
    await ask(`${environment}/promotions`);
    await ask(`${environment}/arrival`);
    await ask(`${environment}/rejections`, '', { reason: 'orders are lost' });
    await ask(`${environment}/rollouts/{clusterType}/advance`, '', { reason: 'checked' });
    await ask('/v1/hooks', '', {});
    await ask('/v1/checks/{id}', '', {});
    await ask('/v1/status', '?limit=0');
    await ask('/v1/package', '?agent=nowhere/none&assignment=web');
    const done = Array.from({ length: 23 }, () => 200);
    expect(statuses).toEqual([...done, 409, 200, 200, 200, 200, 200, 404, 202, 200, 400, 400]);
  });

  it('does not match the response of another route', async () => {
    await using made = await decisionServer();
    const answer = await made.server.inject({ url: '/v1/status' });
    expect(faultOf('/v1/roots', 'GET', answer)).toMatch(/^no content type application\/problem\+json/);
    const other = await made.server.inject({ url: OPENAPI_PATH });
    expect(faultOf('/v1/roots', 'GET', other)).toContain("must have required property 'roots'");
  });
});
