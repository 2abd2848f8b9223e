import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { runOrFail, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const title = 'a machine whose state disk is full';
const canMount = rootAccess() === 'root' && spawnSync('unshare', ['-m', 'true']).status === 0;
if (canMount) describe(title, tests);
else describe.skip(`${title} (a small disk can be mounted by root only)`, tests);

function tests(): void {
  it.each([
    ['to the last byte', 'size=2m', fillBytes],
    ['to the last inode', 'size=2m,nr_inodes=200', fillInodes],
  ])('%s shows status, history and differences without writing to the state', async (_how, options, fill) => {
    await using folder = await temporaryDirectory('full-state');
    const at = (name: string): string => join(folder.path, name);
    for (const name of ['disk', 'stick', 'root']) await mkdir(at(name));
    await runOrFail(['mount', '-t', 'tmpfs', '-o', options, 'tmpfs', at('disk')]);
    await using _mounted = {
      [Symbol.asyncDispose]: async () => void (await runOrFail(['umount', at('disk')])),
    };
    const config = at('agent.yaml');
    await writeFile(config, `state: ${at('disk/state')}\nroot: ${at('root')}\nservices: none\n`);
    const agent = (...words: readonly string[]) => runAgent(folder.path, [...words, '--config', config]);
    const who = ['--fleet', 'acme', '--site', 'plant-7', '--name', 'kiosk-1'];
    const rest = ['--channel', 'prod/factory-host', '--root-sha256', 'a'.repeat(64)];
    succeed(await agent('enroll', at('stick'), ...who, ...rest));
    fill(at('disk'));
    const status = await agent('status');
    expect([status.code, status.stderr]).toEqual([8, '']);
    expect(status.stdout).toContain('Disk     DISK_FULL');
    expect(status.stdout).toContain('Agent    plant-7/kiosk-1 of fleet acme');
    expect((await agent('history')).stdout).toContain('enrolled');
    expect(await agent('diff')).toMatchObject({ code: 0, stderr: '' });
    // What has to store something says that it cannot.
    expect(await agent('reports', 'export', '--force-path', at('stick'))).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('DISK_FULL') as string,
    });
  });
}

const fillBytes = (disk: string): void => {
  spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'fill')}`, 'bs=4k']);
};

const fillInodes = (disk: string): void => {
  spawnSync('sh', ['-c', 'i=0; while touch "$0/fill-$i"; do i=$((i + 1)); done', disk]);
};
