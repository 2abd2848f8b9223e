import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitCodeOfOnce, type LookOnce, showOnce } from '../../../agent/commands/show-once.ts';
import type { Config } from '../../../agent/config/config.ts';
import { askRegistry } from '../../../agent/daemon/ask-registry.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readNote } from '../../../agent/observe/note.ts';
import { readTrustRow } from '../../../agent/store/trust.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { type RegistryServer, startRegistryServer } from '../registry-server.ts';
import { createWorld, onePackage, type World } from '../world.ts';
import { formatLines } from '#cli/format-table';

const configOf = (registry: string): Config =>
  ({
    registry,
    hub: '',
    plainHttp: [new URL(registry.replace(/^oci/, 'http')).host],
    authFile: '',
    caFile: '',
  }) as unknown as Config;

/** `run --once`. */
const once = async (world: World, registry: string): Promise<LookOnce> => {
  const asked = await askRegistry(world.agent, configOf(registry), {}, (work) => work());
  const look = await lookAround(world.agent);
  const hasRelease = readTrustRow(world.agent.state).desiredRelease !== undefined;
  return { ...look, hasRelease, ...(asked && { registry: asked }) };
};
const offer = async (world: World, server: RegistryServer, content: string, version: number) => {
  const bundle = packTestBundle(world.fleet, [onePackage('app', content)]);
  server.publish(await world.medium({ release: { version, bundle } }));
};

describe('apply (once)', () => {
  it('asks the registry of a new host first, accepts its release and applies it', async () => {
    await using world = await createWorld();
    await using server = await startRegistryServer();
    const empty = await once(world, server.address);
    expect(formatLines(showOnce(empty), undefined).join('\n')).toMatch(
      /^No release was accepted here yet.*\n.*SITE_MISSING/,
    );
    expect(exitCodeOfOnce(empty)).toBe(8);
    await offer(world, server, 'one', 1);
    const look = await once(world, server.address);
    expect(showOnce(look)[0]).toBe(`Accepted release 1 from ${server.address}.`);
    expect(exitCodeOfOnce(look)).toBe(0);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
    expect(readNote(world.agent.state.directory).registry.good).toBe('2026-11-21T08:00:00Z');
    expect(showOnce(await once(world, server.address))).toEqual(['Everything already runs as desired.']);
  });

  it('names a blob that the store lost with the way out, and copies it again from the registry', async () => {
    await using world = await createWorld();
    await using server = await startRegistryServer();
    await offer(world, server, 'one', 1);
    await once(world, server.address);
    const { blobs } = world.agent.state;
    for (const digest of await blobs.list()) await blobs.remove(digest);
    await writeFile(join(world.folder, 'machine/live/opt/app'), 'changed');
    const lost = await once(world, server.address);
    expect(formatLines(showOnce(lost), undefined).join('\n')).toMatch(
      /MISSING_BLOB: .* is not in the store \(The agent copies it from its registry at the next poll; without a registry, import the newest full medium again\)/,
    );
    await once(world, server.address);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
    expect(exitCodeOfOnce(await once(world, server.address))).toBe(0);
  });

  it('reports a machine as not healthy when its registry refuses or is unreachable, and observes it anyway', async () => {
    await using world = await createWorld();
    await using server = await startRegistryServer();
    await offer(world, server, 'one', 1);
    await once(world, server.address);
    const away = await once(world, 'oci://127.0.0.1:1/fleet');
    expect(showOnce(away)).toEqual([
      'Everything already runs as desired.',
      expect.stringMatching(
        /^oci:\/\/127.0.0.1:1\/fleet: REGISTRY_UNREACHABLE: .*\. There may be a newer release\.$/,
      ),
    ]);
    expect(exitCodeOfOnce(away)).toBe(0);
    await offer(world, server, 'two', 2);
    await once(world, server.address);
    await offer(world, server, 'one', 1);
    const refused = await once(world, server.address);
    expect(refused.registry?.error).toMatchObject({ code: 'ROLLBACK', retryable: false });
    expect(exitCodeOfOnce(refused)).toBe(8);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'two' });
  });
});
