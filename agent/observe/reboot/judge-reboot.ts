import { defined } from '#bundles/defined';
import { type Windows, parseWindows } from '#bundles/windows';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { RebootCause } from '../../model/machine.ts';
import type { RebootPolicy } from '#bundles/formats/bundle/config';

/** Everything that decides whether the agent reboots its host now. Plain data. */
export type RebootSituation = {
  readonly now: Date;
  /** Of the release in force; undefined: it does not let the agent reboot. */
  readonly policy: RebootPolicy | undefined;
  /** false: the configuration of this machine forbids it. */
  readonly isAllowed: boolean;
  /** Of the agent's own configuration. */
  readonly windows: Windows;
  /** Bounds how often the agent reboots. Absent for a reboot that was decided in this boot and did not happen yet, and for one of a package. */
  readonly request?: RebootRequest | undefined;
  /** Reasons against it for now, the most important first: sentence parts. */
  readonly obstacles: readonly string[];
};

export type RebootRequest = {
  readonly causes: readonly RebootCause[];
  /** Keys of causes for which the agent has rebooted. */
  readonly tried: readonly string[];
  /** When it last asked for a reboot. */
  readonly lastAsked: Timestamp | undefined;
};

export type RebootVerdict =
  | { readonly reboots: true }
  | {
      readonly reboots: false;
      /** One sentence part for people. */
      readonly waits: string;
      /** When to judge again; absent: at the next look. */
      readonly next?: Date;
    };

/** Shortest time between two reboots by the agent, whatever their causes are. */
const MIN_REBOOT_INTERVAL_MS = 12 * 3_600_000;

const waits = (why: string, next?: Date): RebootVerdict =>
  defined({
    reboots: false,
    waits: why,
    next,
  });

/** Decides from the situation alone. @throws FleetError CONFIG_INVALID for a window of the policy that is not a time */
export const judgeReboot = ({
  now,
  policy,
  isAllowed,
  windows,
  request,
  obstacles,
}: RebootSituation): RebootVerdict => {
  if (!policy) return waits('a person: the release has no reboot policy for this cluster type');
  if (!isAllowed)
    return waits(
      'a person: allowReboot is false in the configuration of this machine, so the agent does not reboot it',
    );
  if (request) {
    const { causes, tried, lastAsked } = request;
    if (causes.every(({ key }) => tried.includes(key)))
      return waits(
        `a person: the agent rebooted this host at ${lastAsked ?? 'an earlier time'} for the same cause, and does so once`,
      );
    const next =
      lastAsked === undefined ? undefined : new Date(parseTime(lastAsked).getTime() + MIN_REBOOT_INTERVAL_MS);
    // A clock that was set back since counts as if no time had passed.
    if (next && now < next)
      return waits(`${formatTime(next)}: 12 hours after the last reboot by the agent`, next);
  }
  const allowed = parseWindows(policy.windows);
  if (!allowed.isOpen(now) || !windows.isOpen(now)) return untilWindow(allowed, windows, now);
  const [obstacle] = obstacles;
  return obstacle === undefined ? { reboots: true } : waits(obstacle);
};

/** Openings that are tried to find one at which both are open. */
const MAX_OPENINGS = 400;

/** Waits until both the policy and the configuration of this machine allow a reboot. */
const untilWindow = (allowed: Windows, own: Windows, now: Date): RebootVerdict => {
  let at: Date | undefined = now;
  for (let tried = 0; tried < MAX_OPENINGS && at; tried++) {
    const next: readonly Date[] = [allowed.opensAfter(at), own.opensAfter(at)].flatMap((date) => date ?? []);
    at = next.toSorted((a, b) => a.getTime() - b.getTime())[0];
    if (at && allowed.isOpen(at) && own.isOpen(at))
      return waits(`the window that opens at ${formatTime(at)}`, at);
  }
  return waits('a window: those of the reboot policy and of the configuration of this machine never meet');
};
