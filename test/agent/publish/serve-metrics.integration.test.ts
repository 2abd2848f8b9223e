import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../agent/config/read-config.ts';
import { createPublisher } from '../../../agent/publish/create-publisher.ts';
import { serveMetrics } from '../../../agent/publish/serve-metrics.ts';
import { createWorld } from '../world.ts';

describe('metrics', () => {
  it('are served at an address, and nothing else is', async () => {
    await using served = await serveMetrics('127.0.0.1:0', async () => 'fleet_agent_ready 1\n');
    const at = `http://127.0.0.1:${served.port}`;
    const answer = await fetch(`${at}/metrics`);
    expect([answer.status, await answer.text()]).toEqual([200, 'fleet_agent_ready 1\n']);
    expect((await fetch(`${at}/`)).status).toBe(404);
    expect((await fetch(`${at}/metrics`, { method: 'POST' })).status).toBe(404);
  });

  it('at a port that no machine has are refused with the setting', async () => {
    await expect(serveMetrics('127.0.0.1:99999', async () => '')).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      hint: 'Set metricsAddress to a free port of this machine',
    });
  });

  it('at a port that is taken are an error of the machine, with the setting', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    await expect(serveMetrics(`127.0.0.1:${port}`, async () => '')).rejects.toMatchObject({
      code: 'IO',
      hint: 'Set metricsAddress to a free port of this machine',
    });
    server.close();
  });

  it('at an address that is taken are reported, do not stop the agent, and are served once it is free', async () => {
    await using world = await createWorld();
    const { signal } = new AbortController();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { readonly port: number };
    const metricsAddress = `127.0.0.1:${port}`;
    const config = readConfig('/dev/null', { state: world.agent.state.directory, metricsAddress });
    await using publisher = await createPublisher(world.agent, config, '1.2.3');
    const says = expect.stringMatching(
      `^metrics cannot be served at ${metricsAddress}: .*EADDRINUSE.*tried again`,
    );
    expect(await publisher.publish(signal)).toEqual([says]);
    // The same sentence again, which the daemon logs once.
    expect(await publisher.publish(signal)).toEqual([says]);
    await new Promise((resolve) => other.close(resolve));
    expect(await publisher.publish(signal)).toEqual([]);
    expect((await fetch(`http://${metricsAddress}/metrics`)).status).toBe(200);
  });
});
