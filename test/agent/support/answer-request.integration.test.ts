import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { supportPath } from '#bundles/trust/reports/find-support';
import { MAX_SUPPORT_BYTES, verifySupport } from '#bundles/trust/reports/support';
import { addDays, formatTime } from '#bundles/time';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { readConfig } from '../../../agent/config/read-config.ts';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { loadKey } from '../../../agent/hub/agent-key.ts';
import { exportSupport } from '../../../agent/report/export-support.ts';
import { createVisitor } from '../../../agent/report/visit-hub.ts';
import { appendEvent, readOutbox } from '../../../agent/store/outbox/outbox.ts';
import type { SupportSources } from '../../../agent/support/create-support-bundle.ts';
import { newSigningKey } from '../../harness/fleets/signed-fleet.ts';
import { writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { TODAY } from '../hub-server.ts';
import { createOnlineWorld, type OnlineWorld, PATIENT } from '../online-world.ts';
import { SITE } from '../world.ts';

type Request = { readonly id: string; readonly until: string };
const request = (digit: string, days = 30): Request => ({
  id: digit.repeat(16),
  until: formatTime(addDays(TODAY, days)),
});

/** An enrolled agent that looks like one of a host without init, and how it is asked. */
const enrolled = async () => {
  const world = await createOnlineWorld();
  await world.enroll();
  await writeFile(join(world.folder, 'agent.yaml'), 'services: none\n');
  const config = readConfig(join(world.folder, 'agent.yaml'), {
    state: join(world.folder, 'state'),
    root: join(world.folder, 'machine'),
  });
  const sources: SupportSources = {
    config,
    env: { HOME: world.folder, FLEET_TEST_TOKEN: 'planted-Dahlie-1' },
  };
  let version = 1;
  let media = 0;
  return Object.assign(world, {
    sources,
    asked: async (support: Request | undefined) => {
      const agent = world.agent();
      version += 1;
      const agents = [{ name: 'kiosk-1', key: agent.identity.key, ...(support && { support }) }];
      const path = join(world.folder, `asked-${version}`);
      await importMedium(
        agent,
        await writeTestMedium(path, world.fleet, { site: { site: SITE, version, agents } }),
      );
    },
    /** The answer that the next export writes onto a new medium. */
    exported: async (): Promise<Buffer | undefined> => {
      const agent = world.agent();
      const path = join(world.folder, `out-${(media += 1)}`);
      await writeTestMedium(path, world.fleet, {});
      const file = await exportSupport(agent, await loadKey(agent), path, sources);
      return file === undefined ? undefined : readFile(join(path, file));
    },
  });
};

const read = (it: OnlineWorld, bytes: Buffer | undefined) =>
  verifySupport(bytes ?? Buffer.alloc(0), parsePublicKey(it.agent().identity.key), 'the bundle');

describe('a request for a support bundle', () => {
  it('is answered once: every medium gets the same signed file', async () => {
    await using it = await enrolled();
    expect(await it.exported()).toBeUndefined();
    await it.asked(request('a'));
    const first = await it.exported();
    const { predicate, files } = await read(it, first);
    expect(predicate).toMatchObject({ agent: 'plant-7/kiosk-1', request: 'a'.repeat(16) });
    expect(files.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['doctor.json', 'status.json', 'events.ndjson']),
    );
    expect(await it.exported()).toEqual(first);
    const events = readOutbox(it.state).filter(({ line }) => line.includes('"type":"support"'));
    expect(events).toHaveLength(1);
    expect(supportPath('plant-7/kiosk-1', predicate.request ?? '')).toMatch(
      /^fleet\/reports\/[0-9a-f]{32}\/support-a+\.tar$/,
    );
  });

  it('B2 is not answered when its time is over, and a next one is', async () => {
    await using it = await enrolled();
    const answer = await it.asked(request('a', -1)).then(() => 'ACCEPT');
    expect(answer).toBe('ACCEPT');
    expect(await it.exported()).toBeUndefined();
    await it.asked(request('b'));
    expect((await read(it, await it.exported())).predicate.request).toBe('b'.repeat(16));
    // The office takes the request back: what was not handed over is not kept.
    await it.asked(undefined);
    expect(await it.exported()).toBeUndefined();
  });

  it('is answered to the hub at the next visit, again when the response is lost, and then not again', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, { ...PATIENT, attempts: 1, support: it.sources });
    await hub.visit();
    await it.asked(request('a'));
    let cuts = 1;
    it.hub.mischief = ({ url }, response) => {
      if (url !== '/v1/support' || cuts-- <= 0) return false;
      response.writeHead(503).end();
      return true;
    };
    await expect(hub.visit()).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    await hub.visit();
    expect((await read(it, it.hub.support[0])).predicate.request).toBe('a'.repeat(16));
    await hub.visit();
    expect(it.hub.support).toHaveLength(1);
    expect(await it.exported()).toBeUndefined();
  });

  it('is not answered again after the hub refused the answer for good', async () => {
    await using it = await enrolled();
    await using hub = createVisitor(it.agent(), it.hub.url, { ...PATIENT, attempts: 1, support: it.sources });
    await hub.visit();
    await it.asked(request('a'));
    let sent = 0;
    it.hub.mischief = ({ url }, response) => {
      if (url !== '/v1/support') return false;
      sent += 1;
      response.writeHead(422, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: 'REPORT_INVALID', message: 'no' }));
      return true;
    };
    await expect(hub.visit()).rejects.toThrow();
    await hub.visit();
    await hub.visit();
    expect(sent).toBe(1);
  });
});

describe('a site statement that asks for a support bundle', () => {
  it('B1 and is not by the office is refused', async () => {
    await using it = await enrolled();
    const agents = [{ name: 'kiosk-1', key: it.agent().identity.key, support: request('a') }];
    const keys = { ...it.fleet.keys, release: newSigningKey() };
    const path = join(it.folder, 'forged');
    const medium = await writeTestMedium(
      path,
      { ...it.fleet, keys },
      { site: { site: SITE, version: 2, agents } },
    );
    await expect(importMedium(it.agent(), medium)).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    expect(await it.exported()).toBeUndefined();
  });

  it('B2 and is an older statement is refused', async () => {
    await using it = await enrolled();
    await it.asked(request('a'));
    await it.asked(undefined);
    const older = importMedium(it.agent(), join(it.folder, 'asked-2'));
    await expect(older).rejects.toMatchObject({ code: 'ROLLBACK' });
    expect(await it.exported()).toBeUndefined();
  });
});

describe('a support bundle', () => {
  it('B4 stays within its limit, keeps the newest events, and contains no secret of the agent', async () => {
    await using it = await enrolled();
    const agent = it.agent();
    it.state.db.transaction(() => {
      for (let n = 0; n < 3000; n++)
        appendEvent(agent, {
          type: 'drift',
          message: `${n} token=planted-Dahlie-1 ${'x'.repeat(900)}\u001b[31m`,
        });
    })();
    await it.asked(request('a'));
    const bytes = (await it.exported()) ?? Buffer.alloc(0);
    expect(bytes.byteLength).toBeLessThan(MAX_SUPPORT_BYTES);
    const { files } = await read(it, bytes);
    expect(files.length > 0 ? 'ACCEPT' : 'UNSIGNED').toBe('ACCEPT');
    const events = files.find(({ path }) => path === 'events.ndjson')?.bytes.toString() ?? '';
    expect(events).toContain('2999 token=[secret]');
    expect(
      events
        .split('\n')
        .slice(1, -1)
        .every((line) => typeof JSON.parse(line) === 'object'),
    ).toBe(true);
    const key = await readFile(join(it.folder, 'state', 'agent.key'), 'utf8');
    for (const secret of ['Dahlie', key.split('\n')[1] ?? '', '\u001b'])
      expect(bytes.includes(secret)).toBe(false);
  });
});
