import { describe, expect, it } from 'vitest';
import { policiesOn } from '#bundles/formats/bundle/image-policy';
import { matchImage } from '#bundles/formats/bundle/match-image';

describe('a pattern of image names', () => {
  it.each([
    ['registry.example/team/app', 'registry.example/team/app', true],
    ['registry.example/team/app', 'registry.example/team/apps', false],
    ['registry.example/team/*', 'registry.example/team/app', true],
    ['registry.example/team/*', 'registry.example/team/a/b', false],
    ['registry.example/team/*', 'registry.example/team', false],
    ['registry.example/team/**', 'registry.example/team/a/b', true],
    ['registry.example/**/app', 'registry.example/a/b/app', true],
    ['*.example/app', 'edge.example/app', true],
    ['*.example/app', 'evil.com/x.example/app', false],
    ['**', 'docker.io/library/nginx', true],
    ['registry.example/team*', 'registry.exampleXteam', false],
    ['registry.example/a.b', 'registry.example/aXb', false],
  ])('pattern %s and name %s: %s', (pattern, name, expected) => {
    expect(matchImage(pattern, name)).toBe(expected);
  });

  it('matches in linear time against a pattern made for backtracking', () => {
    const started = performance.now();
    expect(matchImage('**a'.repeat(80), `${'a'.repeat(500)}b`)).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });
});

describe('the policies that an image is under', () => {
  const policy = (name: string, match: string[], except: string[] = []) => ({
    name,
    match,
    except,
    keys: [],
  });
  const digest = `sha256:${'0'.repeat(64)}`;

  it('are those that match one of its names without an exception for that name', () => {
    const policies = [
      policy('all', ['**'], ['registry.example/free/*']),
      policy('team', ['registry.example/team/*']),
      policy('other', ['other.example/**']),
    ];
    const on = (...names: string[]) =>
      policiesOn(
        policies,
        names.map((name) => `${name}@${digest}`),
      ).map(({ name }) => name);
    expect(on('registry.example/team/app')).toEqual(['all', 'team']);
    expect(on('registry.example/free/app')).toEqual([]);
    expect(on('registry.example/free/app', 'other.example/app')).toEqual(['all', 'other']);
    expect(on()).toEqual([]);
  });

  it.each([
    ['docker.io/library/nginx', 'docker.io/nginx'],
    ['docker.io/library/nginx', 'index.docker.io/nginx'],
    ['docker.io/library/nginx', 'INDEX.Docker.io/library/nginx'],
    ['docker.io/library/nginx', 'registry-1.docker.io/library/nginx'],
    ['docker.io/nginx', 'docker.io/library/nginx'],
    ['docker.io/ng*', 'nginx'],
    ['index.docker.io/**', 'nginx'],
    ['docker.io/team/*', 'team/app'],
    ['registry.example/team/*', 'Registry.Example:443/team/app'],
    ['Registry.Example:443/team/*', 'registry.example/team/app'],
    ['**', '../no name'],
  ])('N30: %s holds for an image spelled %s', (pattern, name) => {
    const policies = [policy('signed', [pattern]), policy('but', ['**'], [pattern])];
    expect(policiesOn(policies, [`${name}@${digest}`]).map((one) => one.name)).toEqual(['signed']);
  });
});
