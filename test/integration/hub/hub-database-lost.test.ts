import { once } from 'node:events';
import { copyFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ENROLL_PATH } from '#bundles/formats/events/hub-api';
import { connect, enroll, enrollBody, networkAgent, newToken, startOffice } from './hub-process.ts';

it('a hub whose database was replaced refuses the next write and ends with an error; the next one serves the new database', async () => {
  await using office = await startOffice();
  const file = join(office.path, 'hub.db');
  const agent = networkAgent('plant-7/press-1');
  {
    await using hub = await office.serve();
    const body = await enrollBody(agent, await newToken(office, agent.site));
    await copyFile(file, `${file}.copy`);
    await rename(`${file}.copy`, file);
    for (const suffix of ['-wal', '-shm']) await rm(`${file}${suffix}`, { force: true });
    const exited = once(hub.child, 'exit', { signal: AbortSignal.timeout(60_000) });
    const client = connect(hub.url, office.authority);
    const reply = await client.post(ENROLL_PATH, body);
    // The hub waits for open connections.
    await client[Symbol.asyncDispose]();
    expect([reply.status, reply.json()]).toMatchObject([500, { code: 'STORE_CORRUPT' }]);
    expect(await exited).toEqual([6, null]);
  }
  await using hub = await office.serve();
  const token = await newToken(office, agent.site);
  expect(await enroll(hub.url, office.authority, agent, token)).toContain('CERTIFICATE');
}, 120_000);
