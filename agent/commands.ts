import type { Commands } from '#cli/commands';

/** The verbs of fleet-agent by oclif id. Only the requested one is loaded. */
export const COMMANDS = {
  diff: () => import('./commands/diff.ts'),
  doctor: () => import('./commands/doctor.ts'),
  enroll: () => import('./commands/enroll.ts'),
  history: () => import('./commands/history.ts'),
  hold: () => import('./commands/hold.ts'),
  import: () => import('./commands/import.ts'),
  'load-images': () => import('./commands/load-images.ts'),
  'plug-in': () => import('./commands/plug-in.ts'),
  prune: () => import('./commands/prune.ts'),
  release: () => import('./commands/release.ts'),
  'reports:export': () => import('./commands/reports/export.ts'),
  'restore-secrets': () => import('./commands/restore-secrets.ts'),
  retry: () => import('./commands/retry.ts'),
  rollback: () => import('./commands/rollback.ts'),
  run: () => import('./commands/run.ts'),
  'run-step': () => import('./commands/run-step.ts'),
  status: () => import('./commands/status.ts'),
  values: () => import('./commands/values.ts'),
  'values:set': () => import('./commands/values/set.ts'),
  'values:unset': () => import('./commands/values/unset.ts'),
} satisfies Commands;
