import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findCredentials } from '#bundles/transport/registry/http/find-credentials';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (path: string, auths: Readonly<Record<string, string>>): string => {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  const entries = Object.entries(auths).map(([key, username]) => [key, { username, password: 'x' }]);
  writeFileSync(file, JSON.stringify({ auths: Object.fromEntries(entries) }));
  return file;
};

const userFor = async (
  repository: string,
  env: NodeJS.ProcessEnv = { HOME: folder },
  authFile?: string,
): Promise<string | undefined> => {
  const found = await findCredentials('registry.example', repository, { env, authFile });
  return found?.kind === 'basic' ? found.username : undefined;
};

describe('registry credentials', () => {
  it('are those of the longest key that is a path prefix of the repository', async () => {
    write('.docker/config.json', {
      'registry.example': 'host',
      'registry.example/team': 'team',
      'registry.example/team/app': 'app',
      'registry.example/te': 'never',
      'registry.example.org': 'never',
    });
    expect(await userFor('other')).toBe('host');
    expect(await userFor('team')).toBe('team');
    expect(await userFor('team/x/y')).toBe('team');
    expect(await userFor('team/app')).toBe('app');
    expect(await userFor('team/app/prod/line')).toBe('app');
    expect(await userFor('team/application')).toBe('team');
  });

  it('are not used for another host or port', async () => {
    write('.docker/config.json', { 'registry.example:5000': 'port', 'sub.registry.example': 'sub' });
    expect(await userFor('a')).toBeUndefined();
  });

  it("are looked up in podman's files in podman's order, then in docker's", async () => {
    const env = { HOME: folder, XDG_RUNTIME_DIR: join(folder, 'run') };
    expect(await userFor('a', env)).toBeUndefined();
    write('.docker/config.json', { 'registry.example': 'docker' });
    expect(await userFor('a', env)).toBe('docker');
    write('.config/containers/auth.json', { 'registry.example': 'podman' });
    expect(await userFor('a', env)).toBe('podman');
    write('run/containers/auth.json', { 'elsewhere.example': 'x' });
    expect(await userFor('a', env)).toBe('podman');
    write('run/containers/auth.json', { 'registry.example': 'runtime' });
    expect(await userFor('a', env)).toBe('runtime');
    write('else/config.json', { 'registry.example': 'else' });
    expect(await userFor('a', { DOCKER_CONFIG: join(folder, 'else') })).toBe('else');
  });

  it('are looked up in the named auth file only, which must exist', async () => {
    write('.docker/config.json', { 'registry.example': 'docker' });
    const named = write('named.json', { 'other.example': 'x' });
    expect(await userFor('a', { HOME: folder }, named)).toBeUndefined();
    expect(await userFor('a', { HOME: folder, REGISTRY_AUTH_FILE: named })).toBeUndefined();
    await expect(userFor('a', { HOME: folder }, join(folder, 'none.json'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      at: { file: join(folder, 'none.json') },
    });
  });

  it('are absent without HOME', async () => {
    expect(await userFor('a', {})).toBeUndefined();
  });
});
