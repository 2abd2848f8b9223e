import type { HostUnit } from '#bundles/formats/bundle/host-package';
import type { Drift } from '../../../model/target.ts';
import { unitKey } from '../owned/owned-state.ts';
import {
  describeUnit,
  isEnabled,
  isFailed,
  isLooping,
  isMasked,
  isUp,
  type SeenUnit,
  type UnitState,
} from '../systemd/unit-state.ts';

/** Differences between a unit and its desired state. Without a live state (another root) only its enablement is compared. */
export const observeUnit = (unit: HostUnit, { enablement, state }: SeenUnit): readonly Drift[] => {
  const { name } = unit;
  const drift = (what: string, message: string): Drift => ({
    key: unitKey(name),
    what,
    message: `${name} ${message}`,
  });
  if (enablement === 'not-found' && state?.load !== 'loaded') return [drift('missing', 'does not exist')];
  if (isMasked(enablement) || state?.load === 'masked')
    return unit.enabled || unit.active ? [drift('masked', 'is masked, so it cannot start')] : [];
  return [
    ...(unit.enabled && !isEnabled(enablement)
      ? [drift('disabled', `is ${enablement}: it will not start at boot`)]
      : []),
    ...(!unit.enabled && (enablement === 'enabled' || enablement === 'enabled-runtime')
      ? [drift('enabled', 'is enabled, but should not start at boot')]
      : []),
    ...(state ? observeActivity(unit, state, drift) : []),
  ];
};

const observeActivity = (
  unit: HostUnit,
  state: UnitState,
  drift: (what: string, message: string) => Drift,
): readonly Drift[] => {
  const reload = state.needsReload
    ? [drift('needs-reload', 'has files that systemd has not read: daemon-reload')]
    : [];
  if (state.load !== 'loaded') return [drift('failed', `does not load: ${state.load}`), ...reload];
  if (unit.active && isFailed(state)) return [drift('failed', `is ${describeUnit(state)}`), ...reload];
  if (unit.active && !isUp(state)) return [drift('inactive', `is ${describeUnit(state)}`), ...reload];
  if (unit.active && isLooping(state))
    return [drift('restarting', 'does not stay up: systemd restarts it again and again'), ...reload];
  const runs = state.active === 'active' || state.active === 'reloading';
  if (!unit.active && runs && state.triggeredBy.length === 0)
    return [drift('active', 'runs, but should be stopped'), ...reload];
  return reload;
};
