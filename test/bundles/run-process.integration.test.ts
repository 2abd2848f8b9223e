import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isStartFailure, type ProcessOptions, runProcess } from '../../bundles/run-process.ts';
import { succeed } from '../harness/run/run-command.ts';

const shell = (script: string, options: Partial<ProcessOptions> = {}) =>
  runProcess(['sh', '-c', script], { env: process.env, maxOutput: 1000, ...options });

describe('runProcess', () => {
  it('returns exit code or signal, stdout, and the last 16 KiB of stderr', async () => {
    expect(await shell('cat; echo why >&2; exit 3', { input: [Buffer.from('in')] })).toEqual({
      code: 3,
      endedBy: undefined,
      stopped: undefined,
      stdout: Buffer.from('in'),
      stderr: 'why\n',
    });
    expect(await shell('kill -9 $$')).toMatchObject({ code: 137, endedBy: 'SIGKILL', stopped: undefined });
    const { stderr } = await shell('seq 20000 >&2');
    expect(stderr.length).toBe(16 << 10);
    expect(stderr.endsWith('20000\n')).toBe(true);
  });

  it('passes only the given environment, and tolerates a program that exits without reading its input', async () => {
    const { stdout } = await shell('env', { env: { PATH: process.env['PATH'], ONE: '1' } });
    expect(stdout.toString()).not.toContain('HOME=');
    expect(stdout.toString()).toContain('ONE=1');
    succeed(await shell('exit 0', { input: [Buffer.alloc(1 << 20)] }));
  });

  it('rejects with the system error of a program that cannot be started', async () => {
    const error = await runProcess(['no-such-program'], { env: process.env, maxOutput: 1 }).catch(
      (cause: unknown) => cause,
    );
    expect(isStartFailure(error, 'ENOENT')).toBe(true);
    expect(isStartFailure(error, 'EACCES')).toBe(false);
  });

  it('stops a program at its timeout, also when a child process holds its pipes', async () => {
    const before = Date.now();
    const result = await shell('sleep 30 & echo begun; sleep 30', { timeoutMs: 1500 });
    expect(result).toMatchObject({ stopped: 'timeout', stdout: Buffer.from('begun\n') });
    expect(Date.now() - before).toBeLessThan(20_000);
  });

  it('stops a program at the output limit, or drops the excess on request', async () => {
    const stopped = await shell('yes', { maxOutput: 10 });
    expect(stopped).toMatchObject({ stopped: 'output', stdout: Buffer.from('y\ny\ny\ny\ny\n') });
    const dropped = await shell('seq 100000', { maxOutput: 4, excess: 'drop' });
    expect(dropped).toMatchObject({ code: 0, stopped: undefined, stdout: Buffer.from('1\n2\n') });
  });

  it('stops a program when the signal aborts, before its start or later', async () => {
    const refusal = { code: 'ABORTED', message: 'sh was stopped before its end' };
    await expect(shell('true', { signal: AbortSignal.abort() })).rejects.toMatchObject(refusal);
    await expect(shell('sleep 30', { signal: AbortSignal.timeout(200) })).rejects.toMatchObject(refusal);
  });

  it('closes stdin when the input fails, and rejects with the error of the input', async () => {
    const input = async function* () {
      yield Buffer.from('half');
      throw new Error('the blob is damaged');
    };
    await expect(shell('cat', { input: input() })).rejects.toThrow('the blob is damaged');
  });
});

describe('runProcess with a process group', () => {
  it('kills the children at the timeout, and does not wait for children that outlive the program', async () => {
    const before = Date.now();
    const left = await shell('sleep 30 & echo $!', { group: true });
    succeed(left);
    expect(Date.now() - before).toBeLessThan(20_000);
    process.kill(Number(left.stdout));
    const stopped = await shell('sleep 30 & echo $!; wait', { group: true, timeoutMs: 1500 });
    const child = Number(stopped.stdout);
    await expect.poll(() => isRunning(child)).toBe(false);
  });
});

/** Nobody may collect a killed orphan: it stays as a zombie, whose command line is empty. */
const isRunning = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`).length > 0;
  } catch {
    return false;
  }
};
