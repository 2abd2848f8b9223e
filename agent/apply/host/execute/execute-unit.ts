import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import { type HostTargetOptions, whyInert } from '../host-options.ts';
import type { UnitDetail, UnitRemovalDetail } from '../host-step.ts';
import { forgetStarted, isOutdated, linksOf, RELOAD, readStarted, writeStarted } from '../systemd/started.ts';
import { mustSystemctl, systemctl } from '../systemd/systemctl.ts';
import { isEnabled, isUp, readEnablement, readUnitState } from '../systemd/unit-state.ts';

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
  if (enablement) {
    await mustSystemctl(options, [enablement, '--', enablement === 'disable' ? name : file], signal);
    if (enablement === 'enable' || enablement === 'reenable') await refuseStatic(options, name, signal);
    await forgetStarted(options, linksOf(name));
  }
  await act(options, detail, signal);
  return done(step);
};

/** systemctl enable succeeds without effect on a unit that has no [Install] section: the unit would be missing after a boot. */
const refuseStatic = async (options: HostTargetOptions, name: string, signal: AbortSignal): Promise<void> => {
  const word = await readEnablement(options, name, signal);
  if (isEnabled(word)) return;
  throw new FleetError('UNIT_FAILED', `${name} cannot be enabled: it stays ${word}`, {
    hint: 'Give it an [Install] section with WantedBy=, or set enabled: false',
  });
};

const act = async (
  options: HostTargetOptions,
  { name, activity, inputs }: UnitDetail,
  signal: AbortSignal,
): Promise<void> => {
  switch (activity) {
    case null:
      return;
    case 'stop':
      await stopIfLoaded(options, name, signal);
      return forgetStarted(options, name);
    case 'start':
    case 'restart': {
      const state = await readUnitState(options, name, signal);
      const current = !isOutdated(await readStarted(options, name), inputs);
      if (isUp(state) && current)
        return activity === 'start' ? writeStarted(options, name, inputs) : undefined;
      // systemd refuses to start a unit that failed too often until reset-failed.
      await systemctl(options, ['reset-failed', '--', name], signal);
      await mustSystemctl(options, [isUp(state) ? 'restart' : 'start', '--', name], signal);
      return writeStarted(options, name, inputs);
    }
    default:
      return activity satisfies never;
  }
};

/** Stops and disables a unit to be removed; a later step removes its file. */
export const executeUnitRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { name }: UnitRemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const word = await readEnablement(options, name, signal);
  await forgetStarted(options, linksOf(name));
  if (whyInert(options) === undefined) {
    const state = await readUnitState(options, name, signal);
    if (state.active !== 'inactive' && state.active !== 'failed') await stopIfLoaded(options, name, signal);
    if (word !== 'not-found' && word !== 'generated')
      await mustSystemctl(options, ['disable', '--', name], signal);
    // Otherwise systemd keeps listing the removed unit as failed.
    await systemctl(options, ['reset-failed', '--', name], signal);
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
