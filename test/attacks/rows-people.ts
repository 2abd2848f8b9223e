import { type AttackRow, row, rowOf } from './row.ts';

/** People who sign in at the hub's page, and what others try in their name (H40 to H47, H59 to H64). */
export const PEOPLE: readonly AttackRow[] = [
  row(
    'H40',
    'copied cookie',
    'using a copy of the cookie of a session after its owner has the next one',
    'SESSION_INVALID',
  ),
  row(
    'H41',
    'break-glass code again',
    'using a break-glass code a second time, after 15 minutes, or after it was revoked',
    'TOKEN_INVALID',
  ),
  rowOf(
    'H42',
    'open redirect',
    'a link to the sign-in that leads to another site afterwards',
    'ACCEPT; the person lands at the first view of the page',
    [['ACCEPT']],
  ),
  row(
    'H43',
    'session fixation',
    "putting the cookie of one's own session into the browser of somebody who then signs in",
    'SESSION_INVALID',
  ),
  row(
    'H44',
    'cross-site request',
    'a page elsewhere that sends a decision with the cookie of a person who is signed in',
    'CROSS_SITE',
  ),
  row(
    'H45',
    'forged callback',
    'an answer of the provider that is forged, of another browser, of another provider, or played again',
    'SIGN_IN_REFUSED',
  ),
  row(
    'H46',
    'ID token for somebody else',
    'an ID token with a valid signature for another application, by another issuer, or of another sign-in',
    'SIGN_IN_REFUSED',
  ),
  row(
    'H47',
    'withdrawn role',
    'deciding with a session whose role was taken from the configuration, or from the group at the provider',
    'ROLE_MISSING',
  ),
  row(
    'H59',
    'values of others',
    'changing a value of another site, of another editableBy, of a whole site with the right for one line, or of all sites of a region, also by going back to an older version',
    'TOKEN_SCOPE',
  ),
  rowOf(
    'H60',
    'edit without the right',
    'reading or editing the platform repository through the hub with a token for other verbs or another environment, or by a path that leads out of the folder of an environment',
    '`TOKEN_SCOPE`, `FIELD_INVALID`',
    [
      ['TOKEN_SCOPE', 'without the right'],
      ['FIELD_INVALID', 'a path that leads out'],
    ],
  ),
  row(
    'H61',
    'secrets through the editor',
    'reading secret values of the platform repository through an edit and its preview',
    'FIELD_INVALID',
  ),
  rowOf(
    'H62',
    'values of a neighbour',
    'reading the values of an agent through the form of many sites, with the right for another agent of its site',
    'ACCEPT; the answer has only agents whose values the caller may see',
    [['ACCEPT']],
  ),
  rowOf(
    'H63',
    'overview crowded out',
    'one site that reports many failed checks, so that the overview has no room for the problems of others',
    'ACCEPT; the causes at the most sites are kept',
    [['ACCEPT']],
  ),
  row(
    'H64',
    'values through the repository',
    'having the hub write a value of a site into the platform repository that needs approvals, or that may be a secret',
    'USAGE',
  ),
];
