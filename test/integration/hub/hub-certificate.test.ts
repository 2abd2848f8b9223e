import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { REPORTS_PATH } from '#bundles/formats/events/hub-api';
import { addDays } from '#bundles/time';
import { createMetrics } from '../../../scheduler/hub/http/metrics/metrics.ts';
import { type CertificateSource, obtainCertificate } from '../../../scheduler/hub/http/server-certificate.ts';
import { type RunningHub, startHub } from '../../../scheduler/hub/serve/start-hub.ts';
import { NOW, type TestHub, testHub } from '../../scheduler/hub/test-hub.ts';

let hub: TestHub;
let running: RunningHub;
let now = NOW;
beforeEach(async () => {
  hub = await testHub();
  now = NOW;
});
afterEach(async () => {
  await running[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

const start = async (source?: CertificateSource): Promise<void> => {
  const authority = await hub.keys.authority();
  const clock = () => now;
  running = await startHub({
    hub,
    listen: { host: '127.0.0.1', port: 0 },
    authority,
    certificate: source ?? { kind: 'issued', authority, hostnames: ['127.0.0.1'] },
    metrics: createMetrics(hub.store.db, clock),
    clock,
    log: pino({ level: 'silent' }),
    certificateMs: 20,
  });
};

/** What a newcomer sees: the certificate, and what a path for agents answers without one. */
const look = async (): Promise<{ readonly shown: PeerCertificate; readonly answer: string }> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: '127.0.0.1', port: running.port, rejectUnauthorized: false });
  socket.once('error', reject).once('data', (data) => resolve(data.toString()));
  socket.write(`POST ${REPORTS_PATH} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`);
  const answer = await promise;
  const shown = socket.getPeerCertificate();
  socket.destroy();
  return { shown, answer };
};

it('the hub renews its certificate while it runs, and still requires client certificates', async () => {
  await start();
  const first = await look();
  expect(first.answer).toMatch(/^HTTP\/1\.1 401 /);
  now = addDays(NOW, 59);
  expect((await look()).shown.serialNumber).toBe(first.shown.serialNumber);
  now = addDays(NOW, 61);
  await expect.poll(async () => (await look()).shown.serialNumber).not.toBe(first.shown.serialNumber);
  const next = await look();
  expect(new Date(next.shown.valid_to)).toEqual(addDays(now, 90));
  expect(next.answer).toMatch(/^HTTP\/1\.1 401 /);
});

it('a hub certificate issued by a clock in the future is replaced when the clock is right', async () => {
  now = addDays(NOW, 200);
  await start();
  const first = await look();
  now = NOW;
  await expect.poll(async () => (await look()).shown.serialNumber).not.toBe(first.shown.serialNumber);
  expect(new Date((await look()).shown.valid_to)).toEqual(addDays(NOW, 90));
});

it('renewed certificate files are served without a restart; broken ones are ignored', async () => {
  const [certificateFile, keyFile] = [join(hub.path, 'hub.crt'), join(hub.path, 'hub.key')];
  const authority = await hub.keys.authority();
  const write = async (): Promise<void> => {
    const made = await obtainCertificate({ kind: 'issued', authority, hostnames: ['127.0.0.1'] }, now);
    await writeFile(keyFile, made.key);
    await writeFile(certificateFile, made.certificate);
  };
  await write();
  await start({ kind: 'files', certificateFile, keyFile });
  const first = await look();
  await writeFile(keyFile, 'garbage');
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await look()).shown.serialNumber).toBe(first.shown.serialNumber);
  await write();
  await expect.poll(async () => (await look()).shown.serialNumber).not.toBe(first.shown.serialNumber);
});
