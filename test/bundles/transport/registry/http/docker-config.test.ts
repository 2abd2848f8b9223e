import { describe, expect, it } from 'vitest';
import type { FleetError } from '#bundles/errors';
import { parseDockerConfig } from '#bundles/transport/registry/http/docker-config';

const parse = (value: unknown) =>
  parseDockerConfig(Buffer.from(JSON.stringify(value)), '/home/a/config.json');
const auth = (user: string, password: string) => ({
  auth: Buffer.from(`${user}:${password}`).toString('base64'),
});

describe('an auth file', () => {
  it('has names and passwords by host, or by host and namespace', () => {
    const { auths } = parse({
      auths: {
        'registry.example:5000': auth('robot', 'pass:with:colons'),
        'registry.example/team/a': auth('team', 'x'),
        'https://old.example/v1/': auth('old', 'y'),
        'https://index.docker.io/v1/': auth('hub', 'z'),
        'plain.example': { username: 'u', password: 'p' },
      },
    });
    expect(Object.fromEntries(auths)).toEqual({
      'registry.example:5000': { kind: 'basic', username: 'robot', password: 'pass:with:colons' },
      'registry.example/team/a': { kind: 'basic', username: 'team', password: 'x' },
      'old.example': { kind: 'basic', username: 'old', password: 'y' },
      'docker.io': { kind: 'basic', username: 'hub', password: 'z' },
      'plain.example': { kind: 'basic', username: 'u', password: 'p' },
    });
  });

  it('may have tokens, helpers, a store, and entries without credentials', () => {
    const config = parse({
      auths: {
        a: { identitytoken: 'i', ...auth('00000000-0000-0000-0000-000000000000', '') },
        b: { registrytoken: 'r' },
        c: {},
        d: { auth: 'bm9jb2xvbg==' },
        e: null,
      },
      credHelpers: { 'gcr.example': 'gcloud' },
      credsStore: 'pass',
      HttpHeaders: {},
    });
    expect(Object.fromEntries(config.auths)).toEqual({
      a: { kind: 'identity', token: 'i' },
      b: { kind: 'bearer', token: 'r' },
    });
    expect(config.credHelpers.get('gcr.example')).toBe('gcloud');
    expect(config.credsStore).toBe('pass');
  });

  it.each(['{"auths": {"a": {"auth": "c2VjcmV0"', '[]', '{"auths": 3, "x": "c2VjcmV0"}', 'c2VjcmV0'])(
    'that is invalid is refused without quoting its content: %s',
    (text) => {
      try {
        parseDockerConfig(Buffer.from(text), '/home/a/config.json');
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ code: 'CONFIG_INVALID', at: { file: '/home/a/config.json' } });
        expect(`${(error as FleetError).message}${String((error as FleetError).cause)}`).not.toContain(
          'c2VjcmV0',
        );
      }
    },
  );
});
