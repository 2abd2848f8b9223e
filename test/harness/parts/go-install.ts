import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import type { Machine } from './part.ts';

/** Builds a Go program (`path@version`) into `target`/bin. Minutes when the module cache is cold. */
export const goInstall = async (program: string, target: string, machine: Machine): Promise<void> => {
  await runOrFail(['go', 'install', '-trimpath', '-ldflags=-s -w', program], {
    env: { ...machine.env, GOBIN: join(target, 'bin'), CGO_ENABLED: '0' },
    signal: machine.signal,
  });
};
