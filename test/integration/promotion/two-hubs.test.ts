import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../scheduler/load/releases/audit-log.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { FILES } from '../../scheduler/release/chain/chain-office.ts';
import { type HubProcess, serve } from '../hub/hub-process.ts';

const WAIT = { timeout: 240_000, interval: 300 };

/** Two replicas of a hub that are asked for the same promotion at the same moment, and one of which is killed meanwhile. */
describeWith(['postgresql'], 'promotions at two hubs on one PostgreSQL database', ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('are decided once, and none that was answered is lost when a hub is killed in the middle', async () => {
    await using folder = await temporaryDirectory('two-hubs');
    const at = (...path: readonly string[]): string => join(folder.path, ...path);
    const db = server.url(await server.create());
    await writeFiles(at('platform'), FILES);
    await makeGitRepository(at('platform.git'), { main: at('platform') });
    await writeFiles(folder.path, {
      'fleet-scheduler.yaml': `platform: ${pathToFileURL(at('platform.git')).href}#main\nkeys: keys\nlayout: releases\ndb: ${db}\ncache: cache\npoll: 1s\n`,
    });
    const scheduler = async (words: string): Promise<Record<string, unknown>> =>
      JSON.parse(succeed(await runScheduler(folder.path, [...words.split(' '), '--json'])).stdout) as Record<
        string,
        unknown
      >;
    await scheduler('root init --dev --fleet halden');
    await scheduler('build -e dev');
    const { token } = await scheduler('tokens create --person ann --allow promote:qa');

    await using ends = new AsyncDisposableStack();
    const start = async (): Promise<HubProcess> =>
      ends.use(await serve(folder.path, ['--listen', '127.0.0.1:0']));
    const http = ends.adopt(new Agent({ connect: { rejectUnauthorized: false } }), (agent) =>
      agent.destroy(),
    );
    const ask = async (hub: HubProcess, path: string, body?: object) => {
      const answer = await http.request({
        origin: hub.url,
        path: `/v1/environments/${path}`,
        method: body ? 'POST' : 'GET',
        headers: {
          authorization: `Bearer ${String(token)}`,
          ...(body && { 'content-type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.statusCode, json: (await answer.body.json()) as Record<string, unknown> };
    };
    let hubs: readonly [HubProcess, HubProcess] = [await start(), await start()];
    const promoted: string[] = [];
    const answered = new Set<string>();
    for (const round of [0, 1, 2]) {
      const inGate = async (): Promise<unknown> => (await ask(hubs[1], 'qa/gate')).json['candidate'];
      await writeFiles(at('platform'), {
        'base/level.yaml': ours('Config', 'level', `spec:\n  values: {LEVEL: "round-${round}"}\n`),
      });
      const before = await inGate();
      await commitFolder(at('platform.git'), 'main', at('platform'));
      await expect.poll(inGate, WAIT).not.toBe(before);
      const candidate = String(await inGate());
      promoted.push(candidate);
      const asked = Array.from({ length: 4 }, () => hubs)
        .flat()
        .map(async (hub) => {
          const answer = await ask(hub, 'qa/promotions', { candidate }).catch(() => undefined);
          if (answer?.status === 200) answered.add(candidate);
          return answer?.status;
        });
      // The first leads, and then the other one.
      if (round > 0) {
        await Promise.race(asked);
        await hubs[0].stop('SIGKILL');
      }
      const answers = await Promise.all(asked);
      expect(answers).toContain(200);
      if (round > 0) hubs = [hubs[1], await start()];
      // A client without an answer asks again.
      const again = await ask(hubs[0], 'qa/promotions', { candidate });
      expect(again, JSON.stringify(again)).toMatchObject({ status: 200 });
    }
    const { roots } = await openKeyDirectory(at('keys'));
    const { entries } = await readAuditLog(await openLayout(at('releases')), roots);
    const decided = entries.flatMap((entry) =>
      entry.kind === 'promotion' ? [[entry.predicate.number, entry.candidate]] : [],
    );
    expect(decided).toEqual(promoted.map((candidate, index) => [index + 1, candidate]));
    expect([...answered].toSorted()).toEqual(promoted.toSorted());
    const verified = await runScheduler(folder.path, ['audit', 'verify', '--layout', 'releases']);
    expect(verified.code, verified.stderr).toBe(0);
  }, 1_200_000);
});
