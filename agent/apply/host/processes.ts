import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

/** Numbers of the living processes that belong to one command. @param leader the command itself, as long as it was not waited for */
export type Processes = (leader?: number) => readonly number[];

/** In the environment of a command and of all that it starts. */
export const MARK = 'FLEET_FERRY_COMMAND';

/**
 * The processes with a mark in their environment, and the descendants of those and of the leader: a session of its own and a
 * parent that ended hide none of them. What cleared its environment is found only while its parent lives.
 */
export const markedBy =
  (mark: string): Processes =>
  (leader) => {
    const line = `${MARK}=${mark}`;
    const all = living();
    const found = new Set(
      all.flatMap(({ pid }) =>
        pid === leader || read(pid, 'environ').split('\0').includes(line) ? [pid] : [],
      ),
    );
    for (let before = -1; before !== found.size; ) {
      before = found.size;
      for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
    }
    found.delete(process.pid);
    return [...found];
  };

/**
 * The processes in the control group of this process and below it, without this process and those that started it. Only where the
 * group is of a unit that runs nothing else.
 */
export const inOwnGroup: Processes = () => {
  const own = groupOf(process.pid);
  if (own === undefined || own === '/') return [];
  const all = living();
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const spared = new Set<number>();
  for (
    let pid: number | undefined = process.pid;
    pid !== undefined && !spared.has(pid);
    pid = parents.get(pid)
  )
    spared.add(pid);
  return all.flatMap(({ pid }) => {
    const group = groupOf(pid);
    return !spared.has(pid) && (group === own || group?.startsWith(`${own}/`)) ? [pid] : [];
  });
};

/** The unit whose control group this process is in: 'fleet-agent-runner@4f1c.service'; undefined without systemd. */
export const ownUnit = (): string | undefined =>
  groupOf(process.pid)
    ?.split('/')
    .findLast((part) => part.endsWith('.service'));

/**
 * In systemd's own hierarchy, or the only one (cgroups(7)). In a container, the former may be that of the machine, with the path / alone: it is
 * skipped.
 */
const groupOf = (pid: number): string | undefined => {
  const lines = read(pid, 'cgroup').split('\n');
  const line = lines.find((it) => /:name=systemd:\/./.test(it)) ?? lines.find((it) => it.startsWith('0::'));
  return line?.split(':').slice(2).join(':');
};

/** Stops all of them before it kills the first, so that none starts another meanwhile. Returns before they have ended. */
export const kill = (find: Processes, leader?: number): void => {
  const stopped = new Set<number>();
  for (;;) {
    const more = find(leader).filter((pid) => !stopped.has(pid));
    if (more.length === 0) break;
    for (const pid of more) {
      stopped.add(pid);
      send(pid, 'SIGSTOP');
    }
  }
  for (const pid of stopped) send(pid, 'SIGKILL');
};

const ASK_MS = 20;
/** A process that waits for a disk ends when the disk answers. */
const MAX_ASKED = 250;

/** Kills until none is left, five seconds at most. */
export const killAll = async (find: Processes): Promise<void> => {
  for (let asked = 0; asked < MAX_ASKED && find().length > 0; asked += 1) {
    kill(find);
    await setTimeout(ASK_MS);
  }
};

const send = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {
    // It has just ended, or is another user's.
  }
};

type Living = { readonly pid: number; readonly parent: number };

const living = (): readonly Living[] =>
  readdirSync('/proc').flatMap((name): readonly Living[] => {
    if (!/^\d+$/.test(name)) return [];
    // proc(5): '12 (a name) S 1 ...'; Z and X have ended.
    const text = read(Number(name), 'stat');
    const [state, parent] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return text === '' || state === 'Z' || state === 'X'
      ? []
      : [{ pid: Number(name), parent: Number(parent) }];
  });

/** '' for a process that has ended or that this one may not look into. */
const read = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
};
