import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { defined } from '#bundles/defined';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { errno, hostError } from '../host-error.ts';

/** The remains of a run of a playbook that did not end well, for the next one. Names are as the playbook has them, without values. */
export type Unfinished = {
  /** Notifications whose handlers had not all run; `done`: the names of those that had. */
  readonly notified: readonly {
    readonly host: string;
    readonly topic: string;
    readonly done: readonly string[];
  }[];
  /** Names under which the results of changed tasks were registered. */
  readonly registers: readonly string[];
  /** Tasks with a condition that ran. */
  readonly ran: readonly string[];
  /** The task in which the run was cut off; absent for a run that came to its end. */
  readonly cutOff?: string;
};

type Line =
  | { readonly type: 'task'; readonly task: string; readonly notify: readonly string[] }
  | { readonly type: 'notified'; readonly host: string; readonly topic: string }
  | { readonly type: 'registered'; readonly name: string }
  | {
      readonly type: 'done';
      readonly handler: boolean;
      readonly host: string;
      readonly task: string;
      /** It ran, and has a condition. */
      readonly ran: boolean;
    }
  | { readonly type: 'stats' };

/** The file that callback-plugin.ts writes while a playbook runs, below the agent's state directory. A run that ends well removes it. */
export const progressFile = (state: string, record: string): string =>
  join(state, 'playbooks', `${record}.ndjson`);

/** @returns undefined if the last run ended well, or there was none */
export const readUnfinished = async (file: string): Promise<Unfinished | undefined> => {
  try {
    return unfinishedFrom(await readFile(file, 'utf8'));
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${file}`);
  }
};

/** From the lines of a run that was cut off anywhere. A task that was under way may have changed something: what it notifies counts. */
export const unfinishedFrom = (text: string): Unfinished => {
  const notified = new Map<string, { host: string; topic: string; done: string[] }>();
  const registers = new Set<string>();
  const ran = new Set<string>();
  let open: Extract<Line, { type: 'task' }> | undefined;
  let last: string | undefined;
  const note = (host: string, topic: string) => {
    const key = JSON.stringify([host, topic]);
    // The order of the notifications: what is done counts for all before.
    notified.delete(key);
    notified.set(key, { host, topic, done: [] });
  };
  for (const line of text.split('\n').flatMap(parseLine))
    switch (line.type) {
      case 'task':
        open = line;
        last = line.task;
        break;
      case 'notified':
        note(line.host, line.topic);
        break;
      case 'registered':
        registers.add(line.name);
        break;
      case 'done':
        open = undefined;
        if (line.ran) ran.add(line.task);
        if (line.handler)
          for (const entry of notified.values()) if (entry.host === line.host) entry.done.push(line.task);
        break;
      case 'stats':
        last = undefined;
        break;
    }
  for (const topic of open?.notify ?? []) note(LOCALHOST, topic);
  return defined({
    notified: [...notified.values()],
    registers: [...registers],
    ran: [...ran],
    cutOff: last,
  });
};

/** The host of a task that was under way: a playbook has no other, unless it adds some. */
const LOCALHOST = 'localhost';

/** The last line of a run that was cut off may be half a line. */
const parseLine = (line: string): readonly Line[] => {
  try {
    return line === '' ? [] : [JSON.parse(line) as Line];
  } catch {
    return [];
  }
};

/** Begins the progress of a run with what the former one left, which counts until this run has dealt with it. */
export const beginProgress = async (file: string, before: Unfinished | undefined): Promise<void> => {
  const lines: readonly Line[] = before
    ? [
        ...before.notified.flatMap(({ host, topic, done }): readonly Line[] => [
          { type: 'notified', host, topic },
          ...done.map((task): Line => ({ type: 'done', handler: true, host, task, ran: false })),
        ]),
        ...before.registers.map((name): Line => ({ type: 'registered', name })),
        ...before.ran.map(
          (task): Line => ({ type: 'done', handler: false, host: LOCALHOST, task, ran: true }),
        ),
      ]
    : [];
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    await writeFileAtomically(file, Buffer.from(text), 0o600);
  } catch (error) {
    throw hostError(error, 'recording the run of a playbook');
  }
};

export const forgetProgress = (file: string): Promise<void> => rm(file, { force: true });
