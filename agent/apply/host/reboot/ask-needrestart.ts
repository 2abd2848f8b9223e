import { existsSync } from 'node:fs';
import { defined } from '#bundles/defined';
import { cutText } from '#cli/cut-text';
import { MAX_CAUSES, type RebootCause } from '../../../model/machine.ts';
import { runQuietly } from '../debs/apt.ts';
import type { Run } from '../host-options.ts';

export type NeedrestartAnswer = {
  readonly kernel?: RebootCause | undefined;
  readonly microcode?: RebootCause | undefined;
  /** Sorted. */
  readonly services: readonly string[];
};

const PROGRAM = '/usr/sbin/needrestart';

/** It reads the memory maps of all processes, which the restricted service may not: systemd runs it, as it runs a step. */
const SYSTEMD_RUN = [
  'systemd-run',
  '--quiet',
  '--pipe',
  '--wait',
  '--collect',
  '--property=RuntimeMaxSec=300',
  '--property=Nice=19',
  '--description=Fleet Ferry: what needs a restart',
  '--',
];

/** Runs needrestart(1) in batch mode, which restarts nothing. The answer is empty where it is not installed or fails. */
export const askNeedrestart = async (tools: {
  readonly run: Run;
  readonly signal: AbortSignal;
}): Promise<NeedrestartAnswer> => {
  if (!existsSync(PROGRAM)) return { services: [] };
  const { code, stdout } = await runQuietly(tools, [...SYSTEMD_RUN, PROGRAM, '-b', '-r', 'l']);
  return code === 0 ? parseNeedrestart(stdout) : { services: [] };
};

/** Text of one line that a program of the host printed. */
const MAX_TEXT = 128;

/**
 * Parses the batch output: NEEDRESTART-KSTA 2 and 3 are a kernel that is installed and does not run, NEEDRESTART-UCSTA 2 microcode that
 * is not loaded.
 */
export const parseNeedrestart = (text: string): NeedrestartAnswer => {
  const found = [...text.matchAll(/^NEEDRESTART-([A-Z]+): *(.*)$/gm)].map(
    ([, name = '', value = '']) => [name, cutText(value.trim(), MAX_TEXT)] as const,
  );
  const values = new Map(found);
  const said = (name: string): string => values.get(name) ?? '';
  const kernel = ['2', '3'].includes(said('KSTA')) && said('KEXP') !== '';
  const microcode = said('UCSTA') === '2' && said('UCEXP') !== '';
  return defined({
    kernel: kernel
      ? {
          key: `kernel:${said('KEXP')}`,
          message: `kernel ${said('KEXP')} is installed, and ${said('KCUR')} runs`,
        }
      : undefined,
    microcode: microcode
      ? {
          key: `microcode:${said('UCEXP')}`,
          message: `microcode ${said('UCEXP')} is installed, and ${said('UCCUR')} is loaded`,
        }
      : undefined,
    services: [...new Set(found.filter(([name]) => name === 'SVC').map(([, value]) => value))]
      .filter((name) => name !== '')
      .toSorted()
      .slice(0, MAX_CAUSES),
  });
};
