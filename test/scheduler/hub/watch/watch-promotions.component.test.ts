import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { watchPlatform } from '../../../../scheduler/hub/watch/watch-platform.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { writeFiles } from '../../file-tree.ts';
import { FILES, NOW, openChainOffice } from '../../release/chain/chain-office.ts';

test('the loop builds an environment after a promotion by any process, and logs a channel that is no longer built', async () => {
  const office = await openChainOffice();
  const files = Object.entries(FILES).map(([path, text]) => [`platform/${path}`, text]);
  const config = 'platform: platform\nkeys: keys\nlayout: out\ncache: cache\npoll: 1s\n';
  await writeFiles(office.folder, { ...Object.fromEntries(files), 'fleet-scheduler.yaml': config });
  const stop = new AbortController();
  const waiting: unknown[] = [];
  const abandoned: unknown[] = [];
  const log = {
    info: (fields: { readonly environment?: string }, message: string) => {
      if (message === 'waiting for promotion') waiting.push(fields.environment);
    },
    warn: (fields: { readonly why?: string }, message: string) => {
      if (message === 'channel not built any more') abandoned.push(fields.why);
    },
    error: () => {},
  };
  const watch = watchPlatform(
    {
      configuration: await readConfiguration(
        { config: join(office.folder, 'fleet-scheduler.yaml') },
        office.folder,
      ),
      env: {},
      cwd: process.cwd(),
      clock: () => NOW,
      log: log as never,
      random: () => 0.5,
    },
    stop.signal,
  );
  const waitFor = (check: () => unknown) => vi.waitFor(check, { timeout: 30_000, interval: 20 });
  try {
    await waitFor(() => expect(watch.counters().lastSuccessAt).toBeInstanceOf(Date));
    expect(watch.counters().builds).toBe(1);
    expect(waiting).toEqual(['qa', 'prod']);
    await office.promote('dev', 'qa');
    watch.wake();
    await waitFor(() => expect(watch.counters().builds).toBe(2));
    expect(await office.released('qa')).toMatchObject({ number: 1 });
    expect(abandoned).toEqual([]);
    const renamed = FILES['base/press.yaml']?.replace('press', 'oven') ?? '';
    await writeFiles(office.folder, { 'platform/base/press.yaml': renamed });
    watch.wake();
    await waitFor(() => expect(watch.counters().builds).toBe(3));
    expect(abandoned).toContainEqual(
      expect.stringContaining('dev/press: the platform has no cluster type press in dev'),
    );
  } finally {
    stop.abort();
    await watch.done;
  }
});
