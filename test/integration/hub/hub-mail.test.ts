import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { chain, reportOf } from '../../scheduler/hub/test-hub.ts';
import {
  connect,
  enroll,
  handOver,
  type HubProcess,
  networkAgent,
  newToken,
  startOffice,
} from './hub-process.ts';

describeWith(['postgresql'], 'two hubs on one PostgreSQL database', ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('send each alarm by mail when the leader is killed between the message and its note, the same again under its id', async () => {
    await using office = await startOffice();
    const mails: { readonly id: string; readonly text: string }[] = [];
    const hubs: HubProcess[] = [];
    // The first message is taken, and the hub that sent it is killed before it gets the answer.
    const take = async (stream: Readable, answer: () => void): Promise<void> => {
      const mail = (await text(stream)).replaceAll('=\r\n', '');
      mails.push({ id: /^Message-ID: <(.*)>\r$/m.exec(mail)?.[1] ?? '', text: mail });
      if (mails.length === 1) await hubs[0]?.stop('SIGKILL');
      answer();
    };
    const smtp = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      logger: false,
      onData: (stream, _session, callback) => void take(stream, () => callback(null, 'kept')),
    });
    smtp.on('error', () => {});
    smtp.listen(0, '127.0.0.1');
    await once(smtp.server, 'listening');
    const { port } = smtp.server.address() as AddressInfo;
    await appendFile(
      join(office.path, 'fleet-scheduler.yaml'),
      `alarms: {receivers: [{name: desk, email: {server: "smtp://127.0.0.1:${port}", from: fleet@halden.example, to: [desk@halden.example]}}]}\n`,
    );
    const db = server.url(await server.create());
    await using first = await office.serve('--db', db);
    hubs.push(first);
    await using second = await office.serve('--db', db);
    const agent = networkAgent('plant-7/press-1');
    const cert = await enroll(second.url, office.authority, agent, await newToken(office, agent.site, db));
    await using client = connect(second.url, office.authority, { cert, key: agent.pem });
    const runs = `sha256:${'1'.repeat(64)}` as const;
    const fails = (assignment: string) =>
      [
        { type: 'package', assignment, outcome: 'created', package: runs },
        { type: 'package', assignment, outcome: 'failed', code: 'CHECK_FAILED' },
      ] as const;
    const lines = chain(agent, [...fails('kiosk-web'), ...fails('kiosk-db')]);
    const patiently = { timeout: 180_000, interval: 300 };
    const mailsAbout = (name: string) => mails.filter((mail) => mail.text.includes(name));
    expect(await handOver(client, await reportOf(agent, lines, 1, 2))).toMatchObject({ status: 200 });
    await expect.poll(() => mailsAbout('kiosk-web').length, patiently).toBeGreaterThan(0);
    expect(await handOver(client, await reportOf(agent, lines, 3, 4))).toMatchObject({ status: 200 });
    await expect.poll(() => mailsAbout('kiosk-db').length, patiently).toBeGreaterThan(0);
    await expect.poll(() => mailsAbout('kiosk-web').length, patiently).toBeGreaterThan(1);
    // A mail system that drops messages of an id that was there before keeps each alarm, and none twice by another cause than the kill.
    const kept = mails.filter((mail, at) => mails.findIndex(({ id }) => id === mail.id) === at);
    const named = (name: string) => kept.filter((mail) => mail.text.includes(name)).length;
    expect(named('kiosk-web')).toBeGreaterThan(0);
    expect(named('kiosk-db')).toBe(1);
    expect(mails.length).toBeLessThan(5);
    await new Promise<void>((resolve) => smtp.close(() => resolve()));
  }, 900_000);
});
