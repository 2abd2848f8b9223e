import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { makeImages } from '../../../examples/make-images.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { type Watch, watchPlatform } from '../../../scheduler/hub/watch/watch-platform.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startRegistry } from '../../harness/neighbours/registry.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const EXAMPLES = join(import.meta.dirname, '../../../examples');

type Line = { readonly level: string; readonly message: string } & Record<string, unknown>;

describeWith(['dockerRegistry'], 'the loop that keeps releases up to date', ({ dockerRegistry }) => {
  let folder: TemporaryDirectory;
  let port: number;
  let to: string;
  let watch: Watch;
  const stop = new AbortController();
  const lines: Line[] = [];
  /** Tags of a channel when the step before the publication ran. */
  const tagsBefore: (readonly string[])[] = [];
  const at = (...names: readonly string[]): string => join(folder.path, ...names);
  const git = (name: string): string => at('git', `${name}.git`);

  /** The example company with each repository in git: the platform and six applications. */
  beforeAll(async () => {
    folder = await temporaryDirectory('watch');
    port = await freePort();
    to = `oci://127.0.0.1:${port}/fleet`;
    await cp(EXAMPLES, at('work'), { recursive: true });
    for (const app of await readdir(at('work/apps'))) {
      await makeGitRepository(git(app), { main: at('work/apps', app) });
      const file = at('work/platform/base/workloads', `${app}.yaml`);
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace(/repo: .*$/m, `repo: file://${git(app)}`));
    }
    await makeGitRepository(git('platform'), { main: at('work/platform') });
    await makeImages(at('images'));
    await initDevRoot(at('keys'), 'halden', new Date());
    await mkdir(at('storage'));
    await writeFile(
      at('fleet-scheduler.yaml'),
      `platform: file://${git('platform')}#main
keys: keys
layout: releases
images: images
cache: cache
registry: ${to}
environments: [dev]
poll: 1s
`,
    );
  });
  afterAll(async () => {
    stop.abort();
    await watch?.done;
    await folder?.[Symbol.asyncDispose]();
  });

  const start = async (): Promise<Watch> => {
    const say = (level: string) => (fields: object, message: string) => {
      lines.push({ ...fields, level, message });
    };
    const configuration = await readConfiguration({ config: at('fleet-scheduler.yaml') }, folder.path);
    return watchPlatform(
      {
        configuration,
        env: { PATH: process.env['PATH'], HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1' },
        cwd: folder.path,
        clock: () => new Date(),
        log: { info: say('info'), warn: say('warn'), error: say('error') } as never,
        random: () => 0.5,
        beforePublish: async () => {
          tagsBefore.push(await tagsOf('dev/kiosk').catch(() => []));
        },
      },
      stop.signal,
    );
  };
  const serve = () => startRegistry(dockerRegistry, { port, storage: at('storage') });
  const waitFor = (check: () => unknown) => vi.waitFor(check, { timeout: 60_000, interval: 50 });
  const tagsOf = async (channel: string): Promise<readonly string[]> => {
    await using opened = openRegistry(parseRegistryAddress(to), { plainHttp: [], env: {} });
    return await opened.repository(channel).tags();
  };
  const releases = async (channel: string): Promise<number> =>
    (await tagsOf(channel)).filter((tag) => tag.startsWith('r-')).length;
  const change = async (app: string, file: string, edit: (text: string) => string): Promise<string> => {
    const path = at('work/apps', app, file);
    await writeFile(path, edit(await readFile(path, 'utf8')));
    return commitFolder(git(app), 'main', at('work/apps', app));
  };

  it('builds at the start, publishes, and does nothing until something changes', async () => {
    const registry = await serve();
    watch = await start();
    await waitFor(() => expect(watch.counters().lastSuccessAt).toBeInstanceOf(Date));
    expect(watch.counters()).toMatchObject({
      builds: 1,
      failures: 0,
      published: 1,
      heldAssignments: { dev: 0 },
    });
    // Values of sites are composed and published first.
    expect(tagsBefore).toEqual([[]]);
    expect(await tagsOf('dev/kiosk')).toContain('release');
    expect(
      watch
        .state()
        .map(({ repository }) => repository)
        .toSorted(),
    ).toEqual(
      ['platform', ...(await readdir(at('work/apps')))].map((name) => `file://${git(name)}`).toSorted(),
    );
    expect(watch.state().every(({ commit, error }) => /^[0-9a-f]{40}$/.test(commit ?? '') && !error)).toBe(
      true,
    );
    const first = watch.counters().lastSuccessAt;
    watch.wake();
    await waitFor(() => expect(watch.counters().lastSuccessAt).not.toEqual(first));
    expect(watch.counters()).toMatchObject({ builds: 1, published: 1 });

    const commit = await change(
      'info-screen',
      await manifestOf('info-screen'),
      (text) => `${text}# changed\n`,
    );
    watch.wake();
    await waitFor(async () => expect(watch.state().some((one) => one.commit === commit)).toBe(true));
    await waitFor(() => expect(watch.counters().builds).toBe(2));
    await registry[Symbol.asyncDispose]();
  });

  /** Some YAML file of an application. */
  const manifestOf = async (app: string): Promise<string> => {
    const files = await readdir(at('work/apps', app), { recursive: true });
    return files.filter((file) => file.endsWith('.yaml')).toSorted()[0] as string;
  };

  it('repeats a failed publication, and catches up when the registry is back', async () => {
    const failures = watch.counters().failures;
    const before = watch.counters().builds;
    const platform = at('work/platform/environments/dev');
    const config = (await readdir(platform, { recursive: true })).filter((file) => file.endsWith('.yaml'));
    expect(config.length).toBeGreaterThan(0);
    await change('telemetry', await manifestOf('telemetry'), (text) =>
      text.replace(/replicas: \d+/, 'replicas: 7'),
    );
    watch.wake();
    await waitFor(() => expect(watch.counters().builds).toBeGreaterThan(before));
    await waitFor(() => expect(watch.trouble()?.error.code).toBe('REGISTRY_UNREACHABLE'));
    expect(watch.counters().failures).toBeGreaterThan(failures);
    await using _ = await serve();
    watch.wake();
    await waitFor(() => expect(watch.trouble()).toBeUndefined());
    expect(lines.map(({ message }) => message)).toContain('well again');
  });

  it('names a repository that cannot be read, and continues when it can', async () => {
    await using _ = await serve();
    await rename(git('info-screen'), git('away'));
    watch.wake();
    await waitFor(() =>
      expect(watch.state().find(({ repository }) => repository.includes('info-screen'))?.error).toMatchObject(
        {
          code: 'SOURCE_UNREACHABLE',
        },
      ),
    );
    expect(lines.filter(({ message }) => message === 'cannot be read')).toHaveLength(1);
    await rename(git('away'), git('info-screen'));
    watch.wake();
    await waitFor(() => expect(watch.state().every(({ error }) => error === undefined)).toBe(true));
  });

  it('holds a mistake, counts it, and builds no more until an edit', async () => {
    await using _ = await serve();
    const file = at('work/platform/fleet.yaml');
    const good = await readFile(file, 'utf8');
    await writeFile(file, `${good}nonsense: [\n`);
    await commitFolder(git('platform'), 'main', at('work/platform'));
    watch.wake();
    await waitFor(() => expect(watch.trouble()).toBeDefined());
    const { builds } = watch.counters();
    watch.wake();
    // A commit elsewhere is tried once: the platform is still wrong.
    const { failures } = watch.counters();
    const commit = await change('order-api', await manifestOf('order-api'), (text) => `${text}# changed\n`);
    watch.wake();
    await waitFor(() => expect(watch.counters().failures).toBe(failures + 1));
    expect(watch.state().some((one) => one.commit === commit)).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(watch.counters()).toMatchObject({ builds, failures: failures + 1 });
    expect(watch.trouble()?.error.exitCode).toBe(3);
    await writeFile(file, good);
    await commitFolder(git('platform'), 'main', at('work/platform'));
    watch.wake();
    await waitFor(() => expect(watch.trouble()).toBeUndefined());
    expect(await releases('dev/kiosk')).toBeGreaterThan(0);
  });

  it('ends when it is stopped', async () => {
    stop.abort();
    await watch.done;
    expect(lines.at(-1)).toMatchObject({ message: 'stopped looking' });
  });
});
