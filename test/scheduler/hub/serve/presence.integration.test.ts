import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { PRESENCE_MS, PRESENCE_PATH, STATUS_PATH } from '#bundles/formats/events/hub-api';
import { formatTime } from '#bundles/time';
import { revokeAgent } from '../../../../scheduler/hub/sites/revoke-agent.ts';
import { notePresence } from '../../../../scheduler/hub/http/note-presence.ts';
import { chain, enrolled, happenings, NOW, report, reportOf, testAgent } from '../test-hub.ts';
import { forgedCertificate, hand, join, type TestServer, testServer } from './test-server.ts';

const MINUTE = 60_000;
const after = (ms: number): Date => new Date(NOW.getTime() + ms);

const bearer = async (made: TestServer) => ({ authorization: `Bearer ${await made.reader()}` });
const rowsOf = async (made: TestServer, headers: Record<string, string>) => {
  const { rows } = (await made.get(STATUS_PATH, headers)).body as {
    rows: readonly { readonly agent: string; readonly heardAt: string | null; readonly silent: boolean }[];
  };
  return rows.map(({ agent, heardAt, silent }) => ({ agent, heardAt, silent }));
};

describe('a presence message of an agent', () => {
  it('updates the time of contact, with 204 and without a line in the normal log', async () => {
    await using made = await testServer();
    const certificate = await join(made, testAgent('plant-7/press-1'));
    const headers = await bearer(made);
    expect(await rowsOf(made, headers)).toEqual([{ agent: 'press-1', heardAt: null, silent: false }]);
    made.setNow(after(7 * MINUTE));
    const answer = await made.post(PRESENCE_PATH, {}, certificate);
    expect([answer.status, answer.text]).toEqual([204, '']);
    await made.context.presence.flush();
    expect(await rowsOf(made, headers)).toEqual([
      { agent: 'press-1', heardAt: formatTime(after(7 * MINUTE)), silent: false },
    ]);
    expect(made.log.filter(({ route }) => route === PRESENCE_PATH)).toMatchObject([{ level: 20 }]);
  });

  it('that is missing three times marks the agent as silent, in status and metrics, until the next one', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    await hand(made, await reportOf(agent, chain(agent, happenings(1))), certificate);
    const headers = await bearer(made);
    const silent = async () => {
      const [row] = await rowsOf(made, headers);
      const { text } = await made.get('/metrics', headers);
      return [row?.silent, /^fleet_agents_silent (\d+)$/m.exec(text)?.[1]];
    };
    made.setNow(after(3 * PRESENCE_MS));
    expect(await silent()).toEqual([false, '0']);
    made.setNow(after(3 * PRESENCE_MS + 1000));
    expect(await silent()).toEqual([true, '1']);
    await made.post(PRESENCE_PATH, {}, certificate);
    await made.context.presence.flush();
    expect(await silent()).toEqual([false, '0']);
  });

  it("received while the hub's clock was ahead does not hide a later silence", async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const headers = await bearer(made);
    const lines = chain(agent, happenings(2));
    const saysSo = async (): Promise<void> => {
      await made.post(PRESENCE_PATH, {}, certificate);
      await made.context.presence.flush();
    };
    const saidAt = async () =>
      (await made.hub.store.db.selectFrom('agent').select(['online_at', 'said_at']).execute())[0];
    made.setNow(after(60 * 24 * 60 * MINUTE));
    await saysSo();
    made.setNow(after(MINUTE));
    await saysSo();
    const right = formatTime(after(MINUTE));
    expect(await saidAt()).toEqual({ online_at: right, said_at: right });
    made.setNow(after(60 * 24 * 60 * MINUTE));
    await hand(made, await reportOf(agent, lines, 1, 1), certificate);
    made.setNow(after(2 * MINUTE));
    await hand(made, await reportOf(agent, lines, 2, 2), certificate);
    expect((await saidAt())?.said_at?.slice(0, 10)).toBe(right.slice(0, 10));
    made.setNow(after(2 * MINUTE + 3 * PRESENCE_MS + 1000));
    expect(await rowsOf(made, headers)).toMatchObject([{ silent: true }]);
  });

  it('is not expected from agents that report by medium or were never heard', async () => {
    await using made = await testServer();
    const agent = await enrolled(made.hub, 'plant-7/press-1');
    await join(made, testAgent('plant-8/oven'));
    const stick = await made.hub.stick();
    await report(stick, agent, chain(agent, happenings(1)));
    await made.hub.importFrom(stick);
    const headers = await bearer(made);
    made.setNow(after(20 * 3_600_000));
    expect(await rowsOf(made, headers)).toEqual([
      { agent: 'press-1', heardAt: formatTime(NOW), silent: false },
      { agent: 'oven', heardAt: null, silent: false },
    ]);
  });

  it('requires the certificate of an enrolled agent with its current key', async () => {
    await using made = await testServer();
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const stranger = await forgedCertificate(made, testAgent(agent.id));
    expect((await made.post(PRESENCE_PATH, {})).status).toBe(401);
    expect((await made.post(PRESENCE_PATH, {}, stranger)).status).toBe(403);
    await revokeAgent(made.hub.store, agent.id, made.context.signer, NOW);
    expect((await made.post(PRESENCE_PATH, {}, certificate)).status).toBe(403);
    expect((await made.post(PRESENCE_PATH, { much: 'x'.repeat(5000) }, certificate)).status).toBe(403);
    await made.context.presence.flush();
    const { heard_at: heard } = await made.hub.store.db
      .selectFrom('agent')
      .select('heard_at')
      .executeTakeFirstOrThrow();
    expect(heard).toBeNull();
  });

  it('above its size limit is refused with 413', async () => {
    await using made = await testServer();
    const certificate = await join(made, testAgent('plant-7/press-1'));
    expect((await made.post(PRESENCE_PATH, { much: 'x'.repeat(5000) }, certificate)).status).toBe(413);
  });
});

describe('presence messages', () => {
  it('of many agents are one commit, and are kept while the database cannot be written', async () => {
    await using made = await testServer();
    const { store } = made.hub;
    const agents = ['plant-7/press-1', 'plant-7/press-2', 'plant-8/oven'];
    for (const id of agents) await join(made, testAgent(id));
    let full = true;
    let commits = 0;
    const lines: unknown[] = [];
    const presence = notePresence(
      {
        ...store,
        transact: (work) => {
          commits++;
          return full ? Promise.reject(new Error('disk full')) : store.transact(work);
        },
      },
      () => NOW,
      pino({}, { write: (line) => lines.push(JSON.parse(line)) }),
    );
    for (const id of [...agents, ...agents]) presence.heard(id);
    await presence.flush();
    expect(lines).toMatchObject([{ msg: 'presence not noted yet', agents: 3 }]);
    full = false;
    await presence.flush();
    await presence.flush();
    expect(commits).toBe(2);
    const rows = await store.db.selectFrom('agent').select(['heard_at', 'online_at']).execute();
    const at = formatTime(NOW);
    expect(rows).toEqual(agents.map(() => ({ heard_at: at, online_at: at })));
  });
});
