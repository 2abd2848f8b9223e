import { readFile } from 'node:fs/promises';
import type { RebootCause } from '../../../model/machine.ts';
import { runQuietly } from '../debs/apt.ts';
import type { Run } from '../host-options.ts';

type Tools = { readonly run: Run; readonly signal: AbortSignal };

/** A Debian kernel says which version of its package it was built from: '#1 SMP Debian 6.1.119-1 (2024-11-22)'. */
const BUILT_FROM = /\bDebian (\S+) \(/;

/**
 * Compares the kernel that runs with those that are installed, by linux-version of linux-base, which every kernel of Debian depends on.
 * Returns undefined if the newest one runs, and on hosts without such a kernel, such as containers.
 */
export const readKernelCause = async (tools: Tools): Promise<RebootCause | undefined> => {
  const listed = await runQuietly(tools, ['linux-version', 'list']);
  const running = (await readText('/proc/sys/kernel/osrelease')).trim();
  const installed = linesOf(listed.stdout);
  if (listed.code !== 0 || installed.length === 0 || running === '') return undefined;
  const configured = await keepConfigured(tools, installed);
  const alike = configured.filter((name) => flavourOf(name) === flavourOf(running));
  const [newest] = await sortDown(tools, alike.length > 0 ? alike : configured);
  if (newest === undefined) return undefined;
  if (newest === running) return await rebuilt(tools, running);
  const { code } = await runQuietly(tools, ['linux-version', 'compare', newest, 'gt', running]);
  if (code !== 0) return undefined;
  return { key: `kernel:${newest}`, message: `kernel ${newest} is installed, and ${running} runs` };
};

/** Without the kernels that dpkg has not completely installed, whose initrd may be missing. Those of no package stay. */
const keepConfigured = async (tools: Tools, names: readonly string[]): Promise<readonly string[]> => {
  const argv = ['dpkg-query', '--show', '--showformat=${Package} ${db:Status-Status}\\n', 'linux-image-*'];
  const { stdout } = await runQuietly(tools, argv);
  const states = new Map(linesOf(stdout).map((line) => line.split(' ') as [string, string]));
  return names.filter((name) =>
    [`linux-image-${name}`, `linux-image-${name}-unsigned`]
      .flatMap((it) => states.get(it) ?? [])
      .every((state) => state === 'installed' || state === 'not-installed'),
  );
};

const sortDown = async (tools: Tools, names: readonly string[]): Promise<readonly string[]> =>
  names.length === 0
    ? []
    : linesOf((await runQuietly(tools, ['linux-version', 'sort', '--reverse', ...names])).stdout);

/** 'rt-amd64' of 6.1.0-28-rt-amd64: of a host with several, the boot loader starts the one that an administrator chose. */
const flavourOf = (name: string): string => /^[0-9.]+(?:-[0-9]+)?-(.+)$/.exec(name)?.[1] ?? '';

/** A kernel of the same name in another version of its package than the one that runs was built from. */
const rebuilt = async (tools: Tools, running: string): Promise<RebootCause | undefined> => {
  const [, built] = BUILT_FROM.exec(await readText('/proc/version')) ?? [];
  if (built === undefined) return undefined;
  const argv = ['dpkg-query', '--show', '--showformat=${Version}', '--', `linux-image-${running}`];
  const { code, stdout } = await runQuietly(tools, argv);
  const version = stdout.trim();
  if (code !== 0 || version === '' || version === built) return undefined;
  const message = `kernel ${running} is installed in version ${version}, and ${built} runs`;
  return { key: `kernel:${running}=${version}`, message };
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');

const readText = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
