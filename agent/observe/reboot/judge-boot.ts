import { defined } from '#bundles/defined';
import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { type PackageRow, readPackages } from '../../store/applied/packages.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { record } from '../../store/journal/boundary.ts';
import { readLastLook } from '../../store/last-look.ts';
import { listed } from '../../store/outbox/changes.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { readTrustRow } from '../../store/trust.ts';
import type { HealthWaits } from '../observe.ts';

/**
 * Reports how the packages are after a reboot by the agent, once each of them was compared in this boot and no health is being judged.
 * A power cut at any moment after the decision counts as that reboot.
 */
export const judgeBoot = (agent: Agent, isWaiting: HealthWaits['isWaiting']): void => {
  const { state, edge } = agent;
  const under = readCondition(state, 'rebooting');
  const rebooted = readCondition(state, 'rebooted');
  const boot = agent.targets.find(({ machine }) => machine)?.machine?.boot();
  if (!under || !rebooted || boot === undefined || under.boot === boot) return;
  if (under.next?.boot !== boot) {
    saveCondition(state, 'rebooting', { ...under, next: { boot, sinceMs: edge.monotonicMs() } });
    return;
  }
  const { sinceMs } = under.next;
  const looks = readLastLook(state).packages;
  const running = readPackages(state).filter(({ current }) => current !== undefined);
  const isJudged = running.every(({ assignment }) => {
    const { bootId, monotonicMs = 0 } = looks[assignment] ?? {};
    return bootId === edge.bootId && monotonicMs >= sinceMs && !isWaiting(assignment);
  });
  if (!isJudged) return;
  const unwell = running.filter((row) => !isWell(row)).map(({ assignment }) => assignment);
  const before = unwell.filter((assignment) => under.unwell.includes(assignment));
  const { desiredRelease } = readTrustRow(state);
  record(agent, 'rebooted', () => {
    saveCondition(state, 'rebooting', undefined);
    const last = { ...rebooted.last, judged: formatTime(edge.now()), unwell };
    saveCondition(state, 'rebooted', { ...rebooted, last });
    appendEvent(agent, {
      type: 'reboot',
      release: desiredRelease,
      ...(unwell.length === 0
        ? { outcome: 'unchanged', message: 'rebooted, healthy' }
        : {
            outcome: 'failed',
            code: 'REBOOT_FAILED',
            message: `rebooted, not healthy: ${nameSome(unwell)}${before.length === 0 ? '' : `; before it, too: ${nameSome(before)}`}`,
          }),
      detail: defined({
        state: 'rebooted',
        asked: under.at,
        causes: under.causes.map((cause) => ({ ...cause })),
        unwell: listed(unwell).shown,
        moreUnwell: listed(unwell).more || undefined,
        before: listed(before).shown,
        moreBefore: listed(before).more || undefined,
      }),
    });
  });
};

/** Runs as it is wanted: no check failed or was impossible, and live state agreed at the last look. */
export const isWell = ({ status, drift, checks }: PackageRow): boolean =>
  status === 'healthy' && drift === undefined && checks.every(({ outcome }) => outcome === 'passed');
