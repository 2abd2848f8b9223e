import type { BackupLimits } from './backups/make-room.ts';

export type CommandResult = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs a program to its end, no shell. A failing, missing or timed-out program is a result; only an abort throws. */
export type Run = (
  argv: readonly string[],
  options: {
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
    readonly cwd?: string;
    /** The whole environment of the program. */
    readonly env?: Readonly<Record<string, string>>;
  },
) => Promise<CommandResult>;

/** `backups` is a folder in the agent's state: what was replaced, by digest, and what each unit was last started with. */
export type HostTargetOptions = BackupLimits & {
  /** Directory that stands for '/'. */
  readonly root: string;
  readonly services: 'systemd' | 'none';
  /** Whether owners can be set. */
  readonly isRoot: boolean;
  readonly run: Run;
};

/** Why units are not started and stopped here, or undefined when they are (design.md, "Host root"). */
export const whyInert = (options: HostTargetOptions): 'no init' | 'root is not /' | undefined => {
  if (options.services === 'none') return 'no init';
  return options.root === '/' ? undefined : 'root is not /';
};

/** What programs see: the same on every host, and nothing of the agent's own environment. */
export const COMMAND_ENV = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
} as const;
