import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { canonicalJson } from '#bundles/json/canonical';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import type { FactLabel } from '../../../settings/configuration.ts';
import type { By } from '../../store/open-store.ts';
import type { AgentKeyRow, AgentRow } from '../../store/tables.ts';
import {
  channelOf,
  type Labels,
  labelsOf,
  movedAgentRow,
  newAgentRow,
  rekeyedAgentRow,
  type ReportedRecipient,
} from '../agent-record.ts';
import { checkReleased } from '../check-released.ts';
import type { ComposeAgent } from '../layers/compose-agent.ts';
import { labelsOfFacts } from './fact-labels.ts';
import type { EnrolmentRequest, RequestedEnrolment } from './read-requests.ts';

export type EnrolmentOptions = {
  /** Overrides the channel of the request. */
  readonly channel?: Channel | undefined;
  readonly labels?: Labels | undefined;
  /** Rules of the office: a fact of the machine becomes a label, over the labels of the request and under `labels`. */
  readonly factLabels?: readonly FactLabel[] | undefined;
  /** Allows a known agent to change its key. */
  readonly replaceKey: boolean;
  /** Allows a known agent to change to the channel and labels of its request. */
  readonly update: boolean;
  /** Channels with a release, by formatChannel, which an agent may start to follow. undefined: any channel. */
  readonly released?: readonly string[] | undefined;
  /** Person and reason, for the audit log; undefined: the program, by a rule. */
  readonly by?: Partial<By> | undefined;
  /** Composes the values that an agent gets with its statement. undefined: it gets them by the next composition. */
  readonly composeAgent?: ComposeAgent | undefined;
};

/** The change that a request leads to. `row` is the agent's record after it. */
export type EnrolmentStep =
  | { readonly kind: 'register' | 'change' | 'replace-key'; readonly row: AgentRow }
  | { readonly kind: 'unchanged'; readonly row: AgentRow; readonly note?: string };

/**
 * Decides what a request changes. Its channel and labels are used for a new agent, and for a known agent only with `update`. A key belongs to one agent only, and never counts again once revoked or replaced.
 * @throws FleetError REVOKED if the key was revoked or replaced; REQUEST_INVALID if it belongs to another agent or the request
 *   is older than the known recipient; ALREADY_ENROLLED if the key is new and `replaceKey` is false; CHANNEL_MISSING
 */
export const planEnrolment = (
  request: EnrolmentRequest,
  known: AgentRow | undefined,
  keyOwner: AgentKeyRow | undefined,
  options: EnrolmentOptions,
  now: Date,
): EnrolmentStep => {
  checkKey(request, keyOwner);
  if (known && known.follower !== null)
    throw new FleetError('ALREADY_ENROLLED', `${known.id} is a follower by ${known.follower}`, {
      hint: 'Enrol the agent under another name',
    });
  const channel = channelFor(request, known, options);
  const labelsWanted = requestedLabels(request, options);
  const takesRequest = !known || (options.update && request.requested !== undefined);
  const labels = options.labels || takesRequest ? labelsWanted : labelsOf(known);
  if (options.released && !(known && sameChannel(channel, channelOf(known))))
    checkReleased(channel, options.released);
  if (!known) {
    return { kind: 'register', row: newAgentRow(request, request.key.pem, channel, labels, now) };
  }
  // The recipient is signed by the agent's known key, so it needs no confirmation by a person.
  const sameKey = known.key === request.key.pem;
  if (sameKey && isOlderRecipient(known, request.recipient)) throw olderRequest(request, known);
  const reported = isKnownRecipient(known, request.recipient) ? undefined : request.recipient;
  const moved = movedAgentRow(known, channel, labels, reported);
  if (!sameKey) {
    if (!options.replaceKey) throw otherKey(request, known);
    return { kind: 'replace-key', row: rekeyedAgentRow(moved, request.key.pem, request.recipient, now) };
  }
  if (canonicalJson(moved) !== canonicalJson(known)) return { kind: 'change', row: moved };
  const change = requestedChange(request, known, labelsWanted);
  return defined({ kind: 'unchanged', row: known, note: change });
};

/** @throws FleetError REQUEST_INVALID for an unsigned request whose channel counts */
const channelFor = (
  request: EnrolmentRequest,
  known: AgentRow | undefined,
  { channel, update }: EnrolmentOptions,
): Channel => {
  if (channel) return channel;
  if (known && !update) return channelOf(known);
  return request.agreed ?? signedRequest(request).channel;
};

/** Whether a reported recipient predates the known one, as in a replayed request (docs/bundle-format.md section 16). */
export const isOlderRecipient = (known: AgentRow, reported: ReportedRecipient | undefined): boolean =>
  reported !== undefined &&
  reported.recipient !== known.recipient &&
  known.recipient_at !== null &&
  reported.at <= known.recipient_at;

const isKnownRecipient = (known: AgentRow, reported: ReportedRecipient | undefined): boolean =>
  reported?.recipient === known.recipient && known.recipient_at !== null && reported.at <= known.recipient_at;

const NEW_KEY =
  'move the state directory of the agent away and run fleet-agent enroll, which makes a new key';

const checkKey = (request: EnrolmentRequest, owner: AgentKeyRow | undefined): void => {
  if (!owner) return;
  if (owner.agent !== request.id) {
    throw new FleetError('REQUEST_INVALID', `the key of ${request.id} is already that of ${owner.agent}`, {
      subject: request.fingerprint,
      hint: `A copied disk has the key of the old machine: ${NEW_KEY}`,
    });
  }
  if (owner.ended_at !== null) {
    throw new FleetError('REVOKED', `the key of ${request.id} was revoked or replaced on ${owner.ended_at}`, {
      subject: request.fingerprint,
      hint: `At the machine: ${NEW_KEY}`,
    });
  }
};

const olderRequest = ({ id, recipient, fingerprint }: EnrolmentRequest, known: AgentRow): FleetError =>
  new FleetError(
    'REQUEST_INVALID',
    `the request of ${id} is of ${recipient?.at}, and its age recipient was replaced at ${known.recipient_at}`,
    {
      subject: fingerprint,
      hint: 'Delete the old request from the medium; if the machine came back from a backup, delete its agent.age and let it ask again with fleet-agent enroll',
    },
  );

const otherKey = (request: EnrolmentRequest, known: AgentRow): FleetError =>
  new FleetError(
    'ALREADY_ENROLLED',
    `${request.id} is known with another key since ${known.enrolled_at}${known.revoked_at === null ? '' : `, and was revoked on ${known.revoked_at}`}`,
    {
      subject: request.fingerprint,
      hint: 'If this machine lost its key or was replaced, compare the fingerprint and name it with --accept, and add --replace-key: the old key is refused from then on',
    },
  );

/** The labels of a new agent: those of the token or the command, else those of the request, with those of facts. */
const requestedLabels = (
  request: EnrolmentRequest,
  { labels, factLabels = [] }: EnrolmentOptions,
): Labels => ({
  ...(labels === undefined && request.requested?.labels),
  ...labelsOfFacts(factLabels, request.facts),
  ...labels,
});

/** @throws FleetError REQUEST_INVALID for an unsigned request */
const signedRequest = ({ id, requested, fingerprint }: EnrolmentRequest): RequestedEnrolment => {
  if (requested) return requested;
  throw new FleetError(
    'REQUEST_INVALID',
    `the request of ${id} is of an agent version that does not sign the channel and labels that it asks for`,
    {
      subject: fingerprint,
      hint: `Update the agent and let it ask again; or ask the site for its channel and give it with the key, without labels: --accept ${fingerprint}=<environment>/<type>`,
    },
  );
};

const requestedChange = (
  { requested }: EnrolmentRequest,
  known: AgentRow,
  labelsWanted: Labels,
): string | undefined => {
  const now = channelOf(known);
  if (!requested) return undefined;
  if (!sameChannel(requested.channel, now))
    return `it asks for ${formatChannel(requested.channel)} and stays at ${formatChannel(now)}; --update gives it what it asks for`;
  if (canonicalJson(labelsWanted) !== known.labels)
    return 'it asks for other labels and keeps its own; --update gives it what it asks for';
  return undefined;
};
