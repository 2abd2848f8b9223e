import type { Commands } from '#cli/commands';

/** The verbs of fleet-export. Only the requested one is loaded. */
export const COMMANDS = {
  create: () => import('./commands/create.ts'),
  plan: () => import('./commands/plan.ts'),
  inspect: () => import('./commands/inspect.ts'),
  verify: () => import('./commands/verify.ts'),
  recheck: () => import('./commands/recheck.ts'),
  diff: () => import('./commands/diff.ts'),
  reports: () => import('./commands/reports.ts'),
  clean: () => import('./commands/clean.ts'),
  extract: () => import('./commands/extract.ts'),
  push: () => import('./commands/push.ts'),
  serve: () => import('./commands/serve.ts'),
  prune: () => import('./commands/prune.ts'),
} satisfies Commands;
