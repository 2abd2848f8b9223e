import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Identity } from '../store/identity.ts';
import { readReplaced } from '../store/applied/inventory.ts';
import type { State } from '../store/state.ts';
import type { BackupLimits } from './host/backups/ensure-room.ts';
import { hostTarget } from './host/host-target.ts';
import { runCommand } from './host/run-command.ts';
import type { Target } from '../model/target.ts';

/** Builds the configured targets. Connections are opened on first use. A host loads nothing of Kubernetes. */
export const createTargets = (config: Config, identity: Identity, state: State): Promise<readonly Target[]> =>
  Promise.all(
    config.targets.map(async (kind) => {
      switch (kind) {
        case 'host':
          return createHost(config, state);
        case 'kubernetes': {
          const { createKubernetes } = await import('./kubernetes/create-kubernetes.ts');
          return createKubernetes(config, identity, backupsOf(config, state));
        }
      }
    }),
  );

const createHost = (config: Config, state: State): Target =>
  hostTarget({
    state: config.state,
    root: config.root,
    services: config.services,
    ...backupsOf(config, state),
    isRoot: process.getuid?.() === 0,
    run: runCommand,
  });

/** Folder and limit for copies of replaced things, shared by files of the host and objects of the cluster. */
const backupsOf = ({ state: directory, replacedMib }: Config, state: State): BackupLimits => ({
  backups: join(directory, 'replaced'),
  maxBackupBytes: replacedMib * (1 << 20),
  pinnedBackups: () => readReplaced(state),
});
