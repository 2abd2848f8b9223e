import { fileURLToPath } from 'node:url';
import { type Command, Config } from '@oclif/core';
import { vi } from 'vitest';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Runs one command in this process, as the program would, and gives what it printed and its exit code. */
export type Ran = {
  readonly out: string;
  readonly err: string;
  readonly code: number;
  /** Standard output read as JSON, for --json. */
  readonly json: () => unknown;
};

let config: Promise<Config> | undefined;

const loadConfig = (): Promise<Config> => {
  config ??= Config.load({
    root: ROOT,
    pjson: {
      name: 'fleet-scheduler',
      version: '0.0.0',
      oclif: { bin: 'fleet-scheduler', commands: undefined },
    },
  });
  return config;
};

type CommandClass = { new (argv: string[], config: Config): Command };

export const runCommandClass = async (command: CommandClass, argv: readonly string[]): Promise<Ran> => {
  const [out, err]: [string[], string[]] = [[], []];
  const before = process.exitCode;
  // oclif prints with console.log, long answers are written to standard output, our commands talk to people on standard error.
  const log = vi.spyOn(console, 'log').mockImplementation((line: unknown = '') => {
    out.push(`${String(line)}\n`);
  });
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out.push(String(text));
    return true;
  });
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err.push(String(text));
    return true;
  });
  const forget = rememberListeners();
  const instance = new command([...argv], await loadConfig());
  process.exitCode = undefined;
  try {
    await (instance as unknown as { _run: () => Promise<unknown> })._run();
    const code = exitCode();
    return { out: out.join(''), err: err.join(''), code, json: () => JSON.parse(out.join('')) as unknown };
  } finally {
    log.mockRestore();
    stdout.mockRestore();
    write.mockRestore();
    process.exitCode = before;
    forget();
  }
};

/** Each command of a process waits for signals of its own; a test runs hundreds in one. */
const rememberListeners = (): (() => void) => {
  const known = SIGNALS.map((signal) => [signal, new Set(process.listeners(signal))] as const);
  return () => {
    for (const [signal, before] of known)
      for (const listener of process.listeners(signal))
        if (!before.has(listener)) process.off(signal, listener);
  };
};

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Read anew: the command has set it meanwhile, which the type of the assignment above does not know. */
const exitCode = (): number => Number(process.exitCode ?? 0);
