import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseTime } from '#bundles/time';
import { durationMs } from '#bundles/duration';
import type { Agent } from '../../store/agent.ts';
import { readCondition, saveCondition, type SiteHold } from '../../store/conditions.ts';
import { record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { beginHold, isOver } from '../../store/site-hold.ts';
import { readTrustRow } from '../../store/trust.ts';
import { resume } from '../perform.ts';

/**
 * Holds this machine as it is: releases are still fetched, verified and staged, and drift is reported; nothing is applied or
 * corrected until the hold ends. A change that was under way is completed first. A new hold replaces the one before.
 * @param until a time, '2026-11-21T18:00:00Z', or a duration, '8h'; undefined: until it is released @throws FleetError USAGE
 */
export const holdSite = async (
  agent: Agent,
  until: string | undefined,
  reason: string,
): Promise<SiteHold> => {
  if (reason.trim() === '') {
    throw new FleetError('USAGE', 'the reason is empty', {
      subject: '--reason',
      hint: 'Say in a few words why this machine must stay as it is; the platform team reads them in the report',
    });
  }
  const hold = beginHold(agent.edge, until === undefined ? undefined : parseEnd(until), reason);
  if (isOver(hold, agent.edge))
    throw new FleetError('USAGE', `${until} has passed already`, { subject: '--until' });
  await resume(agent);
  record(agent, 'held', () => {
    saveCondition(agent.state, 'held', hold);
    appendEvent(agent, {
      type: 'held',
      ...aboutRelease(agent),
      message: reason,
      detail: { operator: hold.operator, until: hold.until },
    });
  });
  return hold;
};

const DURATION = /^[1-9][0-9]{0,4}[smhd]$/;

const parseEnd = (text: string): Parameters<typeof beginHold>[1] => {
  if (DURATION.test(text)) return { afterMs: durationMs(text) };
  try {
    parseTime(text);
    return { at: text };
  } catch (cause) {
    throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 40))} is neither a time nor a duration`, {
      subject: '--until',
      hint: 'Write a time in UTC like 2026-11-21T18:00:00Z, or a duration like 90m, 8h or 3d',
      cause,
    });
  }
};

/** Ends the hold. @returns the hold that was ended; undefined: nothing was held */
export const releaseSite = (agent: Agent, reason?: string): SiteHold | undefined =>
  endHold(agent, defined({ operator: agent.edge.operator, reason }));

/** Ends a hold whose time is over. @returns whether one ended */
export const endHoldOnTime = (agent: Agent): boolean => {
  const hold = readCondition(agent.state, 'held');
  return hold !== undefined && isOver(hold, agent.edge) && endHold(agent, {}) !== undefined;
};

const endHold = (
  agent: Agent,
  { operator, reason }: { readonly operator?: string; readonly reason?: string },
): SiteHold | undefined => {
  const hold = readCondition(agent.state, 'held');
  if (!hold) return undefined;
  record(agent, 'released', () => {
    saveCondition(agent.state, 'held', undefined);
    appendEvent(agent, {
      type: 'released',
      ...aboutRelease(agent),
      message: reason ?? (operator === undefined ? 'the time of the hold is over' : 'the hold was ended'),
      detail: { operator: operator ?? null, since: hold.since },
    });
  });
  return hold;
};

const aboutRelease = ({ state }: Agent) => {
  const { desiredRelease } = readTrustRow(state);
  return desiredRelease ? { release: desiredRelease } : {};
};
