import type { AptChange } from '../debs/simulate-apt.ts';
import type { DebHook } from '../step-request.ts';
import type { PlanContext } from './plan-context.ts';

/**
 * The hooks that run for these changes: `before` and `after` an upgrade, `after` an installation, `restore` when the release goes
 * back to an older version. Where somebody at the host installed a newer version, putting it back restores nothing.
 */
export const hooksFor = (
  { wanted, owned }: Pick<PlanContext, 'wanted' | 'owned'>,
  changes: readonly AptChange[],
): readonly DebHook[] =>
  (wanted?.install?.hooks ?? [])
    .flatMap((hook) => {
      const change = changes.find(({ name }) => name === hook.package);
      if (!change || change.to === null) return [];
      const { from, to } = change;
      const wentBack = owned.debs.get(hook.package)?.version !== to;
      return hookTimesOf(change, wentBack).flatMap((when): readonly Omit<DebHook, 'program'>[] => {
        const path = hook[when];
        if (path === undefined) return [];
        return [{ when, package: hook.package, from, to, path, timeoutSeconds: hook.timeoutSeconds }];
      });
    })
    .map((hook, index) => ({ ...hook, program: `hooks/${index}` }));

const hookTimesOf = ({ from, isDowngrade }: AptChange, wentBack: boolean): readonly DebHook['when'][] => {
  if (isDowngrade) return wentBack ? ['restore'] : [];
  return from === null ? ['after'] : ['before', 'after'];
};

/** 'before mosquitto: /usr/lib/press/dump'. */
export const describeHook = ({ when, package: name, path }: Pick<DebHook, 'when' | 'package' | 'path'>) =>
  `${when} ${name}: ${path}`;

/** A rollback does not undo changes of data by maintainer scripts and services of the newer version. */
export const irreversibleNotes = (
  changes: readonly AptChange[],
  hooks: readonly DebHook[],
): readonly string[] => {
  const names = changes
    .filter(({ name, isDowngrade }) => isDowngrade && !hooks.some((hook) => hook.package === name))
    .map(({ name }) => name);
  return names.length > 0 ? [`data of ${names.join(' and ')} stay as the newer version left them`] : [];
};
