import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type Apt, runQuietly } from './apt.ts';
import { firstError } from './first-error.ts';

/** Paths of programs that run before and after dpkg works. */
export type InvokeHooks = { readonly before: readonly string[]; readonly after: readonly string[] };

/**
 * Reads the hooks that the host's configuration of apt runs around dpkg, DPkg::Pre-Invoke and DPkg::Post-Invoke, and writes each to a
 * program. They remount a read-only file system, make a snapshot or record /etc: the host does not work without them. It is the only
 * part of that configuration that a step takes over. @throws FleetError DEB_BLOCKED if apt cannot read its configuration
 */
export const readInvokeHooks = async (apt: Apt): Promise<InvokeHooks> => {
  const folder = join(apt.scratch, 'invoke');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const read = async (name: string, prefix: string): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await runQuietly(apt, ['apt-config', 'dump', '--format', '%v%n', name]);
    if (code !== 0)
      throw new FleetError(
        'DEB_BLOCKED',
        `apt cannot read its configuration on this host: ${firstError(stderr)}`,
        {
          hint: 'Mend the file; the agent tries again',
        },
      );
    const commands = stdout.split('\n').filter((line) => line.trim() !== '');
    return Promise.all(
      commands.map(async (command, index) => {
        const program = join(folder, `${prefix}-${index}`);
        // The hooks see the configuration of the host.
        await writeFile(program, `#!/bin/sh\nunset APT_CONFIG\n${command}\n`, { mode: 0o700 });
        return program;
      }),
    );
  };
  return {
    before: await read('DPkg::Pre-Invoke', 'before'),
    after: await read('DPkg::Post-Invoke', 'after'),
  };
};
