import { canonicalJson } from '#bundles/canonical';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import {
  channelOf,
  type Labels,
  labelsOf,
  movedAgentRow,
  newAgentRow,
  rekeyedAgentRow,
} from '../sites/agent-record.ts';
import type { AgentKeyRow, AgentRow } from '../store/tables.ts';
import type { EnrolmentRequest } from './read-requests.ts';

export type EnrolmentOptions = {
  /** Only this site's requests. */
  readonly site?: string | undefined;
  /** Whatever the request wishes. */
  readonly channel?: Channel | undefined;
  readonly labels?: Labels | undefined;
  /** Only keys with these fingerprints; without any, all. */
  readonly accept: readonly string[];
  /** A known agent may come with another key. */
  readonly replaceKey: boolean;
  /** A known agent may move to the channel and labels it wishes for. */
  readonly update: boolean;
};

/** What one request leads to. `row` is how the agent stands afterwards. */
export type EnrolmentStep =
  | { readonly kind: 'register' | 'change' | 'replace-key'; readonly row: AgentRow }
  | { readonly kind: 'unchanged'; readonly row: AgentRow; readonly note?: string };

/**
 * Channel and labels of a request are unsigned: they count for somebody new, whom a person looks at, and for a known
 * agent only when a person says so. A key counts for one name only, and never again once it was taken away.
 * @throws FleetError REVOKED, REQUEST_INVALID, ALREADY_ENROLLED
 */
export const planEnrolment = (
  request: EnrolmentRequest,
  known: AgentRow | undefined,
  keyOwner: AgentKeyRow | undefined,
  options: EnrolmentOptions,
  now: Date,
): EnrolmentStep => {
  checkKey(request, keyOwner);
  const channel = options.channel ?? (options.update || !known ? request.channel : channelOf(known));
  const labels = options.labels ?? (options.update || !known ? request.labels : labelsOf(known));
  if (!known) {
    return { kind: 'register', row: newAgentRow(request, request.key.pem, channel, labels, now) };
  }
  const moved = movedAgentRow(known, channel, labels);
  if (known.key !== request.key.pem) {
    if (!options.replaceKey) throw otherKey(request, known);
    return { kind: 'replace-key', row: rekeyedAgentRow(moved, request.key.pem, now) };
  }
  if (canonicalJson(moved) !== canonicalJson(known)) return { kind: 'change', row: moved };
  const wish = wishOf(request, known);
  return { kind: 'unchanged', row: known, ...(wish !== undefined && { note: wish }) };
};

const checkKey = (request: EnrolmentRequest, owner: AgentKeyRow | undefined): void => {
  if (!owner) return;
  if (owner.agent !== request.id) {
    throw new FleetError('REQUEST_INVALID', `the key of ${request.id} is already that of ${owner.agent}`, {
      subject: request.fingerprint,
      hint: 'Let the agent make a key of its own; a copied disk brings the old one along',
    });
  }
  if (owner.ended_at !== null) {
    throw new FleetError('REVOKED', `the key of ${request.id} was revoked or replaced on ${owner.ended_at}`, {
      subject: request.fingerprint,
      hint: 'Let the agent make a new key and ask again',
    });
  }
};

const otherKey = (request: EnrolmentRequest, known: AgentRow): FleetError =>
  new FleetError(
    'ALREADY_ENROLLED',
    `${request.id} is known with another key since ${known.enrolled_at}${known.revoked_at === null ? '' : `, and was revoked on ${known.revoked_at}`}`,
    {
      subject: request.fingerprint,
      hint: 'If this machine lost its key or was replaced, compare the fingerprint and add --replace-key: the old key is refused from then on',
    },
  );

const wishOf = (request: EnrolmentRequest, known: AgentRow): string | undefined => {
  const now = channelOf(known);
  if (!sameChannel(request.channel, now))
    return `it asks for ${formatChannel(request.channel)} and stays at ${formatChannel(now)}; --update gives it what it asks for`;
  if (canonicalJson(request.labels) !== known.labels)
    return 'it asks for other labels and keeps its own; --update gives it what it asks for';
  return undefined;
};
