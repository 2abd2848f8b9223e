import { readFileSync } from 'node:fs';

/** The boot id of the kernel, and when process 1 started, in ticks of that kernel (proc(5), stat field 22). */
export const readBoot = (): string | undefined => {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync('/proc/1/stat', 'utf8');
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return started === undefined ? undefined : `${id} ${started}`;
  } catch {
    return undefined;
  }
};
