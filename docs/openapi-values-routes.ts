import { decidesBelow, looksBelow, type Route } from './openapi-routes.ts';

const VALUES = { base: '/v1/values', tag: 'values' } as const;
const look = looksBelow(VALUES);
const decide = decidesBelow(VALUES);
const preview = decidesBelow(VALUES, ['X-Fleet-Csrf']);

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
    [
      'values-open',
      '/sites/{site}/open',
      'Open proposals in the repository that change a value of a site, or of a layer of it',
    ],
    'values-open',
  ),
  look(
    ['values-selection', '/selection', 'The values of all sites with some labels, for one change of all'],
    'values-selection',
    ['select', 'agents'],
  ),
  look(
    ['values-versions', '/sites/{site}/versions', 'The versions of the values of a site'],
    'values-versions',
    ['limit'],
  ),
  preview(
    ['values-preview', '/preview', 'What a change would do, without making it'],
    'values',
    'values-change',
    'values-preview',
  ),
  decide(
    ['values-change', '/changes', 'Makes a change of values, or proposes it where it needs approvals'],
    'values',
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
    'values',
    'approve',
    'values-approved',
  ),
  decide(
    ['values-reject', '/rejections', 'Rejects a proposal, or withdraws an own one'],
    'values',
    'values-reject',
    'values-rejected',
  ),
];
