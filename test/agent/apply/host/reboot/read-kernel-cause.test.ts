import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Run } from '../../../../../agent/apply/host/host-options.ts';
import { readKernelCause } from '../../../../../agent/apply/host/reboot/read-kernel-cause.ts';

const RUNNING = readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim();

/** A host with these kernels, the newest first: the answers of linux-version 4.12 of linux-base and of dpkg-query. */
const hostWith = (newestFirst: readonly string[], states: Readonly<Record<string, string>> = {}): Run => {
  const order = (one: string): number => newestFirst.indexOf(one);
  return async ([program, ...words]) => {
    const lines = (of: readonly string[]) => ({
      code: 0,
      stdout: of.map((line) => `${line}\n`).join(''),
      stderr: '',
    });
    if (program === 'dpkg-query')
      return lines(Object.entries(states).map(([name, state]) => `linux-image-${name} ${state}`));
    if (words[0] === 'list')
      return lines(newestFirst.filter((name) => name !== RUNNING || states[name] !== undefined));
    if (words[0] === 'sort') return lines(words.slice(2).toSorted((a, b) => order(a) - order(b)));
    return { code: order(words[1] ?? '') < order(words[3] ?? '') ? 0 : 1, stdout: '', stderr: '' };
  };
};

const ask = (run: Run) => readKernelCause({ run, signal: new AbortController().signal });

describe('an installed kernel', () => {
  it('causes a reboot when its version is higher than that of the running kernel', async () => {
    expect(await ask(hostWith(['99.0.10-1-amd64', '99.0.9-1-amd64', RUNNING]))).toEqual({
      key: 'kernel:99.0.10-1-amd64',
      message: `kernel 99.0.10-1-amd64 is installed, and ${RUNNING} runs`,
    });
  });

  it('requests no reboot for an older or running kernel, or without linux-version', async () => {
    expect(await ask(hostWith([RUNNING, '1.0.0-1-amd64']))).toBeUndefined();
    expect(await ask(hostWith([RUNNING], { [RUNNING]: 'installed' }))).toBeUndefined();
    expect(await ask(async () => ({ code: 127, stdout: '', stderr: '' }))).toBeUndefined();
  });

  it('is ignored while its dpkg state is not "installed"', async () => {
    const kernels = ['99.0.10-1-amd64', '99.0.9-1-amd64', RUNNING];
    const states = { '99.0.10-1-amd64': 'half-configured', '99.0.9-1-amd64': 'installed' };
    expect(await ask(hostWith(kernels, states))).toMatchObject({ key: 'kernel:99.0.9-1-amd64' });
  });
});
