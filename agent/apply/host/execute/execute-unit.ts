import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import type { UnitDetail, UnitRemovalDetail } from '../host-step.ts';
import { forgetStarted, isOutdated, linksOf, RELOAD, readStarted, writeStarted } from '../systemd/started.ts';
import { socketsOf, startSocket } from '../systemd/start-socket.ts';
import { mustSystemctl, systemctl } from '../systemd/systemctl.ts';
import {
  isEnabled,
  isRunning,
  isUp,
  readEnablement,
  readStates,
  readUnitState,
} from '../systemd/unit-state.ts';

const done = ({ key, outcome, reason }: Step): StepResult => ({ key, outcome, reason });

export const executeReload = async (
  options: HostTargetOptions,
  step: Step,
  signal: AbortSignal,
): Promise<StepResult> => {
  await mustSystemctl(options, ['daemon-reload'], signal);
  await forgetStarted(options, RELOAD);
  return done(step);
};

/** @throws FleetError UNIT_FAILED if systemd refuses or the unit does not become active */
export const executeUnit = async (
  options: HostTargetOptions,
  step: Step,
  detail: UnitDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { name, file, unmask, enablement } = detail;
  if (unmask) {
    await mustSystemctl(options, ['unmask', '--', name], signal);
    await mustSystemctl(options, ['unmask', '--runtime', '--', name], signal);
  }
  // A generator may have made the unit since the plan, such as that of a Podman which the same package installs.
  if (enablement && (await readEnablement(options, name, signal)) !== 'generated') {
    await mustSystemctl(options, [enablement, '--', enablement === 'disable' ? name : file], signal);
    if (enablement === 'enable' || enablement === 'reenable') await refuseStatic(options, name, signal);
    await forgetStarted(options, linksOf(name));
  }
  const hasActed = await act(options, detail, signal);
  return hasActed || enablement || unmask ? done(step) : { ...done(step), outcome: 'unchanged' };
};

/** systemctl enable succeeds without effect on a unit that has no [Install] section: the unit would be missing after a boot. */
const refuseStatic = async (options: HostTargetOptions, name: string, signal: AbortSignal): Promise<void> => {
  const word = await readEnablement(options, name, signal);
  if (isEnabled(word)) return;
  throw new FleetError('UNIT_FAILED', `${name} cannot be enabled: it stays ${word}`, {
    hint: 'Give it an [Install] section with WantedBy=, or set enabled: false',
  });
};

/** Returns false for a unit that did not have to be restarted, because it does not run. */
const act = async (
  options: HostTargetOptions,
  { name, activity, inputs, sockets = [] }: UnitDetail,
  signal: AbortSignal,
): Promise<boolean> => {
  switch (activity) {
    case null:
      return true;
    case 'stop':
      await stopIfLoaded(options, name, signal);
      await forgetStarted(options, name);
      return true;
    case 'refresh': {
      const state = await readUnitState(options, name, signal);
      // A one-shot unit that runs now ends as it began; its next run gets the new files.
      const restarts = isRunning(state) && !state.oneshot;
      const verb = state.load === 'loaded' ? 'try-restart' : 'stop';
      if (restarts) {
        await systemctl(options, ['reset-failed', '--', name], signal);
        await mustSystemctl(options, [verb, '--', name], signal);
      }
      // The mark of the change. A unit that another package starts keeps the record of that start.
      if ((await readStarted(options, name)) === 'stale') await forgetStarted(options, name);
      return restarts;
    }
    case 'start':
    case 'restart': {
      const state = await readUnitState(options, name, signal);
      const current = !isOutdated(await readStarted(options, name), inputs);
      if (isUp(state) && current) {
        if (activity === 'start') await writeStarted(options, name, inputs);
        return true;
      }
      // systemd refuses to start a unit that failed too often until reset-failed.
      await systemctl(options, ['reset-failed', '--', name], signal);
      if (name.endsWith('.socket')) await startSocket(options, name, state, signal);
      else if (isUp(state)) await mustSystemctl(options, ['restart', '--', name], signal);
      else {
        const first = await socketsOf(options, name, sockets, signal);
        await mustSystemctl(options, ['start', '--', ...first, name], signal);
      }
      await writeStarted(options, name, inputs);
      return true;
    }
    default:
      return activity satisfies never;
  }
};

/** Stops and disables a unit to be removed; a later step removes its file. */
export const executeUnitRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { name, stops = [] }: UnitRemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const word = await readEnablement(options, name, signal);
  await forgetStarted(options, linksOf(name));
  if (whyUnmanaged(options) === undefined) {
    const states = await readStates(options, [name, ...stops], signal);
    const running = [...states].filter(([, state]) => isRunning(state)).map(([unit]) => unit);
    // In this order: what starts them stops first.
    for (const unit of running) await stopIfLoaded(options, unit, signal);
    if (word !== 'not-found' && word !== 'generated')
      await mustSystemctl(options, ['disable', '--', name], signal);
    // Otherwise systemd keeps listing the removed unit as failed.
    await systemctl(options, ['reset-failed', '--', name, ...stops], signal);
    await forgetStarted(options, name);
  } else if (word !== 'not-found') await mustSystemctl(options, ['disable', '--', name], signal);
  return done(step);
};

/** A unit whose file a Debian package took away may be unloaded between the look at it and its stop. */
const stopIfLoaded = async (options: HostTargetOptions, name: string, signal: AbortSignal): Promise<void> => {
  const { code } = await systemctl(options, ['stop', '--', name], signal);
  if (code === 0) return;
  const { load, active } = await readUnitState(options, name, signal);
  if (load !== 'not-found' || active !== 'inactive')
    await mustSystemctl(options, ['stop', '--', name], signal);
};
