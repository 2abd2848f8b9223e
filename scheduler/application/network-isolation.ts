import { FleetError } from '#bundles/errors';
import { findProgram } from './find-program.ts';
import { runTool } from './run-tool.ts';
import type { Tool } from './tool.ts';
import { workFolder } from './work-folder.ts';

/** Ways to start a program in a network namespace of its own: as root, and in a user namespace without any right. */
const FLAGS = [['-n'], ['-U', '-r', '-n']] as const;

/** Where util-linux installs it, whatever the PATH says. */
const SYSTEM_FOLDERS = '/usr/bin:/bin';

/**
 * What to put before a command so that it runs in an empty network namespace, where not even the loopback interface is up.
 * [] where this machine's kernel, its settings or a container do not allow one.
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

/** Which of the tools that rendered could have used this machine's network. */
export const notIsolated = (tools: readonly Tool[]): readonly FleetError[] => {
  const names = tools.filter(({ network }) => network === 'shared').map(({ name }) => name);
  if (names.length === 0) return [];
  return [
    new FleetError('TOOL_MISSING', `${names.join(' and ')} ran with the network of this machine`, {
      hint: 'Install unshare (util-linux) and allow it network namespaces, as root or through user namespaces, so that no application reaches the network while it is rendered',
    }),
  ];
};
