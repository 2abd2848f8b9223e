import { Diff } from './commands/diff.ts';
import { Doctor } from './commands/doctor.ts';
import { Enroll } from './commands/enroll.ts';
import { History } from './commands/history.ts';
import { Hold } from './commands/hold.ts';
import { Import } from './commands/import.ts';
import { PlugIn } from './commands/plug-in.ts';
import { Prune } from './commands/prune.ts';
import { Release } from './commands/release.ts';
import { ReportsExport } from './commands/reports/export.ts';
import { RestoreSecrets } from './commands/restore-secrets.ts';
import { Retry } from './commands/retry.ts';
import { Rollback } from './commands/rollback.ts';
import { Run } from './commands/run.ts';
import { RunStep } from './commands/run-step.ts';
import { Status } from './commands/status.ts';

/** The verbs of fleet-agent by oclif id. */
export const COMMANDS = {
  diff: Diff,
  doctor: Doctor,
  enroll: Enroll,
  history: History,
  hold: Hold,
  import: Import,
  'plug-in': PlugIn,
  prune: Prune,
  release: Release,
  'reports:export': ReportsExport,
  'restore-secrets': RestoreSecrets,
  retry: Retry,
  rollback: Rollback,
  run: Run,
  'run-step': RunStep,
  status: Status,
};
