import { FleetError } from '#bundles/errors';
import { findProgram } from './find-program.ts';
import { runTool } from './run-tool.ts';
import type { Tool } from './tool.ts';
import { workFolder } from './work-folder.ts';

/** Ways to start a program in a new network namespace: as root, or in an unprivileged user namespace. */
const FLAGS = [['-n'], ['-U', '-r', '-n']] as const;

/** Where util-linux installs it, independent of the PATH. */
const SYSTEM_FOLDERS = '/usr/bin:/bin';

/**
 * The command prefix that runs a program in an empty network namespace, where even the loopback interface is down. Empty if
 * the kernel, its settings or a container do not allow that.
 */
export const isolatingCommand = async (path: string, signal: AbortSignal): Promise<readonly string[]> => {
  const program = await findProgram('unshare', `${path}:${SYSTEM_FOLDERS}`);
  if (program === undefined) return [];
  for (const flags of FLAGS) {
    await using work = await workFolder();
    const command = [program, ...flags, '--'];
    const tried = await runTool({
      tool: { name: 'unshare', command },
      args: [program, '--version'],
      cwd: work.home,
      home: work.home,
      signal,
    });
    if (tried.code === 0) return command;
  }
  return [];
};

/** A TOOL_MISSING warning that names the tools that could use this machine's network; none if all were isolated. */
export const notIsolated = (tools: readonly Tool[]): readonly FleetError[] => {
  const names = tools.filter(({ network }) => network === 'shared').map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    new FleetError('TOOL_MISSING', `${names.join(' and ')} ran with the network of this machine`, {
      hint: 'Install unshare (util-linux) and allow it network namespaces, as root or through user namespaces, so that no application reaches the network while it is rendered',
    }),
  ];
};
