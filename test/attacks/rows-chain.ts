import { type AttackRow, row, rowOf } from './row.ts';

/** A scheduler in the hands of an attacker, with the sockets of the signer and the key for bundles (H24 to H30, H36), and people who write to a part of the platform (H37, H38). */
export const CHAIN: readonly AttackRow[] = [
  rowOf(
    'H24',
    'skipped environment',
    'promoting to prod what was never released in qa, from another environment, or before its soak time is over',
    '`NOT_PROMOTED`, `SIGNER_REFUSED`',
    [
      ['NOT_PROMOTED', 'a skipped environment'],
      ['SIGNER_REFUSED', 'a skipped environment'],
      ['NOT_PROMOTED', 'a shorter soak'],
    ],
  ),
  row(
    'H25',
    'forged lineage',
    'a bundle statement for prod that names what was not promoted, or nothing',
    'NOT_PROMOTED',
  ),
  rowOf(
    'H26',
    'replayed promotion',
    'signing an older promotion again under its number or a later one, or releasing what an older promotion named',
    '`NOT_NEWER`, `SIGNER_REFUSED`, `NOT_PROMOTED`',
    [['NOT_NEWER'], ['SIGNER_REFUSED'], ['NOT_PROMOTED']],
  ),
  row(
    'H27',
    'promotion of another fleet',
    "another fleet's promotion, for the same environments",
    'WRONG_FLEET',
  ),
  row(
    'H28',
    'chain removed',
    'taking promotedFrom out of fleet.yaml, and building prod from the newest state',
    'NOT_PROMOTED',
  ),
  rowOf(
    'H29',
    'made-up evidence',
    'reports that say that agents comply, signed by another key, changed after they were signed, or of agents that were never or just enrolled',
    '`UNKNOWN_KEY`, `REPORT_INVALID`, `AGENT_UNKNOWN`, `NOT_PROMOTED`',
    [
      ['UNKNOWN_KEY', 'by a key that no site statement names'],
      ['NOT_PROMOTED', 'by a key that no site statement names'],
      ['REPORT_INVALID', 'events that were changed'],
      ['AGENT_UNKNOWN', 'never enrolled'],
      ['NOT_PROMOTED', 'just enrolled'],
    ],
  ),
  row(
    'H30',
    'replayed evidence',
    'an older report in which an agent complied, in place of a newer one, after its time, or while an acknowledged newer one is withheld',
    'NOT_PROMOTED',
  ),
  row(
    'H31',
    'token of another environment',
    'deciding about an environment, or by a verb, that the token does not name',
    'TOKEN_SCOPE',
  ),
  row(
    'H32',
    'ended token',
    'deciding with a token that ended or was revoked, also by repeating a request that was answered',
    'TOKEN_INVALID',
  ),
  row(
    'H33',
    'borrowed idempotency key',
    'repeating a request with its idempotency key and another token',
    'TOKEN_SCOPE',
  ),
  row('H34', 'decision without an end', 'a decision of 70 kB, with a token and without', 'TOO_LARGE'),
  rowOf(
    'H35',
    'approval by a token',
    "handing over an approval by somebody else's key, or one that the holder of the token signed",
    'ACCEPT: as the person who signed it; `UNKNOWN_KEY`',
    [
      ['ACCEPT', 'that a person signed'],
      ['UNKNOWN_KEY', 'that the holder of a token signed'],
    ],
  ),
  row(
    'H36',
    'untried content',
    'promoting a candidate of which the environment before held an assignment, and so ran an older package',
    'NOT_PROMOTED',
  ),
  row(
    'H37',
    'repository that nobody promoted',
    'a deployment target of prod alone whose repository, branch or tag no earlier environment reads, and pushing to it',
    'NOT_PROMOTED',
  ),
  row(
    'H38',
    'rights in the own folder',
    'writing to environments/prod/ alone: a Workspace that grants root, a registration of any repository, a Workload, a template or an image policy',
    'NOT_PROMOTED',
  ),
  row(
    'H39',
    'candidate stated for what runs',
    'a statement that what runs in qa was made from another candidate: without the keys, about another bundle, with held assignments, or of what was not promoted',
    'NOT_PROMOTED',
  ),
  rowOf(
    'H56',
    'impossible fields',
    'signed reports with times that no clock shows, and with texts, numbers and digests at every end of what the format takes',
    '`SCHEMA`, or ACCEPT; every question is answered as before',
    [
      ['ACCEPT', 'stops no question'],
      ['SCHEMA', 'no clock shows'],
    ],
  ),
  rowOf(
    'H57',
    'values nobody decided',
    'other values of a site in the hands of an intruder at the hub: without a decision, with one about others, with one of last week, or without approvals of other people',
    '`SIGNER_REFUSED`, `APPROVAL_MISSING`',
    [
      ['SIGNER_REFUSED', 'need the change'],
      ['APPROVAL_MISSING', 'need so many approvals'],
    ],
  ),
  row(
    'H58',
    'values that no layer gives',
    'values from layers in the hands of an intruder at the hub: one that is changed, added or dropped, also `fixed` ones, of one assignment, or for an agent that the statement does not name; by an older statement or release, or undone after the change',
    'SIGNER_REFUSED',
  ),
];
