import type { BackupLimits } from './backups/ensure-room.ts';

export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a program to its end without a shell. Failure, absence and timeout of the program are results; only an abort throws. */
export type Run = (
  argv: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly cwd?: string;
    /** The complete environment of the program. */
    readonly env?: Readonly<Record<string, string>>;
    /** By which processes of the program are found, also by a later process of the agent. By default one that no other program has. */
    readonly mark?: string;
  },
) => Promise<CommandResult>;

/** `backups` is a folder in the agent's state: copies of replaced files by digest, and the files that each unit was last started with. */
export type HostTargetOptions = BackupLimits & {
  /** The agent's state directory: its store, and the requests to the runner. */
  readonly state: string;
  /** Directory that stands for '/'. */
  readonly root: string;
  readonly services: 'systemd' | 'none';
  /** True if the agent can set owners. */
  readonly isRoot: boolean;
  readonly run: Run;
};

/** The options that a question to systemd needs. */
export type SystemdOptions = Pick<HostTargetOptions, 'root' | 'services' | 'run'>;

/** Why units are not started and stopped, or undefined if they are (design.md, "Host root"). */
export const whyUnmanaged = (options: SystemdOptions): 'no init' | 'root is not /' | undefined => {
  if (options.services === 'none') return 'no init';
  return options.root === '/' ? undefined : 'root is not /';
};

/** The environment of programs: the same on every host, without variables of the agent's own environment. */
export const COMMAND_ENV = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;
