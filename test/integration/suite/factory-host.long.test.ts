import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FactoryHost, startFactoryHost } from '../../harness/hosts/factory-host.ts';
import { cacheDirectory } from '../../harness/parts/cache-folder.ts';
import { runOrFail, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const isRoot = rootAccess() === 'root';

describeWith(['factoryBase'], 'a factory host', ({ factoryBase }) => {
  let host: FactoryHost;
  const script = async (line: string) => (await host.exec(['sh', '-c', line])).stdout.trim();

  beforeAll(async () => {
    host = await startFactoryHost('plant-1', { base: factoryBase });
  });
  afterAll(() => host?.remove());

  test('boots systemd as PID 1 without a failed unit', async () => {
    expect(await script('systemctl is-system-running; cat /proc/1/comm; hostname')).toBe(
      'running\nsystemd\nplant-1',
    );
  });

  test('has Node.js 24 and Ansible', async () => {
    expect(await script('node --version')).toBe(process.version);
    expect(await script('ansible --version | head -n 1')).toMatch(/^ansible \[core /);
  });

  test('passes on input, output and the exit code', async () => {
    const argv = ['sh', '-c', 'cat; echo oh >&2; exit 7'];
    expect(await host.exec(argv, { input: 'hello' })).toEqual({ code: 7, stdout: 'hello', stderr: 'oh\n' });
  });

  test('has no network except its loopback', async () => {
    expect(await script('ls /sys/class/net; ip route; ip -6 route show default')).toBe('lo');
    expect(await script('ip -brief address show lo')).toContain('127.0.0.1/8');
  });

  test("cannot change kernel settings or open the machine's disks", async () => {
    const setting = await host.exec(['sh', '-c', 'echo 1 > /proc/sys/kernel/panic']);
    expect(setting.stderr).toContain('Read-only file system');
    if (existsSync('/sys/fs/cgroup/devices')) {
      const device = (
        await runOrFail(['sh', '-c', "awk 'NR == 3 { print $1, $2 }' /proc/partitions"])
      ).stdout.trim();
      const disk = await host.exec(['sh', '-c', `mknod /root/disk b ${device} && head -c 1 /root/disk`]);
      expect(disk.stderr).toContain('Operation not permitted');
    }
  });

  test('enforces the memory limit of a unit', async () => {
    const limited = ['systemd-run', '--quiet', '--pipe', '--wait', '--property=MemoryMax=32M'];
    const greedy = ['node', '-e', 'const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))'];
    succeed(await host.exec([...limited, 'true']));
    expect((await host.exec([...limited, ...greedy])).code).not.toBe(0);
  });

  test('keeps its disk and loses its memory in a power cut, and starts its units again', async () => {
    const unit = '[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n';
    await host.exec(['tee', '/etc/systemd/system/kept.service'], { input: unit });
    succeed(await host.exec(['systemctl', 'enable', '--now', 'kept.service']));
    await script('echo disk > /var/tmp/kept; echo memory > /run/lost');
    const boot = await script('cat /proc/sys/kernel/random/boot_id');

    await host.crash();
    expect(await readFile(join(host.diskDir, 'var/tmp/kept'), 'utf8')).toBe('disk\n');
    expect(await host.exec(['true'])).toMatchObject({ code: 125, stderr: 'The host is not running.\n' });

    expect(await host.start()).toBe('running');
    expect(await script('cat /var/tmp/kept; cat /run/lost 2>&1; systemctl is-active kept.service')).toBe(
      'disk\ncat: /run/lost: No such file or directory\nactive',
    );
    expect(await script('cat /proc/sys/kernel/random/boot_id')).not.toBe(boot);
    expect(await script('journalctl --boot=-1 --unit=kept.service --output=cat')).toContain(
      'Started kept.service',
    );
  });

  test('stops cleanly, its units first, and starts again', async () => {
    const unit = '[Service]\nExecStart=/bin/sleep infinity\nExecStop=/bin/touch /var/tmp/was-stopped\n';
    await host.exec(['tee', '/etc/systemd/system/polite.service'], { input: unit });
    await script('systemctl daemon-reload; systemctl start polite.service');
    await host.stop();
    expect(existsSync(join(host.diskDir, 'var/tmp/was-stopped'))).toBe(true);
    expect(await host.start()).toBe('running');
  });

  test('has bound folders, and cannot write to those that are read-only', async () => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'bundle.tar'), 'bundle');
    await using other = await startFactoryHost('plant-2', {
      base: factoryBase,
      binds: [
        { from: folder.path, to: '/media/usb', readOnly: true },
        { from: folder.path, to: '/srv/drop' },
      ],
    });
    expect((await other.exec(['cat', '/media/usb/bundle.tar'])).stdout).toBe('bundle');
    expect((await other.exec(['touch', '/media/usb/x'])).stderr).toContain('Read-only file system');
    succeed(await other.exec(['touch', '/srv/drop/report']));
    expect(await readdir(folder.path)).toEqual(['bundle.tar', 'report']);
  });

  test.runIf(isRoot)('shows all of its files to root while it runs', async () => {
    expect(await readFile(join(host.rootDir, 'etc/hostname'), 'utf8')).toBe('plant-1\n');
    expect(await readFile(join(host.rootDir, 'proc/1/comm'), 'utf8')).toBe('systemd\n');
  });

  test('leaves no folder and no control group behind when it is removed', async () => {
    const other = await startFactoryHost('plant-3', { base: factoryBase });
    const groups = async () =>
      (await runOrFail(['find', '/sys/fs/cgroup', '-name', 'fleet-ferry-plant-3-*'])).stdout.trim();
    expect(await groups()).not.toBe('');
    await other.remove();
    expect(existsSync(other.diskDir)).toBe(false);
    expect(await groups()).toBe('');
  });

  test.runIf(isRoot)(
    'ends with the run that started it, and the next run removes its leftovers',
    async () => {
      const program = `
      const { startFactoryHost } = await import(${JSON.stringify(join(import.meta.dirname, '../../harness/hosts/factory-host.ts'))});
      const host = await startFactoryHost('orphan', { base: ${JSON.stringify(factoryBase)} });
      console.log(host.rootDir + ' ' + host.diskDir);
      setInterval(() => {}, 1000);`;
      // A cache folder of this test: a host that another test starts would sweep the shared one.
      const cache = join(cacheDirectory(process.env), `orphans-${process.pid}`);
      vi.stubEnv('FLEET_CACHE', cache);
      try {
        using run = spawn(process.execPath, ['--input-type=module', '-e', program], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const [root = '', disk = ''] = (await firstLine(run)).split(' ');
        expect(existsSync(root)).toBe(true);
        run.kill('SIGKILL');
        await once(run, 'exit');
        await expect.poll(() => existsSync(root)).toBe(false);
        expect(existsSync(disk)).toBe(true);
        await using _next = await startFactoryHost('plant-4', { base: factoryBase });
        expect(existsSync(disk)).toBe(false);
      } finally {
        vi.unstubAllEnvs();
        await rm(cache, { recursive: true, force: true });
      }
    },
  );

  test('fails on an invalid base with the reason', async () => {
    const start = startFactoryHost('plant-5', { base: '/nonexistent' });
    await expect(start).rejects.toMatchObject({ code: 'IO', message: /^Host plant-5 did not boot: mount: / });
  });
});

const firstLine = async (child: ChildProcess): Promise<string> => {
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8');
  });
  while (!text.includes('\n') && child.exitCode === null) await sleep(20);
  return text.split('\n')[0] ?? '';
};
