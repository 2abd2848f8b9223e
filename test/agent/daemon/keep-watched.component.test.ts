import { existsSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keepWatched, readWatchdog } from '../../../agent/daemon/keep-watched.ts';
import { createProgress } from '../../../agent/daemon/progress.ts';
import { sleep } from '../../../agent/daemon/wake-signal.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const silent = { info: () => {}, warn: () => {}, error: () => {} };

describe('the watchdog of the daemon', () => {
  it('removes its environment variables when it reads them, so that child programs cannot notify systemd', () => {
    const env = {
      NOTIFY_SOCKET: '/run/systemd/notify',
      WATCHDOG_USEC: '180000000',
      WATCHDOG_PID: '7',
      HOME: '/',
    };
    expect(readWatchdog(env)).toEqual({ systemd: { socket: '/run/systemd/notify', ms: 180_000 } });
    expect(env).toEqual({ HOME: '/' });
    expect(readWatchdog({ NOTIFY_SOCKET: '/run/systemd/notify' })).toEqual({});
    expect(readWatchdog({ ALIVE_FILE: '/tmp/alive' })).toEqual({ file: '/tmp/alive' });
  });

  it('is notified while progress is made, until the deadline has passed', async () => {
    await using folder = await temporaryDirectory('watchdog');
    const file = join(folder.path, 'alive');
    let now = 0;
    const progress = createProgress(() => now);
    const said: string[] = [];
    const log = { ...silent, error: (_: object, message: string) => void said.push(message) };
    const rounds: (() => void)[] = [];
    const paused = () =>
      new Promise<void>((resolve) => {
        rounds.push(resolve);
      });
    progress.within(1000);
    const { signal } = new AbortController();
    const watching = keepWatched({ file }, { progress, sleep: paused, log, signal });
    await expect.poll(() => rounds.length).toBe(1);
    expect(existsSync(file)).toBe(true);
    utimesSync(file, 0, 0);
    now = 900;
    rounds[0]?.();
    await expect.poll(() => rounds.length).toBe(2);
    expect(statSync(file).mtimeMs).toBeGreaterThan(0);
    utimesSync(file, 0, 0);
    now = 1001;
    rounds[1]?.();
    await watching;
    expect(statSync(file).mtimeMs).toBe(0);
    expect(said).toEqual(['the daemon hangs: it waits to be restarted']);
  });

  it('ends with the daemon', async () => {
    await using folder = await temporaryDirectory('watchdog');
    const controller = new AbortController();
    const how = { progress: createProgress(), sleep, log: silent, signal: controller.signal };
    const watching = keepWatched({ file: join(folder.path, 'alive') }, how);
    controller.abort();
    await watching;
  });
});
