import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';
import { type RebootNeed, formatCauses } from '../../model/machine.ts';
import type { Agent } from '../../store/agent.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';

/**
 * Stores what the system says about reboots and what a reboot waits for, and reports it when causes, services or the kind of wait changed.
 */
export const noteRebootNeed = (
  agent: Agent,
  { causes, services }: RebootNeed,
  { waits, next: at }: { readonly waits: string; readonly next?: Date },
): void => {
  const { state, edge } = agent;
  const before = readCondition(state, 'reboot');
  const restarts = readCondition(state, 'restarts')?.services ?? [];
  const keys = causes.map(({ key }) => key);
  const known = before?.causes.map(({ key }) => key) ?? [];
  const isNews = keys.join('\n') !== known.join('\n') || services.join('\n') !== restarts.join('\n');
  if (!isNews && (before === undefined || before.waits === waits)) return;
  // Another cause beside an old one does not make the need younger.
  const since = known.some((key) => keys.includes(key)) ? before?.since : undefined;
  const next =
    causes.length === 0
      ? undefined
      : { since: since ?? formatTime(edge.now()), causes, waits, next: at ? formatTime(at) : null };
  const isReported = isNews || next?.waits.startsWith(PERSON) !== before?.waits.startsWith(PERSON);
  record(agent, 'reboot need', () => {
    saveCondition(state, 'reboot', next);
    saveCondition(state, 'restarts', services.length === 0 ? undefined : { services });
    if (!isReported) return;
    appendEvent(agent, {
      type: 'reboot',
      ...(next
        ? {
            code: 'REBOOT_REQUIRED',
            message: `a reboot is required: ${formatCauses(causes)}`,
          }
        : { outcome: 'unchanged', message: describeRestarts(services) }),
      detail: {
        state: next ? 'required' : 'none',
        ...(next && { since: next.since, waits }),
        causes: causes.map((cause) => ({ ...cause })),
        services: [...services],
      },
    });
  });
};

const describeRestarts = (services: readonly string[]): string =>
  services.length === 0
    ? 'no reboot is required'
    : `no reboot is required; these services use libraries of before an upgrade: ${nameSome(services)}`;

/** Start of the obstacles that only a person ends, which the office has to know. Windows that open and close are not reported. */
const PERSON = 'a person';
