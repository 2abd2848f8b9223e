import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { unlessMissing } from '#bundles/unless-missing';
import { trustedTime } from '#bundles/trust/accept/trusted-time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { parseTime } from '#bundles/time';
import { findOwnEntry } from '../acquire/staleness/find-lease.ts';
import type { Agent } from '../store/agent.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';
import { record } from '../store/journal/boundary.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { readTrustRow } from '../store/trust.ts';
import { createSupportBundle, type SupportSources } from './create-support-bundle.ts';

/** The answer to the request of the office: made once, kept until it was delivered. */
export type SupportAnswer = { readonly request: string; readonly bytes: Buffer };

/**
 * The request in the accepted site statement that waits for its answer; undefined if there is none, it was answered, or its time is over. The
 * office signed it for this agent alone, and older statements are refused, so an old request does not come back.
 */
export const openRequest = ({ state, identity, edge }: Pick<Agent, 'state' | 'identity' | 'edge'>) => {
  const support = findOwnEntry({ state, identity })?.support;
  if (!support) return undefined;
  const answered = readCondition(state, 'support');
  if (answered?.request === support.id && answered.delivered) return undefined;
  const { timeFloor } = readTrustRow(state);
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, timeFloor);
  return parseTime(support.until, 'the request for a support bundle') > now ? support.id : undefined;
};

/**
 * The answer to the open request. Made at the first call; later ones return the same file until it was delivered, on however many media it
 * goes. @throws FleetError DISK_FULL, PERMISSION, TOO_LARGE, ABORTED
 */
export const answerRequest = async (
  agent: Agent,
  key: SigningKey,
  sources: SupportSources,
): Promise<SupportAnswer | undefined> => {
  const request = openRequest(agent);
  if (request === undefined) {
    await rm(answerFile(agent), { force: true });
    return undefined;
  }
  const before = readCondition(agent.state, 'support');
  const kept = await unlessMissing(readFile(answerFile(agent)), `reading ${answerFile(agent)}`);
  if (kept && before?.request === request && digestOf(kept) === before.digest)
    return { request, bytes: kept };
  const bytes = await createSupportBundle(agent, key, sources, request);
  try {
    await writeFileAtomically(answerFile(agent), bytes, 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${answerFile(agent)}`);
  }
  record(agent, 'support bundle made', () => {
    saveCondition(agent.state, 'support', { request, digest: digestOf(bytes), delivered: false });
    appendEvent(agent, {
      type: 'support',
      message: `made a support bundle for request ${request} of the office`,
      detail: { request, digest: digestOf(bytes), bytes: bytes.byteLength },
    });
  });
  return { request, bytes };
};

/** The hub has the answer. */
export const noteDelivered = async (agent: Agent, { request, bytes }: SupportAnswer): Promise<void> => {
  record(agent, 'support bundle delivered', () =>
    saveCondition(agent.state, 'support', { request, digest: digestOf(bytes), delivered: true }),
  );
  await rm(answerFile(agent), { force: true });
};

const answerFile = ({ state }: Pick<Agent, 'state'>): string => join(state.directory, 'support.tar');
