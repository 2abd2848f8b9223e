import { defined } from '#bundles/defined';
import type { Agent } from '../store/agent.ts';
import { endHoldOnTime } from '../apply/operator/hold-site.ts';
import type { SiteHold } from '../store/conditions.ts';
import { readSiteHold } from '../store/site-hold.ts';
import { type PackageResult, resultOf, withResumed } from '../apply/package-result.ts';
import { resume } from '../apply/perform.ts';
import { pruneCopies } from '../apply/prune-copies.ts';
import { reconcile } from '../apply/reconcile.ts';
import { yieldToOthers } from '../apply/yield-to-others.ts';
import { releaseImages } from '../images/release-images.ts';
import { forgetPointers } from '../store/applied/pointers.ts';
import { forgetOldOperations } from '../store/journal/operations.ts';
import { frozenBy } from '../acquire/staleness/frozen-by.ts';
import { RESERVED_BYTES } from '../acquire/blobs/free-space.ts';
import type { Staleness } from '../acquire/staleness/read-staleness.ts';
import { recordStaleness } from '../acquire/staleness/record-staleness.ts';
import { compactOutbox } from '../store/outbox/compact-outbox.ts';
import { collectGarbage } from '../store/collect-garbage.ts';
import { type HealthWaits, observe, type PackageDrift } from '../observe/observe.ts';
import { judgeBoot } from '../observe/reboot/judge-boot.ts';
import { packageRebootWaits } from '../observe/reboot/package-reboot.ts';
import { keepRebooted, type MayReboot } from '../observe/reboot/keep-rebooted.ts';

export type Look = {
  readonly packages: readonly PackageResult[];
  readonly drift: readonly PackageDrift[];
  /** Set if no statement proves any more that the running release is the newest. */
  readonly stale?: Staleness;
  /** Set while an operator holds this machine as it is. */
  readonly held?: SiteHold;
};

export type LookRequest = {
  readonly mayBegin?: boolean;
  readonly waits?: HealthWaits | undefined;
  readonly leavesFailed?: boolean;
  /** Absent: this look reboots nothing. */
  readonly mayReboot?: MayReboot | undefined;
};

/**
 * One look of the daemon: finishes interrupted operations, applies pending packages and checks for drift.
 * @param mayBegin false outside the maintenance windows: no pending package begins; drift is handled as usual
 * @param leavesFailed true for an import: a package that fails now is not corrected in the same command, but at the next look
 * @param mayReboot only the daemon's: it reboots a machine that needs it, where the release has a policy for that
 * @param waits waits for the health of corrected and broken packages; by default the look itself waits
 */
export const lookAround = async (
  agent: Agent,
  { mayBegin = true, waits, leavesFailed = false, mayReboot }: LookRequest = {},
): Promise<Look> => {
  // A full disk ends the look at its first write, so what makes room comes before.
  if ((await agent.freeBytes(agent.state.directory)) < RESERVED_BYTES) await collectGarbage(agent.state);
  const stale = recordStaleness(agent);
  endHoldOnTime(agent);
  // Interrupted operations are finished even when stale, because a partial change is worse.
  const aside = mayBegin && !readSiteHold(agent) && !frozenBy(agent) ? await yieldToOthers(agent) : [];
  const resumed = await resume(agent);
  const rebootWaits = mayReboot && (() => packageRebootWaits(agent, mayReboot.windows));
  const packages = mayBegin
    ? withResumed(resumed, await reconcile({ ...agent, rebootWaits }, aside))
    : resumed.map(resultOf);
  const isWaiting = waits?.isWaiting ?? (() => false);
  judgeBoot(agent, isWaiting);
  // A package that has just changed is looked at first.
  if (resumed.length === 0 && packages.every(isUntouched)) await keepRebooted(agent, isWaiting, mayReboot);
  const held = readSiteHold(agent);
  // Packages are about to change, so their drift would be outdated before it is reported.
  const drift = agent.news?.aborted
    ? []
    : await observe(
        held || frozenBy(agent) ? onlyReporting(agent) : agent,
        waits,
        defined({
          settled: appliedPackages(packages),
          except: leavesFailed ? failedAttempts(packages) : undefined,
        }),
      );
  judgeBoot(agent, isWaiting);
  if (drift.some(({ error }) => error?.code === 'MISSING_BLOB')) forgetPointers(agent.state);
  await collectGarbage(agent.state);
  await pruneCopies(agent, 'too many');
  await releaseImages(agent);
  forgetOldOperations(agent.state);
  compactOutbox(agent);
  return defined({ packages, drift, stale, held });
};

/** Packages that this look has tried in vain; only an operation of its own says whether it was rolled back. */
const failedAttempts = (packages: readonly PackageResult[]): ReadonlySet<string> =>
  new Set(packages.flatMap(({ assignment, rolledBack }) => (rolledBack === undefined ? [] : [assignment])));

/** Held back, or known to fail: nothing was done in this look. */
const isUntouched = ({ outcome, rolledBack }: PackageResult): boolean =>
  (outcome === 'failed' || outcome === 'skipped') && rolledBack === undefined;

/** Packages that this look has applied, so that their checks have just passed. */
const appliedPackages = (packages: readonly PackageResult[]): ReadonlySet<string> =>
  new Set(
    packages.flatMap(({ assignment, outcome }) =>
      outcome === 'failed' || outcome === 'skipped' ? [] : [assignment],
    ),
  );

const onlyReporting = (agent: Agent): Agent => ({
  ...agent,
  policy: { ...agent.policy, onDrift: 'report' },
});
