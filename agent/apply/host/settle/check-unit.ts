import { setTimeout as sleep } from 'node:timers/promises';
import type { HostCheck } from '#bundles/formats/bundle/host-package';
import type { CheckResult } from '../../../model/target.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import {
  describeUnit,
  hasRun,
  isFailed,
  isLooping,
  readUnitState,
  STAYS_UP_SECONDS,
} from '../systemd/unit-state.ts';

type UnitCheck = Extract<HostCheck, { type: 'unit' }>;

const POLL_MS = 250;
/** systemd's default limit for a start (DefaultTimeoutStartSec=), after which it reports the unit as failed. */
const START_MS = 90_000;

/**
 * Passes if the unit is active and neither restarts nor stops for `stableSeconds` (checklist H4), or for a minute if systemd has
 * restarted it several times. Fails as soon as the unit fails, restarts or stops.
 */
export const checkUnit = async (
  options: HostTargetOptions,
  check: UnitCheck,
  signal: AbortSignal,
): Promise<CheckResult> => {
  const { name, unit, stableSeconds } = check;
  const inert = whyUnmanaged(options);
  if (inert) return { name, outcome: 'skipped', message: `${unit} is not watched: ${inert}` };
  const failed = (message: string): CheckResult => ({
    name,
    outcome: 'failed',
    message: `${unit} ${message}`,
  });

  const begin = performance.now();
  const first = await readUnitState(options, unit, signal);
  // A unit that ends every few seconds would pass between two restarts.
  const enough = isLooping(first) ? Math.max(stableSeconds, STAYS_UP_SECONDS) : stableSeconds;
  let activeSince: number | undefined;
  for (let state = first; ; state = await readUnitState(options, unit, signal)) {
    const now = performance.now();
    if (state.load !== 'loaded') return failed(`is ${state.load}`);
    if (hasRun(state)) return { name, outcome: 'passed', message: `${unit} ran to its end` };
    const restarts = state.restarts - first.restarts;
    if (restarts > 0) return failed(`restarted ${restarts} time(s) and is ${describeUnit(state)}`);
    if (state.active === 'failed') return failed(`is ${describeUnit(state)}`);
    // A manual restart resets the count to 0, but has a new invocation id.
    if (activeSince !== undefined && state.invocation !== first.invocation)
      return failed('was restarted meanwhile');
    if (state.active === 'active' || state.active === 'reloading') {
      activeSince ??= now;
      if (now - activeSince >= enough * 1000)
        return { name, outcome: 'passed', message: `${unit} is active, and was for ${enough} s` };
    } else if (state.active === 'activating') {
      if (now - begin > START_MS) return failed(`is still ${describeUnit(state)} after ${START_MS / 1000} s`);
      if (activeSince !== undefined && isFailed(state)) return failed(`is ${describeUnit(state)}`);
    } else return failed(`is ${describeUnit(state)}`);
    await sleep(POLL_MS, undefined, { signal });
  }
};
