import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { serveMetrics } from '../../../agent/publish/serve-metrics.ts';

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
});
