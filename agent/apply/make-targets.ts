import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { hostTarget } from './host/host-target.ts';
import { runCommand } from './host/run-command.ts';
import type { Target } from './target.ts';

/** What this agent applies packages to, as its configuration says. */
export const makeTargets = async (config: Config): Promise<readonly Target[]> => [
  hostTarget({
    root: config.root,
    services: config.services,
    backups: join(config.state, 'replaced'),
    isRoot: process.getuid?.() === 0,
    run: runCommand,
  }),
];
