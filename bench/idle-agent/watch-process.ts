import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '../measure.ts';

export type Idle = {
  readonly seconds: number;
  /** Resident memory in MiB; `ownMiB` of it is not shared with other processes of the same program. */
  readonly medianMiB: number;
  readonly maxMiB: number;
  readonly ownMiB: number;
  readonly cpuSeconds: number;
};

/** Samples a process each second by /proc (Linux). @param hertz ticks of a CPU second, `getconf CLK_TCK` */
export const watchProcess = async (pid: number, seconds: number, hertz: number): Promise<Idle> => {
  const begin = performance.now();
  const cpuBefore = cpuTicks(pid);
  const total: number[] = [];
  const own: number[] = [];
  while (performance.now() - begin < seconds * 1000) {
    await sleep(1000);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    total.push(mebibytes(status, 'VmRSS'));
    own.push(mebibytes(status, 'RssAnon'));
  }
  return {
    seconds: (performance.now() - begin) / 1000,
    medianMiB: median(total),
    maxMiB: Math.max(...total),
    ownMiB: median(own),
    cpuSeconds: (cpuTicks(pid) - cpuBefore) / hertz,
  };
};

const mebibytes = (status: string, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;

/** User and system time: fields 14 and 15 of proc(5), counted after the name, which may contain spaces and brackets. */
const cpuTicks = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
};
