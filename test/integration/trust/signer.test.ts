import { createPrivateKey } from 'node:crypto';
import { chmod, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { ENROLL_PATH } from '#bundles/formats/events/hub-api';
import { PREDICATES } from '#bundles/media-types';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { loadSigningKey, verifySignature } from '#bundles/trust/keys/key';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { openRemoteKey } from '../../../scheduler/keys/remote/remote-key.ts';
import { makeCompany } from '../../harness/fleets/company.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { chain, happenings, reportOf } from '../../scheduler/hub/test-hub.ts';
import { toSign } from '../../scheduler/keys/signer/signer-world.ts';
import {
  connect,
  enroll,
  enrollBody,
  handOver,
  networkAgent,
  newToken,
  startOffice,
} from '../hub/hub-process.ts';
import { ALL_ROLES, giveToSigner, startSignerProcess } from './signer-process.ts';

/** The secret number of each key, as PKCS#8 has it. */
const secretsOf = async (directory: string, names: readonly string[]): Promise<readonly Buffer[]> => {
  return Promise.all(
    names.map(async (name) => {
      const { d = '' } = createPrivateKey(await readFile(join(directory, name))).export({ format: 'jwk' });
      return Buffer.from(d, 'base64url');
    }),
  );
};

const filesBelow = async (directory: string): Promise<readonly string[]> =>
  (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test('a build with sockets and roots releases without a private key beside it', async () => {
  await using folder = await temporaryDirectory('signer');
  const company = await makeCompany(folder.path);
  const places = await giveToSigner(join(folder.path, 'keys'), folder.path);
  await using signer = await startSignerProcess(places, [...ALL_ROLES, '--now', '2026-11-21T08:00:00Z']);
  const outcome = await company.build({ environments: ['prod'] });
  const released = outcome.channels.filter((channel) => channel.outcome === 'released');
  expect(released.length).toBeGreaterThan(1);
  await company.edit('apps/info-screen/host/index.html', (text) => `${text}<!-- new -->\n`);
  const again = await company.build({ environments: ['prod'] });
  expect(again.channels.filter((channel) => channel.outcome === 'released')).toMatchObject([{ version: 2 }]);
  const { roots } = await openKeyDirectory(join(folder.path, 'keys'));
  const [kiosk] = again.channels.filter(({ version }) => version === 2);
  const layout = await openLayout(join(folder.path, 'releases'));
  if (!kiosk) throw new Error('nothing was released');
  expect((await readRelease(layout, kiosk, roots))?.predicate.version).toBe(2);
  expect(signer.log.filter(({ msg }) => msg === 'signed').length).toBeGreaterThan(3);
  expect(signer.log.filter(({ msg }) => msg === 'refused')).toEqual([]);
  signer.child.kill('SIGTERM');
  expect(await signer.ended).toEqual([0, null]);
});

test('a build whose last release was not published continues with the next number', async () => {
  await using folder = await temporaryDirectory('signer');
  const company = await makeCompany(folder.path);
  const places = await giveToSigner(join(folder.path, 'keys'), folder.path);
  await using signer = await startSignerProcess(places, [...ALL_ROLES, '--now', '2026-11-21T08:00:00Z']);
  await company.build({ environments: ['prod'], layout: join(folder.path, 'lost') });
  const outcome = await company.build({ environments: ['prod'], now: new Date('2026-11-21T08:01:00Z') });
  const versions = outcome.channels.filter((it) => it.outcome === 'released').map(({ version }) => version);
  expect(new Set(versions)).toEqual(new Set([2]));
  expect(signer.log.some(({ code }) => code === 'NOT_NEWER')).toBe(true);
});

test('a hub with sockets and roots serves, enrols and acknowledges, and holds no private key', async () => {
  await using office = await startOffice();
  const keys = join(office.path, 'keys');
  await using held = await temporaryDirectory('signer');
  const places = await giveToSigner(keys, held.path);
  await using signer = await startSignerProcess(places, ALL_ROLES);
  await using hub = await office.serve();
  const agent = networkAgent('plant-1/press-1');
  const cert = await enroll(hub.url, office.authority, agent, await newToken(office, agent.site));
  await using client = connect(hub.url, office.authority, { cert, key: agent.pem });
  expect((await handOver(client, await reportOf(agent, chain(agent, happenings(3))))).status).toBe(200);
  const whats = signer.log.map(({ what }) => String(what));
  expect(whats).toContain('certificate for plant-1/press-1');
  expect(whats).toContain('site statement 1 of plant-1');
  expect(whats.some((what) => what.startsWith('receipt of plant-1/press-1'))).toBe(true);

  const secrets = await secretsOf(places.keys, places.names);
  const isIn = (text: Buffer): boolean =>
    text.includes('PRIVATE KEY') ||
    secrets.some((secret) => text.includes(secret) || text.includes(secret.toString('base64').slice(2, -3)));
  const leaking: string[] = [];
  for (const file of await filesBelow(office.path)) {
    // The hub is at work: a temporary file of the list may have been renamed since, and the layout's lock released.
    const text = await readFile(file).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && /\.tmp-|\.fleet-scheduler\.json$/.test(file)) return Buffer.of();
      throw error;
    });
    if (isIn(text)) leaking.push(file);
  }
  expect(leaking).toEqual([]);
  // The keys of this fleet are not in the memory of the hub either; that of its own TLS certificate is, and is another.
  expect(await memoryHas(hub.child.pid ?? 0, secrets)).toBe(false);
  // The look would find them where they are.
  expect(await memoryHas(signer.child.pid ?? 0, secrets)).toBe(true);
  for (const line of [...signer.log, ...hub.log]) expect(isIn(Buffer.from(JSON.stringify(line)))).toBe(false);
});

const PAGE = 4096;

/** Is one of these byte strings in the writable memory of a process? Linux, as root or its user. */
const memoryHas = async (pid: number, secrets: readonly Buffer[]): Promise<boolean> => {
  const maps = await readFile(`/proc/${pid}/maps`, 'utf8');
  await using memory = await open(`/proc/${pid}/mem`, 'r');
  await using pages = await open(`/proc/${pid}/pagemap`, 'r');
  // OpenSSL keeps the number in words of the machine, the lowest first.
  const sought = secrets.flatMap((secret) => [secret, Buffer.from(secret).reverse()]);
  for (const [, from = '', to = ''] of maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)) {
    const [start, end] = [from, to].map((text) => Number.parseInt(text, 16) / PAGE) as [number, number];
    const entries = Buffer.alloc((end - start) * 8);
    await pages.read(entries, 0, entries.length, start * 8);
    // In memory or swapped out; V8 reserves 500 MB of which little was ever written.
    const isThere = (page: number): boolean => ((entries[(page - start) * 8 + 7] ?? 0) & 0xc0) !== 0;
    for (let page = start; page < end; page += 1) {
      const first = page;
      while (page < end && isThere(page)) page += 1;
      if (page === first) continue;
      const run = Buffer.alloc((page - first) * PAGE);
      await memory.read(run, 0, run.length, first * PAGE).catch(() => undefined);
      if (sought.some((secret) => run.includes(secret))) return true;
    }
  }
  return false;
};

test('the hub asks agents to come back while the signer is away, and their tokens stay valid', async () => {
  await using office = await startOffice();
  await using held = await temporaryDirectory('signer');
  const places = await giveToSigner(join(office.path, 'keys'), held.path);
  const signer = await startSignerProcess(places, ALL_ROLES);
  await using hub = await office.serve();
  signer.child.kill('SIGTERM');
  expect(await signer.ended).toEqual([0, null]);
  const agent = networkAgent('plant-1/press-1');
  const token = await newToken(office, agent.site);
  await using client = connect(hub.url, office.authority);
  const refused = await client.post(ENROLL_PATH, await enrollBody(agent, token));
  expect([refused.status, refused.json()]).toMatchObject([503, { code: 'SIGNER_UNREACHABLE' }]);
  await using _ = await startSignerProcess(places, ALL_ROLES);
  expect(await enroll(hub.url, office.authority, agent, token)).toContain('BEGIN CERTIFICATE');
});

test('the socket is for its user and group, a dead one is replaced, and two signers never share a state', async () => {
  await using folder = await temporaryDirectory('signer');
  const company = await makeCompany(folder.path);
  expect(company.folder).toBe(folder.path);
  const places = await giveToSigner(join(folder.path, 'keys'), folder.path);
  const first = await startSignerProcess(places, ['--role', 'release']);
  expect((await stat(places.socket)).mode & 0o777).toBe(0o660);
  const { code } = await runSigner({ ...places, socket: `${places.socket}2` });
  expect(code).toBe(6);
  first.child.kill('SIGKILL');
  await first.ended;
  await stat(places.socket);
  await using second = await startSignerProcess(places, ['--role', 'release']);
  expect((await openRemoteKey(places.socket, 'release')).public.pem).toContain('PUBLIC KEY');
  await expect(openRemoteKey(places.socket, 'lease')).rejects.toMatchObject({ code: 'KEY_MISSING' });
  // Garbage ends one connection, not the process.
  const socket = createConnection(places.socket);
  socket.resume().end('\u0000garbage\r\n\r\n');
  await new Promise((resolve) => socket.once('close', resolve));
  await openRemoteKey(places.socket, 'release');
  expect(second.child.exitCode).toBeNull();
});

const runSigner = async ({
  keys,
  state,
  socket,
}: {
  readonly keys: string;
  readonly state: string;
  readonly socket: string;
}) => {
  return runCommand([
    process.execPath,
    programFile('scheduler'),
    'signer',
    '--keys',
    keys,
    '--state',
    state,
    '--listen',
    socket,
    '--role',
    'release',
  ]);
};

test('openRemoteKey fails with the address of a missing signer after a while', async () => {
  await expect(openRemoteKey('/nowhere/socket', 'release')).rejects.toMatchObject({
    code: 'SIGNER_UNREACHABLE',
    message: expect.stringContaining('/nowhere/socket'),
  });
});

describe('a signer that is killed between storing and answering', () => {
  it('answers the same request again, and no other with that number', async () => {
    await using folder = await temporaryDirectory('signer');
    await makeCompany(folder.path);
    const { fleet } = (await openKeyDirectory(join(folder.path, 'keys'))).root;
    const places = await giveToSigner(join(folder.path, 'keys'), folder.path);
    const armed = join(folder.path, 'armed');
    const key = join(places.keys, 'release.key');
    const pub = join(places.keys, 'release.pub');
    await writeFile(pub, loadSigningKey(await readFile(key, 'utf8')).public.pem);
    // The key is a program that takes the signer down with it, when the number is on the disk and before any answer.
    const program = join(places.keys, 'sign.sh');
    await writeFile(
      program,
      `#!/bin/sh\nif [ -e ${armed} ]; then kill -9 $PPID; exit 1; fi\nexec openssl dgst -sha256 -sign ${key}\n`,
    );
    await chmod(program, 0o700);
    await writeFile(join(places.keys, 'keys.yaml'), `release: {command: [${program}], public: ${pub}}\n`, {
      mode: 0o600,
    });
    await writeFile(armed, '');

    const payload = (days: number): Buffer =>
      encodeStatement([{ name: 'site-values', digest: digestOf('{}') }], PREDICATES.site, {
        audience: { fleet, site: 'plant-7' },
        version: 1,
        agents: [],
        issuedAt: formatTime(new Date()),
        expires: formatTime(addDays(new Date(), days)),
        critical: [],
      });
    const [asked, other] = [toSign(payload(100)), toSign(payload(101))];
    const first = await startSignerProcess(places, ['--role', 'release']);
    const before = await openRemoteKey(places.socket, 'release');
    await expect(before.sign(asked)).rejects.toMatchObject({ code: 'SIGNER_UNREACHABLE' });
    expect(await first.ended).toEqual([null, 'SIGKILL']);

    await rm(armed);
    await using _ = await startSignerProcess(places, ['--role', 'release']);
    const after = await openRemoteKey(places.socket, 'release');
    await expect(after.sign(other)).rejects.toMatchObject({
      code: 'NOT_NEWER',
      message: 'site statement 1 of plant-7 was signed already, with other content',
    });
    expect(verifySignature(after.public, asked, await after.sign(asked))).toBe(true);
  });
});
