import type { Route } from './openapi-routes.ts';

type Row = readonly [id: string, path: string, summary: string];

const look = ([id, path, summary]: Row, schema: string, query: readonly string[] = []): Route => ({
  id,
  path: `/v1/values${path}`,
  summary,
  method: 'get',
  tag: 'values',
  credentials: ['reader', 'decider', 'session'],
  query,
  answer: { status: 200, schema, etag: true },
  error: 'problem',
});

const decide = (
  [id, path, summary]: Row,
  body: string,
  schema: string,
  headers = ['Idempotency-Key', 'X-Fleet-Csrf'],
): Route => ({
  id,
  path: `/v1/values${path}`,
  summary,
  method: 'post',
  tag: 'values',
  credentials: ['decider', 'session'],
  verb: 'values',
  headers,
  body,
  answer: { status: 200, schema },
  error: 'problem',
});

/** The routes about values of sites, beside those of openapi-routes.ts. */
export const VALUES_ROUTES: readonly Route[] = [
  look(['values-tree', '/tree', 'Layers, and the sites whose values the caller sees'], 'values-tree', [
    'select',
    'limit',
    'cursor',
  ]),
  look(
    ['values-of-site', '/sites/{site}', 'The values that a site takes: schema, origin, right'],
    'values-of-site',
  ),
  look(
    ['values-versions', '/sites/{site}/versions', 'The versions of the values of a site'],
    'values-versions',
    ['limit'],
  ),
  decide(
    ['values-preview', '/preview', 'What a change would do, without making it'],
    'values-change',
    'values-preview',
    ['X-Fleet-Csrf'],
  ),
  decide(
    ['values-change', '/changes', 'Makes a change of values, or proposes it where it needs approvals'],
    'values-change',
    'values-changed',
  ),
  look(['values-proposals', '/proposals', 'Changes that wait for review'], 'values-proposals'),
  look(
    ['values-approval', '/approval', 'The statement that a person approves a proposal, to be signed by them'],
    'statement',
    ['proposal', 'person', 'reason'],
  ),
  decide(
    [
      'values-approve',
      '/approvals',
      'Appends an approval that a person signed; the last one makes the change',
    ],
    'approve',
    'values-approved',
  ),
  decide(
    ['values-reject', '/rejections', 'Rejects a proposal, or withdraws an own one'],
    'values-reject',
    'values-rejected',
  ),
];
