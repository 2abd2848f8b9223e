import { FleetError } from '#bundles/errors';
import type { KeptHook } from './split-chart-output.ts';

const DELETED_AFTER: ReadonlySet<string> = new Set(['hook-succeeded', 'hook-failed']);
const UNINSTALL_HOOK = /(?:^|,)\s*(?:pre|post)-(?:delete|rollback)\b/;

/** Advice on kept hooks that have another meaning without Helm: they run at another moment, or nothing deletes them afterwards. */
export const keptHooks = (hooks: readonly KeptHook[], subject: string): readonly FleetError[] =>
  hooks.flatMap(({ kind, name, hook, deletePolicy, file }) => {
    const after = deletePolicy.split(',').map((word) => word.trim());
    const isDeleted =
      after.some((word) => DELETED_AFTER.has(word)) && !after.includes('before-hook-creation');
    const stays = isDeleted
      ? `${kind} ${name} is a hook that Helm deletes afterwards (${deletePolicy}), and nothing deletes it at the site`
      : undefined;
    const says = UNINSTALL_HOOK.test(hook)
      ? `${kind} ${name} is a hook for ${hook}, and runs as soon as it is applied`
      : stays;
    if (says === undefined) return [];
    return [
      new FleetError('CHART_FROZEN', says, {
        subject,
        at: { file },
        hint: UNINSTALL_HOOK.test(hook)
          ? 'Switch it off in the values, or leave hooks out with hooks: drop'
          : 'Give a Job ttlSecondsAfterFinished: it is removed after its end, and runs again when it changes',
      }),
    ];
  });
