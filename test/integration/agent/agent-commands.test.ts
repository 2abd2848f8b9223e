import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { readIdentity } from '../../../agent/store/identity.ts';
import { acquireLock } from '../../../agent/store/lock.ts';
import { openState } from '../../../agent/store/state.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { programFile } from '../../harness/run/program-file.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestFleet,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { runOrFail, succeed } from '../../harness/run/run-command.ts';

const PROGRAM = programFile('agent');
const NOW = new Date('2026-11-21T08:00:00Z');

let folder: TemporaryDirectory;
let fleet: TestFleet;
const at = (name: string): string => join(folder.path, name);

beforeAll(async () => {
  folder = await temporaryDirectory('commands');
  fleet = await createTestFleet();
  await mkdir(at('stick'));
  await mkdir(at('root'));
});
afterAll(() => folder[Symbol.asyncDispose]());

const environment = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...process.env,
  FLEET_NOW: NOW.toISOString(),
  FLEET_AGENT_STATE: at('state'),
  FLEET_AGENT_ROOT: at('root'),
  FLEET_AGENT_SERVICES: 'none',
  ...env,
});

/** The program as a process of its own. */
const start = (env: NodeJS.ProcessEnv, words: readonly string[], uid?: number) =>
  spawn(process.execPath, [PROGRAM, ...words], {
    ...(uid === undefined ? {} : { uid }),
    env: environment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });

/** The command line of a person, in a process that is kept. */
const agent = (...words: readonly string[]) => agentWith({}, ...words);

const agentWith = async (env: NodeJS.ProcessEnv, ...words: readonly string[]) => {
  const { code, stdout: out, stderr: err } = await runAgent(folder.path, words, environment(env));
  return { code, out, err };
};

const ended = async (child: ReturnType<typeof start>) => {
  const [out, err, [code]] = await Promise.all([
    Array.fromAsync(child.stdout),
    Array.fromAsync(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() };
};

const enroll = (...more: readonly string[]) => {
  const names = ['--fleet', fleet.name, '--site', 'plant-7', '--name', 'kiosk-1'];
  const root = hexOf(digestOf(fleet.roots[0] ?? ''));
  const rest = ['--channel', 'prod/factory-host', '--root-sha256', root];
  return agent('enroll', ...names, ...rest, ...more, at('stick'));
};

const medium = async (version: number, content: string, word = 'true'): Promise<string> =>
  mediumWith(version, content, [`/bin/${word}`]);

const mediumWith = async (
  version: number,
  content: string,
  argv: readonly [string, ...string[]],
): Promise<string> => {
  using state = openState(at('state'));
  const { key } = readIdentity(state);
  const checks = [{ type: 'exec', name: 'answers', argv, timeoutSeconds: 50 }] as const;
  const files = { '/etc/line.conf': content };
  return await writeTestMedium(at(`medium-${version}.tar`), fleet, {
    site: { site: 'plant-7', version: 1, agents: [{ name: 'kiosk-1', key }] },
    release: { version, bundle: packTestBundle(fleet, [{ id: 'line', files, checks }]) },
  });
};

const liveFile = () => readFile(at('root/etc/line.conf'), 'utf8');

describe('fleet-agent on a new host', () => {
  it('prints help, status and doctor before it is enrolled, and refuses a wrong flag', async () => {
    const help = await ended(start({}, ['import', '--help']));
    succeed(help);
    expect(help.out).toContain('$ fleet-agent import /media/stick');
    expect(await agent('status')).toMatchObject({ code: 5, err: expect.stringContaining('NOT_ENROLLED') });
    expect(await agent('doctor')).toMatchObject({
      code: 0,
      out: expect.stringContaining('no agent is enrolled'),
    });
    const wrong = await agent('run', '--interval', 'never');
    expect(wrong).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('CONFIG_INVALID: --interval'),
    });
  });

  it('refuses to enrol a host whose root is absent or no directory', async () => {
    expect(await enroll('--root', at('nowhere'))).toMatchObject({
      code: 2,
      err: expect.stringContaining(`CONFIG_INVALID: root: ${at('nowhere')} is absent`),
    });
    await writeFile(at('file'), '');
    expect(await enroll('--root', at('file'))).toMatchObject({
      err: expect.stringContaining(`root: ${at('file')} is not a directory`),
    });
    expect(existsSync(at('state/state.db'))).toBe(false);
  });

  it('enrols, imports a medium, and shows what runs', async () => {
    expect(await enroll()).toMatchObject({ code: 0, out: expect.stringContaining('fingerprint') });
    expect(await enroll('--label', 'ring=1')).toMatchObject({ code: 2 });
    expect(await agent('status')).toMatchObject({
      code: 8,
      out: expect.stringMatching(/No packages: no release/),
    });
    expect((await agent('diff')).out).toMatch(/^Nothing was compared/);
    expect(await agent('import', await medium(1, 'zero', 'false'))).toMatchObject({ code: 7 });
    expect(await agent('diff')).toMatchObject({
      code: 8,
      out: expect.stringMatching(/line +missing +does not run here \(failed: CHECK_FAILED/),
    });
    expect(await agent('status')).toMatchObject({ code: 7 });
    const second = await medium(2, 'one');
    expect(await agent('import', second, '--plan')).toMatchObject({
      code: 8,
      err: '',
      out: expect.stringMatching(
        /^The import would accept release 2 of prod\/factory-host\.\n(.*\n)*line +created +file:\/etc\/line\.conf(.*\n)*Nothing was changed/,
      ),
    });
    await expect(liveFile()).rejects.toMatchObject({ code: 'ENOENT' });
    expect(await agent('import', second, '--plan', '--json')).toMatchObject({ code: 8 });
    const imported = await agent('import', second);
    expect(imported).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/line +created/) });
    expect(await liveFile()).toBe('one');
    const status = JSON.parse((await agent('status', '--json')).out);
    expect(status).toMatchObject({
      release: { version: 2 },
      packages: [{ assignment: 'line', status: 'healthy' }],
    });
    succeed(await agent('status'));
    expect(await agent('import', second, '--plan')).toMatchObject({
      code: 0,
      out: expect.stringContaining('No package would change.'),
    });
  });

  it('status --watch prints the state when it changes, one object a line with --json, and ends with the exit code of the last one', async () => {
    const child = start({}, ['status', '--watch', '--json']);
    const lines: { held: unknown }[] = [];
    child.stdout.on('data', (chunk: Buffer) => {
      for (const line of chunk.toString().trim().split('\n')) lines.push(JSON.parse(line));
    });
    const exit = once(child, 'exit');
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(1);
    succeed(await agent('hold', '--reason', 'audit'));
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(2);
    succeed(await agent('release'));
    await expect.poll(() => lines.length, { timeout: 20_000 }).toBe(3);
    child.kill('SIGINT');
    expect(await exit).toEqual([0, null]);
    expect(lines.map(({ held }) => held !== null)).toEqual([false, true, false]);
  });

  it('status distinguishes a state that this user may not read from a missing one', async () => {
    await chmod(at('state'), 0);
    // root may read everything.
    const other = process.getuid?.() === 0 ? 65_534 : undefined;
    const { code, err } = await ended(start({}, ['status'], other));
    const doctor = await ended(start({}, ['doctor'], other));
    await chmod(at('state'), 0o700);
    expect({ code, err }).toMatchObject({
      code: 6,
      err: expect.stringMatching(/PERMISSION: the state in .*\/state cannot be read .* as user .*sudo/),
    });
    expect(doctor).toMatchObject({ code: 8, err: '' });
    expect(doctor.out).toMatch(/^enrolment +bad +the state in .*\/state cannot be read .* as user .*sudo/);
    expect(doctor.out).toMatch(/^clock +/m);
    expect(doctor.out).toMatch(/^permissions +/m);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'doctor examines the machine although the disk of the state is full',
    async () => {
      const small = at('small');
      await mkdir(small);
      await runOrFail(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
      try {
        await cp(at('state'), small, { recursive: true });
        await expect(writeFile(join(small, 'fill'), Buffer.alloc(2 << 20))).rejects.toThrow('ENOSPC');
        const { code, out } = await agentWith({ FLEET_AGENT_STATE: small }, 'doctor');
        expect([code, out]).toEqual([8, expect.stringMatching(/^store +bad +the disk of .*\/small is full/)]);
        expect(out).toMatch(/^disk +warning +no space or no inodes left in /m);
      } finally {
        await runOrFail(['umount', small]);
      }
    },
  );

  it('doctor names where it looked for a kubeconfig', async () => {
    const env = { HOME: at('root'), KUBECONFIG: '', FLEET_AGENT_TARGETS: 'kubernetes' };
    expect(await agentWith(env, 'doctor')).toMatchObject({
      code: 8,
      out: expect.stringMatching(/cluster +bad +.*no kubeconfig found: KUBECONFIG is not set/),
    });
  });

  it('diff finds an edited file, and run --once corrects it unless onDrift is "report"', async () => {
    succeed(await agent('diff'));
    await writeFile(at('root/etc/line.conf'), 'edited');
    expect(await agent('diff')).toMatchObject({ code: 8, out: expect.stringContaining('/etc/line.conf') });
    expect(await agent('run', '--once', '--on-drift', 'report')).toMatchObject({ code: 8 });
    expect(await liveFile()).toBe('edited');
    expect(await agent('run', '--once')).toMatchObject({
      code: 0,
      out: expect.stringContaining('corrected'),
    });
    expect(await liveFile()).toBe('one');
  });

  it('import rolls back a failing package, refuses an older release, and ends with the documented exit codes', async () => {
    const failed = await agent('import', await medium(3, 'two', 'false'), '--json');
    expect(failed.code).toBe(7);
    expect(JSON.parse(failed.out).packages).toMatchObject([{ outcome: 'failed', rolledBack: true }]);
    expect(await liveFile()).toBe('one');
    const planned = await agent('import', at('medium-3.tar'), '--plan');
    expect(planned).toMatchObject({ code: 8, out: expect.stringContaining('fleet-agent retry line') });
    expect(planned.out).toContain('Nothing is new on this medium');
    const refused = await agent('import', at('medium-1.tar'), '--plan');
    expect(refused).toMatchObject({ code: 4, out: '', err: expect.stringContaining('ROLLBACK') });
    const old = await agent('import', at('medium-1.tar'), '--json');
    expect(old.code).toBe(4);
    expect(JSON.parse(old.out)).toMatchObject({ error: { code: 'ROLLBACK' } });
    expect((await agent('retry')).code).toBe(7);
    expect((await agent('status')).code).toBe(7);
    expect(await agent('rollback', 'line')).toMatchObject({ code: 2 });
    expect(await agent('rollback', 'line', '--reason', 'x')).toMatchObject({ code: 5 });
    const history = await agent('history');
    expect(history.out).toContain('rolled-back');
  });

  it('reports export writes to a mounted medium only, and doctor ends with 0', async () => {
    const unmounted = await agent('reports', 'export', '/media/nobody/stick');
    expect(unmounted).toMatchObject({
      code: 5,
      err: expect.stringMatching(/nothing is mounted there\. .*--force-path/) as string,
    });
    const { out, code } = await agent('reports', 'export', at('stick'), '--json');
    expect(code).toBe(0);
    const { reports } = JSON.parse(out);
    expect(reports).toMatchObject([{ from: 1 }]);
    expect((await readFile(join(at('stick'), reports[0].files[0]))).length).toBe(reports[0].bytes);
    expect(await agent('doctor')).toMatchObject({ code: 0, out: expect.stringMatching(/^clock +/) });
  });

  it('run --once ends as BUSY with the process that holds the lock', async () => {
    using _lock = await acquireLock(at('state'), 'import', NOW);
    const late = await agent('run', '--once');
    expect(late).toMatchObject({ code: 6, err: expect.stringContaining(`process ${process.pid}`) });
  });

  it('run logs one JSON object per line and ends cleanly on SIGTERM', async () => {
    const daemon = start({}, ['run', '--interval', '1s']);
    const lines: { msg: string; level: string }[] = [];
    let text = '';
    for await (const chunk of daemon.stdout) {
      text += String(chunk);
      if (!daemon.killed && text.split('"looked"').length === 3) daemon.kill('SIGTERM');
    }
    if (daemon.exitCode === null) await once(daemon, 'exit');
    for (const line of text.trimEnd().split('\n')) lines.push(JSON.parse(line));
    expect(daemon.exitCode).toBe(0);
    expect(lines[0]).toMatchObject({ level: 'info', msg: 'started', interval: '1s' });
    expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('import is served while the daemon waits for the health of a corrected or applied package', async () => {
    const slowly = ['/bin/sh', '-c', `test ! -e ${at('slow')} || exec sleep 40`] as const;
    succeed(await agent('import', await mediumWith(90, 'ninety', slowly)));
    await writeFile(at('slow'), '');
    await writeFile(at('root/etc/line.conf'), 'edited');
    const daemon = start({}, ['run', '--interval', '1s']);
    try {
      await expect.poll(liveFile).toBe('ninety');
      // It is applied by the daemon, which waits for it: the next one is what mends it.
      const applied = start({}, ['import', await mediumWith(91, 'ninety-one', slowly)]);
      await expect.poll(liveFile, { timeout: 30_000 }).toBe('ninety-one');
      applied.kill('SIGINT');
      await once(applied, 'exit');
      expect(await agent('import', await mediumWith(92, 'ninety-two', ['/bin/true']))).toMatchObject({
        code: 0,
        err: '',
      });
      expect(await liveFile()).toBe('ninety-two');
    } finally {
      daemon.kill('SIGTERM');
      await once(daemon, 'exit');
    }
  });
});

describe('the lock of a state directory', () => {
  it('is requested again each second while another process holds it, and at once when it is free', async () => {
    await using folder = await temporaryDirectory('lock');
    let asked = 0;
    {
      using _holder = await acquireLock(folder.path, 'run', NOW);
      const waiting = acquireLock(folder.path, 'import', NOW, { waitMs: 2500, onWait: () => (asked += 1) });
      await expect(waiting).rejects.toMatchObject({ code: 'BUSY' });
    }
    expect(asked).toBe(3);
    using _free = await acquireLock(folder.path, 'import', NOW, { onWait: () => (asked += 1) });
    expect(asked).toBe(3);
  });

  it('is free again when its holder is killed', async () => {
    await using folder = await temporaryDirectory('lock');
    const module = new URL('../../../agent/store/lock.ts', import.meta.url).href;
    const program = `const { acquireLock } = await import(${JSON.stringify(module)});
      globalThis.lock = await acquireLock(${JSON.stringify(folder.path)}, 'import', new Date());
      console.log('held'); setInterval(() => {}, 1000);`;
    const holder = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await expect(acquireLock(folder.path, 'run', NOW)).rejects.toMatchObject({
      message: expect.stringContaining(`process ${holder.pid}`),
    });
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    using _lock = await acquireLock(folder.path, 'run', NOW);
  });
});
