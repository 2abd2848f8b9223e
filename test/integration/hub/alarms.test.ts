import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { CloudEvent, HTTP } from 'cloudevents';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashLine } from '#bundles/formats/events/event';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { createAlarm } from '../../../scheduler/hub/alarms/alarm.ts';
import { email } from '../../../scheduler/hub/alarms/email.ts';
import { GONE_MS, keepAlarms } from '../../../scheduler/hub/alarms/keep-alarms.ts';
import { readAlarmFacts } from '../../../scheduler/hub/alarms/read-alarm-facts.ts';
import { createAlarmSender } from '../../../scheduler/hub/alarms/send-alarms.ts';
import { webhook } from '../../../scheduler/hub/alarms/webhook.ts';
import type { Notice } from '../../../scheduler/hub/alarms/notice.ts';
import type { Access } from '../../../scheduler/hub/alarms/receiver.ts';
import type { ReceiverSettings } from '../../../scheduler/settings/alarm-settings.ts';
import { type Certificate, makeAuthority, makeCertificate } from '../../harness/fleets/certificates.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { serveProgram } from '../../harness/run/serve-program.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { chain, FLEET, NOW, reportOf, type TestHub, testHub } from '../../scheduler/hub/test-hub.ts';
import { connect, enroll, handOver, networkAgent, newToken, startOffice } from './hub-process.ts';

const NEVER = new AbortController().signal;
const MINUTE = 60_000;
const SECRET = `whsec_${Buffer.from('a secret of the receiver, 32 byte').toString('base64')}`;

let folder: TemporaryDirectory;
let authority: Certificate;
let server: Certificate;
let access: Access;
const opened: AsyncDisposable[] = [];
beforeAll(async () => {
  folder = await temporaryDirectory('alarms');
  authority = await makeAuthority(folder.path);
  server = await makeCertificate(folder.path, authority, ['IP:127.0.0.1', 'DNS:localhost']);
  await writeFile(join(folder.path, 'secret'), `${SECRET}\n`);
  await writeFile(join(folder.path, 'password'), 'swordfish\n');
  const connections = openConnections({ plainHttp: [], env: {} });
  access = {
    connections: () => connections,
    plainHttp: [],
    ca: await readFile(authority.certificate, 'utf8'),
  };
  opened.push({ [Symbol.asyncDispose]: () => connections.destroy() });
});
afterAll(async () => {
  for (const one of opened.toReversed()) await one[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const late = (agent: string, severity: 'warning' | 'critical' = 'warning') =>
  createAlarm(
    'AGENT_LATE',
    severity,
    { site: agent.split('/')[0] ?? '', agent, environment: 'prod' },
    '2026-11-20T08:00:00Z',
    `${agent} is late`,
  );

/** A hub whose clock the test moves. */
const openHub = async () => {
  const hub: TestHub = await testHub();
  let now = NOW;
  const log: Record<string, unknown>[] = [];
  const note = (fields: object, msg: string): void => void log.push({ ...fields, msg });
  return {
    store: hub.store,
    log,
    pass: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
    keep: (...alarms: readonly ReturnType<typeof late>[]) => keepAlarms(hub.store, alarms, { now }),
    /** As after a start of serve. */
    sender: (receiver: ReceiverSettings) => {
      const send = createAlarmSender(
        receiver,
        { repeat: '24h' },
        {
          store: hub.store,
          access,
          clock: () => now,
          random: () => 0.5,
          log: { info: note, warn: note, error: note } as never,
        },
      );
      return () => send(NEVER);
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
};

type Taken = { readonly headers: IncomingMessage['headers']; readonly body: string };

/** A receiver of webhooks that answers as `answer` says. */
const startReceiver = async (
  answer: (response: ServerResponse, at: number) => void = (response) => response.writeHead(204).end(),
) => {
  const taken: Taken[] = [];
  const http = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      taken.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      answer(response, taken.length);
    });
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`,
    taken,
    /** The types and agents of the events. */
    said: () =>
      taken.map(({ body }) => {
        const { type, data } = JSON.parse(body) as { type: string; data: { subject: { agent: string } } };
        return `${type.split('.')[2]} ${data.subject.agent}`;
      }),
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      http.close();
    },
  };
};

const hook = (url: string, more: Partial<ReceiverSettings> = {}): ReceiverSettings => ({
  name: 'operations',
  webhook: { url, secretFile: join(folder.path, 'secret') },
  ...more,
});

describe('a webhook', () => {
  it('receives CloudEvents that the reference library reads, with a signature of Standard Webhooks', async () => {
    await using hub = await openHub();
    await using receiver = await startReceiver();
    await hub.keep(late('plant-7/press-1', 'critical'));
    await hub.sender(hook(receiver.url))();
    const [one] = receiver.taken;
    expect(one?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    const event = HTTP.toEvent<{ kind: string; action: string }>({
      headers: one?.headers as never,
      body: one?.body,
    });
    if (Array.isArray(event) || !(event instanceof CloudEvent)) throw new Error('no single event');
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({
      specversion: '1.0',
      source: 'urn:fleet-ferry:hub:acme',
      type: 'fleet-ferry.alarm.opened.v1',
      id: one?.headers['webhook-id'],
      data: { kind: 'AGENT_LATE', severity: 'critical', subject: { agent: 'plant-7/press-1' } },
    });
    expect(event.data?.action).toContain('fleet-agent doctor');
    // The reference library judges the age of a message by its own clock, which is not that of this test.
    const verify = (body: string) => {
      const { headers } = one ?? {};
      const timestamp = new Date(Number(headers?.['webhook-timestamp']) * 1000);
      const webhooks = new Webhook(SECRET);
      return (
        webhooks.sign(String(headers?.['webhook-id']), timestamp, body) === headers?.['webhook-signature']
      );
    };
    expect(verify(one?.body ?? '')).toBe(true);
    expect(verify(`${one?.body} `)).toBe(false);
  });

  it('that is away receives each alarm once when it is back, with the pauses of the retry policy, also after a restart', async () => {
    await using hub = await openHub();
    let isUp = false;
    await using receiver = await startReceiver((response) => response.writeHead(isUp ? 200 : 503).end());
    await hub.keep(late('plant-7/press-1'), late('plant-8/press-1'));
    const send = hub.sender(hook(receiver.url));
    await send();
    await send();
    expect(receiver.taken).toHaveLength(1);
    hub.pass(11_000);
    await hub.sender(hook(receiver.url))();
    expect(receiver.taken).toHaveLength(2);
    isUp = true;
    // The second pause is twice as long, and the failures were stored.
    hub.pass(11_000);
    await send();
    expect(receiver.taken).toHaveLength(2);
    hub.pass(11_000);
    await send();
    await hub.sender(hook(receiver.url))();
    expect(receiver.said().slice(2)).toEqual(['opened plant-7/press-1', 'opened plant-8/press-1']);
    expect(receiver.taken[0]?.headers['webhook-id']).toBe(receiver.taken[2]?.headers['webhook-id']);
    await hub.keep();
    hub.pass(GONE_MS);
    await hub.keep();
    await send();
    expect(receiver.said().slice(4).toSorted()).toEqual([
      'resolved plant-7/press-1',
      'resolved plant-8/press-1',
    ]);
    expect(JSON.stringify(hub.log)).not.toContain('secret of the receiver');
  });

  it.each([503, 422])(
    'that answered %d while the clock was a year ahead receives its alarms and reminders when the clock is right',
    async (answer) => {
      await using hub = await openHub();
      const YEAR = 365 * 24 * 60 * MINUTE;
      let status = answer;
      await using receiver = await startReceiver((response) => response.writeHead(status).end());
      const send = hub.sender(hook(receiver.url));
      await hub.keep(late('plant-7/press-1'));
      hub.pass(YEAR);
      await send();
      hub.pass(-YEAR);
      status = 204;
      await send();
      expect(receiver.said()).toEqual(Array(2).fill('opened plant-7/press-1'));
      hub.pass(YEAR + 25 * 60 * MINUTE);
      await send();
      hub.pass(-YEAR);
      await send();
      hub.pass(25 * 60 * MINUTE);
      await send();
      expect(receiver.said().slice(2)).toEqual(Array(3).fill('repeated plant-7/press-1'));
    },
  );

  it('that refuses one notice receives the others', async () => {
    await using hub = await openHub();
    await using receiver = await startReceiver((response, at) =>
      response.writeHead(at === 1 ? 422 : 200).end(),
    );
    await hub.keep(late('plant-7/press-1'), late('plant-8/press-1'));
    const send = hub.sender(hook(receiver.url));
    await send();
    await send();
    expect(receiver.taken).toHaveLength(2);
    expect(hub.log).toMatchObject([{ receiver: 'operations', msg: 'alarm refused' }]);
  });

  it('that keeps refusing a notice receives it at growing pauses with one id, and is named in an alarm', async () => {
    await using hub = await openHub();
    let status = 422;
    await using receiver = await startReceiver((response) => response.writeHead(status).end());
    await hub.keep(late('plant-7/press-1'));
    const send = hub.sender(hook(receiver.url));
    const facts = async () => (await readAlarmFacts(hub.store.db, ['operations'], NOW)).receivers;
    await send();
    await send();
    expect(receiver.taken).toHaveLength(1);
    expect(await facts()).toMatchObject([{ refused: null }]);
    hub.pass(MINUTE);
    await send();
    expect(receiver.taken).toHaveLength(2);
    expect(await facts()).toMatchObject([{ refused: { count: 1, message: expect.stringContaining('422') } }]);
    hub.pass(MINUTE);
    await send();
    expect(receiver.taken).toHaveLength(2);
    hub.pass(MINUTE);
    status = 204;
    await send();
    await send();
    expect(receiver.said()).toEqual(Array(3).fill('opened plant-7/press-1'));
    expect(new Set(receiver.taken.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await facts()).toMatchObject([{ refused: null }]);
  });

  it.each([
    ['answers nothing', (): void => {}],
    ['answers without end', drip],
    ['redirects', (response: ServerResponse): void => void response.writeHead(302, { location: '/x' }).end()],
  ])(
    "that %s is left within the timeout, without its URL's parameters in the outcome",
    async (what, answer) => {
      await using receiver = await startReceiver(answer);
      const carrier = webhook(
        { url: `${receiver.url}?token=hidden`, secretFile: join(folder.path, 'secret') },
        access,
        300,
      );
      const outcome = await carrier.deliver([notice()], { fleet: FLEET, now: NOW, signal: NEVER });
      expect(outcome.kind).toBe(what === 'answers without end' ? 'taken' : 'unreachable');
      expect(JSON.stringify(outcome)).not.toContain('hidden');
    },
  );

  it('without its secret file is reported with that file, and delays no other receiver', async () => {
    await using hub = await openHub();
    await using receiver = await startReceiver();
    await hub.keep(late('plant-7/press-1'));
    const broken = hook(receiver.url, {
      name: 'broken',
      webhook: { url: receiver.url, secretFile: join(folder.path, 'nowhere') },
    });
    await hub.sender(broken)();
    await hub.sender(hook(receiver.url))();
    expect(receiver.taken).toHaveLength(1);
    expect(hub.log).toMatchObject([
      { receiver: 'broken', why: 'there is no such file with a webhook secret' },
    ]);
  });
});

/** Status 200 and a body that never ends. */
const drip = (response: ServerResponse): void => {
  response.writeHead(200);
  const timer = setInterval(() => response.write('x'.repeat(1 << 16)), 1);
  response.on('close', () => clearInterval(timer));
};

const notice = (): Notice => ({
  id: 'msg_1',
  what: 'opened',
  alarm: late('plant-7/press-1'),
  action: 'look',
  openedAt: '2026-11-21T08:00:00Z',
  resolvedAt: null,
});

type Mail = { readonly user: string | undefined; readonly to: readonly string[]; readonly text: string };

const startMail = async (options: SMTPServerOptions = {}) => {
  const mails: Mail[] = [];
  const smtp = new SMTPServer({
    key: await readFile(server.key),
    cert: await readFile(server.certificate),
    onAuth: ({ username, password }, _session, callback) =>
      password === 'swordfish'
        ? callback(null, { user: username })
        : callback(Object.assign(new Error('wrong password'), { responseCode: 535 })),
    onData: (stream, session, callback) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { rcptTo } = session.envelope;
        mails.push({
          user: session.user,
          to: rcptTo.map(({ address }) => address),
          text: Buffer.concat(chunks).toString(),
        });
        callback(null, 'kept');
      });
    },
    logger: false,
    ...options,
  });
  smtp.on('error', () => {});
  smtp.listen(0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const { port } = smtp.server.address() as AddressInfo;
  return {
    port,
    mails,
    connections: () => [...(smtp as unknown as { connections: Set<{ close: () => void }> }).connections],
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => smtp.close(() => resolve())),
  };
};

const desk = (mail: string, more: object = {}): ReceiverSettings => ({
  name: 'desk',
  email: {
    server: mail,
    from: 'fleet@halden.example',
    to: ['desk@halden.example', 'night@halden.example'],
    userName: 'fleet',
    passwordFile: join(folder.path, 'password'),
    ...more,
  },
});

describe('a mail server', () => {
  it.each(['smtps', 'smtp'])(
    'receives one message with all new alarms, by %s with a login',
    async (protocol) => {
      await using hub = await openHub();
      await using mail = await startMail({ secure: protocol === 'smtps' });
      await hub.keep(late('plant-7/press-1', 'critical'), late('plant-8/press-1'));
      const send = hub.sender(desk(`${protocol}://localhost:${mail.port}`));
      await send();
      await send();
      expect(hub.log).toEqual([]);
      expect(mail.mails).toMatchObject([
        { user: 'fleet', to: ['desk@halden.example', 'night@halden.example'] },
      ]);
      const text = mail.mails[0]?.text ?? '';
      expect(text).toContain('Subject: [acme] alarms: 2 new');
      expect(text).toContain('critical, new: plant-7/press-1 is late.');
      expect(text).toMatch(/^Message-ID: <msg_[0-9a-f]{40}@halden\.example>\r$/m);
      expect(text).toContain('Auto-Submitted: auto-generated');
    },
  );

  it('receives a message again under its id, and with one more alarm under another, so that no system that drops copies loses that alarm', async () => {
    await using hub = await openHub();
    // It takes each message, and the connection ends before the hub knows.
    const mails: string[] = [];
    await using mail = await startMail({
      secure: true,
      onData: (stream, session) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          mails.push(Buffer.concat(chunks).toString());
          for (const connection of mail.connections()) connection.close();
          expect(session.user).toBe('fleet');
        });
      },
    });
    const again = async (): Promise<void> => {
      await hub.store.db.deleteFrom('alarm_receiver').execute();
      await hub.sender(desk(`smtps://localhost:${mail.port}`))();
    };
    await hub.keep(late('plant-7/press-1'));
    await again();
    await again();
    await hub.keep(late('plant-7/press-1'), late('plant-8/press-1'));
    await again();
    const ids = mails.map((one) => /^Message-ID: <(.*)>\r$/m.exec(one)?.[1]);
    expect(ids).toHaveLength(3);
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('with a wrong password is tried again later, and neither log nor table contain the password', async () => {
    await using hub = await openHub();
    await using mail = await startMail({
      secure: true,
      onAuth: (_auth, _session, callback) => callback(Object.assign(new Error('no'), { responseCode: 535 })),
    });
    await hub.keep(late('plant-7/press-1'));
    await hub.sender(desk(`smtps://localhost:${mail.port}`))();
    const rows = await hub.store.db.selectFrom('alarm_receiver').selectAll().execute();
    expect(rows).toMatchObject([{ name: 'desk', failures: 1 }]);
    expect(JSON.stringify([hub.log, rows])).not.toContain('swordfish');
  });

  it('with a certificate of an unknown authority receives no password', async () => {
    await using mail = await startMail({ secure: true });
    const { email: settings } = desk(`smtps://localhost:${mail.port}`);
    if (!settings) throw new Error('no settings');
    const outcome = await email(settings, { plainHttp: [], ca: undefined }).deliver([notice()], {
      fleet: FLEET,
      now: NOW,
      signal: NEVER,
    });
    expect(outcome).toMatchObject({
      kind: 'unreachable',
      message: expect.stringMatching(/certificate|self.signed/i),
    });
    expect(mail.mails).toEqual([]);
  });

  it('that refuses all recipients counts as refusing the message', async () => {
    await using hub = await openHub();
    await using mail = await startMail({
      secure: true,
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('no such user'), { responseCode: 550 })),
    });
    await hub.keep(late('plant-7/press-1'));
    await hub.sender(desk(`smtps://localhost:${mail.port}`))();
    expect(hub.log).toMatchObject([{ receiver: 'desk', msg: 'alarm refused' }]);
  });

  it('that accepts a connection and sends nothing is unreachable after the timeout', async () => {
    const tcp = createTcpServer(() => {});
    tcp.listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const { port } = tcp.address() as AddressInfo;
    const { email: settings } = desk(`smtp://127.0.0.1:${port}`);
    if (!settings) throw new Error('no settings');
    const outcome = await email(settings, access, 300).deliver([notice()], {
      fleet: FLEET,
      now: NOW,
      signal: NEVER,
    });
    expect(outcome.kind).toBe('unreachable');
    tcp.close();
  });
});

describeWith(['alertmanager'], "Prometheus' Alertmanager", ({ alertmanager }) => {
  it('shows an alarm with its labels while it lasts, and not afterwards', async () => {
    const port = await freePort();
    const config = join(folder.path, 'alertmanager.yml');
    await writeFile(config, 'route: { receiver: none }\nreceivers: [{ name: none }]\n');
    await using _program = await serveProgram(
      [
        alertmanager,
        `--config.file=${config}`,
        `--storage.path=${join(folder.path, 'alertmanager')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--cluster.listen-address=',
      ],
      `127.0.0.1:${port}`,
    );
    await using hub = await openHub();
    const url = `http://127.0.0.1:${port}`;
    const send = hub.sender({ name: 'alertmanager', severity: 'info', alertmanager: { url } });
    // Alertmanager judges ends by its own clock.
    hub.pass(Date.now() - NOW.getTime());
    const alerts = async () => {
      const answer = await fetch(`${url}/api/v2/alerts`);
      return (await answer.json()) as readonly { labels: object; annotations: object; startsAt: string }[];
    };
    await hub.keep(late('plant-7/press-1', 'critical'), late('plant-8/press-1'));
    await send();
    expect(hub.log).toEqual([]);
    await expect.poll(alerts).toHaveLength(2);
    expect((await alerts()).map(({ labels }) => labels)).toContainEqual({
      alertname: 'FleetAgentLate',
      fleet: 'acme',
      severity: 'critical',
      site: 'plant-7',
      agent: 'plant-7/press-1',
      environment: 'prod',
    });
    expect((await alerts())[0]).toMatchObject({
      startsAt: '2026-11-20T08:00:00.000Z',
      annotations: { action: expect.stringContaining('fleet-agent doctor') },
    });
    // The condition ended long enough ago.
    hub.pass(-GONE_MS - MINUTE);
    await hub.keep(late('plant-8/press-1'));
    hub.pass(GONE_MS + MINUTE);
    await hub.keep(late('plant-8/press-1'));
    await send();
    await expect
      .poll(async () => (await alerts()).map(({ labels }) => labels))
      .toEqual([expect.objectContaining({ agent: 'plant-8/press-1' })]);
  });
});

const sentIn = (path: string): unknown => {
  const db = new SQLite(join(path, 'hub.db'), { readonly: true });
  try {
    return db.prepare('select count(*) from alarm_sent').pluck().get();
  } finally {
    db.close();
  }
};

it('the hub raises the alarm of a failed package, and does not repeat it after a kill', async () => {
  await using office = await startOffice();
  await using receiver = await startReceiver();
  await writeFile(join(office.path, 'secret'), `${SECRET}\n`);
  const config = await readFile(join(office.path, 'fleet-scheduler.yaml'), 'utf8');
  await writeFile(
    join(office.path, 'fleet-scheduler.yaml'),
    `${config}alarms:\n  receivers:\n    - {name: operations, severity: critical, webhook: {url: "${receiver.url}", secretFile: secret}}\n`,
  );
  await using hub = await office.serve();
  const agent = networkAgent('plant-1/press-1');
  const cert = await enroll(hub.url, office.authority, agent, await newToken(office, 'plant-1'));
  await using client = connect(hub.url, office.authority, { cert, key: agent.pem });
  const failed = {
    type: 'package',
    assignment: 'kiosk-web',
    outcome: 'failed',
    code: 'CHECK_FAILED',
  } as const;
  const running = {
    type: 'package',
    assignment: 'kiosk-web',
    outcome: 'created',
    package: `sha256:${'1'.repeat(64)}`,
  } as const;
  const events = chain(agent, [running, failed], 1);
  expect((await handOver(client, await reportOf(agent, events))).status).toBe(200);
  await expect.poll(() => receiver.said(), { timeout: 60_000 }).toEqual(['opened plant-1/press-1']);
  // A hub that is killed before it stored the receipt sends the message again, under its id.
  await expect.poll(() => sentIn(office.path)).toBe(1);
  await hub.stop('SIGKILL');
  await using again = await office.serve();
  // Another alarm shows that the second hub has looked.
  const next = [{ ...failed, assignment: 'kiosk-db' }] as const;
  const last = hashLine(events.at(-1) ?? '');
  const more = [...events, ...chain(agent, [{ ...running, assignment: 'kiosk-db' }, ...next], 3, last)];
  await using second = connect(again.url, office.authority, { cert, key: agent.pem });
  expect((await handOver(second, await reportOf(agent, more))).status).toBe(200);
  await expect.poll(() => receiver.taken.length, { timeout: 60_000 }).toBe(2);
  expect(receiver.taken[1]?.body).toContain('kiosk-db');
}, 180_000);
